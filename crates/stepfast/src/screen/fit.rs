//! Tables that fit the terminal: one line for each row, the widest columns cut first, an id last, and the last columns left out
//! where even that does not help.

use super::columns::{columns, cut};
use super::paint::Tone;
use super::{Paint, plain};
use comfy_table::{Cell, Color, Table, presets};

/// A column narrower than this says nothing any more.
const LEAST: usize = 8;
/// What stands between two columns.
const GAP: usize = 2;

/// A table, and the columns for which there was no room.
pub struct Fitted {
    pub text: String,
    pub left_out: Vec<String>,
}

/// Columns of the terminal, if somebody looks at one.
pub fn width() -> Option<u16> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0)
}

/// As a table that is no wider than this; as wide as it is where nobody looks. A cell is words: what it holds breaks no line, and is no
/// order to a terminal.
pub fn table(head: &[&str], rows: Vec<Vec<String>>, width: Option<u16>, paint: Paint) -> Fitted {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|text| plain(text)).collect()).collect();
    let all: Vec<Column> = head.iter().enumerate().map(|(n, name)| Column::of(name, n, &rows)).collect();
    let widths = width.map_or_else(
        || all.iter().map(|column| column.wide).collect(),
        |width| widths(&all, usize::from(width)),
    );
    let state = head.iter().position(|name| *name == "state");
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(head.iter().zip(&widths).map(|(name, wide)| cut(name, *wide)).collect::<Vec<_>>());
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(n, (text, wide))| {
            let paint = if state == Some(n) { paint } else { Paint::Plain };
            painted(Cell::new(cut(text, *wide)), text, paint)
        });
        table.add_row(cells.collect::<Vec<Cell>>());
    }
    let left_out = head[widths.len()..].iter().map(ToString::to_string).collect();
    Fitted { text: table.trim_fmt(), left_out }
}

/// How wide a column would be, and how narrow it may be.
struct Column {
    wide: usize,
    least: usize,
}

impl Column {
    fn of(name: &str, n: usize, rows: &[Vec<String>]) -> Column {
        let cells = || rows.iter().filter_map(|row| row.get(n));
        let wide = cells().map(|text| columns(text)).max().unwrap_or(0).max(columns(name));
        // Somebody will copy it.
        let is_id = cells().any(|text| text.len() == 36 && text.matches('-').count() == 4);
        Column { wide, least: if is_id { wide } else { wide.min(LEAST) } }
    }
}

/// How wide the first columns are, as many as there is room for.
fn widths(columns: &[Column], width: usize) -> Vec<usize> {
    let mut room = width;
    let fits = |column: &&Column| match room.checked_sub(column.least + GAP) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let mut widths: Vec<usize> = columns.iter().take_while(fits).map(|column| column.least).collect();
    if widths.is_empty() {
        return columns.first().map(|_| width.saturating_sub(GAP).max(1)).into_iter().collect();
    }
    // What is left goes to whichever has least of what it wants, so that short columns are whole first.
    while room > 0 {
        let wants = (0..widths.len()).filter(|n| widths[*n] < columns[*n].wide);
        let Some(n) = wants.min_by_key(|n| columns[*n].wide - widths[*n]) else { break };
        widths[n] += 1;
        room -= 1;
    }
    widths
}

/// A state in its colour, and everything else as it is.
fn painted(cell: Cell, text: &str, paint: Paint) -> Cell {
    match (paint == Paint::Colour).then(|| colour(text)).flatten() {
        Some(colour) => cell.fg(colour),
        None => cell,
    }
}

/// As [`Paint::state`] paints it.
fn colour(state: &str) -> Option<Color> {
    match Tone::of(state) {
        Tone::Good => Some(Color::DarkGreen),
        Tone::Bad => Some(Color::DarkRed),
        Tone::Held => Some(Color::DarkYellow),
        Tone::Busy => Some(Color::DarkCyan),
        Tone::Quiet => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0195e3a0-0000-7000-8000-000000000000";

    fn rows() -> Vec<Vec<String>> {
        let message = "the bank did not answer for a long time, and nobody knows why that is so";
        vec![
            [ID, "running", message].map(String::from).to_vec(),
            [ID, "done", "-"].map(String::from).to_vec(),
        ]
    }

    const HEAD: [&str; 3] = ["id", "state", "message"];

    #[test]
    fn a_table_fits_and_its_ids_stay_whole() {
        for width in [60, 80, 100] {
            let shown = table(&HEAD, rows(), Some(width), Paint::Plain).text;
            let widest = shown.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(usize::from(width)), "{width}: {shown}");
            assert_eq!((shown.matches(ID).count(), shown.lines().count()), (2, 3), "{shown}");
            assert!(shown.contains("running  the ba") && shown.contains('…'), "{shown}");
        }
    }

    #[test]
    fn columns_without_room_are_left_out_and_told() {
        let narrow = table(&HEAD, rows(), Some(50), Paint::Plain);
        assert_eq!(narrow.left_out, ["message"]);
        assert!(narrow.text.contains(ID) && narrow.text.contains("running"), "{}", narrow.text);
        let narrower = table(&HEAD, rows(), Some(30), Paint::Plain);
        assert_eq!(narrower.left_out, ["state", "message"]);
        assert!(narrower.text.lines().all(|line| line.chars().count() <= 30), "{}", narrower.text);
        assert!(narrower.text.contains("0195e3a0-0000-7000"), "{}", narrower.text);
    }

    #[test]
    fn letters_of_two_columns_fit_too() {
        let row = ["決済", "failed", "銀行が応答しませんでした、理由は誰にも分かりません"]
            .map(String::from)
            .to_vec();
        for width in [24, 31, 40] {
            let shown =
                table(&["key", "state", "message"], vec![row.clone()], Some(width), Paint::Plain).text;
            let widest = shown.lines().map(columns).max();
            assert!(widest <= Some(usize::from(width)), "{width}: {shown}");
            assert!(shown.lines().count() == 2 && shown.contains("決済  failed  銀"), "{shown}");
        }
    }

    #[test]
    fn a_cell_breaks_no_line_and_gives_no_order() {
        let row = vec!["a\u{1b}[2Jb\nc".to_string(), "failed".into()];
        let shown = table(&["message", "state"], vec![row], None, Paint::Plain).text;
        assert!(shown.ends_with("a [2Jb c  failed"), "{shown:?}");
        assert_eq!(shown.lines().count(), 2, "{shown:?}");
    }

    #[test]
    fn where_nobody_looks_it_is_as_wide_as_it_is() {
        let shown = table(&HEAD, rows(), None, Paint::Plain);
        assert_eq!((shown.text.lines().count(), shown.left_out.len()), (3, 0), "{}", shown.text);
        assert!(!shown.text.contains('…'), "{}", shown.text);
        assert!(table(&[], vec![], Some(80), Paint::Plain).left_out.is_empty());
    }
}
