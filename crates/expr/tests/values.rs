//! What expressions answer, and what they say when they cannot.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use stepfast_expr::*;

fn input() -> Value {
    json!({
        "n": 3, "zero": 0, "big": u64::MAX, "price": 1.5, "name": "Ada", "none": null, "ok": true,
        "list": [3, 1, 2], "lines": [{"sku": "a", "qty": 2}, {"sku": "b"}], "m": {"b": 1, "a": 2},
    })
}

fn told(source: &str) -> String {
    let (input, output) = (input(), json!({"ok": true}));
    let mut scope = Scope::new();
    scope.bind("input", &input).bind_output("check-it", &output).bind_output("plain", &output);
    let program = Program::compile(source).unwrap_or_else(|fault| panic!("{source}: {fault}"));
    match program.evaluate(&scope) {
        Ok(value) => value.to_string(),
        Err(failure) => failure.message,
    }
}

fn fault(source: &str) -> String {
    Program::compile(source).unwrap_err().to_string()
}

#[test]
fn json_integers_are_ints() {
    assert_eq!(told("input.n + 1"), "4");
    assert_eq!(told("input.n / 2"), "1");
    assert_eq!(told("input.n == 3.0 && input.n < 3.5"), "true");
    assert_eq!(told("type(input.n) == int && type(input.price) == double"), "true");
    assert_eq!(told("type(input.big) == double"), "true");
    assert_eq!(told("double(input.n) * 1.5"), "4.5");
    assert_eq!(told("[1u, 2u].sum()"), "3");
}

#[test]
fn numbers_of_two_types_are_not_mixed() {
    assert_eq!(
        told("input.n * 1.5"),
        "`input.n * 1.5`: int * double cannot be computed; write double(…) around the one that is no double, or \
         int(…) (it looked at {\"input.n\":3})"
    );
    assert_eq!(
        told("'n' + input.n"),
        "`'n' + input.n`: string + int cannot be computed; write string(…) around the number (it looked at \
         {\"input.n\":3})"
    );
}

#[test]
fn what_has_no_json_is_refused() {
    assert_eq!(told("1.0 / 0.0"), "`1.0 / 0.0`: the answer is inf, which JSON does not have");
    assert_eq!(told("[0.0 / 0.0]"), "`[0.0 / 0.0]`: the answer is NaN, which JSON does not have");
    assert_eq!(told("type(1)"), "`type(1)`: the answer is the type int, which JSON does not have");
    assert_eq!(
        told("optional.of(1)"),
        "`optional.of(1)`: the answer may be absent; write .orValue(…) behind it"
    );
    assert_eq!(
        told("{1: 'a', '1': 'b'}"),
        "`{1: 'a', '1': 'b'}`: the answer has the key `1` as a text and as a number"
    );
    assert_eq!(told("{1: 'a', true: 'b', 'c': null}"), r#"{"1":"a","c":null,"true":"b"}"#);
}

#[test]
fn what_is_missing_is_named_with_a_way_out() {
    assert_eq!(
        told("input.missing == null"),
        "`input.missing == null`: `input` has no `missing`; ask first with has(input.missing), or write \
         input.?missing.orValue(…)"
    );
    assert_eq!(
        told("input.lines[1].qty"),
        "`input.lines[1].qty`: `input.lines[1]` has no `qty`; ask first with has(input.lines[1].qty), or write \
         input.lines[1].?qty.orValue(…)"
    );
    assert_eq!(
        told("outputs['not-run'].x"),
        "`outputs['not-run'].x`: `outputs` has no `not-run`; ask first with 'not-run' in outputs, or write \
         outputs[?'not-run'].orValue(…)"
    );
    assert_eq!(
        told("input.list[7]"),
        "`input.list[7]`: `input.list` has 3 items and no item 7; write [?7].orValue(…) if it may be absent"
    );
    assert!(told("input.name.first").contains("`input.name` is a text and has no `first`"));
    assert!(told("input.none.x").contains("`input.none` is null and has no `x`"));
    assert_eq!(told("payload.x"), "`payload.x`: there is no `payload` where this is evaluated");
    // The ways out that the messages show.
    assert_eq!(told("has(input.missing) || 'not-run' in outputs"), "false");
    assert_eq!(
        told("input.?missing.orValue(5) + outputs[?'not-run'].orValue(6) + input.list[?7].orValue(7)"),
        "18"
    );
    assert_eq!(told("input.?missing.deep.er.orValue('x')"), "\"x\"");
    assert_eq!(told("has(outputs.plain) && outputs[?'check-it'].?ok.hasValue()"), "true");
    assert_eq!(told("[?input.?missing, ?input.?n]"), "[3]");
    assert_eq!(told("{'n': 1, ?'m': input.?missing}"), r#"{"n":1}"#);
}

#[test]
fn errors_are_forgiven_by_the_side_that_decides() {
    assert_eq!(told("input.missing > 1 || true"), "true");
    assert_eq!(told("input.missing > 1 && false"), "false");
    assert!(told("input.missing > 1 || false").contains("has no `missing`"));
    assert_eq!(told("input.lines.exists(line, line.qty > 1)"), "true");
    assert!(told("input.lines.all(line, line.qty > 1)").contains("`line` has no `qty`"));
}

#[test]
fn maps_are_gone_over_in_the_order_of_their_keys() {
    assert_eq!(told("input.m.map(key, key)"), r#"["a","b"]"#);
    assert_eq!(told("{'z': 1, 'y': 2, 'x': 3}.map(key, key)"), r#"["x","y","z"]"#);
    assert_eq!(told("outputs.map(key, key)"), r#"["check-it","plain"]"#);
    assert_eq!(told("outputs"), r#"{"check-it":{"ok":true},"plain":{"ok":true}}"#);
    assert_eq!(told("{10: 1, 9: 2, 'a': 3, true: 4}.map(key, string(key))"), r#"["true","9","10","a"]"#);
}

#[test]
fn a_condition_is_a_boolean() {
    let scope = Scope::new();
    assert_eq!(Program::compile("1 < 2").unwrap().holds(&scope), Ok(true));
    let refused = Program::compile("'true'").unwrap().holds(&scope).unwrap_err();
    assert_eq!(refused.message, "`'true'`: a condition is true or false, and this is a text");
}

#[test]
fn unknown_names_are_refused_with_what_was_meant() {
    assert_eq!(fault("inputs.n"), "there is no `inputs` (line 1, column 1); did you mean `input`?");
    assert_eq!(
        fault("input.n ==\n  gold"),
        "there is no `gold` (line 2, column 3); name one of input, outputs, payload, item, index, answer, polls, undo; a text has quotes: \
         'gold'"
    );
    assert_eq!(
        fault("input.list.all(line, lime > 0)"),
        "there is no `lime` (line 1, column 22); did you mean `line`?"
    );
    assert_eq!(fault("sze(input)"), "there is no function sze(…) (line 1, column 1); did you mean size(…)?");
    assert_eq!(
        fault("'ä' + input.name.startWith('A')"),
        "there is no function x.startWith(…) (line 1, column 18); did you mean x.startsWith(…)?"
    );
    assert_eq!(fault("trim(input)"), "there is no function trim(…) (line 1, column 1); write x.trim(…)");
    assert_eq!(
        fault("input.string()"),
        "there is no function x.string(…) (line 1, column 7); write string(…)"
    );
    assert_eq!(
        fault("input.name.replace('a')"),
        "replace(…) has 1 arguments, and takes 2 (line 1, column 12); see the functions in docs/expressions.md"
    );
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    assert_eq!(
        fault("1 +"),
        "the expression ends too early (line 1, column 4); write a value, a name or an operator there"
    );
    assert_eq!(fault("size(1"), "the expression ends too early (line 1, column 7); write ')' there");
    assert_eq!(
        fault("'ä' 'b'"),
        "`'b'` does not belong there (line 1, column 5); end the expression there, or write an operator"
    );
    assert_eq!(fault("'abc"), "a text is never closed (line 1, column 1); see docs/expressions.md");
    assert_eq!(fault(" "), "the expression is empty (line 1, column 1); write a value or a comparison");
    assert_eq!(fault("for"), "`for` is reserved (line 1, column 1); choose another name");
    assert!(fault("b'x'").starts_with("there are no bytes in JSON"));
    assert!(fault("Order{id: 1}").starts_with("there is no type `Order`"));
    assert!(fault("has(input['n'])").starts_with("has(…) asks for a field"));
    assert!(fault("[1].map(1, 2)").starts_with("a loop needs a plain name"));
    assert!(fault("[1].all(x)").starts_with("all(…) needs a name"));
}

#[test]
fn a_program_is_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>(value: &T) -> String {
        format!("{value:?}")
    }
    assert_eq!(shared(&Program::compile("1 + 1").unwrap()), "Program(\"1 + 1\")");
    shared(&Template::compile(&json!("${ 1 }")).unwrap());
}
