//! Makes JSON of a value, counting as it goes.
//!
//! Why    a value may share its parts a thousandfold, and is only as large as its parts until it is written out. What is counted
//!        is never less than what JSON takes.

use crate::limits::{ANSWER_BYTES_MAX, ANSWER_DEPTH_MAX};
use crate::meter::{Stop, problem};
use crate::value::Val;
use serde_json::{Map, Number, Value};

/// The longest double, with what separates it from the next.
const DOUBLE_BYTES: usize = 25;

/// What may still be written.
pub(crate) struct Answer {
    bytes: usize,
    depth: usize,
}

impl Answer {
    pub fn new() -> Answer {
        Answer { bytes: ANSWER_BYTES_MAX, depth: 0 }
    }

    pub fn write(&mut self, value: &Val) -> Result<Value, Stop> {
        match value {
            Val::Json(json) => self.copy(json),
            Val::Null => self.scalar(Value::Null),
            Val::Bool(value) => self.scalar(Value::Bool(*value)),
            Val::Int(value) => self.scalar(Value::from(*value)),
            Val::UInt(value) => self.scalar(Value::from(*value)),
            Val::Double(value) => match Number::from_f64(*value) {
                Some(number) => self.scalar(Value::Number(number)),
                None => problem(format!("the answer is {value}, which JSON does not have")),
            },
            Val::Text(text) => {
                self.text(text)?;
                Ok(Value::String(text.to_string()))
            }
            Val::List(items) => self.nested(|this| {
                items.iter().map(|item| this.write(item)).collect::<Result<_, _>>().map(Value::Array)
            }),
            Val::Map(_) | Val::Outputs(_) => self.nested(|this| this.object(value)),
            Val::Optional(_) => problem("the answer may be absent; write .orValue(…) behind it"),
            Val::Type(name) => problem(format!("the answer is the type {name}, which JSON does not have")),
        }
    }

    /// Of JSON as it is.
    pub fn copy(&mut self, json: &Value) -> Result<Value, Stop> {
        match json {
            Value::Array(items) => self.nested(|this| {
                items.iter().map(|item| this.copy(item)).collect::<Result<_, _>>().map(Value::Array)
            }),
            Value::Object(entries) => self.nested(|this| {
                let mut object = Map::new();
                for (key, value) in entries {
                    this.key(key)?;
                    object.insert(key.clone(), this.copy(value)?);
                }
                Ok(Value::Object(object))
            }),
            Value::String(text) => {
                self.text(text)?;
                Ok(json.clone())
            }
            scalar => self.scalar(scalar.clone()),
        }
    }

    fn object(&mut self, map: &Val) -> Result<Value, Stop> {
        let mut object = Map::new();
        for key in map.keys() {
            let name = key.text().into_owned();
            self.key(&name)?;
            let Some(value) = map.entry(&key) else { continue };
            if object.insert(name, self.write(&value)?).is_some() {
                return problem(format!("the answer has the key `{}` as a text and as a number", key.text()));
            }
        }
        Ok(Value::Object(object))
    }

    fn scalar(&mut self, value: Value) -> Result<Value, Stop> {
        let digits = |number: u64| number.checked_ilog10().unwrap_or(0) as usize + 3;
        self.take(match &value {
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => digits(number),
                (None, Some(number)) => digits(number.unsigned_abs()),
                (None, None) => DOUBLE_BYTES,
            },
            _ => "false,".len(),
        })?;
        Ok(value)
    }

    pub fn text(&mut self, text: &str) -> Result<(), Stop> {
        self.take(written(text) + 3)
    }

    pub fn key(&mut self, key: &str) -> Result<(), Stop> {
        self.take(written(key) + 3)
    }

    /// Takes nothing.
    pub fn has_room_for(&self, text: &str) -> Result<(), Stop> {
        if text.len() <= self.bytes { Ok(()) } else { Err(too_large()) }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(too_large)?;
        Ok(())
    }

    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<Value, Stop>) -> Result<Value, Stop> {
        self.enter()?;
        let result = write(self);
        self.leave();
        result
    }

    /// Into a list or an object.
    pub fn enter(&mut self) -> Result<(), Stop> {
        self.take("[],".len())?;
        if self.depth == ANSWER_DEPTH_MAX {
            return Err(Stop::Limit(format!(
                "the answer is nested more than {ANSWER_DEPTH_MAX} deep; nest less"
            )));
        }
        self.depth += 1;
        Ok(())
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }
}

fn too_large() -> Stop {
    Stop::Limit(format!(
        "the answer has more than {ANSWER_BYTES_MAX} bytes; keep large things elsewhere and pass where they are"
    ))
}

/// What a text takes within its quotes.
fn written(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..=31 => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn taken(json: &Value) -> usize {
        let mut answer = Answer::new();
        answer.copy(json).unwrap();
        ANSWER_BYTES_MAX - answer.bytes
    }

    #[test]
    fn no_value_takes_more_than_is_counted() {
        let doubles = json!([-f64::MIN_POSITIVE / 3.0, f64::MIN, -1.2345678901234567e-300]);
        let numbers = json!([0, 9, 10, -10, i64::MIN, u64::MAX, true, false, null, {"a": {}, "b": []}]);
        for value in [doubles, numbers, json!("\u{0}\u{8}\u{c}\u{1f}\u{7f}\"\\/ä\u{2028}"), json!("")] {
            let (text, taken) = (value.to_string(), taken(&value));
            assert!(text.len() <= taken && taken <= text.len() * 2 + 8, "{text}: {} {taken}", text.len());
        }
    }

    proptest! {
        #[test]
        fn texts_and_doubles_are_counted(texts in prop::collection::vec(any::<String>(), 3), double: f64) {
            let value = json!([texts, double]);
            prop_assert!(value.to_string().len() <= taken(&value));
        }
    }
}
