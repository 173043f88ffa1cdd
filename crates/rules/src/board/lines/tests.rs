//! Stories of a line, told as text: who comes and goes, and whose turn it is.

use super::*;
use crate::check::blank;
use model::Member;

/// A step of the group `g`: `3!` is one of mode `block_on_error`, any other passes errors.
fn member(text: &str) -> Step {
    let (number, mode) = match text.strip_suffix('!') {
        Some(number) => (number, DispatchMode::BlockOnError),
        None => (text, DispatchMode::NextOnError),
    };
    let id = StepId::of(number.parse().expect("a number"));
    let member = Member { group: "g".into(), mode, sequence: 99, place: id, joined: true };
    Step { member: Some(member), ..blank(id) }
}

fn rank(n: u64) -> Rank {
    (99, StepId::of(n))
}

/// One line does one thing: `1 waits`, `1 holds`, `1 is ready`, `1 goes`, `open whole|nothing|to 3`, `reach to 3`, `arrived 2`, `close`, `paused`,
/// `blocked 9`, `free`. The answer is whose turn it is, and a mark: `+` more must be read, `-` nothing is left of the line.
fn play(script: &str) -> String {
    let (mut lines, group, home) = (Lines::default(), Name::from("g"), DispatchGroup::new("alpha"));
    let mut told = Vec::new();
    for line in script.lines().map(str::trim) {
        let words: Vec<&str> = line.split(' ').collect();
        let reach = |words: &[&str]| match words {
            ["to", n] => Reach::To(rank(n.parse().expect("a number"))),
            ["whole"] => Reach::Whole,
            _ => Reach::Nothing,
        };
        let turned = match &words[..] {
            ["open", rest @ ..] => {
                lines.open(&group, &home, reach(rest));
                Turned { now: lines.head("g"), ..Turned::default() }
            }
            ["reach", rest @ ..] => {
                lines.reach(&group, reach(rest));
                lines.settle(&group);
                Turned { now: lines.head("g"), ..Turned::default() }
            }
            ["arrived", n] => lines.arrived(&group, rank(n.parse().expect("a number"))),
            ["close"] => lines.close(&group),
            ["paused"] => lines.hold(&group, Held { paused: true, ..Held::default() }),
            ["blocked", n] => {
                let blocked_by = BTreeSet::from([StepId::of(n.parse().expect("a number"))]);
                lines.hold(&group, Held { blocked_by, ..Held::default() })
            }
            ["free"] => lines.hold(&group, Held::default()),
            [step, "waits"] => lines.set(&member(step), Part::Waits),
            [step, "holds"] => lines.set(&member(step), Part::Holds { ready: false }),
            [step, "is", "ready"] => lines.set(&member(step), Part::Holds { ready: true }),
            [step, "goes"] => lines.set(&member(step), Part::Away),
            other => panic!("{other:?}"),
        };
        let head = turned.now.map_or("nobody".into(), |id| id.bytes()[15].to_string());
        let more = if lines.is_hungry() { "+" } else { "" };
        let gone = if lines.knows("g") { "" } else { "-" };
        told.push(format!("{head}{more}{gone}"));
    }
    told.join(" ")
}

#[test]
fn one_at_a_time_and_in_order() {
    assert_eq!(
        play("open whole\n2 waits\n1 waits\n1 holds\n2 waits\n1 goes\n2 goes"),
        "nobody 2 1 nobody nobody 2 nobody-"
    );
    assert_eq!(
        play("open whole\n1 holds\n1 is ready\n2 waits\n1 goes"),
        "nobody nobody 1 1 2",
        "whoever had it keeps the head"
    );
}

#[test]
fn nobody_is_passed_over_who_is_still_on_disk() {
    assert_eq!(
        play("open to 2\n1 waits\n3 waits\n1 goes"),
        "nobody+ 1 1 nobody+",
        "who comes behind the front stays on disk"
    );
    assert_eq!(
        play("open whole\n1 waits\n3 waits\narrived 2\n1 goes"),
        "nobody 1 1 1 nobody+",
        "others may stand between"
    );
    assert_eq!(play("3 waits"), "nobody+", "a line that nobody has looked at");
    assert_eq!(play("open nothing\nreach whole\n3 waits\n3 goes"), "nobody+ nobody- nobody+ nobody+");
    assert_eq!(play("3 goes"), "nobody-", "one that never stood there");
}

#[test]
fn a_failure_holds_back_those_that_block() {
    assert_eq!(play("open whole\n1! waits\n2 waits\nblocked 9\nfree"), "nobody 1 1 2 nobody+");
    assert_eq!(
        play("open whole\n1! waits\nblocked 9\n2! waits\n3 waits\n3 goes"),
        "nobody 1 nobody- nobody+ nobody+ nobody+"
    );
}

#[test]
fn a_pause_holds_back_everybody_and_a_line_is_let_go() {
    assert_eq!(play("open whole\n1 waits\n2 waits\npaused\nfree"), "nobody 1 1 nobody 1");
    assert_eq!(
        play("open whole\n1 waits\npaused\n1 goes"),
        "nobody 1 nobody nobody-",
        "nothing is read for it"
    );
    assert_eq!(play("open whole\n1 waits\nclose"), "nobody 1 nobody-");
    assert_eq!(play("open whole\n1 holds\nclose"), "nobody nobody nobody", "somebody has it");
    assert_eq!(play("close\narrived 3\nreach whole"), "nobody- nobody- nobody-", "there is no such line");
}

#[test]
fn what_stays_on_disk_is_told_once() {
    let mut lines = Lines::default();
    lines.open(&"g".into(), &DispatchGroup::new("alpha"), Reach::To(rank(2)));
    assert!(lines.is_free("g") && !lines.is_free("other") && lines.len() == 1 && !lines.is_empty());
    lines.set(&member("2"), Part::Waits);
    lines.set(&member("5"), Part::Waits);
    lines.set(&member("4"), Part::Waits);
    assert_eq!(lines.first_left("g"), Some(rank(4)), "the first of them");
    assert_eq!((lines.take_left().len(), lines.first_left("g")), (1, None));
    assert!(lines.holds(&member("2")) && !lines.holds(&member("4")) && !lines.holds(&blank(StepId::of(2))));
    assert_eq!(lines.set(&blank(StepId::of(2)), Part::Waits), Turned::default(), "it stands in no line");
    lines.set(&member("2"), Part::Away);
    assert_eq!(lines.hungry(), [("g".into(), DispatchGroup::new("alpha"))]);
}
