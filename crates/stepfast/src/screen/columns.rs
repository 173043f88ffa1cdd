//! How many columns of a terminal words take, and the part of them for which there is room.

use super::paint::colour_order;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Of words without colours. A letter of some scripts takes two.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Cut where there is no room for all of it.
pub fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.into();
    }
    let ends = text.char_indices().map(|(at, _)| at).take_while(|at| columns(&text[..*at]) < room);
    format!("{}…", &text[..ends.last().unwrap_or(0)])
}

/// A line that is cut where there is no room for all of it; colours take none, and end with it.
pub fn clipped(line: &str, room: usize) -> String {
    let (mut shown, mut rest, mut taken) = (String::new(), line, 0);
    // Up to where it would be cut, should it not fit.
    let mut end = 0;
    while let Some(c) = rest.chars().next() {
        if let Some(order) = colour_order(rest) {
            shown.push_str(order);
            rest = &rest[order.len()..];
            continue;
        }
        taken += c.width().unwrap_or(0);
        if taken > room {
            shown.truncate(end);
            let reset = if shown.contains('\u{1b}') { "\u{1b}[0m" } else { "" };
            return format!("{shown}…{reset}");
        }
        shown.push(c);
        rest = &rest[c.len_utf8()..];
        if taken < room {
            end = shown.len();
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_two_columns_count_for_two() {
        assert_eq!((columns("abc"), columns("決済"), columns("é")), (3, 4, 1));
        assert_eq!((cut("決済が失敗", 10), cut("決済が失敗", 9)), ("決済が失敗".into(), "決済が失…".into()));
        assert_eq!((cut("決済が失敗", 8), cut("abc", 2)), ("決済が…".into(), "a…".into()));
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn colours_take_no_room() {
        let line = "\u{1b}[31mfailed\u{1b}[0m now";
        assert_eq!(clipped(line, 10), line);
        assert_eq!(clipped(line, 9), "\u{1b}[31mfailed\u{1b}[0m n…\u{1b}[0m");
        assert_eq!(clipped(line, 4), "\u{1b}[31mfai…\u{1b}[0m");
        assert_eq!((clipped("決済が失敗", 5), clipped("", 5)), ("決済…".into(), String::new()));
    }
}
