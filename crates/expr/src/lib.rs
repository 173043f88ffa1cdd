//! Expressions of a definition: CEL that is read by `cel` and evaluated here, within limits.
//!
//! Why    the evaluator of `cel` counts nothing: it has no steps, no memory and no stack of ours to run out of. Ours pays for
//!        every step and every byte, reads JSON in place, and says in its errors what was missing and what to write instead.
//!        What the two answer is compared in `tests/differential.rs`.

mod access;
mod answer;
mod evaluation;
mod fault;
mod functions;
mod limits;
mod loops;
mod lower;
mod meter;
mod names;
mod node;
mod operators;
mod parse;
mod path;
mod program;
mod references;
mod scan;
mod scope;
mod summary;
mod template;
mod value;

pub use fault::{Failure, Fault};
pub use functions::names as function_names;
pub use limits::{
    ANSWER_BYTES_MAX, BUILT_BYTES_MAX, LOOP_ITEMS_MAX, LOOPS_NESTED_MAX, NESTING_MAX, NODES_MAX,
    PATTERN_BYTES_MAX, SOURCE_BYTES_MAX, STEPS_MAX, SUMMARY_BYTES_MAX,
};
pub use names::VARIABLES;
pub use path::{Path, PathKey};
pub use program::Program;
pub use references::References;
pub use scope::Scope;
pub use template::Template;
