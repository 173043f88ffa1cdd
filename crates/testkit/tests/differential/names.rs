//! Ids by the order in which they were first seen, so that two engines that make ids of their own can be compared.

use std::collections::HashMap;

const DASHES: [usize; 4] = [8, 13, 18, 23];
const DASHED: usize = 36;
const PLAIN: usize = 32;

#[derive(Default)]
pub struct Names {
    seen: HashMap<[u8; 16], usize>,
}

impl Names {
    /// `#7` for the seventh id that was seen.
    pub fn of(&mut self, id: [u8; 16]) -> String {
        let next = self.seen.len() + 1;
        format!("#{}", self.seen.entry(id).or_insert(next))
    }

    /// The same text with a name for every id in it.
    pub fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some((id, length)) = id_at(rest.as_bytes()) {
                out.push_str(&self.of(id));
                rest = &rest[length..];
            } else if first.is_ascii_alphanumeric() {
                // An id begins where a word begins.
                let word = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
                out.push_str(&rest[..word]);
                rest = &rest[word..];
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out
    }
}

/// The id a text begins with, with dashes or without, and its length.
fn id_at(text: &[u8]) -> Option<([u8; 16], usize)> {
    let dashed = text.len() >= DASHED && DASHES.iter().all(|i| text[*i] == b'-');
    let length = if dashed { DASHED } else { PLAIN };
    let digits: Vec<u8> = text
        .get(..length)?
        .iter()
        .enumerate()
        .filter(|(i, _)| !dashed || !DASHES.contains(i))
        .map(|(_, byte)| char::from(*byte).to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let mut id = [0; 16];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some((id, length))
}

#[test]
fn every_id_in_a_text_gets_its_number() {
    let mut names = Names::default();
    let (first, second) = ("0199c0de-0000-7000-8000-000000000009", "0199c0de-0000-7000-8000-00000000000a");
    let text = format!("step {second} retries StepId({first}), \u{e9}\"{}:2\"", second.replace('-', ""));
    assert_eq!(names.text(&text), "step #1 retries StepId(#2), \u{e9}\"#1:2\"");
}
