//! Colour, where somebody looks at a terminal and has not asked for none.

use std::io::IsTerminal;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paint {
    Colour,
    Plain,
}

impl Paint {
    pub fn stdout() -> Paint {
        Paint::on(&std::io::stdout())
    }
    pub fn stderr() -> Paint {
        Paint::on(&std::io::stderr())
    }
    fn on(stream: &impl IsTerminal) -> Paint {
        let wanted = stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
        if wanted { Paint::Colour } else { Paint::Plain }
    }
    fn with(self, code: &str, text: &str) -> String {
        match self {
            Paint::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Paint::Plain => text.into(),
        }
    }
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    pub fn red(self, text: &str) -> String {
        self.with("31", text)
    }
    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }
    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }
    pub fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }
    /// In the colour of a state, of a workflow or of a step.
    pub fn state(self, state: &str, text: &str) -> String {
        match state {
            "succeeded" | "completed" => self.green(text),
            "failed" | "timed_out" => self.red(text),
            "paused" | "stopped" | "polling" => self.yellow(text),
            "running" | "dispatched" => self.cyan(text),
            _ => self.dim(text),
        }
    }
}

/// What people read may come from anywhere; a terminal must not take it for orders.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_only_where_it_is_wanted() {
        assert_eq!(Paint::Plain.state("failed", "x"), "x");
        assert_eq!(Paint::Colour.state("failed", "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(plain("a\u{1b}[2Jb\n"), "a [2Jb ");
    }
}
