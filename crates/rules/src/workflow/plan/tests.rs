//! What a definition that cannot be run is told, and what of one that can is kept.

use super::*;
use serde_json::json;

fn compile(definition: Value) -> Result<Plan, String> {
    let definition: Definition = serde_json::from_value(definition).expect("a definition as JSON");
    let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
    let told =
        |faults: Vec<Fault>| faults.iter().map(|fault| fault.field.clone()).collect::<Vec<_>>().join(" ");
    Plan::compile(definition, Arc::new(pinned)).map_err(told)
}

#[test]
fn every_expression_and_schema_that_cannot_be_read_is_told_where_it_stands() {
    let action =
        json!({"action": "x", "arguments": {"y": ["${ ( }"]}, "each": {"items": "]"}, "message_group": "'"});
    let told = compile(json!({
        "input": {"schema": {"type": 7}},
        "concurrency": {"key": "(", "limit": 1},
        "steps": [
            {"key": "a", "work": {"action": action}, "when": "1 +", "produces": {"schema": {"type": 7}},
             "terminate_when": {"if": "(", "state": "failed", "reason": "no"}},
            {"key": "w", "work": {"wait": {"until": "("}}},
            {"key": "b", "work": {"branch": {"choose": "(", "branches": {"x": []}, "converge": "s"}}},
            {"key": "s", "work": {"workflow": {"workflow": "other", "input": {"y": "${ ) }"}}}},
        ],
    }));
    let fields = "steps[0].when steps[0].terminate_when.if steps[0].produces.schema steps[0].arguments.y[0] \
                  steps[0].message_group steps[0].each steps[1].wait.until steps[2].branch.choose steps[3].input.y input.schema concurrency.key";
    assert_eq!(told.err().as_deref(), Some(fields));
}

#[test]
fn a_graph_that_cannot_be_followed_is_told_with_the_rest() {
    let told = compile(json!({"steps": [
        {"key": "a", "after": ["nobody"]},
        {"key": "b", "when": "("},
    ]}));
    assert_eq!(told.err().as_deref(), Some("steps[1].when steps[0].after[0]"));
}

#[test]
fn answers_are_kept_that_somebody_reads() {
    let plan = compile(json!({"steps": [
        {"key": "unread"},
        {"key": "read"},
        {"key": "way", "work": {"branch": {"choose": "'x'", "branches": {"x": []}, "converge": "line"}}},
        {"key": "line", "when": "outputs['read'].ok",
         "work": {"action": {"action": "y", "message_group": "'g'", "mode": "block_on_error"}}},
        {"key": "last", "work": {"wait": {"for": 1000}}},
    ]}))
    .unwrap();
    let read: Vec<bool> = (0..5).map(|n| plan.reads(n)).collect();
    assert_eq!(read, [false, true, true, false, true], "what is named, which way was taken, and the last");
    let in_line: Vec<bool> = (0..5).map(|n| plan.is_in_line(n)).collect();
    assert_eq!(in_line, [false, false, false, true, false]);
    assert_eq!((plan.find("line"), plan.find("nobody"), &*plan.name(3)), (Some(3), None, "line"));
}
