//! A way from a variable into its value, as far as the text of an expression fixes it.

use crate::names::is_plain;
use crate::scope::Scope;
use serde_json::Value;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    pub variable: String,
    pub keys: Vec<PathKey>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKey {
    Name(String),
    Index(i64),
}

impl Path {
    /// What it leads to, if it is there and can be shown as one value.
    pub(crate) fn find<'a>(&self, scope: &Scope<'a>) -> Option<&'a Value> {
        let (mut value, keys) = match (scope.variable(&self.variable), self.keys.as_slice()) {
            (Some(value), keys) => (value, keys),
            (None, [PathKey::Name(key), keys @ ..]) if self.variable == "outputs" => {
                (scope.output(key)?, keys)
            }
            (None, _) => return None,
        };
        for key in keys {
            value = match key {
                PathKey::Name(name) => value.get(name.as_str())?,
                PathKey::Index(index) => value.get(usize::try_from(*index).ok()?)?,
            };
        }
        Some(value)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variable)?;
        self.keys.iter().try_for_each(|key| write!(f, "{key}"))
    }
}

impl fmt::Display for PathKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathKey::Name(name) if is_plain(name) => write!(f, ".{name}"),
            PathKey::Name(name) => write!(f, "[{}]", quoted(name)),
            PathKey::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A text as an expression writes it.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(variable: &str, keys: &[&str]) -> Path {
        let keys = keys.iter().map(|key| match key.parse() {
            Ok(index) => PathKey::Index(index),
            Err(_) => PathKey::Name(key.to_string()),
        });
        Path { variable: variable.into(), keys: keys.collect() }
    }

    #[test]
    fn a_path_reads_as_it_is_written() {
        assert_eq!(path("input", &["lines", "0", "sku"]).to_string(), "input.lines[0].sku");
        assert_eq!(path("outputs", &["it's-it", "x"]).to_string(), r"outputs['it\'s-it'].x");
    }

    #[test]
    fn a_path_is_followed_in_place() {
        let (input, output) = (json!({"lines": [{"sku": "a"}]}), json!({"x": 1}));
        let mut scope = Scope::new();
        scope.bind("input", &input).bind_output("check-it", &output);
        assert_eq!(path("input", &["lines", "0", "sku"]).find(&scope), Some(&json!("a")));
        assert_eq!(path("outputs", &["check-it", "x"]).find(&scope), Some(&json!(1)));
        assert_eq!(path("input", &["lines", "-1"]).find(&scope), None);
        assert_eq!(path("outputs", &["other"]).find(&scope), None);
        assert_eq!(path("outputs", &[]).find(&scope), None);
    }
}
