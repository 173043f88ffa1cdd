//! What an expression computes with: CEL's values, which borrow JSON and share what they build.
//!
//! Why    a copy of a list is a count of one more owner, so `[x, x]` costs two places however large `x` is.

use crate::meter::VALUE_BYTES;
use crate::scope::Scope;
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Text<'a>),
    /// An array or an object.
    Json(&'a Value),
    /// The variable `outputs`, a map that is never put together.
    Outputs(&'a Scope<'a>),
    List(Rc<Vec<Val<'a>>>),
    Map(Rc<BTreeMap<Key<'a>, Val<'a>>>),
    Optional(Option<Rc<Val<'a>>>),
    Type(&'static str),
}

const _: () = assert!(size_of::<Val>() <= VALUE_BYTES);

#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

/// A key of a map. Numbers are one key if they are one number, as `1` and `1u` are.
#[derive(Clone, Debug)]
pub(crate) enum Key<'a> {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Text(Text<'a>),
}

impl<'a> Key<'a> {
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Key::Bool(key) => Cow::Owned(key.to_string()),
            Key::Int(key) => Cow::Owned(key.to_string()),
            Key::UInt(key) => Cow::Owned(key.to_string()),
            Key::Text(key) => Cow::Borrowed(key),
        }
    }
    pub fn value(self) -> Val<'a> {
        match self {
            Key::Bool(key) => Val::Bool(key),
            Key::Int(key) => Val::Int(key),
            Key::UInt(key) => Val::UInt(key),
            Key::Text(key) => Val::Text(key),
        }
    }
    fn rank(&self) -> (u8, i128, &str) {
        match self {
            Key::Bool(key) => (0, i128::from(*key), ""),
            Key::Int(key) => (1, i128::from(*key), ""),
            Key::UInt(key) => (1, i128::from(*key), ""),
            Key::Text(key) => (2, 0, key),
        }
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}
impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Key<'_> {}

impl<'a> Val<'a> {
    /// An integer that fits is an int, every other number a double.
    pub fn of(json: &'a Value) -> Val<'a> {
        match json {
            Value::Null => Val::Null,
            Value::Bool(value) => Val::Bool(*value),
            Value::Number(number) => match number.as_i64() {
                Some(int) => Val::Int(int),
                None => Val::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Val::Text(Text::Borrowed(text)),
            Value::Array(_) | Value::Object(_) => Val::Json(json),
        }
    }
    pub fn shared(text: impl Into<Rc<str>>) -> Val<'a> {
        Val::Text(Text::Shared(text.into()))
    }
    pub fn list(items: Vec<Val<'a>>) -> Val<'a> {
        Val::List(Rc::new(items))
    }

    /// As `type(x)` names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::UInt(_) => "uint",
            Val::Double(_) => "double",
            Val::Text(_) => "string",
            Val::Json(Value::Array(_)) | Val::List(_) => "list",
            Val::Json(_) | Val::Outputs(_) | Val::Map(_) => "map",
            Val::Optional(_) => "optional_type",
            Val::Type(_) => "type",
        }
    }

    /// As a message names it.
    pub fn told(&self) -> &'static str {
        match self.kind() {
            "null_type" => "null",
            "bool" => "a bool",
            "int" => "an int",
            "uint" => "a uint",
            "double" => "a double",
            "string" => "a text",
            "list" => "a list",
            "map" => "a map",
            "optional_type" => "an optional",
            _ => "a type",
        }
    }

    pub fn is_list(&self) -> bool {
        self.kind() == "list"
    }
    pub fn is_map(&self) -> bool {
        self.kind() == "map"
    }

    /// Items of a list, or entries of a map.
    pub fn len(&self) -> usize {
        match self {
            Val::Json(Value::Array(items)) => items.len(),
            Val::Json(Value::Object(entries)) => entries.len(),
            Val::Outputs(scope) => scope.output_keys().len(),
            Val::List(items) => items.len(),
            Val::Map(entries) => entries.len(),
            _ => 0,
        }
    }

    /// Of a list.
    pub fn item(&self, index: usize) -> Option<Val<'a>> {
        match self {
            Val::Json(Value::Array(items)) => items.get(index).map(Val::of),
            Val::List(items) => items.get(index).cloned(),
            _ => None,
        }
    }
    pub fn items(&self) -> impl Iterator<Item = Val<'a>> + '_ {
        (0..self.len()).map_while(|index| self.item(index))
    }

    /// Of a map.
    pub fn entry(&self, key: &Key<'a>) -> Option<Val<'a>> {
        match (self, key) {
            (Val::Json(Value::Object(entries)), Key::Text(key)) => entries.get(&**key).map(Val::of),
            (Val::Outputs(scope), Key::Text(key)) => scope.output(key).map(Val::of),
            (Val::Map(entries), key) => entries.get(key).cloned(),
            _ => None,
        }
    }

    /// Of a map, in order: the order in which JSON was written must not decide anything.
    pub fn keys(&self) -> Vec<Key<'a>> {
        let text = |key: &'a str| Key::Text(Text::Borrowed(key));
        let mut keys: Vec<Key<'a>> = match self {
            Val::Json(Value::Object(entries)) => entries.keys().map(|key| text(key)).collect(),
            Val::Outputs(scope) => scope.output_keys().into_iter().map(text).collect(),
            Val::Map(entries) => entries.keys().cloned().collect(),
            _ => Vec::new(),
        };
        keys.sort();
        keys
    }

    /// What finds an entry of a map; a double does if it is a whole number.
    pub fn as_key(&self) -> Option<Key<'a>> {
        match self {
            Val::Bool(key) => Some(Key::Bool(*key)),
            Val::Int(key) => Some(Key::Int(*key)),
            Val::UInt(key) => Some(Key::UInt(*key)),
            Val::Text(key) => Some(Key::Text(key.clone())),
            Val::Double(key) => whole(*key).map(Key::Int),
            _ => None,
        }
    }
}

/// A double that is an int.
pub(crate) fn whole(double: f64) -> Option<i64> {
    let within = double > i64::MIN as f64 && double < i64::MAX as f64;
    (within && double.fract() == 0.0).then_some(double as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_numbers_are_ints_where_they_fit() {
        let kind = |json: Value| Val::of(&json).kind();
        assert_eq!((kind(json!(3)), kind(json!(-3)), kind(json!(3.0))), ("int", "int", "double"));
        assert_eq!((kind(json!(i64::MAX)), kind(json!(u64::MAX))), ("int", "double"));
    }

    #[test]
    fn keys_come_in_order_and_numbers_are_one_key() {
        let object = serde_json::from_str::<Value>(r#"{"b":1,"a":2,"B":3}"#).unwrap();
        let keys: Vec<String> = Val::of(&object).keys().iter().map(|key| key.text().into_owned()).collect();
        assert_eq!(keys, ["B", "a", "b"]);
        assert_eq!(Key::Int(1), Key::UInt(1));
        assert_ne!(Key::Int(1), Key::Text(Text::Borrowed("1")));
    }
}
