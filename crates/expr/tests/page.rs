//! Every example of `docs/expressions.md` answers what the page says, and every function and limit is on the page.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use stepfast_expr::*;

const PAGE: &str = include_str!("../../../docs/expressions.md");

/// The blocks of a kind, without their fences.
fn blocks(kind: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = PAGE.split("\n```").collect();
    // Every second part is within fences, and begins with the kind.
    let inside = parts.into_iter().skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    inside.filter(|(told, _)| *told == kind).map(|(_, text)| text).collect()
}

fn examples(kind: &str) -> Vec<(&'static str, &'static str)> {
    let lines = blocks(kind).into_iter().flat_map(str::lines).filter(|line| !line.is_empty());
    lines.map(|line| line.rsplit_once(" → ").unwrap_or_else(|| panic!("no arrow: {line}"))).collect()
}

/// What the page binds, in a scope.
fn within<T>(run: impl Fn(&Scope) -> T) -> T {
    let bound: Value = serde_json::from_str(blocks("json")[0]).unwrap();
    let mut scope = Scope::new();
    for (name, value) in bound.as_object().unwrap() {
        match name.as_str() {
            "outputs" => {
                for (key, value) in value.as_object().unwrap() {
                    scope.bind_output(key, value);
                }
            }
            _ => _ = scope.bind(name, value),
        }
    }
    run(&scope)
}

fn check(source: &str, expected: &str, answer: Result<Value, Failure>) {
    match (expected.strip_prefix("error: "), answer) {
        (Some(part), Err(failure)) => {
            assert!(failure.message.contains(part), "{source}: {}", failure.message)
        }
        (None, Ok(value)) => assert_eq!(value.to_string(), expected, "{source}"),
        (_, answer) => panic!("{source}: {answer:?}"),
    }
}

#[test]
fn every_example_answers_what_the_page_says() {
    let examples = examples("");
    assert!(examples.len() > 70, "{} examples", examples.len());
    for (source, expected) in examples {
        let program = Program::compile(source).unwrap_or_else(|fault| panic!("{source}: {fault}"));
        check(source, expected, within(|scope| program.evaluate(scope)));
    }
}

#[test]
fn every_template_becomes_what_the_page_says() {
    let examples = examples("templates");
    assert_eq!(examples.len(), 5);
    for (source, expected) in examples {
        let template = Template::compile(&serde_json::from_str(source).unwrap()).unwrap();
        check(source, expected, within(|scope| template.render(scope)));
    }
}

#[test]
fn every_function_has_an_example() {
    let shown: std::collections::BTreeSet<String> = examples("")
        .into_iter()
        .flat_map(|(source, _)| Program::compile(source).unwrap().references().functions.clone())
        .collect();
    let missing: Vec<&str> = function_names().filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_limit_is_on_the_page() {
    for limit in [
        SOURCE_BYTES_MAX,
        NESTING_MAX,
        NODES_MAX,
        LOOPS_NESTED_MAX,
        PATTERN_BYTES_MAX,
        LOOP_ITEMS_MAX,
        STEPS_MAX,
        BUILT_BYTES_MAX,
        ANSWER_BYTES_MAX,
    ] {
        let row = PAGE.lines().any(|line| line.starts_with('|') && line.contains(&format!("| {limit}")));
        assert!(row, "{limit} is not in the table of limits");
    }
    for name in VARIABLES {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
}
