//! Whether a JSON text can be read as a value by everybody who is shown it.
//!
//! Why    a text is stored as it was written and read later, by rules that have nobody to tell what is wrong with it. A text may be JSON
//!        by its grammar and still be no value: nested too deep, with a number that is too large, or with half of a character.

use crate::limits;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// What is wrong with a text as JSON, if anything is.
pub fn unreadable(text: &str) -> Option<String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let looked = Look(limits::JSON_LEVELS_MAX).deserialize(&mut reader).and_then(|()| reader.end());
    looked.err().map(|problem| problem.to_string())
}

/// The same of a text that is JSON by its grammar; any other text is no value, and is not meant to be one.
pub fn unreadable_json(text: &str) -> Option<String> {
    unreadable(text).filter(|_| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// Reads every part of a value, down to so many levels, and keeps nothing.
struct Look(usize);

impl Look {
    fn below<E: Error>(self) -> Result<Look, E> {
        let deep = || E::custom(format_args!("nested deeper than {} levels", limits::JSON_LEVELS_MAX));
        self.0.checked_sub(1).map(Look).ok_or_else(deep)
    }
    fn again(&self) -> Look {
        Look(self.0)
    }
}

impl<'de> DeserializeSeed<'de> for Look {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let below = self.below()?;
        while list.next_element_seed(below.again())?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let below = self.below()?;
        while entries.next_entry_seed(below.again(), below.again())?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn what_no_reader_could_make_a_value_of_is_told() {
        for (text, part) in [
            (nested(limits::JSON_LEVELS_MAX + 1).as_str(), "nested deeper than 100 levels"),
            ("{\"a\": [1e400]}", "number out of range"),
            ("{\"\\ud800\": 1}", "hex escape"),
            ("[\"\\ud800\"]", "hex escape"),
        ] {
            let told = unreadable(text).unwrap_or_default();
            assert!(told.contains(part), "{text}: {told}");
            assert_eq!(unreadable_json(text), Some(told));
        }
        assert!(unreadable("[1,").is_some() && unreadable("").is_some());
        assert_eq!(unreadable_json("paid"), None, "a text that is no JSON is a text");
    }

    #[test]
    fn it_says_yes_to_whatever_is_read() {
        for text in [
            nested(limits::JSON_LEVELS_MAX).as_str(),
            "null",
            " true ",
            "-1",
            "18446744073709551616",
            "1e308",
            "{\"a\": {\"b\": [1.5, \"\\u0000\\ud83d\\ude00\", null, {}]}, \"a\": []}",
        ] {
            assert_eq!(unreadable(text), None, "{text}");
            assert!(serde_json::from_str::<Value>(text).is_ok());
        }
    }
}
