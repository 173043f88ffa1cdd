//! `--watch`: the same look again and again, until somebody has seen enough.

use super::output;
use crate::cli::Cli;
use anyhow::Result;
use clap::{ArgMatches, FromArgMatches};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Lines of a terminal that does not say how many it has.
const LINES: u16 = 24;

pub async fn again(typed: &ArgMatches, every: Duration) -> Result<ExitCode> {
    let on_screen = std::io::stdout().is_terminal();
    let mut told = String::new();
    loop {
        let cli = Cli::from_arg_matches(typed).unwrap_or_else(|wrong| wrong.exit());
        let json = cli.common.json;
        output::gather();
        let looked = super::run(cli).await;
        let page = output::gathered();
        match on_screen && !json {
            true => draw(&page),
            // A program reads what changed, not what stayed.
            false if page != told => output::text(page.trim_end_matches('\n')),
            false => {}
        }
        looked?;
        told = page;
        tokio::time::sleep(every).await;
    }
}

/// In place of the look before it; what does not fit is counted.
fn draw(page: &str) {
    let rows = terminal_size::terminal_size_of(std::io::stdout()).map_or(LINES, |(_, height)| height.0);
    let _ = std::io::stdout().write_all(frame(page, usize::from(rows)).as_bytes());
    let _ = std::io::stdout().flush();
}

/// From the upper left corner, each line to its end, and nothing below.
fn frame(page: &str, rows: usize) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let room = rows.saturating_sub(1).max(1);
    let fits = lines.len() <= room;
    let shown = if fits { lines.len() } else { room - 1 };
    let mut frame = String::from("\u{1b}[H");
    lines[..shown].iter().for_each(|line| frame.push_str(&format!("{line}\u{1b}[K\n")));
    if !fits {
        frame.push_str(&format!("… {} more lines\u{1b}[K\n", lines.len() - shown));
    }
    frame + "\u{1b}[J"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(page: &str, rows: usize) -> String {
        frame(page, rows).replace("\u{1b}[H", "^").replace("\u{1b}[K", "").replace("\u{1b}[J", "$")
    }

    #[test]
    fn a_look_takes_the_place_of_the_one_before() {
        assert_eq!(plain("a\nb\n", 24), "^a\nb\n$");
        assert_eq!(plain("", 24), "^$");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(plain("a\nb\nc\nd\n", 4), "^a\nb\n… 2 more lines\n$");
        assert_eq!(plain("a\nb\nc\n", 4), "^a\nb\nc\n$");
    }
}
