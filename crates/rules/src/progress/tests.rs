//! How far something is, in text: its parts, and what is told of them.

use super::*;

/// `a completed@5, b running 3/4, ?c pending "Packing"`
fn read(text: &str) -> Vec<Part> {
    let lines = text.split(',').map(str::trim).filter(|line| !line.is_empty());
    lines.map(part).collect()
}

fn part(line: &str) -> Part {
    let (line, status) = match line.split_once('"') {
        Some((line, status)) => (line, Some(status.trim_end_matches('"').to_string())),
        None => (line, None),
    };
    let mut words = line.split_whitespace();
    let name = words.next().unwrap();
    let (standing, at) = words.next().unwrap().split_once('@').map_or_else(
        || (line.split_whitespace().nth(1).unwrap(), None),
        |(standing, at)| (standing, Some(Timestamp(at.parse().unwrap()))),
    );
    let standing = match standing {
        "pending" => PartStanding::Pending,
        "running" => PartStanding::Running,
        "completed" => PartStanding::Completed,
        "skipped" => PartStanding::Skipped,
        "failed" => PartStanding::Failed,
        "cancelled" => PartStanding::Cancelled,
        other => panic!("{other}"),
    };
    let items = words.next().map(|items| {
        let (done, of) = items.split_once('/').unwrap();
        Items { done: done.parse().unwrap(), failed: 0, of: of.parse().unwrap() }
    });
    let mut part = Part::new(name.trim_start_matches('?'), standing);
    part.optional = name.starts_with('?');
    (part.ended_at, part.items, part.status_message) = (at, items, status);
    part
}

fn check(text: &str, course: Course, expected: &str) {
    let account = account(&read(text), course, None);
    let (state, percent) = (account.state, account.percent);
    assert_eq!(format!("{state} {percent} % {}", account.sentence), expected, "{text}");
    assert!((0.0..=100.0).contains(&percent));
}

use Course::{Cancelled, Completed, Failed, GoingOn};

#[test]
fn the_story_of_the_payment() {
    check(
        "wallet_credit completed, email completed, bonus_calculation pending",
        GoingOn,
        "running 66.67 % 2 of 3 steps are done; next: bonus calculation.",
    );
    check(
        "wallet_credit completed, email completed, bonus_calculation failed",
        GoingOn,
        "failed 66.67 % It could not go on at bonus calculation; 2 of 3 steps are done.",
    );
    check(
        "paid completed, bonus running \"Payment received; processing bonuses\"",
        GoingOn,
        "running 50 % Payment received; processing bonuses",
    );
}

#[test]
fn nothing_to_do_is_all_done() {
    check("", GoingOn, "pending 100 % It has begun.");
    check("", Completed, "completed 100 % Everything is done.");
    assert!(!account(&[], GoingOn, None).is_half_done());
}

#[test]
fn what_is_not_over_never_reads_as_whole() {
    check("a completed, b skipped", GoingOn, "running 99 % All 2 steps are done.");
    check("a completed, b skipped", Completed, "completed 100 % Everything is done.");
    check("a completed", GoingOn, "running 99 % Its one step is done.");
    assert!(account(&read("a completed"), GoingOn, None).is_half_done(), "nobody has said that it is over");
}

#[test]
fn where_something_failed_the_word_is_failed() {
    check("a completed, b failed", GoingOn, "failed 50 % It could not go on at b; 1 of 2 steps is done.");
    check("a failed, b running", GoingOn, "failed 0 % It could not go on at a; nothing is done yet.");
    check("a completed", Failed, "failed 99 % It could not go on; its one step is done.");
    let failed_at_once = account(&read("a failed, b pending"), GoingOn, None);
    assert!(failed_at_once.is_half_done(), "what failed is looked at, however little is done");
}

#[test]
fn optional_parts_count_once_they_are_over() {
    check("a completed, b pending, ?c pending", GoingOn, "running 50 % 1 of 2 steps is done; next: b.");
    check("a completed, b pending, ?c completed", GoingOn, "running 66.67 % 2 of 3 steps are done; next: b.");
    check("a completed, b pending, ?c failed", GoingOn, "running 66.67 % 2 of 3 steps are done; next: b.");
    check("?c pending", GoingOn, "pending 0 % It has begun.");
}

#[test]
fn a_fan_out_counts_as_one_part_by_its_items() {
    check("a completed, b running 3/4", GoingOn, "running 87.5 % 1 of 2 steps is done; now: b.");
    check("a completed, b running 9/4", GoingOn, "running 99 % 1 of 2 steps is done; now: b.");
    check("a completed, b failed 3/4", GoingOn, "failed 50 % It could not go on at b; 1 of 2 steps is done.");
    check("b running 0/0", GoingOn, "running 0 % Now: b.");
}

#[test]
fn what_polls_behind_a_step_is_told_as_that_step() {
    check(
        "ask_bank completed, ask_bank:poll running, b pending",
        GoingOn,
        "running 33.33 % 1 of 3 steps is done; now: ask bank.",
    );
}

#[test]
fn what_was_called_off_says_how_far_it_came() {
    check("a completed, b cancelled", Cancelled, "cancelled 50 % It was called off; 1 of 2 steps is done.");
    assert!(!account(&read("a completed, b cancelled"), Cancelled, None).is_half_done());
}

#[test]
fn it_is_at_what_runs_and_since_something_happened() {
    let parts = read("a completed@5, b completed@9, c pending, d running");
    let account = account(&parts, GoingOn, Some("We are at it"));
    assert_eq!((account.current, account.since), (Some(3), Some(Timestamp(9))));
    assert_eq!(account.sentence, "We are at it");
    assert_eq!((account.done, account.of), (2, 4));
}
