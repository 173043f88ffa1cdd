//! One frame of STOMP 1.2, and how it is written.

use std::fmt;

/// A command, headers, and a body.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Frame {
    pub command: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Bytes of a body that was too long to keep.
    pub dropped: usize,
}

impl Frame {
    pub fn new(command: &str) -> Frame {
        Frame { command: command.into(), ..Frame::default() }
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Frame {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn carrying(mut self, body: Vec<u8>) -> Frame {
        self.body = body;
        self
    }

    /// Of repeated headers the first one counts.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + self.body.len());
        out.extend_from_slice(self.command.as_bytes());
        out.push(b'\n');
        for (name, value) in &self.headers {
            self.write(name, &mut out);
            out.push(b':');
            self.write(value, &mut out);
            out.push(b'\n');
        }
        if !self.body.is_empty() {
            out.extend_from_slice(format!("content-length:{}\n", self.body.len()).as_bytes());
        }
        out.push(b'\n');
        out.extend_from_slice(&self.body);
        out.push(0);
        out
    }

    fn write(&self, text: &str, out: &mut Vec<u8>) {
        if !is_escaped(&self.command) {
            return out.extend_from_slice(text.as_bytes());
        }
        for byte in text.bytes() {
            match byte {
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b':' => out.extend_from_slice(b"\\c"),
                byte => out.push(byte),
            }
        }
    }
}

/// The first frame of either side is written as version 1.0 wrote it, which knew no escapes.
pub fn is_escaped(command: &str) -> bool {
    !matches!(command, "CONNECT" | "CONNECTED")
}

/// Without header values and body: there are passwords and tokens among them.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        write!(f, "{}({}; {} bytes)", self.command, names.join(", "), self.body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::Frame;

    #[test]
    fn headers_are_escaped_but_in_the_first_frame() {
        let text = |frame: Frame| String::from_utf8(frame.encode()).unwrap();
        let send = Frame::new("SEND").with("a:b", "c\nd\r\\e").carrying(b"x\0y".to_vec());
        assert_eq!(text(send), "SEND\na\\cb:c\\nd\\r\\\\e\ncontent-length:3\n\nx\0y\0");
        let connect = Frame::new("CONNECT").with("passcode", "a:b\\c");
        assert_eq!(text(connect), "CONNECT\npasscode:a:b\\c\n\n\0");
    }

    #[test]
    fn a_password_is_not_printed() {
        let connect = Frame::new("CONNECT").with("passcode", "secret");
        assert_eq!(format!("{connect:?}"), "CONNECT(passcode; 0 bytes)");
    }
}
