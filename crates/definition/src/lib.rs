//! Definitions of workflows: read from YAML, JSON or Rust, checked, drawn, compared and hashed.
//!
//! ```
//! use stepfast_definition as definition;
//! let text = b"workflow: greet\nversion: 1.0.0\nsteps:\n  - key: hello\n    actoin: greetings.say\n";
//! let faults = definition::read(text, "greet.yaml").unwrap_err();
//! assert_eq!(faults[0].to_string().lines().next(), Some("greet.yaml:5:5: unknown key `actoin` in a step"));
//! assert_eq!(faults[0].fix, "write `action`");
//! ```

mod assemble;
mod breaks;
pub mod builder;
mod check;
mod diagnostic;
mod diff;
pub mod duration;
pub mod graph;
mod hash;
mod language;
pub mod limits;
mod notes;
mod parse;
mod place;
mod reader;
mod schema;
mod suggest;
mod tree;

pub use breaks::breaks;
pub use diagnostic::{Diagnostic, Spot};
pub use diff::{Change, diff};
pub use duration::{parse as read_duration, show as write_duration};
pub use hash::{canonical, hash};
pub use schema::schema;

use check::Finding;
use model::Fault;
use model::definition::Definition;
use notes::{Notes, Source};
use serde_json::Value;
use std::sync::Arc;
use tree::Node;

/// A definition, and where in its file it says what.
#[derive(Debug)]
pub struct Read {
    pub definition: Definition,
    root: Arc<Node>,
}

impl Read {
    /// The place of a field, such as `steps[2].branch.choose`; of one that is not written, of what it belongs to.
    pub fn place(&self, field: &str) -> Spot {
        place::locate(&self.root, field)
    }
}

/// Reads a definition, YAML or JSON, or says everything that is wrong with it. `name` is what the file is called in that.
pub fn read(text: &[u8], name: &str) -> Result<Read, Vec<Diagnostic>> {
    let (mut notes, shown) =
        (Notes::default(), String::from_utf8_lossy(&text[..text.len().min(limits::FILE_BYTES_MAX)]));
    let source = Source::new(name, &shown);
    let root = parse::decode(text, &mut notes).and_then(|text| parse::parse(text, &mut notes));
    let Some(root) = root else {
        if notes.list.is_empty() {
            notes.add(Spot { line: 1, column: 1, width: 1 }, "", "the file is empty", reader::BEGIN);
        }
        return Err(notes.diagnostics(&source));
    };
    let spot = |finding: &Finding| match finding.part {
        Some(part) => place::locate_part(&root, &finding.field, part, &source),
        None => place::locate(&root, &finding.field),
    };
    match understand(&root, &mut notes, &spot) {
        Some(definition) if notes.list.is_empty() => Ok(Read { definition, root }),
        _ => Err(notes.diagnostics(&source)),
    }
}

/// Any YAML or JSON as a value, for example what a run is started with.
pub fn value(text: &[u8], name: &str) -> Result<Value, Vec<Diagnostic>> {
    let (mut notes, shown) =
        (Notes::default(), String::from_utf8_lossy(&text[..text.len().min(limits::FILE_BYTES_MAX)]));
    let root = parse::decode(text, &mut notes).and_then(|text| parse::parse(text, &mut notes));
    match root {
        _ if notes.list.is_empty() => Ok(root.map(|root| root.value()).unwrap_or_default()),
        _ => Err(notes.diagnostics(&Source::new(name, &shown))),
    }
}

/// Everything that is wrong with a definition, however it was made.
pub fn check(definition: &Definition) -> Vec<Fault> {
    reread(definition).err().unwrap_or_default()
}

/// A definition as it is read again from what one would write for it.
fn reread(definition: &Definition) -> Result<Definition, Vec<Fault>> {
    let root = Node::of(&assemble::written(definition));
    let mut notes = Notes::default();
    let read = understand(&root, &mut notes, &|_| Spot::default());
    let fault = |note: notes::Note| Fault { field: note.field, problem: note.message, fix: note.fix };
    match read {
        Some(read) if notes.list.is_empty() => Ok(read),
        _ => Err(notes.list.into_iter().take(limits::FAULTS_MAX).map(fault).collect()),
    }
}

/// The model of a tree, as far as it can be understood; what is wrong with it is noted.
fn understand(root: &Node, notes: &mut Notes, spot: &dyn Fn(&Finding) -> Spot) -> Option<Definition> {
    let read = reader::definition(root, notes);
    if read.is_empty() {
        return None;
    }
    let definition = match assemble::definition(read) {
        Ok(definition) => definition,
        Err(error) => {
            notes.add(
                root.spot,
                "",
                format!("this is not understood: {error}"),
                "write it as the documentation says",
            );
            return None;
        }
    };
    for finding in check::all(&definition, &|field| notes.is_wrong_within(field)) {
        if !notes.is_wrong(&finding.field) {
            notes.add(spot(&finding), &finding.field, finding.problem, finding.fix);
        }
    }
    Some(definition)
}
