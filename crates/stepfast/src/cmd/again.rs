//! `--watch`: the same look again and again, until somebody has seen enough.

use super::output::{self, Look};
use crate::cli::Cli;
use crate::screen;
use anyhow::Result;
use clap::{ArgMatches, FromArgMatches};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Of a terminal that does not say how large it is.
const LINES: u16 = 24;
const COLUMNS: u16 = 80;

pub async fn again(typed: &ArgMatches, every: Duration) -> Result<ExitCode> {
    let on_screen = std::io::stdout().is_terminal();
    let (mut seen, mut has_seen) = (Look::default(), false);
    loop {
        let cli = Cli::from_arg_matches(typed).unwrap_or_else(|wrong| wrong.exit());
        let json = cli.common.json;
        output::gather();
        let looked = super::run(cli).await;
        let mut look = output::gathered();
        match looked {
            Ok(_) => has_seen = true,
            // A server that is started anew is there again soon; until then the last that was seen stands above this.
            Err(problem) if has_seen && crate::code_of(&problem) == crate::AWAY => {
                look = Look { page: seen.page.clone(), notes: format!("stepfast: {problem:#}\n") };
            }
            Err(problem) => return Err(problem),
        }
        match on_screen && !json {
            true => draw(&look),
            false => tell(&seen, &look),
        }
        seen = look;
        tokio::time::sleep(every).await;
    }
}

/// A program reads what changed, not what stayed.
fn tell(seen: &Look, look: &Look) {
    let news =
        |before: &str, now: &str| (before != now && !now.is_empty()).then(|| now.trim_end().to_string());
    news(&seen.page, &look.page).iter().for_each(|page| output::put(page));
    news(&seen.notes, &look.notes).iter().for_each(output::note);
}

/// In place of the look before it; what does not fit is counted.
fn draw(look: &Look) {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    let (columns, rows) = size.map_or((COLUMNS, LINES), |(columns, rows)| (columns.0, rows.0));
    let drawn = frame(look, usize::from(rows), usize::from(columns));
    let _ = std::io::stdout().write_all(drawn.as_bytes());
    let _ = std::io::stdout().flush();
}

/// From the upper left corner, each line on one row of the screen, what is said beside it below, and nothing below that.
fn frame(look: &Look, rows: usize, columns: usize) -> String {
    let room = rows.saturating_sub(1).max(1);
    let notes: Vec<&str> = look.notes.lines().take(room / 2).collect();
    let lines: Vec<&str> = look.page.lines().collect();
    let room = room - notes.len();
    let fits = lines.len() <= room;
    let shown = if fits { lines.len() } else { room - 1 };
    let left_out = (!fits).then(|| format!("… {} more lines", lines.len() - shown));
    let drawn = lines[..shown].iter().copied().chain(left_out.as_deref()).chain(notes);
    // A row is emptied before it is written: behind a line that is as wide as the screen its last letter would go.
    let drawn: String = drawn.map(|line| format!("\u{1b}[K{}\n", screen::clipped(line, columns))).collect();
    format!("\u{1b}[H{drawn}\u{1b}[J")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(page: &str, notes: &str, rows: usize) -> String {
        let look = Look { page: page.into(), notes: notes.into() };
        let orders = [("\u{1b}[H", "^"), ("\u{1b}[K", ""), ("\u{1b}[J", "$")];
        orders.iter().fold(frame(&look, rows, 16), |text, (order, sign)| text.replace(order, sign))
    }

    #[test]
    fn a_look_takes_the_place_of_the_one_before() {
        assert_eq!(drawn("a\nb\n", "", 24), "^a\nb\n$");
        assert_eq!(drawn("", "", 24), "^$");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(drawn("a\nb\nc\nd\n", "", 4), "^a\nb\n… 2 more lines\n$");
        assert_eq!(drawn("a\nb\nc\n", "", 4), "^a\nb\nc\n$");
    }

    #[test]
    fn a_line_takes_one_row() {
        let long = format!("{}\nb\n", "a".repeat(40));
        assert_eq!(drawn(&long, "", 4), format!("^{}…\nb\n$", "a".repeat(15)));
    }

    #[test]
    fn what_is_said_beside_it_stands_below() {
        assert_eq!(drawn("a\nb\n", "there are more\n", 24), "^a\nb\nthere are more\n$");
        assert_eq!(drawn("a\nb\nc\nd\n", "see\n", 4), "^a\n… 3 more lines\nsee\n$");
        assert_eq!(drawn("a\n", "1\n2\n3\n", 2), "^a\n$", "the page comes first where there is no room");
    }
}
