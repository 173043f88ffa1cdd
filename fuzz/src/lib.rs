//! What must hold for any bytes that reach a reader of users' text: the bodies of the fuzz targets.
//!
//! Why    they are plain functions, so that `cargo fuzz` and the loop of `mutate` run the same ones.

pub mod mutate;
pub mod run;

use expr::{ANSWER_BYTES_MAX, Program, SUMMARY_BYTES_MAX, Scope, Template};
use model::State;
use model::definition::Definition;
use serde_json::{Value, json};

pub struct Target {
    /// Its folder in `corpus/` and `artifacts/`, and its file in `fuzz_targets/`.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

pub const TARGETS: [Target; 2] =
    [Target { name: "definition", run: definition }, Target { name: "expression", run: expression }];

/// It is read, and then everything that can be done with it can be done; or it is refused with a place and a way out.
pub fn definition(bytes: &[u8]) {
    match definition::read(bytes, "fuzz.yaml") {
        Ok(read) => can_be_used(&read.definition),
        Err(faults) => {
            assert!(!faults.is_empty(), "it is refused without a fault");
            for fault in faults {
                let told = fault.line >= 1 && fault.column >= 1 && !fault.message.is_empty();
                assert!(told && !fault.fix.is_empty() && !fault.to_string().is_empty(), "{fault:?}");
            }
        }
    }
}

fn can_be_used(definition: &Definition) {
    let stored = definition::canonical(definition);
    let again: Definition = serde_json::from_str(&stored).expect("what is stored can be read");
    assert_eq!(definition::hash(&again), definition::hash(definition), "the hash of {stored}");
    assert_eq!(definition::check(&again), [], "read and then refused: {stored}");
    assert_eq!(definition::diff(definition, &again), [], "differs from itself: {stored}");
    let begun: Vec<(&str, State)> =
        definition.steps.iter().map(|step| (step.key.as_str(), State::Completed)).collect();
    assert_eq!(definition::breaks(definition, &again, &begun), [""; 0], "breaks itself: {stored}");
    for draw in [definition::graph::mermaid, definition::graph::text, definition::graph::svg] {
        assert!(!draw(definition).expect("what was checked can be drawn").is_empty());
    }
}

/// It has an answer or a failure, both within their limits and the same every time.
pub fn expression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (input, item, index) = (input(), json!({"sku": "a", "qty": 1}), json!(0));
    let mut scope = Scope::new();
    scope.bind("input", &input).bind("item", &item).bind("index", &index).bind_output("check", &input);
    program(text, &scope);
    template(&Value::from(text), &scope);
    if let Ok(value) = serde_json::from_str(text) {
        template(&value, &scope);
    }
}

fn input() -> Value {
    json!({
        "n": 3, "s": "text", "none": null, "rate": 0.5, "yes": true,
        "list": [1, 2, {"a": null}, [3]], "map": {"k": [true, 1.5], "text-key": "ü"},
    })
}

fn program(text: &str, scope: &Scope) {
    match Program::compile(text) {
        Err(fault) => {
            assert!(!fault.message.is_empty() && !fault.fix.is_empty(), "{fault:?}");
            assert!(fault.line >= 1 && fault.column >= 1, "{fault:?}");
        }
        Ok(program) => {
            assert!(program.inputs(scope).len() <= SUMMARY_BYTES_MAX, "its summary is too long");
            let answer = program.evaluate(scope);
            assert_eq!(answer, program.evaluate(scope), "it has two answers");
            let size = answer.map_or_else(|failure| failure.message.len(), |value| value.to_string().len());
            assert!(size <= ANSWER_BYTES_MAX, "its answer has {size} bytes");
            _ = program.holds(scope);
        }
    }
}

fn template(value: &Value, scope: &Scope) {
    match Template::compile(value) {
        Err(faults) => assert!(!faults.is_empty(), "it is refused without a fault"),
        Ok(template) => {
            let answer = template.render(scope);
            assert_eq!(answer, template.render(scope), "it has two answers");
            let size = answer.map_or_else(|failure| failure.message.len(), |value| value.to_string().len());
            assert!(size <= ANSWER_BYTES_MAX, "its answer has {size} bytes");
        }
    }
}
