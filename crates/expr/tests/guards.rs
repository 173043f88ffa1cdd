//! Every limit: what is refused, with which words, and that what is just below it works. On the stacks of test threads.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::thread;
use stepfast_expr::*;

fn fault(source: &str) -> String {
    match Program::compile(source) {
        Ok(_) => format!("`{source}` was compiled"),
        Err(fault) => fault.message,
    }
}

fn evaluated(source: &str, input: &Value) -> Result<Value, String> {
    let mut scope = Scope::new();
    scope.bind("input", input);
    Program::compile(source).unwrap().evaluate(&scope).map_err(|failure| failure.message)
}

fn failure(source: &str, input: &Value) -> String {
    evaluated(source, input).map(|value| value.to_string()).unwrap_err()
}

fn numbers(count: usize) -> Value {
    json!({ "list": (0..count).collect::<Vec<_>>() })
}

/// `f(f(f(… x …)))`, so often.
fn nested(open: &str, x: &str, close: &str, times: usize) -> String {
    format!("{}{x}{}", open.repeat(times), close.repeat(times))
}

#[test]
fn the_source_is_at_most_4_kib() {
    assert!(Program::compile(&format!("'{}'", "x".repeat(4094))).is_ok());
    assert_eq!(
        fault(&format!("'{}'", "x".repeat(4095))),
        "the expression has 4097 bytes, at most 4096 are allowed"
    );
}

#[test]
fn brackets_nest_32_deep() {
    let deep = nested("(", "1", ")", 32);
    assert_eq!(evaluated(&deep, &Value::Null), Ok(json!(1)));
    assert_eq!(fault(&nested("(", "1", ")", 33)), "brackets are nested more than 32 deep");
    assert_eq!(fault(&"(".repeat(4096)), "brackets are nested more than 32 deep");
    assert_eq!(fault(&"[{(".repeat(1000)), "brackets are nested more than 32 deep");
    assert_eq!(
        evaluated("'((((((((((((((((((((((((((((((((((((((((('", &Value::Null)
            .unwrap()
            .as_str()
            .unwrap()
            .len(),
        41
    );
}

#[test]
fn operators_nest_32_deep_in_every_form() {
    let too_deep = "operators and calls are nested more than 32 deep";
    let sum = |terms: usize| vec!["1"; terms].join(" + ");
    assert_eq!(evaluated(&sum(32), &Value::Null), Ok(json!(32)));
    assert_eq!(fault(&sum(33)), too_deep);
    assert_eq!(fault(&sum(500)), too_deep);
    assert_eq!(fault(&format!("input{}", ".b".repeat(400))), too_deep);
    assert_eq!(fault(&format!("input{}", "[0]".repeat(400))), too_deep);
    assert_eq!(fault(&format!("{}1", "true ? 1 : ".repeat(300))), too_deep);
    assert_eq!(fault(&format!("'a'{}", ".trim()".repeat(400))), too_deep);
    assert_eq!(fault(&vec!["1"; 400].join(" in ")), too_deep);
    let lists = nested("[", "1", "]", 31);
    assert_eq!(evaluated(&lists, &Value::Null).unwrap().to_string(), lists);
    assert_eq!(fault(&nested("[", "1", "]", 32)), too_deep);
    assert_eq!(evaluated(&nested("-(", "1", ")", 31), &Value::Null), Ok(json!(-1)));
    assert_eq!(evaluated(&nested("[", "1", "][0]", 15), &Value::Null), Ok(json!(1)));
    assert_eq!(evaluated(&format!("{}1", "false ? 0 : ".repeat(31)), &Value::Null), Ok(json!(1)));
    assert_eq!(evaluated(&nested("{'a': ", "1", "}.a", 15), &Value::Null), Ok(json!(1)));
}

#[test]
fn conditions_in_a_row_do_not_nest() {
    let row = vec!["input.a == 1"; 100].join(" && ");
    assert_eq!(evaluated(&row, &json!({"a": 1})), Ok(json!(true)));
}

#[test]
fn an_expression_has_at_most_512_parts() {
    let list = |items: usize| format!("[{}]", vec!["1"; items].join(","));
    assert_eq!(evaluated(&list(511), &Value::Null).unwrap().as_array().unwrap().len(), 511);
    assert_eq!(fault(&list(512)), "the expression has more than 512 parts");
    assert_eq!(fault(&format!("1{}", "+1".repeat(2000))), "the expression has more than 512 parts");
    assert_eq!(fault(&format!("{}true", "!".repeat(4000))), "the expression has more than 512 parts");
    assert_eq!(fault(&format!("a{}", ".b".repeat(2000))), "the expression has more than 512 parts");
}

#[test]
fn loops_nest_twice() {
    let two = "[1, 2].all(a, [3, 4].all(b, a < b))";
    assert_eq!(evaluated(two, &Value::Null), Ok(json!(true)));
    let three = "[1].all(a, [1].all(b, [1].all(c, true)))";
    assert_eq!(fault(three), "loops are nested more than 2 deep");
    let behind = "[1, 2, 3].filter(a, a > 1).map(a, a * 2).filter(a, a > 4).map(a, a + 1)";
    assert_eq!(evaluated(behind, &Value::Null), Ok(json!([7])));
    let in_range = "[1, 2].map(a, [a]).all(b, b.map(c, c).exists(d, d > 0))";
    assert_eq!(evaluated(in_range, &Value::Null), Ok(json!(true)));
}

#[test]
fn a_loop_goes_over_at_most_10_000_items() {
    assert_eq!(evaluated("input.list.all(x, x >= 0)", &numbers(10_000)), Ok(json!(true)));
    let refused = failure("input.list.all(x, x >= 0)", &numbers(10_001));
    assert!(refused.contains("a loop goes over at most 10000 items, and here are 10001"), "{refused}");
}

#[test]
fn loops_in_loops_run_out_of_steps() {
    assert_eq!(evaluated("input.list.all(a, input.list.all(b, a + b >= 0))", &numbers(300)), Ok(json!(true)));
    let refused = failure("input.list.all(a, input.list.all(b, a + b >= 0))", &numbers(2_000));
    assert!(refused.contains("it takes more than 1000000 steps"), "{refused}");
    let chain = format!("input.list{}", ".map(x, x)".repeat(15));
    assert_eq!(evaluated(&chain, &numbers(10_000)).unwrap().as_array().unwrap().len(), 10_000);
}

/// An error may be forgiven; to have spent everything may not.
#[test]
fn nothing_gets_over_a_limit() {
    let bomb = "input.list.all(a, input.list.all(b, a + b >= 0))";
    for source in [
        format!("{bomb} || true"),
        format!("true && ({bomb} && false)"),
        format!("[1, 2].exists(x, {} || true)", "input.list.all(a, a + x >= 0 && input.list == input.list)"),
        format!("[2, 1].all(x, x > 1 && {})", "input.list.all(a, input.list == input.list)"),
    ] {
        let refused = failure(&source, &numbers(4_000));
        assert!(refused.contains("more than 1000000 steps"), "{refused}");
    }
}

#[test]
fn comparisons_and_searches_are_paid_for() {
    let long = json!({"list": (0..5_000).collect::<Vec<_>>(), "text": "a".repeat(500_000)});
    for source in [
        "input.list.all(x, input == input)",
        "input.list.all(x, -1 in input.list || true)",
        "input.list.all(x, input.text.contains('b') || true)",
        "input.list.all(x, size(input.text) > 0)",
        "input.list.all(x, input.text == input.text + '')",
        "input.list.all(x, input.text.matches('b') || true)",
        "input.list.all(x, 'a'.matches(string(x)) || true)",
        "input.list.map(x, input.list).flatten().distinct()",
        "input.list.map(x, input.list.sort())",
        "input.list.map(x, input.text.split('a'))",
        "input.list.map(x, input.text.indexOf('b'))",
    ] {
        let refused = failure(source, &long);
        assert!(
            refused.contains("it takes more than") || refused.contains("it builds more than"),
            "{refused}"
        );
    }
}

#[test]
fn texts_that_double_are_refused() {
    let doubling = |times: usize| {
        let mut source = "['0123456789abcdef']".to_string();
        source.push_str(&".map(q, q + q)".repeat(times));
        source + "[0]"
    };
    assert_eq!(evaluated(&doubling(10), &Value::Null).unwrap().as_str().unwrap().len(), 16 << 10);
    let refused = failure(&doubling(17), &Value::Null);
    assert!(refused.contains("the answer has more than 1048576 bytes"), "{refused}");
    let refused = failure(&format!("size({}) > 0", doubling(27)), &Value::Null);
    assert!(refused.contains("it builds more than 33554432 bytes"), "{refused}");
    let refused = failure(
        "input.list.map(x, input.text + input.text)",
        &json!({
            "list": vec![0; 1_000], "text": "x".repeat(100_000)
        }),
    );
    assert!(refused.contains("it builds more than 33554432 bytes"), "{refused}");
}

#[test]
fn lists_and_maps_that_double_are_refused() {
    let lists = format!("[1]{}", ".map(q, [q, q])".repeat(28));
    assert!(failure(&lists, &Value::Null).contains("the answer has more than 1048576 bytes"));
    let compared = format!("[1]{0} == [1]{0}", ".map(q, [q, q])".repeat(28));
    assert!(failure(&compared, &Value::Null).contains("it takes more than 1000000 steps"));
    let maps = format!("[1]{}", ".map(q, {'a': q, 'b': q})".repeat(28));
    assert!(failure(&maps, &Value::Null).contains("the answer has more than 1048576 bytes"));
    let flat = format!("[1, 1]{}.size() > 0", ".map(q, [[q, q], [q, q]]).flatten().flatten()".repeat(9));
    let refused = failure(&flat, &Value::Null);
    assert!(refused.contains("a loop goes over at most 10000 items"), "{refused}");
    let added = failure("input.list.map(x, input.list + input.list).size() > 0", &numbers(10_000));
    assert!(added.contains("it builds more than") || added.contains("it takes more than"), "{added}");
}

#[test]
fn one_call_cannot_build_what_does_not_fit() {
    let input = json!({"text": "a".repeat(1_000_000), "list": vec!["b".repeat(100_000); 1_000]});
    for source in [
        "size(input.text.replace('a', '0123456789012345678901234567890123456789')) > 0",
        "size(input.list.join()) > 0",
        "size(input.text.split('')) > 0",
    ] {
        let refused = failure(source, &input);
        assert!(
            refused.contains("it builds more than") || refused.contains("it takes more than"),
            "{refused}"
        );
    }
}

#[test]
fn an_answer_has_at_most_1_mib_and_can_be_read_again() {
    let large = json!({"half": "x".repeat(600_000)});
    assert!(evaluated("input", &large).is_ok());
    assert!(failure("[input, input]", &large).contains("the answer has more than 1048576 bytes"));
    let deep: Value = serde_json::from_str(&nested("[", "1", "]", 115)).unwrap();
    let answer = evaluated("[[input]]", &deep).unwrap();
    assert!(serde_json::from_str::<Value>(&answer.to_string()).is_ok());
    let refused = failure(&nested("[", "input", "]", 20), &deep);
    assert!(refused.contains("the answer is nested more than 120 deep"), "{refused}");
}

#[test]
fn patterns_are_small_and_stay_small() {
    let long = format!("input.matches('{}')", "a".repeat(257));
    assert_eq!(fault(&long), "a pattern has at most 256 bytes, and this one 257");
    let grown = "the pattern becomes too large; use fewer or smaller repetitions";
    assert_eq!(fault("input.matches('((a{99}){99}){99}')"), grown);
    assert_eq!(fault("input.matches('([a-z]{99}){99}')"), grown);
    assert!(fault(&format!("input.matches('{}')", "(".repeat(100))).starts_with("`(((("));
    assert_eq!(evaluated(r"input.matches(r'^\w{2,20}-\d{4}$')", &json!("order-2026")), Ok(json!(true)));
    let refused = failure("'a'.matches(input)", &json!("((a{99}){99}){99}"));
    assert!(refused.contains(grown), "{refused}");
}

/// Threads of a server have 2 MiB, of which somebody else has used a part.
#[test]
fn compiling_and_evaluating_need_little_of_the_callers_stack() {
    let sources = [
        nested("(", "1", ")", 3) + " + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1",
        format!("input{}", ".a".repeat(12)),
        "[[[1 + 2 * 3 - 4]]] == [[[1 + 2 * 3 - 4]]] ? -1 : - 2".to_string(),
        nested("(", "1", ")", 32),
        vec!["1"; 32].join(" + "),
        vec!["1"; 500].join(" + "),
        format!("input{}", ".b".repeat(500)),
        nested("-(", "1", ")", 31),
        nested("[", "1", "]", 31),
        nested("{'a': ", "1", "}", 31),
        format!("{}1", "true ? 1 : ".repeat(31)),
        format!("[1]{}", ".map(x, [x, x].filter(y, y == y))".repeat(28)),
        vec!["input == input"; 128].join(" || "),
        "(".repeat(32) + &"!".repeat(400),
    ];
    let run = move || {
        let deep: Value = serde_json::from_str(&nested("[", "1", "]", 120)).unwrap();
        let mut scope = Scope::new();
        scope.bind("input", &deep);
        for source in &sources {
            if let Ok(program) = Program::compile(source) {
                // Whatever it answers, it came back.
                let _ = program.evaluate(&scope);
            }
        }
    };
    thread::Builder::new().stack_size(512 * 1024).spawn(run).unwrap().join().unwrap();
}
