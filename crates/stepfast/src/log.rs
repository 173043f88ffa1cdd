//! Standard error for the log: an entry is one line, whatever stands in it.
//!
//! Why    names and messages come from outside; one with a line end in it would look like an entry of ours.

use std::io::{self, Write};

pub struct Lines;

impl Write for Lines {
    /// It is called once for an entry, with the line end behind it.
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(&one_line(entry))?;
        Ok(entry.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn one_line(entry: &[u8]) -> Vec<u8> {
    let (text, end) = entry.strip_suffix(b"\n").map_or((entry, &b""[..]), |text| (text, b"\n"));
    let mut line = Vec::with_capacity(entry.len());
    for byte in text {
        match byte {
            b'\n' => line.extend(b"\\n"),
            b'\r' => line.extend(b"\\r"),
            byte => line.push(*byte),
        }
    }
    line.extend(end);
    line
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn an_entry_cannot_look_like_two() {
        assert_eq!(one_line(b"WARN x\n2026 ERROR forged\r\n"), b"WARN x\\n2026 ERROR forged\\r\n");
        assert_eq!(one_line(b"no end"), b"no end");
    }
}
