//! Reads the text of an expression with `cel`, on a stack that is large enough.
//!
//! Why    the parser recurses, and a stack that overflows ends the process. What is small is read in place; what is not has
//!        been counted before (`scan.rs`), and is read on a thread whose stack holds the largest that is allowed.

use crate::fault::{Fault, shortened};
use crate::limits::{PARSER_STACK_BYTES, SMALL_NESTING_MAX, SMALL_OPERATORS_MAX};
use crate::lower::lower;
use crate::node::Node;
use crate::scan;
use cel::parser::{ParseError, ParseErrors};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

pub(crate) fn parse(source: &str) -> Result<Node, Fault> {
    let shape = scan::shape(source)?;
    if source.trim().is_empty() {
        return Err(Fault::at(source, 0, "the expression is empty", "write a value or a comparison"));
    }
    if shape.nesting <= SMALL_NESTING_MAX && shape.operators <= SMALL_OPERATORS_MAX {
        return read(source);
    }
    let read = thread::scope(|scope| {
        let builder = thread::Builder::new().name("expression".into()).stack_size(PARSER_STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || read(source))?;
        Ok(thread.join().unwrap_or_else(|_| Err(unreadable(source))))
    });
    read.unwrap_or_else(|problem: std::io::Error| {
        let message = format!("there is no thread to read the expression on: {problem}");
        Err(Fault::at(source, 0, message, "try again when there is memory"))
    })
}

/// The parsed form is made and dropped here, for dropping it recurses too.
fn read(source: &str) -> Result<Node, Fault> {
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        // Without macros: a loop stays the call that was written, and `lower` sees it as such.
        let parser = cel::Env::default().parser().enable_ident_escape_syntax(true);
        // It has been counted already, and refused with a sentence.
        parser.max_recursion_depth(u16::MAX).parse_with_source_info(source)
    }));
    match parsed {
        Ok(Ok((expression, info))) => lower(&expression, &info),
        Ok(Err(errors)) => Err(first(source, &errors)),
        Err(_) => Err(unreadable(source)),
    }
}

fn unreadable(source: &str) -> Fault {
    Fault::at(source, 0, "the expression cannot be read", "write it in another way")
}

/// Whatever follows the first error mostly follows from it.
fn first(source: &str, errors: &ParseErrors) -> Fault {
    let Some(ParseError { pos, msg, .. }) = errors.errors.first() else { return unreadable(source) };
    let number = |place: isize| u32::try_from(place).unwrap_or(1).max(1);
    let (message, fix) = explain(msg);
    Fault { message, line: number(pos.0), column: number(pos.1), fix }
}

/// The parser speaks of tokens; an author has written signs.
fn explain(message: &str) -> (String, String) {
    let syntax = message.trim_start_matches("Syntax error: ");
    if let Some(name) = syntax.strip_prefix("reserved identifier: ") {
        return (format!("`{name}` is reserved"), "choose another name".to_string());
    }
    let (what, wanted) = syntax.split_once(" expecting ").unwrap_or((syntax, ""));
    let missing = what.strip_prefix("missing ").and_then(|missing| missing.split_once(" at "));
    let (wanted, quoted) = missing.unwrap_or((wanted, what));
    let found = quoted.split_once('\'').and_then(|(_, rest)| rest.rsplit_once('\'')).map(|(found, _)| found);
    let message = match found {
        Some(found) if found.contains("<EOF>") => "the expression ends too early".to_string(),
        Some(found) if what.starts_with("token") && found.starts_with(['\'', '"']) => {
            "a text is never closed".to_string()
        }
        Some(found) => format!("`{}` does not belong there", shortened(found, 40)),
        None => shortened(what, 120),
    };
    (message, fix(wanted))
}

fn fix(wanted: &str) -> String {
    match wanted {
        "" => "see docs/expressions.md".to_string(),
        "<EOF>" => "end the expression there, or write an operator".to_string(),
        many if many.starts_with('{') => "write a value, a name or an operator there".to_string(),
        one => format!("write {one} there"),
    }
}
