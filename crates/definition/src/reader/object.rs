//! Mappings with a fixed set of keys.

use super::{Reader, join, placeholder};
use crate::language::{Form, Key, Need, Object};
use crate::suggest::nearest;
use crate::tree::{Body, Entry, Node};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is written, by the key that is meant.
type Written<'n> = BTreeMap<&'static str, &'n Entry>;

impl Reader<'_> {
    pub fn object(
        &mut self,
        node: &Node,
        object: &'static Object,
        field: &str,
    ) -> Option<Map<String, Value>> {
        let Body::Map(entries) = &node.body else {
            self.unexpected(node, &Form::Object(object), field);
            return None;
        };
        let written = self.known(entries, object, field);
        let mut read = Map::new();
        for key in object.keys {
            let at = join(field, key.name);
            let value = match written.get(key.name) {
                Some(entry) => self.read(&entry.value, &key.form, &at),
                None => None,
            };
            if value.is_none() && key.need == Need::Required {
                if !written.contains_key(key.name) && !self.notes.is_wrong(&at) {
                    self.missing(node, object, key, &at);
                }
                read.insert(key.name.into(), placeholder(&key.form));
            }
            if let Some(value) = value {
                read.insert(key.name.into(), value);
            }
        }
        if self.one_of(node, object, &written, field) {
            self.beside(object, &written, field);
        }
        Some(read)
    }

    fn missing(&mut self, node: &Node, object: &Object, key: &Key, at: &str) {
        let message = format!("`{}` is missing in {}", key.name, object.what);
        self.note(node.spot, at, message, format!("write `{}: {}`", key.name, key.example));
    }

    /// Which of its keys are written; one that is not known is read as the one that is probably meant.
    fn known<'n>(&mut self, entries: &'n [Entry], object: &'static Object, field: &str) -> Written<'n> {
        let mut written: Written = BTreeMap::new();
        for entry in entries {
            if let Some(key) = object.key(&entry.key) {
                written.insert(key.name, entry);
            }
        }
        for entry in entries.iter().filter(|entry| object.key(&entry.key).is_none()) {
            if self.notes.is_full() {
                self.note(entry.spot, field, "", "");
                continue;
            }
            let message = format!("unknown key `{}` in {}", entry.key.escape_debug(), object.what);
            match meant(&entry.key, object, &written) {
                Some(name) => {
                    self.note(entry.spot, &join(field, name), message, format!("write `{name}`"));
                    written.insert(name, entry);
                }
                None if matches!(object.keys, [Key { form: Form::JsonSchema, .. }]) => {
                    let name = object.keys[0].name;
                    self.note(entry.spot, &join(field, name), message, format!("write it below `{name}`"));
                }
                None => {
                    let names: Vec<&str> =
                        object.names().filter(|name| !written.contains_key(name)).collect();
                    let fix = match names.as_slice() {
                        [] => "remove it".into(),
                        [name] => format!("remove it, or write `{name}`"),
                        names if names.len() > 10 => {
                            format!("remove it; the keys of {} are in docs/definitions.md", object.what)
                        }
                        names => format!("remove it, or write one of {}", names.join(", ")),
                    };
                    self.note(entry.spot, &join(field, &entry.key), message, fix);
                }
            }
        }
        written
    }

    /// Exactly one of some keys is there; otherwise nothing can be said about the others.
    fn one_of(&mut self, node: &Node, object: &Object, written: &Written, field: &str) -> bool {
        let there: Vec<&&str> = object.one_of.iter().filter(|name| written.contains_key(**name)).collect();
        match there.as_slice() {
            [] if object.one_of.is_empty() => true,
            [_] => true,
            [] => {
                let message = format!("{} does one thing, and this one does nothing", object.what);
                let fix = format!("write one of {}", object.one_of.join(", "));
                self.note(node.spot, &join(field, object.one_of[0]), message, fix);
                false
            }
            [first, others @ ..] => {
                for other in others {
                    let message = format!("`{first}` and `{other}` in one step");
                    let fix = "keep one of them, and give the other a step of its own";
                    self.note(written[**other].spot, &join(field, other), message, fix);
                }
                false
            }
        }
    }

    /// What means something only beside another key.
    fn beside(&mut self, object: &Object, written: &Written, field: &str) {
        for key in object.keys.iter().filter(|key| !key.beside.is_empty()) {
            let Some(entry) = written.get(key.name) else { continue };
            if !key.beside.iter().any(|other| written.contains_key(other)) {
                let names: Vec<String> = key.beside.iter().map(|name| format!("`{name}`")).collect();
                let message = format!("`{}` belongs to a step with {}", key.name, names.join(" or "));
                self.note(
                    entry.spot,
                    &join(field, key.name),
                    message,
                    "remove it, or write it where it belongs",
                );
            }
        }
    }
}

/// The key that was probably meant, among those that are not there.
fn meant(word: &str, object: &'static Object, written: &Written) -> Option<&'static str> {
    let free = || {
        object.keys.iter().filter(|key| !written.contains_key(key.name) && !is_excluded(key, object, written))
    };
    let lower = word.to_lowercase().replace(['-', ' '], "_");
    let known = free().find(|key| key.aka.contains(&lower.as_str())).map(|key| key.name);
    nearest(word, free().map(|key| key.name)).or(known)
}

/// A step that does something already is not meant to do another thing.
fn is_excluded(key: &Key, object: &Object, written: &Written) -> bool {
    object.one_of.contains(&key.name) && object.one_of.iter().any(|name| written.contains_key(name))
}
