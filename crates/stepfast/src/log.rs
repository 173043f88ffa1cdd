//! Standard error for the log: an entry is one line, whatever stands in it.
//!
//! Why    names and messages come from outside; one with a line end in it would look like an entry of ours.

use std::io::{self, Write};

/// What the log is coloured with on a terminal. Nothing else that begins like it passes, from wherever it comes.
const COLOURS: [&str; 10] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[35m",
    "\x1b[36m",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    Plain,
    Coloured,
}

impl Write for Lines {
    /// It is called once for an entry, with the line end behind it.
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(one_line(entry, *self).as_bytes())?;
        Ok(entry.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// What a reader of lines or a terminal would act on is written out.
fn one_line(entry: &[u8], lines: Lines) -> String {
    let text = String::from_utf8_lossy(entry);
    let mut rest = text.strip_suffix('\n').unwrap_or(&text);
    let mut line = String::with_capacity(entry.len());
    while let Some(sign) = rest.chars().next() {
        let colour = COLOURS.iter().find(|colour| lines == Lines::Coloured && rest.starts_with(**colour));
        match colour {
            Some(colour) => line.push_str(colour),
            None if sign.is_control() && sign != '\t' => line.extend(sign.escape_default()),
            None => line.push(sign),
        }
        rest = &rest[colour.map_or(sign.len_utf8(), |colour| colour.len())..];
    }
    if text.ends_with('\n') {
        line.push('\n');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{Lines, one_line};
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::fmt::MakeWriter;

    #[test]
    fn an_entry_cannot_look_like_two() {
        let plain = |entry: &[u8]| one_line(entry, Lines::Plain);
        assert_eq!(plain(b"WARN x\n2026 ERROR forged\r\n"), "WARN x\\n2026 ERROR forged\\r\n");
        assert_eq!(plain(b"no end"), "no end");
        assert_eq!(plain(b"a\0b\x0bc\x7f\td\xff\n"), "a\\u{0}b\\u{b}c\\u{7f}\td\u{fffd}\n");
        let coloured = one_line(b"\x1b[31mERROR\x1b[0m \x1b[8mhidden \x1b[2J\x1b[31\n", Lines::Coloured);
        assert_eq!(coloured, "\x1b[31mERROR\x1b[0m \\u{1b}[8mhidden \\u{1b}[2J\\u{1b}[31\n");
    }

    /// What would stand on standard error.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody fell over").extend(one_line(entry, Lines::Plain).bytes());
            Ok(entry.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Kept {
        type Writer = Kept;
        fn make_writer(&'a self) -> Kept {
            self.clone()
        }
    }

    /// In a message, in a value that is shown, in one that is described, in an error, and in a span.
    #[test]
    fn s36_nothing_from_outside_writes_a_line_or_moves_a_cursor() {
        let forged = "x\r\n2026-01-01T00:00:00Z ERROR forged\u{1b}[2J\u{1b}]0;title\u{7}\u{8}\u{c}\0\u{9b}31m\u{85}\u{7f}";
        let kept = Kept::default();
        let subscriber = tracing_subscriber::fmt().with_writer(kept.clone()).with_ansi(false).finish();
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("span", shown = %forged, described = ?forged);
            let _inside = span.enter();
            let error = io::Error::other(forged);
            let error: &dyn std::error::Error = &error;
            tracing::info!(shown = %forged, described = ?forged, text = forged, error, "it says {forged}");
        });
        let line = String::from_utf8(kept.0.lock().expect("nobody fell over").clone()).expect("text");
        assert_eq!(line.matches("forged").count(), 7, "all of it is there: {line}");
        let acts = line.trim_end_matches('\n').chars().filter(|c| c.is_control()).collect::<Vec<_>>();
        assert_eq!((line.matches('\n').count(), acts), (1, vec![]), "{line:?}");
    }
}
