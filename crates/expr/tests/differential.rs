//! Random expressions have the same answers here as with the evaluator of `cel`.
//!
//! Why    the language is CEL's; only what an expression may cost, and what its errors say, is ours.

#![allow(clippy::unwrap_used)]

use cel::objects::Key;
use cel::{Context, Env, Value as Cel};
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use stepfast_expr::{Program, Scope};

static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    env.add_extension(cel::extensions::strings).unwrap();
    env.add_extension(cel::extensions::lists).unwrap();
    env.add_extension(cel::extensions::math).unwrap();
    Arc::new(env)
});

fn input() -> Value {
    json!({
        "i": 7, "j": -2, "d": 1.5, "whole": 2.0, "s": "Grüße", "t": "a-b-c", "e": "", "b": true, "none": null,
        "list": [3, 1, 2, 1], "texts": ["b", "a", "a"], "mixed": [1, 1.0, "1", null, [1]], "empty": [],
        "map": {"x": 2}, "rows": [{"k": "a"}, {"n": 1}],
    })
}

/// As ours reads JSON: whole numbers are ints.
fn to_cel(json: &Value) -> Cel {
    match json {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Cel::Float(number.as_f64().unwrap()), Cel::Int)
        }
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| (Key::from(key.as_str()), to_cel(value)));
            Cel::from(entries.collect::<HashMap<Key, Cel>>())
        }
    }
}

/// `None` for what JSON does not have.
fn to_json(value: &Cel) -> Option<Value> {
    Some(match value {
        Cel::Null => Value::Null,
        Cel::Bool(value) => Value::Bool(*value),
        Cel::Int(value) => Value::from(*value),
        Cel::UInt(value) => Value::from(*value),
        Cel::Float(value) => Value::Number(Number::from_f64(*value)?),
        Cel::String(text) => Value::String(text.to_string()),
        Cel::List(items) => Value::Array(items.iter().map(to_json).collect::<Option<_>>()?),
        Cel::Map(map) => {
            let entries = map.map.iter().map(|(key, value)| Some((key.to_string(), to_json(value)?)));
            let object = entries.collect::<Option<Map<String, Value>>>()?;
            (object.len() == map.map.len()).then_some(Value::Object(object))?
        }
        _ => return None,
    })
}

fn theirs(source: &str, input: &Value) -> Option<Value> {
    let program = ENV.compile(source).ok()?;
    let mut context = Context::with_env(Arc::clone(&ENV));
    context.add_variable_from_value("input", to_cel(input));
    // A type answers its name there, and cannot be told from a text.
    to_json(&program.execute(&context).ok()?)
}

/// Nothing at all for what only we refuse: to nest deeper.
fn ours(source: &str, input: &Value) -> Option<Option<Value>> {
    let mut scope = Scope::new();
    scope.bind("input", input);
    match Program::compile(source) {
        Ok(program) => Some(program.evaluate(&scope).ok()),
        Err(fault) if fault.message.contains("nested more than") => None,
        Err(_) => Some(None),
    }
}

/// Both answers, where they are not one.
fn difference(source: String, input: &Value) -> Option<(Option<Value>, Option<Value>, String)> {
    let (ours, theirs) = (ours(&source, input)?, theirs(&source, input));
    (ours != theirs && !differs(&source)).then_some((ours, theirs, source))
}

fn expression() -> impl Strategy<Value = String> {
    let field = prop::sample::select(vec![
        "i",
        "j",
        "d",
        "whole",
        "s",
        "t",
        "e",
        "b",
        "none",
        "list",
        "texts",
        "mixed",
        "empty",
        "map",
        "rows",
        "missing",
        "map.x",
        "map.z",
        "rows[0].k",
        "rows[1].n",
        "list[1]",
        "list[9]",
    ]);
    let literal = prop::sample::select(vec![
        "0",
        "1",
        "-1",
        "3",
        "1u",
        "2u",
        "0.5",
        "2.0",
        "9223372036854775807",
        "'a'",
        "''",
        "'ü'",
        "'-'",
        "true",
        "false",
        "null",
        "[]",
        "[1, 2]",
        "['a']",
        "{'x': 2}",
        "{1: 2}",
        "{}",
        "9007199254740993",
    ]);
    let leaf = prop_oneof![
        3 => field.clone().prop_map(|field| format!("input.{field}")),
        2 => literal.prop_map(str::to_string),
        1 => field.prop_filter("a plain name", |field| !field.contains('['))
            .prop_map(|field| format!("input.?{field}.orValue(1)")),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let binary = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||",
        ]);
        let unary = prop::sample::select(vec![
            "!(@)", "-(@)", "size(@)", "(@).size()", "string(@)", "int(@)", "uint(@)", "double(@)", "bool(@)",
            "dyn(@)", "(@).trim()", "(@).lowerAscii()", "(@).upperAscii()", "(@).join()", "(@).reverse()",
            "(@).distinct()", "(@).sort()", "(@).flatten()", "type(@) == int", "type(@) == list", "[@]",
            "{'k': @}", "(@)[0]", "(@).k", "(@)['x']", "has(input.map.x) ? (@) : 1", "has((@).x)",
            "math.abs(@)", "math.ceil(@)", "math.floor(@)", "math.round(@)", "optional.of(@).value()",
            "(@).map(v, v)", "(@).filter(v, v != 1)", "(@).all(v, v > 0)", "(@).exists(v, v == 'a')",
            "(@).exists_one(v, v == 1)", "(@).map(v, v > 1, v + 1)", "(@)[?0].orValue(0)", "(@).?x.orValue(0)",
            "(@).all(v, [1, 2].exists(w, w == v))", "(@).matches('^[a-z]+$')", "[?optional.of(@)]",
        ]);
        let pairs = prop::sample::select(vec![
            "(@).contains(#)", "(@).startsWith(#)", "(@).endsWith(#)", "(@).split(#)", "(@).join(#)",
            "(@).indexOf(#)", "(@).substring(#)", "(@)[#]", "[@, #]", "math.greatest(dyn(@), dyn(#))", "math.least(dyn(@), dyn(#))",
            "(@).map(v, #)", "(@).filter(v, # == v)", "(@).replace('a', #)", "(@).slice(0, #)",
            "(@).substring(0, #)", "{'a': @, 'b': #}.a",
        ]);
        prop_oneof![
            4 => (inner.clone(), binary, inner.clone()).prop_map(|(a, sign, b)| format!("({a}) {sign} ({b})")),
            4 => (inner.clone(), unary).prop_map(|(a, form)| form.replace('@', &a)),
            2 => (inner.clone(), inner.clone(), pairs)
                .prop_map(|(a, b, form)| form.replace('@', &a).replace('#', &b)),
            1 => (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("({a}) ? ({b}) : ({c})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, max_shrink_iters: 500, ..ProptestConfig::default() })]

    /// On a stack of its own: the other evaluator needs one.
    #[test]
    fn answers_are_those_of_cel(sources in prop::collection::vec(expression(), 16)) {
        let compared = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
            let input = input();
            sources.into_iter().filter_map(|source| difference(source, &input)).collect::<Vec<_>>()
        });
        let different = compared.unwrap().join().unwrap();
        prop_assert!(different.is_empty(), "ours, theirs: {different:#?}");
    }
}

/// The other evaluator adds the keys of a map to a list, which CEL does not say.
fn differs(source: &str) -> bool {
    source.contains(") + (") && ["map", "rows", "{"].iter().any(|word| source.contains(word))
}
