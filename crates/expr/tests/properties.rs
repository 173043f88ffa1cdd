//! What must hold for every text: nothing panics, nothing is unbounded, and arithmetic is that of Rust.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};
use stepfast_expr::{ANSWER_BYTES_MAX, Program, SUMMARY_BYTES_MAX, Scope, Template};

fn input() -> Value {
    json!({"n": 3, "s": "text", "list": [1, 2, {"a": null}], "map": {"k": [true, 1.5]}})
}

/// Compiles and evaluates, and holds the result to what is promised of it.
fn tried(source: &str) -> Result<(), TestCaseError> {
    let input = input();
    let mut scope = Scope::new();
    scope.bind("input", &input).bind_output("s", &input);
    match Program::compile(source) {
        Err(fault) => {
            prop_assert!(!fault.message.is_empty() && !fault.fix.is_empty(), "{fault:?}");
            prop_assert!(fault.line >= 1 && fault.column >= 1, "{fault:?}");
            prop_assert!(fault.line as usize <= source.matches('\n').count() + 1, "{source:?}: {fault:?}");
        }
        Ok(program) => {
            prop_assert!(program.inputs(&scope).len() <= SUMMARY_BYTES_MAX);
            match program.evaluate(&scope) {
                Ok(value) => prop_assert!(value.to_string().len() <= ANSWER_BYTES_MAX),
                Err(failure) => prop_assert!(failure.message.len() < 8_000, "{}", failure.message.len()),
            }
            prop_assert_eq!(program.evaluate(&scope), program.evaluate(&scope));
        }
    }
    Ok(())
}

const SAMPLES: [&str; 8] = [
    "input.list.filter(x, x != 1).map(y, [y, y]).flatten().size() > 2 ? 'a' : \"b\"",
    "has(input.map.k) && !(input.n in [1, 2, 3]) || outputs['s'].s.startsWith('te')",
    "input.?missing.orValue({'a': 1, 'b': [1u, 2.5e3, null]}).a + -1 * (2 % 3)",
    "outputs.s.list[?2].?a.or(optional.of(1)).hasValue() == true",
    "input.s.matches(r'^\\w+$') && input.s.replace('t', 'tt').split('').join('-') != ''",
    "'''it's\n long''' + string(math.greatest(input.n, 2, 1.5)) // the end",
    "input.map.k.all(v, type(v) == bool || [1, 2].exists(w, w < v))",
    "[[1, 2], [3]].map(l, l.sum()).sort().reverse().slice(0, 1)[0] >= double('1.5')",
];

fn mutated() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        0usize..4,
        prop::sample::select(vec![
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "'",
            "\"",
            "\\",
            ".",
            "?",
            ",",
            "+",
            "-",
            "!",
            "&&",
            "||",
            " in ",
            "0",
            "1e9",
            "x",
            "ü",
            "\n",
            "`",
            "//",
            "$",
            "\u{0}",
            "r'",
            "b\"",
            ".map(x, ",
            "input",
            "9999999999999999999",
        ]),
    );
    (prop::sample::select(SAMPLES.to_vec()), prop::collection::vec(edit, 1..6)).prop_map(|(sample, edits)| {
        edits.into_iter().fold(sample.to_string(), |text, (at, removed, inserted)| {
            let chars: Vec<char> = text.chars().collect();
            let at = at.index(chars.len() + 1);
            let rest = chars[at..].iter().skip(removed);
            chars[..at].iter().chain(&inserted.chars().collect::<Vec<_>>()).chain(rest).collect()
        })
    })
}

/// An expression of ints and booleans, with what Rust makes of it.
#[derive(Clone, Debug)]
struct Sum {
    source: String,
    value: Option<i64>,
}

#[derive(Clone, Debug)]
struct Truth {
    source: String,
    value: Option<bool>,
}

fn sum() -> impl Strategy<Value = Sum> {
    let literal = prop_oneof![-5i64..6, any::<i64>()]
        .prop_map(|int| Sum { source: format!("({int})"), value: Some(int) });
    let field = Just(Sum { source: "input.n".into(), value: Some(3) });
    prop_oneof![4 => literal, 1 => field].prop_recursive(4, 24, 2, |inner| {
        let binary = (inner.clone(), inner.clone(), prop::sample::select(vec!['+', '-', '*', '/', '%']));
        let choice = (truth(inner.clone().boxed()), inner.clone(), inner.clone());
        prop_oneof![
            4 => binary.prop_map(|(a, b, sign)| Sum {
                source: format!("({} {sign} {})", a.source, b.source),
                value: a.value.zip(b.value).and_then(|(a, b)| match sign {
                    '+' => a.checked_add(b),
                    '-' => a.checked_sub(b),
                    '*' => a.checked_mul(b),
                    '/' => a.checked_div(b),
                    _ => a.checked_rem(b),
                }),
            }),
            1 => inner.prop_map(|a| Sum {
                source: format!("-({})", a.source),
                value: a.value.and_then(i64::checked_neg),
            }),
            1 => choice.prop_map(|(condition, a, b)| Sum {
                source: format!("({} ? {} : {})", condition.source, a.source, b.source),
                value: condition.value.and_then(|holds| if holds { a.value } else { b.value }),
            }),
        ]
    })
}

fn truth(sums: BoxedStrategy<Sum>) -> impl Strategy<Value = Truth> {
    let compared = (sums.clone(), sums, prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]));
    let leaf = compared.prop_map(|(a, b, sign)| Truth {
        source: format!("({} {sign} {})", a.source, b.source),
        value: a.value.zip(b.value).map(|(a, b)| match sign {
            "<" => a < b,
            "<=" => a <= b,
            ">" => a > b,
            ">=" => a >= b,
            "==" => a == b,
            _ => a != b,
        }),
    });
    leaf.prop_recursive(2, 8, 2, |inner| {
        prop_oneof![
            // The side that decides does so whatever is wrong with the other.
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Truth {
                source: format!("({} && {})", a.source, b.source),
                value: match (a.value, b.value) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (a, b) => a.and(b),
                },
            }),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Truth {
                source: format!("({} || {})", a.source, b.source),
                value: match (a.value, b.value) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (a, b) => a.and(b),
                },
            }),
            inner
                .prop_map(|a| Truth { source: format!("!{}", a.source), value: a.value.map(|value| !value) }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(source in ".{0,60}") {
        tried(&source)?;
    }

    #[test]
    fn no_signs_make_it_panic(source in r#"[(){}\[\]'"`.?:,+*/%!&|<>= a0x\n\\-]{0,40}"#) {
        tried(&source)?;
    }

    #[test]
    fn no_slip_of_the_pen_makes_it_panic(source in mutated()) {
        tried(&source)?;
    }

    #[test]
    fn no_template_makes_it_panic(text in r#"([a$ {}'"]|\$\{|input\.n|\}){0,20}"#) {
        let input = input();
        let mut scope = Scope::new();
        scope.bind("input", &input);
        if let Ok(template) = Template::compile(&json!([text])) {
            prop_assert_eq!(template.render(&scope), template.render(&scope));
        }
    }

    #[test]
    fn ints_are_those_of_rust(sum in sum()) {
        let input = input();
        let mut scope = Scope::new();
        scope.bind("input", &input);
        match Program::compile(&sum.source) {
            Ok(program) => prop_assert_eq!(program.evaluate(&scope).ok(), sum.value.map(Value::from), "{}", sum.source),
            Err(fault) => prop_assert!(fault.message.contains("more than"), "{}: {fault}", sum.source),
        }
    }

    #[test]
    fn conditions_are_those_of_rust(truth in truth(sum().boxed())) {
        let input = input();
        let mut scope = Scope::new();
        scope.bind("input", &input);
        match Program::compile(&truth.source) {
            Ok(program) => prop_assert_eq!(program.holds(&scope).ok(), truth.value, "{}", truth.source),
            Err(fault) => prop_assert!(fault.message.contains("more than"), "{}: {fault}", truth.source),
        }
    }
}
