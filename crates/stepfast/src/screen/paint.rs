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
    /// In the colour of a state.
    pub fn state(self, state: &str, text: &str) -> String {
        match Tone::of(state) {
            Tone::Good => self.green(text),
            Tone::Bad => self.red(text),
            Tone::Held => self.yellow(text),
            Tone::Busy => self.cyan(text),
            Tone::Quiet => self.dim(text),
        }
    }
}

/// How a state is to be taken, of whatever it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    Good,
    Bad,
    Held,
    Busy,
    Quiet,
}

impl Tone {
    /// By its first word: what is told of it may stand behind.
    pub fn of(state: &str) -> Tone {
        match state.split(' ').next().unwrap_or_default() {
            "succeeded" | "completed" => Tone::Good,
            "failed" | "timed_out" | "compensation_failed" => Tone::Bad,
            "paused" | "stopped" | "polling" | "blocked" => Tone::Held,
            "running" | "dispatched" | "compensating" => Tone::Busy,
            _ => Tone::Quiet,
        }
    }
}

/// What people read may come from anywhere; a terminal must not take it for orders.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Words of ours with words from anywhere among them: lines stay lines, colours stay where there are any, and no other order to a
/// terminal is left.
pub fn harmless(text: &str, paint: Paint) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let taken = match colour_order(rest).filter(|_| paint == Paint::Colour) {
            Some(order) => {
                shown.push_str(order);
                order.len()
            }
            None => {
                shown.push(if c.is_control() && c != '\n' { ' ' } else { c });
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    shown
}

/// The order for a colour with which this begins.
pub fn colour_order(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then(|| &text[.."\u{1b}[".len() + end + 1])
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

    #[test]
    fn every_state_of_a_failure_has_the_same_colour() {
        for state in ["failed", "timed_out", "compensation_failed", "failed (3 times)"] {
            assert_eq!(Paint::Colour.state(state, "x"), Paint::Colour.red("x"), "{state}");
        }
        assert_eq!(Paint::Colour.state("compensating", "x"), Paint::Colour.cyan("x"));
        assert_eq!(Tone::of("blocked"), Tone::Held);
    }

    #[test]
    fn of_orders_to_a_terminal_only_colours_are_left() {
        let told = "\u{1b}[31mfailed\u{1b}[0m\n\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}1m\u{1b}[";
        assert_eq!(harmless(told, Paint::Colour), "\u{1b}[31mfailed\u{1b}[0m\n ]0;title  [2J 1m [");
        assert_eq!(harmless(told, Paint::Plain), " [31mfailed [0m\n ]0;title  [2J 1m [");
    }
}
