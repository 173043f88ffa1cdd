//! The language of definitions as data: which keys there are, where they may stand, and what they take.
//!
//! Why    the reader, the schema for editors and the page for authors all follow this one table, so they cannot disagree.
//!        A new option is a field of the model and an entry in the table.

mod pause;
mod table;

pub(crate) use table::WORKFLOW;

use std::time::Duration;

/// A mapping with a fixed set of keys.
#[derive(Debug)]
pub(crate) struct Object {
    /// What it is called in a message: `a step`.
    pub what: &'static str,
    pub keys: &'static [Key],
    /// Exactly one of these must be there.
    pub one_of: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// Where in the model a key of a step belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    Step,
    Action,
    Each,
    Workflow,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub form: Form,
    /// What it does, for people.
    pub about: &'static str,
    /// What one may write.
    pub example: &'static str,
    pub need: Need,
    pub home: Home,
    /// It means something only if one of these stands beside it.
    pub beside: &'static [&'static str],
    /// What people write who have other languages in mind.
    pub aka: &'static [&'static str],
    /// What holds if it is not written.
    pub default: Option<&'static str>,
}

impl Key {
    pub const fn new(name: &'static str, form: Form, example: &'static str, about: &'static str) -> Key {
        let (need, home) = (Need::Optional, Home::Step);
        Key { name, form, about, example, need, home, beside: &[], aka: &[], default: None }
    }
    pub const fn required(mut self) -> Key {
        self.need = Need::Required;
        self
    }
    pub const fn aka(mut self, words: &'static [&'static str]) -> Key {
        self.aka = words;
        self
    }
    pub const fn default(mut self, word: &'static str) -> Key {
        self.default = Some(word);
        self
    }
    pub const fn beside(mut self, keys: &'static [&'static str]) -> Key {
        self.beside = keys;
        self
    }
    pub const fn of(mut self, home: Home) -> Key {
        self.home = home;
        self.beside = match home {
            Home::Step => &[],
            Home::Action => &["action"],
            Home::Each => &["each"],
            Home::Workflow => &["workflow"],
        };
        self
    }
}

/// What may stand behind a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    WorkflowKey,
    StepKey,
    BranchKey,
    Version,
    /// The name of something outside: an action, a queue, a pool, a label.
    Name,
    /// Text of at most so many bytes.
    Text(usize),
    Duration {
        min: Duration,
        max: Duration,
    },
    Whole {
        min: u32,
        max: u32,
    },
    /// A number of at least 1.
    Factor {
        max: u32,
    },
    Word(&'static [&'static str]),
    Expression,
    /// Any value; `${ … }` in its texts are expressions.
    Template,
    JsonSchema,
    /// A value of the input, such as `input.card.number`.
    InputPath,
    List {
        of: &'static Form,
        min: usize,
        max: usize,
    },
    Map {
        keys: &'static Form,
        of: &'static Form,
        min: usize,
        max: usize,
    },
    Object(&'static Object),
    /// A short form, or a mapping.
    Either(&'static Form, &'static Form),
}

impl Form {
    /// How a message calls it.
    pub fn expects(&self) -> String {
        match self {
            Form::WorkflowKey => "the key of a workflow".into(),
            Form::StepKey => "the key of a step".into(),
            Form::BranchKey => "the key of a branch".into(),
            Form::Version => "a version".into(),
            Form::Name => "a name".into(),
            Form::Text(_) => "text".into(),
            Form::Duration { .. } => "a duration".into(),
            Form::Whole { .. } => "a whole number".into(),
            Form::Factor { .. } => "a number".into(),
            Form::Word(words) => format!("one of {}", words.join(", ")),
            Form::Expression => "an expression".into(),
            Form::Template => "a value".into(),
            Form::JsonSchema => "a JSON Schema".into(),
            Form::InputPath => "a value of the input".into(),
            Form::List { .. } => "a list".into(),
            Form::Map { .. } => "a mapping".into(),
            Form::Object(object) => object.what.into(),
            Form::Either(short, long) => format!("{} or {}", short.expects(), long.expects()),
        }
    }

    /// It is written as text.
    pub fn is_text(&self) -> bool {
        use Form::*;
        matches!(
            self,
            WorkflowKey
                | StepKey
                | BranchKey
                | Version
                | Name
                | Text(_)
                | Duration { .. }
                | Word(_)
                | Expression
                | InputPath
        )
    }
}

impl Object {
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn walk(object: &'static Object, seen: &mut Vec<&'static Object>) {
        fn inside(form: &'static Form, seen: &mut Vec<&'static Object>) {
            match form {
                Form::Object(object) => walk(object, seen),
                Form::List { of, .. } | Form::Map { of, .. } => inside(of, seen),
                Form::Either(short, long) => {
                    inside(short, seen);
                    inside(long, seen);
                }
                _ => {}
            }
        }
        seen.push(object);
        object.keys.iter().for_each(|key| inside(&key.form, seen));
    }

    #[test]
    fn every_key_is_there_once_and_explained() {
        let mut seen = Vec::new();
        walk(&WORKFLOW, &mut seen);
        for object in seen {
            let names: BTreeSet<&str> = object.names().collect();
            assert_eq!(names.len(), object.keys.len(), "{} has a key twice", object.what);
            for key in object.keys {
                assert!(!key.about.is_empty() && !key.example.is_empty(), "{} is not explained", key.name);
                let beside = key.beside.iter().chain(object.one_of).all(|other| names.contains(other));
                assert!(beside, "{} needs what does not exist", key.name);
                assert!(
                    key.aka.iter().all(|word| !names.contains(word)),
                    "{} takes another's name",
                    key.name
                );
            }
        }
    }
}
