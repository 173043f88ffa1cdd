//! Files that mean harm: each is refused or read, quickly, and nothing else happens.

use super::{bytes, files};
use crate::definition;
use proptest::prelude::*;
use std::time::Duration;

/// Far above what any of them takes, far below what one without limits would.
const SOON: Duration = Duration::from_secs(20);

/// What is told; on a thread of its own, so that whoever does not come back is noticed.
fn told(text: Vec<u8>) -> String {
    let (done, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let told = match definition::read(&text, "x.yaml") {
            Ok(_) => "nothing".to_string(),
            Err(faults) => {
                assert!(faults.len() <= definition::limits::FAULTS_MAX + 1);
                faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>().join("; ")
            }
        };
        done.send(told)
    });
    answer.recv_timeout(SOON).expect("it is read in time")
}

#[test]
fn aliases_cannot_grow_a_file() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let names = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{names}]\n"));
    }
    assert_eq!(told(bomb.into()), "the file comes to more than 200000 values");
    let long = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 100].join(", "));
    assert_eq!(told(long.into()), "the file comes to more than 8388608 bytes of text");
    assert_eq!(told("a: &a [*a]\n".into()), "this stands for something it is a part of");
}

#[test]
fn depth_has_an_end() {
    let told_of = |open: &str, n: usize| told(open.repeat(n).into());
    assert_eq!(told_of("[", 1_000_000), "this is nested too deep");
    assert_eq!(told_of("{a: ", 100_000), "this is nested too deep");
    assert_eq!(told_of("- ", 100_000), "this is nested too deep");
    let mut lines = String::new();
    (0..1_000).for_each(|n| lines.push_str(&format!("{}a:\n", " ".repeat(n))));
    assert_eq!(told(lines.into()), "this is nested too deep");
    let mut through = String::from("a0: &a0 [x]\n");
    (1..100).for_each(|n| through.push_str(&format!("a{n}: &a{n} [*a{}]\n", n - 1)));
    assert_eq!(told(through.into()), "this is nested too deep");
}

#[test]
fn size_has_an_end() {
    assert_eq!(told(vec![b'a'; (4 << 20) + 1]), "the file is 4194305 bytes long");
    assert_eq!(told("- a\n".repeat(250_000).into()), "the file comes to more than 200000 values");
    assert!(told("x: 1\n".repeat(100_000).into()).contains("written twice"));
    let keys: String = (0..90_000).map(|n| format!("k{n}: 1\n")).collect();
    assert!(told(keys.into()).ends_with("89903 more faults are not shown"));
    let steps: String = (0..10_001).map(|n| format!("- {{key: s{n}, action: a}}\n")).collect();
    assert_eq!(
        told(format!("workflow: a\nversion: 1.0.0\nsteps:\n{steps}").into()),
        "10001 are in this list"
    );
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert_eq!(told(b"workflow: \xff\xfe".to_vec()), "this is not UTF-8");
    assert!(told(b"workflow: \"a\\0b\"".to_vec()).contains("contains a NUL character"));
    assert_eq!(told(Vec::new()), "the file is empty");
}

#[test]
fn large_graphs_are_checked_in_time() {
    let mut text = String::from("workflow: a\nversion: 1.0.0\nsteps:\n- {key: s0, action: a}\n");
    for n in 1..5_000 {
        let after: Vec<String> =
            (1..=4).filter(|back| *back <= n).map(|back| format!("s{}", n - back)).collect();
        text.push_str(&format!(
            "- {{key: s{n}, action: a, after: [{}], arguments: \"${{outputs.s{}}}\"}}\n",
            after.join(", "),
            n / 2
        ));
    }
    assert_eq!(told(text.into()), "nothing");
}

#[test]
fn branches_in_branches_have_an_end() {
    let mut text = String::from("workflow: a\nversion: 1.0.0\nsteps:\n");
    for n in 0..3_000 {
        let next = n + 1;
        text.push_str(&format!(
            "- {{key: r{n}, branch: {{choose: input.x, branches: {{a: [r{next}], b: []}}}}}}\n"
        ));
    }
    text.push_str("- {key: r3000, action: a, arguments: \"${outputs.r0}\"}\n");
    assert_eq!(told(text.into()), "it stands behind more than 64 branches");
}

#[test]
fn many_branches_are_checked_in_time() {
    let mut text = String::from("workflow: a\nversion: 1.0.0\nsteps:\n");
    for n in 0..2_500 {
        text.push_str(&format!(
            "- {{key: r{n}, branch: {{choose: input.x, branches: {{a: [a{n}], b: [b{n}]}}, converge: c{n}}}}}\n\
             - {{key: a{n}, action: a}}\n- {{key: b{n}, action: a, arguments: \"${{outputs.r{n}}}\"}}\n- {{key: c{n}, action: a}}\n"
        ));
    }
    assert_eq!(told(text.into()), "nothing");
}

#[test]
fn expressions_that_cost_too_much_are_refused() {
    let step = |expression: &str| {
        format!("workflow: a\nversion: 1.0.0\nsteps:\n- {{key: a, action: a, when: \"{expression}\"}}\n")
    };
    for bomb in
        ["(".repeat(10_000), "!".repeat(3_000) + "true", vec!["1"; 3_000].join("+"), "x".repeat(100_000)]
    {
        assert_ne!(told(step(&bomb).into()), "nothing");
    }
}

fn valid() -> Vec<Vec<u8>> {
    files("valid", &["yaml", "json"]).iter().map(|path| bytes(path)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        _ = definition::read(&bytes, "x.yaml").map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>());
    }

    #[test]
    fn any_signs_of_yaml_are_read_or_refused(text in "[-?:,\\[\\]{}#&*!|>'\"%@`~<=.a0 \\n\\t\\r$é]{0,200}") {
        _ = definition::read(text.as_bytes(), "x.yaml").map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A part is cut out, doubled, or replaced by something else; what is still a definition is stored and read again.
    #[test]
    fn mutated_files_are_read_or_refused(
        file in 0usize..3, at in any::<prop::sample::Index>(), length in 0usize..40, other in "[ -~\\n]{0,12}", twice in any::<bool>()
    ) {
        let mut text = valid()[file].clone();
        let from = at.index(text.len());
        let to = (from + length).min(text.len());
        let cut = text[from..to].to_vec();
        let replaced = if twice { [cut.clone(), cut].concat() } else { other.into_bytes() };
        text.splice(from..to, replaced);
        match definition::read(&text, "x.yaml") {
            Ok(read) => {
                let stored = definition::canonical(&read.definition);
                let again: model::definition::Definition = serde_json::from_str(&stored).unwrap();
                prop_assert_eq!(definition::hash(&again), definition::hash(&read.definition));
                prop_assert_eq!(definition::check(&again), Vec::new());
                definition::graph::mermaid(&again).unwrap();
            }
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    prop_assert!(fault.line >= 1 && fault.column >= 1 && !fault.message.is_empty() && !fault.fix.is_empty(), "{}", fault);
                }
            }
        }
    }
}
