//! Frames out of a stream of bytes, however the stream is cut.
//!
//! Why    a body that is too long is passed over and not an error: anybody may put one into the queue, and if it broke the
//!        connection it would come again with the next one, for ever. A frame with too long headers, or none that can be
//!        read, does end the connection.

use super::frame::{Frame, is_escaped};
use bytes::{Buf, BytesMut};

/// Anybody may put properties on a message, and one that cannot be read comes again with the next connection.
pub const HEAD_BYTES_MAX: usize = 1 << 20;
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    #[error("the headers of a frame are longer than {HEAD_BYTES_MAX} bytes")]
    HeadTooLong,
    #[error("the headers of a frame are not text")]
    NotText,
    #[error("a frame has no command")]
    NoCommand,
    #[error("a header of a frame cannot be read")]
    Header,
    #[error("the length of a frame is no number")]
    Length,
    #[error("a frame is longer than it says")]
    NoEnd,
}

#[derive(Default)]
pub struct Decoder {
    buffer: BytesMut,
    /// A frame whose headers are there, and the bytes its body still lacks; none when it ends at a zero.
    begun: Option<(Frame, Option<usize>)>,
}

impl Decoder {
    /// Where what was read is put.
    pub fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.reserve(READ_BYTES);
        &mut self.buffer
    }

    /// The next whole frame; none when more has to be read. After a fault nothing can be read any more.
    pub fn next(&mut self) -> Result<Option<Frame>, FrameFault> {
        if self.begun.is_none() {
            self.begun = self.begin()?;
        }
        let Some((frame, missing)) = &mut self.begun else { return Ok(None) };
        if !take_body(&mut self.buffer, frame, missing)? {
            return Ok(None);
        }
        Ok(self.begun.take().map(|(frame, _)| frame))
    }

    fn begin(&mut self) -> Result<Option<(Frame, Option<usize>)>, FrameFault> {
        skip_heart_beats(&mut self.buffer);
        let Some(head) = head_length(&self.buffer)? else { return Ok(None) };
        let bytes = self.buffer.split_to(head);
        let frame = parse_head(std::str::from_utf8(&bytes).map_err(|_| FrameFault::NotText)?)?;
        let length = frame.header("content-length").map(|text| text.parse().map_err(|_| FrameFault::Length));
        let length = length.transpose()?;
        Ok(Some((frame, length)))
    }
}

/// Empty lines between frames say no more than that the other side lives.
fn skip_heart_beats(buffer: &mut BytesMut) {
    loop {
        match buffer[..] {
            [b'\n', ..] => buffer.advance(1),
            [b'\r', b'\n', ..] => buffer.advance(2),
            _ => return,
        }
    }
}

/// Up to and with the empty line.
fn head_length(buffer: &[u8]) -> Result<Option<usize>, FrameFault> {
    let seen = &buffer[..buffer.len().min(HEAD_BYTES_MAX)];
    for (at, byte) in seen.iter().enumerate() {
        match (byte, &buffer[at + 1..]) {
            (b'\n', [b'\n', ..]) => return Ok(Some(at + 2)),
            (b'\n', [b'\r', b'\n', ..]) => return Ok(Some(at + 3)),
            (0, _) => return Err(FrameFault::Header),
            _ => {}
        }
    }
    if buffer.len() > HEAD_BYTES_MAX { Err(FrameFault::HeadTooLong) } else { Ok(None) }
}

fn parse_head(head: &str) -> Result<Frame, FrameFault> {
    let mut lines = head.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let command = lines.next().filter(|command| !command.is_empty()).ok_or(FrameFault::NoCommand)?;
    let mut frame = Frame::new(command);
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or(FrameFault::Header)?;
        let header = if is_escaped(command) {
            (unescape(name)?, unescape(value)?)
        } else {
            (name.into(), value.into())
        };
        frame.headers.push(header);
    }
    Ok(frame)
}

fn unescape(text: &str) -> Result<String, FrameFault> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        out.push(match letter {
            '\\' => match letters.next() {
                Some('\\') => '\\',
                Some('r') => '\r',
                Some('n') => '\n',
                Some('c') => ':',
                _ => return Err(FrameFault::Header),
            },
            letter => letter,
        });
    }
    Ok(out)
}

/// Whether the body, and the zero behind it, are there.
fn take_body(
    buffer: &mut BytesMut,
    frame: &mut Frame,
    missing: &mut Option<usize>,
) -> Result<bool, FrameFault> {
    let Some(missing) = missing else {
        let end = buffer.iter().position(|byte| *byte == 0);
        keep(frame, buffer.split_to(end.unwrap_or(buffer.len())));
        buffer.advance(usize::from(end.is_some()));
        return Ok(end.is_some());
    };
    let part = buffer.split_to(buffer.len().min(*missing));
    *missing -= part.len();
    keep(frame, part);
    match buffer.first() {
        None => Ok(false),
        Some(0) => {
            buffer.advance(1);
            Ok(true)
        }
        Some(_) => Err(FrameFault::NoEnd),
    }
}

fn keep(frame: &mut Frame, part: BytesMut) {
    let room = BODY_BYTES_MAX - frame.body.len();
    let kept = part.len().min(room);
    frame.body.extend_from_slice(&part[..kept]);
    frame.dropped += part.len() - kept;
}

#[cfg(test)]
mod tests {
    use super::{BODY_BYTES_MAX, Decoder, Frame, FrameFault, HEAD_BYTES_MAX};
    use proptest::prelude::*;

    /// What is read, and the fault that ended it, in chunks of this size.
    fn read(bytes: &[u8], chunk: usize) -> (Vec<Frame>, Option<FrameFault>) {
        let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
        for part in bytes.chunks(chunk) {
            decoder.buffer().extend_from_slice(part);
            loop {
                match decoder.next() {
                    Ok(Some(frame)) => frames.push(frame),
                    Ok(None) => break,
                    Err(fault) => return (frames, Some(fault)),
                }
            }
        }
        (frames, None)
    }

    fn told(frame: &Frame) -> String {
        let headers: Vec<String> = frame.headers.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let body = String::from_utf8_lossy(&frame.body);
        format!("{} [{}] {body:?}", frame.command, headers.join(", "))
    }

    fn check(text: &str, expected: &[&str]) {
        for chunk in [1, 2, 3, 7, text.len().max(1)] {
            let (frames, fault) = read(text.as_bytes(), chunk);
            let mut all: Vec<String> = frames.iter().map(told).collect();
            all.extend(fault.map(|fault| fault.to_string()));
            assert_eq!(all, expected, "in chunks of {chunk}: {text:?}");
        }
    }

    #[test]
    fn frames_are_read_however_the_stream_is_cut() {
        check("", &[]);
        check("\n\r\n\n", &[]);
        check("RECEIPT\nreceipt-id:7\n\n\0", &["RECEIPT [receipt-id=7] \"\""]);
        check("\nRECEIPT\r\nreceipt-id:7\r\n\r\n\0\n\n", &["RECEIPT [receipt-id=7] \"\""]);
        check(
            "MESSAGE\ncontent-length:3\n\na\0b\0\nMESSAGE\n\nxyz\0",
            &["MESSAGE [content-length=3] \"a\\0b\"", "MESSAGE [] \"xyz\""],
        );
        check("MESSAGE\n\nhalf", &[]);
    }

    #[test]
    fn headers_are_unescaped_but_in_the_first_frame() {
        check("MESSAGE\na\\cb:c\\nd\\\\\\r:e\n\n\0", &["MESSAGE [a:b=c\nd\\\r:e] \"\""]);
        check("CONNECTED\nsession:ID:a\\n\n\n\0", &["CONNECTED [session=ID:a\\n] \"\""]);
        check("MESSAGE\na:\\t\n\n\0", &["a header of a frame cannot be read"]);
        check("MESSAGE\na:b\\\n\n\0", &["a header of a frame cannot be read"]);
    }

    #[test]
    fn of_repeated_headers_the_first_counts() {
        let (frames, _) = read(b"MESSAGE\na:1\na:2\n\n\0", 99);
        assert_eq!(frames[0].header("a"), Some("1"));
    }

    #[test]
    fn what_is_no_frame_is_told() {
        check("MESSAGE\nno colon\n\n\0", &["a header of a frame cannot be read"]);
        check("MESSAGE\0", &["a header of a frame cannot be read"]);
        check("MESSAGE\ncontent-length:-1\n\n\0", &["the length of a frame is no number"]);
        check("MESSAGE\ncontent-length:1\n\nab\0", &["a frame is longer than it says"]);
        check("\r\rA\n\n\0", &["\r\rA [] \"\""]);
        assert_eq!(read(b"\xff\n\n\0", 9).1, Some(FrameFault::NotText));
        assert_eq!(read(&vec![b'a'; HEAD_BYTES_MAX + 1], 100_000).1, Some(FrameFault::HeadTooLong));
    }

    #[test]
    fn a_body_that_is_too_long_is_passed_over() {
        let long = "x".repeat(BODY_BYTES_MAX + 10);
        for head in [String::new(), format!("content-length:{}\n", long.len())] {
            let text = format!("MESSAGE\n{head}\n{long}\0RECEIPT\n\n\0");
            let (frames, fault) = read(text.as_bytes(), 4096);
            assert_eq!((frames.len(), fault), (2, None));
            assert_eq!((frames[0].body.len(), frames[0].dropped), (BODY_BYTES_MAX, 10));
            assert_eq!((frames[1].command.as_str(), frames[1].dropped), ("RECEIPT", 0));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            headers in proptest::collection::vec(("[^\0]{1,9}", "[^\0]{0,9}"), 0..5),
            body in proptest::collection::vec(any::<u8>(), 0..99),
            chunk in 1usize..50,
        ) {
            let mut frame = Frame { headers, body, ..Frame::new("SEND") };
            let bytes = [frame.encode(), b"\n".to_vec(), frame.encode()].concat();
            if !frame.body.is_empty() {
                frame.headers.push(("content-length".into(), frame.body.len().to_string()));
            }
            let (frames, fault) = read(&bytes, chunk);
            prop_assert_eq!(fault, None);
            prop_assert!(frames == [frame.clone(), frame], "{:?}", frames);
        }

        #[test]
        fn no_bytes_make_it_panic_and_no_cut_changes_what_is_read(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(0), Just(b':'), Just(b'A')], 0..300),
            chunk in 1usize..20,
        ) {
            prop_assert!(read(&bytes, chunk) == read(&bytes, bytes.len().max(1)));
        }
    }
}
