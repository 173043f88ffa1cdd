//! Lines that are drawn again in place, on a terminal.

use super::paint::{Paint, harmless};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

pub struct Live {
    screen: MultiProgress,
    lines: Vec<ProgressBar>,
}

impl Live {
    /// On standard error: what is shown while something goes on is talk.
    pub fn new() -> Live {
        Live { screen: MultiProgress::new(), lines: Vec::new() }
    }

    pub fn draw(&mut self, lines: &[String]) {
        while self.lines.len() > lines.len() {
            if let Some(line) = self.lines.pop() {
                self.screen.remove(&line);
            }
        }
        while self.lines.len() < lines.len() {
            // A line that is too long is cut at the edge of the terminal.
            let style =
                ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            self.lines.push(self.screen.add(ProgressBar::new(0).with_style(style)));
        }
        for (line, text) in self.lines.iter().zip(lines) {
            let text = harmless(text, Paint::stderr());
            if line.message() != text {
                line.set_message(text);
            }
        }
    }

    /// Take it off the screen.
    pub fn end(self) {
        // A terminal that is gone has nothing to clear.
        let _ = self.screen.clear();
        self.screen.set_draw_target(ProgressDrawTarget::hidden());
    }
}
