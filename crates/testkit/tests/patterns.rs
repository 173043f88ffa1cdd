//! The workflow patterns: every definition of `docs/patterns.md` runs as it stands there, and does what the page says.
//!
//! Why    a page that claims what a language can express is believed. So it says only what a test has seen, and the definitions
//!        that readers copy are the ones that were run.

#[path = "patterns/cancelling.rs"]
mod cancelling;
#[path = "patterns/ends.rs"]
mod ends;
#[path = "patterns/instances.rs"]
mod instances;
#[path = "patterns/page.rs"]
mod page;
#[path = "patterns/paths.rs"]
mod paths;
#[path = "patterns/play.rs"]
mod play;
#[path = "patterns/turns.rs"]
mod turns;

use page::Verdict;

/// Which story shows which pattern. Each line is a test of its own, and is given only what the page says of that pattern.
macro_rules! shown {
    ($($number:literal $test:ident = $story:path;)*) => {
        const SHOWN: &[u32] = &[$($number),*];
        $(
            #[tokio::test]
            async fn $test() {
                $story(&page::pattern($number)).await;
            }
        )*
    };
}

shown! {
    1 wcp_1_sequence = paths::sequence;
    2 wcp_2_parallel_split = paths::parallel_split;
    3 wcp_3_synchronization = paths::synchronization;
    4 wcp_4_exclusive_choice = paths::exclusive_choice;
    5 wcp_5_simple_merge = paths::simple_merge;
    6 wcp_6_multi_choice = paths::multi_choice;
    7 wcp_7_structured_synchronizing_merge = paths::structured_synchronizing_merge;
    11 wcp_11_implicit_termination = ends::implicit_termination;
    12 wcp_12_without_synchronization = instances::without_synchronization;
    13 wcp_13_design_time_knowledge = instances::design_time_knowledge;
    14 wcp_14_run_time_knowledge = instances::run_time_knowledge;
    15 wcp_15_without_run_time_knowledge = instances::without_run_time_knowledge;
    17 wcp_17_interleaved_parallel_routing = turns::interleaved_parallel_routing;
    19 wcp_19_cancel_task = cancelling::cancel_task;
    20 wcp_20_cancel_case = cancelling::cancel_case;
    21 wcp_21_structured_loop = ends::structured_loop;
    22 wcp_22_recursion = ends::recursion;
    25 wcp_25_cancel_region = cancelling::cancel_region;
    26 wcp_26_cancel_instances = instances::cancel_instances;
    27 wcp_27_complete_instances = instances::complete_instances;
    29 wcp_29_cancelling_discriminator = cancelling::cancelling_discriminator;
    32 wcp_32_cancelling_partial_join = cancelling::cancelling_partial_join;
    37 wcp_37_local_synchronizing_merge = paths::local_synchronizing_merge;
    39 wcp_39_critical_section = turns::critical_section;
    40 wcp_40_interleaved_routing = turns::interleaved_routing;
    43 wcp_43_explicit_termination = ends::explicit_termination;
}

/// As they are called where they were collected.
const NAMES: [&str; 43] = [
    "Sequence",
    "Parallel Split",
    "Synchronization",
    "Exclusive Choice",
    "Simple Merge",
    "Multi-Choice",
    "Structured Synchronizing Merge",
    "Multi-Merge",
    "Structured Discriminator",
    "Arbitrary Cycles",
    "Implicit Termination",
    "Multiple Instances without Synchronization",
    "Multiple Instances with a Priori Design-Time Knowledge",
    "Multiple Instances with a Priori Run-Time Knowledge",
    "Multiple Instances without a Priori Run-Time Knowledge",
    "Deferred Choice",
    "Interleaved Parallel Routing",
    "Milestone",
    "Cancel Task",
    "Cancel Case",
    "Structured Loop",
    "Recursion",
    "Transient Trigger",
    "Persistent Trigger",
    "Cancel Region",
    "Cancel Multiple Instance Activity",
    "Complete Multiple Instance Activity",
    "Blocking Discriminator",
    "Cancelling Discriminator",
    "Structured Partial Join",
    "Blocking Partial Join",
    "Cancelling Partial Join",
    "Generalized AND-Join",
    "Static Partial Join for Multiple Instances",
    "Cancelling Partial Join for Multiple Instances",
    "Dynamic Partial Join for Multiple Instances",
    "Local Synchronizing Merge",
    "General Synchronizing Merge",
    "Critical Section",
    "Interleaved Routing",
    "Thread Merge",
    "Thread Split",
    "Explicit Termination",
];

/// Lines of one definition: a pattern that needs more is not one that can be seen at a glance.
const LINES_MAX: usize = 10;

#[test]
fn all_patterns_are_on_the_page_in_their_order() {
    let named: Vec<(u32, &str)> = page::patterns().iter().map(|p| (p.number, p.name)).collect();
    let expected: Vec<(u32, &str)> = (1..).zip(NAMES).collect();
    assert_eq!(named, expected);
}

#[test]
fn what_is_called_expressible_is_shown_and_nothing_else() {
    let claimed: Vec<u32> =
        page::patterns().iter().filter(|p| p.verdict != Verdict::NotExpressible).map(|p| p.number).collect();
    assert_eq!(claimed, SHOWN, "the page claims the left, and the table of tests has the right");
}

#[test]
fn what_is_not_expressible_has_no_definition_and_says_what_to_do() {
    for pattern in page::patterns() {
        let definitions = pattern.definitions.len();
        match pattern.verdict {
            Verdict::NotExpressible => {
                assert_eq!(definitions, 0, "WCP-{}: nothing runs this definition", pattern.number);
                assert!(pattern.text.contains("Instead, "), "WCP-{} says no way around", pattern.number);
            }
            Verdict::Expressible | Verdict::InPart => {
                assert!((1..=2).contains(&definitions), "WCP-{} has {definitions}", pattern.number);
            }
        }
        for yaml in &pattern.definitions {
            assert!(yaml.lines().count() <= LINES_MAX, "WCP-{} is too long:\n{yaml}", pattern.number);
        }
    }
}

#[test]
fn the_page_counts_right() {
    let patterns = page::patterns();
    let count = |verdict: Verdict| patterns.iter().filter(|p| p.verdict == verdict).count();
    let sentence = format!(
        "Of the {}, {} are expressible, {} in part, and {} are not expressible.",
        patterns.len(),
        count(Verdict::Expressible),
        count(Verdict::InPart),
        count(Verdict::NotExpressible)
    );
    assert!(page::PAGE.contains(&sentence), "write: {sentence}");
}
