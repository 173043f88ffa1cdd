//! Values at the secret places of an input: sealed where they stand, and opened wherever they came to stand since.

use super::json::{self, Scalar};
use super::{Keyring, SealError};
use model::{Fault, Sealed, WorkflowId, limits, replace_sealed};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;
use uuid::Uuid;

/// What a sealed text stands for: a text, or any other value as JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    Text(String),
    Json(String),
}

/// What was opened, each with the text that stands for it.
pub type Values = Vec<(Opened, String)>;

impl Opened {
    /// Of a value as JSON.
    pub fn of(json: &str) -> Opened {
        serde_json::from_str(json).map_or_else(|_| Opened::Json(json.into()), Opened::Text)
    }
    fn bytes(&self) -> Vec<u8> {
        match self {
            Opened::Text(text) => [b"t", text.as_bytes()].concat(),
            Opened::Json(json) => [b"j", json.as_bytes()].concat(),
        }
    }
    fn read(bytes: Vec<u8>) -> Option<Opened> {
        let text = String::from_utf8(bytes).ok()?;
        match text.split_at_checked(1)? {
            ("t", text) => Some(Opened::Text(text.into())),
            ("j", json) => Some(Opened::Json(json.into())),
            _ => None,
        }
    }
    /// Inside another text.
    pub fn text(&self) -> &str {
        let (Opened::Text(text) | Opened::Json(text)) = self;
        text
    }
    fn json(&self) -> String {
        match self {
            Opened::Text(text) => Value::from(text.as_str()).to_string(),
            Opened::Json(json) => json.clone(),
        }
    }
}

impl Keyring {
    pub(crate) fn seal_value(&self, owner: Uuid, value: &Opened) -> Result<String, SealError> {
        self.seal(owner, &value.bytes())
    }
    pub(crate) fn open_value(&self, sealed: &Sealed) -> Result<Opened, SealError> {
        Opened::read(self.open(sealed)?).ok_or_else(|| SealError::WrongKey(sealed.key.into()))
    }
}

/// Names on the way into the input, the shortest ways first: what is sealed as a whole holds nothing to seal.
fn ways(secrets: &[String]) -> Vec<Vec<&str>> {
    let mut ways: Vec<Vec<&str>> = secrets.iter().map(|path| path.split('.').skip(1).collect()).collect();
    ways.sort_by_key(Vec::len);
    ways
}

/// The input with what stands at its secret places sealed for its workflow.
pub(crate) fn sealed_at(
    input: &str,
    secrets: &[String],
    keys: &Keyring,
    owner: WorkflowId,
) -> Result<Result<String, Fault>, SealError> {
    let mut made: Box<RawValue> = match RawValue::from_string(input.into()) {
        Ok(raw) => raw,
        Err(problem) => return Ok(Err(unreadable(&problem))),
    };
    let mut left = limits::SECRET_VALUES_MAX;
    for way in ways(secrets) {
        let mut seal = |raw: &RawValue| {
            let value = Opened::of(raw.get());
            // What was handed down stays what it is.
            if Sealed::read(value.text()).is_some_and(|sealed| sealed.owner != owner.0) {
                return Ok(None);
            }
            left = left.checked_sub(leaves(&value)).ok_or(Stopped::TooMany)?;
            let text = keys.seal_value(owner.0, &value).map_err(Stopped::Seal)?;
            Ok(Some(to_raw_value(&text).map_err(|problem| Stopped::Json(unreadable(&problem)))?))
        };
        match at(&made, &way, &mut seal) {
            Ok(Some(changed)) => made = changed,
            Ok(None) => {}
            Err(Stopped::Seal(problem)) => return Err(problem),
            Err(Stopped::Json(fault)) => return Ok(Err(fault)),
            Err(Stopped::TooMany) => return Ok(Err(too_many())),
        }
    }
    Ok(Ok(made.get().into()))
}

enum Stopped {
    Seal(SealError),
    Json(Fault),
    TooMany,
}

fn unreadable(problem: &serde_json::Error) -> Fault {
    Fault { field: "input".into(), problem: format!("is not JSON: {problem}"), fix: "send JSON".into() }
}

fn too_many() -> Fault {
    let most = limits::SECRET_VALUES_MAX;
    Fault {
        field: "input".into(),
        problem: format!("has more than {most} secret values"),
        fix: "keep them elsewhere, and send where they are".into(),
    }
}

/// The values that may be found again: texts and numbers.
fn leaves(value: &Opened) -> usize {
    match value {
        Opened::Text(_) => 1,
        Opened::Json(json) => {
            let mut n = 0;
            json::replace(json, |_| {
                n += 1;
                None
            });
            n.max(1)
        }
    }
}

type Change<'c> = dyn FnMut(&RawValue) -> Result<Option<Box<RawValue>>, Stopped> + 'c;

/// A value with what stands at a place in it changed; of a list on the way, in all of its values. None if nothing is there.
fn at(raw: &RawValue, way: &[&str], change: &mut Change) -> Result<Option<Box<RawValue>>, Stopped> {
    let written = |problem| Stopped::Json(unreadable(&problem));
    if raw.get().starts_with('[') && !way.is_empty() {
        let mut list: Vec<Box<RawValue>> = serde_json::from_str(raw.get()).map_err(written)?;
        let mut any = false;
        for value in &mut list {
            if let Some(changed) = at(value, way, change)? {
                (*value, any) = (changed, true);
            }
        }
        return any.then(|| to_raw_value(&list).map_err(written)).transpose();
    }
    let [name, rest @ ..] = way else { return change(raw) };
    if !raw.get().starts_with('{') {
        return Ok(None);
    }
    let mut entries: BTreeMap<String, Box<RawValue>> = serde_json::from_str(raw.get()).map_err(written)?;
    let Some(value) = entries.get_mut(*name) else { return Ok(None) };
    let Some(changed) = at(value, rest, change)? else { return Ok(None) };
    *value = changed;
    to_raw_value(&entries).map(Some).map_err(written)
}

/// What stands in clear at the secret places of an input.
pub(crate) fn values_at(input: &str, secrets: &[String]) -> Vec<Opened> {
    let mut found = Vec::new();
    let Ok(raw) = RawValue::from_string(input.into()) else { return found };
    for way in ways(secrets) {
        let mut look = |value: &RawValue| {
            found.push(Opened::of(value.get()));
            Ok(None)
        };
        // Nothing is changed, so nothing can be refused but what is no JSON, and that is told elsewhere.
        let _ = at(&raw, &way, &mut look);
    }
    found.truncate(limits::SECRET_VALUES_MAX);
    found
}

/// JSON with the sealed values of these owners opened, and what they were. Those of others stay as they are.
pub(crate) fn opened(
    json: &str,
    owners: &[Uuid],
    keys: &Keyring,
) -> Result<Option<(String, Values)>, SealError> {
    if !Sealed::is_in(json) {
        return Ok(None);
    }
    let mut opening = Opening { owners, keys, values: Values::new(), problem: None, depth: 0 };
    let made = opening.json(json);
    match opening.problem {
        Some(problem) => Err(problem),
        None => Ok(made.map(|made| (made, opening.values))),
    }
}

struct Opening<'o> {
    owners: &'o [Uuid],
    keys: &'o Keyring,
    values: Values,
    problem: Option<SealError>,
    /// A workflow seals what it was handed down inside other values once more.
    depth: u32,
}

impl Opening<'_> {
    fn json(&mut self, json: &str) -> Option<String> {
        json::replace(json, |scalar| {
            let Scalar::Text(text) = scalar else { return None };
            match Sealed::read(text) {
                Some(sealed) => self.open(&sealed).map(|value| value.json()),
                None => self.text(text).map(|text| Value::from(text).to_string()),
            }
        })
    }

    fn text(&mut self, text: &str) -> Option<String> {
        replace_sealed(text, |sealed| self.open(&sealed).map(|value| value.text().into()))
    }

    fn open(&mut self, sealed: &Sealed) -> Option<Opened> {
        self.owners.iter().find(|owner| **owner == sealed.owner)?;
        let value = self.keys.open_value(sealed).map_err(|refused| self.problem = Some(refused)).ok()?;
        let value = match self.depth < limits::WORKFLOW_NESTING_MAX {
            true => self.within(value),
            false => value,
        };
        self.values.push((value.clone(), sealed.text.into()));
        Some(value)
    }

    fn within(&mut self, value: Opened) -> Opened {
        self.depth += 1;
        let value = match value {
            Opened::Text(text) => Opened::Text(self.text(&text).unwrap_or(text)),
            Opened::Json(json) => Opened::Json(self.json(&json).unwrap_or(json)),
        };
        self.depth -= 1;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::super::SealKey;
    use super::*;

    fn keys() -> Keyring {
        Keyring::of(vec![SealKey::new("k1", [1; 32])])
    }

    fn seal(input: &str, secrets: &[&str]) -> String {
        let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
        sealed_at(input, &secrets, &keys(), WorkflowId::of(7)).unwrap().unwrap()
    }

    fn open(json: &str, owner: u64) -> Option<String> {
        opened(json, &[WorkflowId::of(owner).0], &keys()).unwrap().map(|(made, _)| made)
    }

    #[test]
    fn what_is_at_a_secret_place_is_sealed_and_the_rest_stays_as_it_was() {
        let input = r#"{"card":{"number":"4111","code":123},"users":[{"pin":"a"},{"n":1.10}],"pin":7}"#;
        let sealed = seal(input, &["input.card", "input.card.number", "input.users.pin", "input.gone.far"]);
        assert!(
            !sealed.contains("4111") && sealed.contains("1.10") && sealed.contains("\"pin\":7"),
            "{sealed}"
        );
        assert_eq!(sealed.matches(model::SEALED).count(), 2);
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(&open(&sealed, 7).unwrap()), read(input));
        assert_eq!(open(&sealed, 8), None, "it opens for no other workflow");
    }

    #[test]
    fn a_sealed_value_opens_inside_other_texts_too() {
        let sealed = seal(r#"{"token":"a\"b","n":5}"#, &["input.token", "input.n"]);
        let read: BTreeMap<String, String> = serde_json::from_str(&sealed).unwrap();
        let arguments = serde_json::json!({"header": format!("Bearer {}-x{}", read["token"], read["n"])});
        assert_eq!(open(&arguments.to_string(), 7).as_deref(), Some(r#"{"header":"Bearer a\"b-x5"}"#));
    }

    #[test]
    fn what_was_handed_down_is_not_sealed_again() {
        let above = seal(r#"{"card":"4111"}"#, &["input.card"]);
        let below = sealed_at(&above, &["input.card".into()], &keys(), WorkflowId::of(8)).unwrap().unwrap();
        assert_eq!(below, above);
    }

    #[test]
    fn what_was_handed_down_inside_another_value_opens_with_it() {
        let above = seal(r#"{"token":"4111"}"#, &["input.token"]);
        let read: BTreeMap<String, String> = serde_json::from_str(&above).unwrap();
        let input = serde_json::json!({"header": format!("Bearer {}", read["token"])}).to_string();
        let below = sealed_at(&input, &["input.header".into()], &keys(), WorkflowId::of(8)).unwrap().unwrap();
        let (made, values) =
            opened(&below, &[WorkflowId::of(8).0, WorkflowId::of(7).0], &keys()).unwrap().unwrap();
        assert_eq!((made.as_str(), values.len()), (r#"{"header":"Bearer 4111"}"#, 2));
    }

    #[test]
    fn there_are_only_so_many_of_them() {
        let many: Vec<usize> = (0..=limits::SECRET_VALUES_MAX).collect();
        let input = serde_json::json!({"a": many}).to_string();
        let refused =
            sealed_at(&input, &["input.a".into()], &keys(), WorkflowId::of(7)).unwrap().unwrap_err();
        assert_eq!(refused.problem, "has more than 1000 secret values");
        assert_eq!(values_at(r#"{"a":[{"b":1},{"b":"x"}]}"#, &["input.a.b".into()]).len(), 2);
    }
}
