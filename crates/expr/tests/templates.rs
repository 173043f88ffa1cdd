//! JSON with expressions in its texts.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use stepfast_expr::*;

fn rendered(template: Value) -> Result<Value, String> {
    let input = json!({"n": 3, "name": "Ada", "list": [1, 2], "none": null, "long": "x".repeat(600_000)});
    let mut scope = Scope::new();
    scope.bind("input", &input);
    Template::compile(&template).unwrap().render(&scope).map_err(|failure| failure.message)
}

fn faults(template: Value) -> Vec<String> {
    let faults = Template::compile(&template).unwrap_err();
    faults.iter().map(|(path, fault)| format!("{path}: {fault}")).collect()
}

#[test]
fn one_expression_is_its_value_and_more_are_text() {
    assert_eq!(rendered(json!("${ input.n }")), Ok(json!(3)));
    assert_eq!(rendered(json!("${input.list}")), Ok(json!([1, 2])));
    assert_eq!(rendered(json!(" ${input.n}")), Ok(json!(" 3")));
    assert_eq!(rendered(json!("${input.n}${input.n}")), Ok(json!("33")));
    assert_eq!(
        rendered(json!("Dear ${input.name}, ${input.list} ${input.none}!")),
        Ok(json!("Dear Ada, [1,2] null!"))
    );
    assert_eq!(rendered(json!("")), Ok(json!("")));
}

#[test]
fn braces_and_quotes_within_an_expression_do_not_end_it() {
    assert_eq!(rendered(json!("${ {'a': {'b': input.n}} }")), Ok(json!({"a": {"b": 3}})));
    assert_eq!(rendered(json!("${ '}' + \"}\" }")), Ok(json!("}}")));
    assert_eq!(rendered(json!("$${ input.n }")), Ok(json!("${ input.n }")));
    assert_eq!(rendered(json!("5$ or $x$ and $$ {")), Ok(json!("5$ or $x$ and $$ {")));
    assert_eq!(rendered(json!("$$${input.n}")), Ok(json!("$${input.n}")));
}

#[test]
fn everything_else_stays_as_it_is() {
    let plain = json!({"a": [1, 2.5, null, true, {"b": "c"}], "${input.n}": "d"});
    assert_eq!(rendered(plain.clone()), Ok(plain));
    assert_eq!(
        rendered(json!({"a": ["${input.n + 1}", {"b": "x${input.n}"}], "c": {}, "d": []})),
        Ok(json!({"a": [4, {"b": "x3"}], "c": {}, "d": []}))
    );
}

#[test]
fn every_fault_is_told_with_its_place() {
    assert_eq!(
        faults(json!({"a": [0, 1, {"b": "x ${ inptu.n }"}], "c": "${ 1", "d": "äö\n ${\n sze(1)}"})),
        [
            ".a[2].b: there is no `inptu` (line 1, column 6); did you mean `input`?",
            ".c: ${ is not closed (line 1, column 1); write } behind the expression, or $${ for a plain ${",
            ".d: there is no function sze(…) (line 3, column 2); did you mean size(…)?",
        ]
    );
    assert_eq!(
        faults(json!("${}")),
        [": the expression is empty (line 1, column 3); write a value or a comparison"]
    );
}

#[test]
fn what_it_reads_is_known() {
    let template = Template::compile(&json!({"a": "${outputs.x.y}", "b": ["${input.n} ${item}"]})).unwrap();
    let read = template.references();
    assert_eq!(read.outputs.iter().collect::<Vec<_>>(), ["x"]);
    assert_eq!(read.variables.iter().collect::<Vec<_>>(), ["input", "item", "outputs"]);
}

#[test]
fn the_limits_hold_for_the_whole() {
    assert!(rendered(json!(["${input.long}"])).is_ok());
    let refused = rendered(json!(["${input.long}", "${input.long}"])).unwrap_err();
    assert!(refused.contains("the answer has more than 1048576 bytes"), "{refused}");
    let refused = rendered(json!("${input.long} ${input.long}")).unwrap_err();
    assert!(refused.contains("the answer has more than 1048576 bytes"), "{refused}");
    let quoted = rendered(json!("${input.list.map(x, input.name + '\"\"\"')} ${'\"'}")).unwrap();
    assert_eq!(quoted, json!("[\"Ada\\\"\\\"\\\"\",\"Ada\\\"\\\"\\\"\"] \""));
    let many = vec!["${ input.n }"; 1_001];
    assert!(faults(json!(many))[0].starts_with("[1000]: there are more than 1000 expressions"));
    let deep: Value = serde_json::from_str(&format!("{}1{}", "[".repeat(122), "]".repeat(122))).unwrap();
    assert!(faults(deep)[0].contains("nested more than 120 deep"));
    let nested = |inside: &str, times: usize| format!("{}{inside}{}", "[".repeat(times), "]".repeat(times));
    let template: Value =
        serde_json::from_str(&nested(&format!("\"${{ {} }}\"", nested("1", 30)), 100)).unwrap();
    assert!(rendered(template).unwrap_err().contains("nested more than 120 deep"));
    let steps = vec!["${ [1, 2, 3, 4].map(a, [1, 2, 3, 4].map(b, a * b)).size() }"; 900];
    assert!(rendered(json!(steps)).is_ok());
}

#[test]
fn a_failure_names_its_expression() {
    let refused = rendered(json!({"a": "to ${input.missing}"})).unwrap_err();
    assert!(refused.starts_with("`input.missing`: `input` has no `missing`"), "{refused}");
}
