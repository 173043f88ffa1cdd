//! Stuck or not, in words: a candidate, a rule and a clock in; a verdict out.

use super::*;
use crate::why::Why;
use model::{Alert, Remedy, Severity, StepId, StuckPolicy};
use std::time::Duration;

const HOUR: i64 = 3_600_000_000;

fn at(hours: f64) -> Timestamp {
    Timestamp((hours * HOUR as f64) as i64)
}

/// A rule from `name=value` words over one that watches pending steps for an hour.
fn rule(words: &str) -> StuckRule {
    let mut rule = defaults().into_iter().find(|rule| rule.name == "step-waiting").unwrap();
    rule.states = vec!["pending".into()];
    for (name, value) in words.split_whitespace().map(|word| word.split_once('=').unwrap()) {
        match name {
            "older" => rule.older_than = Duration::from_secs(value.parse::<u64>().unwrap() * 3600),
            "clock" => rule.clock = value.parse().unwrap(),
            "severity" => rule.severity = value.parse().unwrap(),
            "remedy" => rule.remedy = value.parse().unwrap(),
            "auto" => rule.auto = Some(value.parse().unwrap()),
            "action" => rule.action = Some(value.into()),
            "definition" => rule.definition = Some(value.into()),
            "relatable" => rule.relatable_type = Some(value.into()),
            "label" => drop(rule.labels.insert("team".into(), value.into())),
            "state" => rule.states = vec![value.into()],
            "on" => rule.enabled = value.parse().unwrap(),
            "attempts" => rule.attempts = value.parse().unwrap(),
            "status" => rule.status = Some(value.into()),
            other => panic!("{other}"),
        }
    }
    rule
}

/// A pending step of `pay`, made at hour 0, ready at hour 1, moved at hour 2.
fn step() -> Candidate {
    Candidate {
        action: Some("pay".into()),
        state_at: at(1.0),
        progress_at: at(2.0),
        what: "step charge (pay)".into(),
        ..Candidate::new(Watched::Step, "7", "pending", at(0.0))
    }
}

fn judged(words: &str, candidate: &Candidate, hours: f64) -> String {
    let rule = rule(words);
    match judge(&rule, candidate, at(hours)) {
        Ok(since) => finding(&rule, candidate, since, at(hours)).message,
        Err(not) => format!("no: {not}"),
    }
}

#[test]
fn a_thing_is_stuck_when_it_is_old_by_the_clock_of_the_rule() {
    for (words, hours, expected) in [
        ("", 1.9, "no: it is not old enough"),
        ("", 2.0, "step charge (pay) has been pending for 1 h"),
        ("clock=created", 1.0, "step charge (pay) is pending and was made 1 h ago"),
        ("clock=progress", 2.5, "no: it is not old enough"),
        ("clock=progress", 3.5, "step charge (pay) is pending and last moved 1 h 30 min ago"),
        ("older=0", 0.5, "no: it is not old enough"),
        ("on=false", 9.0, "no: the rule does not speak of it"),
    ] {
        assert_eq!(judged(words, &step(), hours), expected, "{words} at {hours}");
    }
}

#[test]
fn every_filter_of_a_rule_must_hold() {
    let mut one = step();
    one.relatable_type = Some("order".into());
    one.labels.insert("team".into(), "blue".into());
    for (words, is_stuck) in [
        ("action=pay", true),
        ("action=ship", false),
        ("relatable=order", true),
        ("relatable=user", false),
        ("label=blue", true),
        ("label=red", false),
        ("state=running", false),
        ("definition=order", false),
    ] {
        assert_eq!(judge(&rule(words), &one, at(9.0)).is_ok(), is_stuck, "{words}");
    }
}

#[test]
fn what_waits_by_design_is_not_stuck_however_old_it_is() {
    let later = at(99.0);
    let group = || "customer-1".to_string();
    for (why, expected) in [
        (Why::DueLater { at: later, throttled: true }, "no: it was throttled and is due later"),
        (Why::DueLater { at: later, throttled: false }, "no: it is due later"),
        (Why::PollLater { at: later, number: 3 }, "no: it waits for its next poll"),
        (Why::Breaker { everywhere: true, by: None, why: None, until: None }, "no: the breaker is off"),
        (
            Why::GroupPaused { message_group: group(), by: Some("anna".into()), why: None },
            "no: anna holds it back",
        ),
        (
            Why::GroupBlocked { message_group: group(), by: StepId::of(3) },
            "no: what it waits for has an open alert",
        ),
        (Why::PoolFull { pool: "card".into(), used: 2, of: 2 }, "no: its pool `card` lets it start later"),
        (Why::Busy { sessions: 2 }, "no: all 2 sessions that could take it are busy"),
        (Why::Predecessor { index: 1, live: 2 }, "no: it waits for 2 steps at index 1 of its block"),
        (Why::Children { live: 4 }, "no: it waits for 4 live steps of its child block"),
        (
            Why::NoWorker { queue: "default".into(), action: "pay".into() },
            "step charge (pay) has been pending for 8 h",
        ),
        (Why::NoPool { pool: "card".into() }, "step charge (pay) has been pending for 8 h"),
        (Why::NoOwner { dispatch_group: "alpha".into() }, "step charge (pay) has been pending for 8 h"),
        (Why::Queued { since: at(1.0) }, "step charge (pay) has been pending for 8 h"),
        (Why::Next { since: at(1.0) }, "step charge (pay) has been pending for 8 h"),
    ] {
        let one = Candidate { by_design: of_step(std::slice::from_ref(&why)), ..step() };
        assert_eq!(judged("", &one, 9.0), expected, "{why:?}");
    }
}

#[test]
fn what_has_an_alert_is_closed_only_when_it_was_seen_to_have_left() {
    let seen =
        |candidate: Option<Candidate>| match observe(&rule("state=failed"), 0, candidate.as_ref(), at(9.0)) {
            Observed::Still(_) => "still".to_string(),
            Observed::Waits(why) => format!("waits: {why}"),
            Observed::Left(how) => format!("left: {how}"),
        };
    let failed = Candidate { state: "failed".into(), ..step() };
    let instead = |state: &str, hours: f64| {
        Some(Candidate { state: state.into(), state_at: at(hours), acts_on: Some("8".into()), ..step() })
    };
    assert_eq!(seen(None), "left: it is gone");
    assert_eq!(seen(Some(failed.clone())), "still");
    assert_eq!(
        seen(Some(Candidate { by_design: Some(ByDesign::BreakerOff), ..failed.clone() })),
        "waits: the breaker is off"
    );
    assert_eq!(seen(Some(step())), "left: it is pending");
    assert_eq!(seen(Some(Candidate { state_at: at(8.9), ..failed })), "left: it moved, and failed");
    let not_yet = "waits: what took its place has not ended, or not for long";
    assert_eq!(seen(instead("pending", 8.0)), not_yet, "a retry is no resolution");
    assert_eq!(seen(instead("failed", 8.9)), not_yet);
    assert_eq!(seen(instead("failed", 2.0)), "still", "and one that failed again has not helped");
    assert_eq!(seen(instead("completed", 8.0)), "left: it is completed");
}

/// A workflow that failed again a minute after its retry was told as resolved by it.
#[test]
fn what_is_in_the_same_state_after_a_remedy_was_not_helped() {
    let again = Candidate { state: "failed".into(), state_at: at(8.9), ..step() };
    let seen = observe(&rule("state=failed"), 1, Some(&again), at(9.0));
    assert_eq!(seen, Observed::Waits(ByDesign::TriedAgain));
}

fn alert(words: &str) -> Alert {
    let mut alert = Alert {
        id: 1,
        entity: "step".into(),
        entity_id: "7".into(),
        reason: "x".into(),
        severity: Severity::Medium,
        message: "m".into(),
        opened_at: at(0.0),
        updated_at: at(0.0),
        closed_at: None,
        closed_by: None,
        rule: None,
        user: None,
        labels: BTreeMap::new(),
        data: Value::Null,
        since: at(0.0),
        seen: 1,
        remedy: Remedy::Notify,
        auto_resolvable: true,
        auto_resolved: false,
        attempts: 0,
        action_taken: None,
        last_remedy_at: None,
        status: None,
        admin_notified_at: None,
        user_notified_at: None,
        escalated_at: None,
        acknowledged_at: None,
        acknowledged_by: None,
        assigned_to: None,
        reviewed_at: None,
        reviewed_by: None,
        resolution_notes: None,
        reopened_at: None,
        version: 0,
    };
    for (name, value) in words.split_whitespace().map(|word| word.split_once('=').unwrap()) {
        let hours = || Some(at(value.parse().unwrap()));
        match name {
            "told" => alert.admin_notified_at = hours(),
            "user" => alert.user_notified_at = hours(),
            "escalated" => alert.escalated_at = hours(),
            "acked" => alert.acknowledged_at = hours(),
            "reviewed" => alert.reviewed_at = hours(),
            "tried" => alert.attempts = value.parse().unwrap(),
            "last" => alert.last_remedy_at = hours(),
            "closed" => (alert.closed_at, alert.closed_by) = (hours(), Some("anna".into())),
            other => panic!("{other}"),
        }
    }
    alert
}

/// What follows at hour 10; `-` is no alert yet.
fn follows(rule_words: &str, alert_words: &str, change: impl Fn(&mut Course)) -> String {
    let rule = rule(rule_words);
    let alert = (alert_words != "-").then(|| alert(alert_words));
    let mut course = Course {
        rule: &rule,
        alert: alert.as_ref(),
        policy: StuckPolicy::default(),
        may_remedy: true,
        in_hour: 0,
        of_entity: 0,
        undone: false,
        remedy_open: false,
        has_user: false,
        now: at(10.0),
    };
    change(&mut course);
    let word = |next: &Next| match next {
        Next::Remedy(remedy) => remedy.to_string(),
        Next::Escalate(why) => format!("escalate ({why})"),
        Next::Held(why) => format!("held ({why})"),
        other => format!("{other:?}").to_lowercase(),
    };
    next(&course).iter().map(word).collect::<Vec<_>>().join(", ")
}

#[test]
fn severity_decides_who_is_told() {
    for (rule, alert, expected) in [
        ("severity=low", "-", "open"),
        ("severity=low", "", "renew"),
        ("severity=medium", "-", "open, telladmin"),
        ("severity=medium", "told=1", "renew"),
        ("severity=high", "-", "open, telladmin"),
        ("severity=high", "told=7", "renew"),
        ("severity=high", "told=6", "renew, remind"),
        ("severity=high", "told=6 acked=7", "renew"),
        ("severity=high", "told=6 reviewed=7", "renew"),
        ("severity=critical", "-", "open, telladmin, escalate (it is critical)"),
        ("severity=critical", "told=9 escalated=9", "renew"),
        ("severity=critical remedy=retry", "-", "open, telladmin, escalate (it is critical), retry"),
        ("severity=critical remedy=retry", "told=9 escalated=9", "renew, retry"),
        ("severity=critical remedy=retry", "told=9 escalated=9 tried=3", "renew"),
        ("severity=critical remedy=retry", "told=9 escalated=9 reviewed=9", "renew"),
    ] {
        assert_eq!(follows(rule, alert, |_| {}), expected, "{rule} with {alert}");
    }
}

#[test]
fn a_user_is_told_once_and_only_in_words_of_the_rule() {
    let with_user = |c: &mut Course| c.has_user = true;
    assert_eq!(follows("severity=low status=wait", "-", with_user), "open, telluser");
    assert_eq!(follows("severity=low status=wait", "user=3", with_user), "renew");
    assert_eq!(follows("severity=low", "-", with_user), "open");
    assert_eq!(follows("severity=low status=wait", "-", |_| {}), "open");
}

#[test]
fn the_rule_decides_the_remedy() {
    for (rule, expected) in [
        ("remedy=notify", "renew"),
        ("remedy=retry", "renew, retry"),
        ("remedy=retry auto=false", "renew, held (its rule leaves the remedy to a person)"),
        ("remedy=cancel", "renew, held (its rule leaves the remedy to a person)"),
        ("remedy=cancel auto=true", "renew, cancel"),
        ("remedy=escalate", "renew, escalate (its rule asks for a person)"),
    ] {
        assert_eq!(follows(&format!("severity=low {rule}"), "", |_| {}), expected, "{rule}");
    }
}

#[test]
fn remedies_are_bounded_and_end_with_a_person() {
    let retry = "severity=low remedy=retry attempts=3";
    assert_eq!(
        follows(retry, "tried=1 last=9.5", |_| {}),
        "renew, held (the last remedy was a short while ago)"
    );
    assert_eq!(follows(retry, "tried=1 last=9", |_| {}), "renew, retry");
    assert_eq!(follows(retry, "tried=3 last=9", |_| {}), "renew, escalate (remedies did not help)");
    assert_eq!(
        follows(retry, "", |c| c.of_entity = 3),
        "renew, escalate (it had as many remedies as a day allows)"
    );
    assert_eq!(
        follows(retry, "", |c| c.in_hour = 10),
        "renew, held (as many remedies as an hour allows were applied)"
    );
    assert_eq!(
        follows(retry, "tried=3 last=9", |c| c.remedy_open = true),
        "renew, held (the last remedy has not ended)",
        "a step for it waits: another would only stand behind it"
    );
    assert_eq!(follows(retry, "", |c| c.policy.auto = false), "renew, held (remedies are switched off)");
    assert_eq!(follows(retry, "", |c| c.may_remedy = false), "renew, held (this look applies no remedies)");
    assert_eq!(follows(retry, "", |c| c.undone = true), "renew, held (it is undone or called off)");
    assert_eq!(follows(retry, "escalated=2", |_| {}), "renew", "an escalated alert is a person's");
    assert_eq!(follows(retry, "reviewed=2", |_| {}), "renew", "and so is one that somebody looked at");
}

#[test]
fn what_an_action_reports_is_read_or_told_what_it_should_be() {
    let rule = StuckRule { max: 3, older_than: Duration::from_secs(3600), ..rule("") };
    let read = |text: &str| match parse_reported(&rule, Some(text), at(10.0)) {
        Ok(found) => found
            .iter()
            .map(|f| format!("{} {} {:?}", f.entity, f.entity_id, f.user))
            .collect::<Vec<_>>()
            .join("; "),
        Err(problem) => format!("no: {}", problem.split("; answer").next().unwrap()),
    };
    let old = "1970-01-01T02:00:00Z";
    assert_eq!(read("[]"), "");
    assert_eq!(
        read(&format!(r#"[{{"entity_type":"bonus","entity_id":12,"user":"u-7","since":"{old}"}}]"#)),
        "bonus 12 Some(\"u-7\")"
    );
    assert_eq!(
        read(r#"[{"entity_type":"bonus","entity_id":"b","since":"1970-01-01T09:30:00Z"}]"#),
        "",
        "not old enough"
    );
    assert_eq!(
        read(&format!(
            r#"[{0},{0}]"#,
            format_args!(r#"{{"entity_type":"a","entity_id":"b","since":"{old}"}}"#)
        )),
        "a b None",
        "the same thing once"
    );
    assert!(read("{}").starts_with("no: invalid type: map"), "{}", read("{}"));
    assert_eq!(
        read(r#"[{"entity_type":"","entity_id":1}]"#),
        "no: [0]: `entity_type` is empty or longer than 255 bytes"
    );
    assert_eq!(
        read(r#"[{"entity_type":"a","entity_id":1,"since":"yesterday"}]"#),
        "no: [0]: `since` is `yesterday`, which is no RFC 3339 instant"
    );
    let many = format!("[{}]", [r#"{"entity_type":"a","entity_id":1}"#; 4].join(","));
    assert_eq!(read(&many), "no: 4 things are reported; report at most 3 at once, the oldest first");
}

#[test]
fn people_acknowledge_assign_note_resolve_and_reopen() {
    let done = |words: &str, wanted: Review| match review(&alert(words), &wanted, "anna", at(10.0)) {
        Ok((alert, moment, text)) => {
            let state = if alert.is_open() { "open" } else { "closed" };
            format!("{moment} {state}{} {text}", if alert.is_in_review() { " in review" } else { "" })
        }
        Err(why) => format!("no: {why}"),
    };
    assert_eq!(done("", Review::Acknowledge), "acknowledged open ");
    assert_eq!(done("closed=9", Review::Acknowledge), "no: it was closed by anna; reopen it first");
    assert_eq!(done("", Review::Assign { to: Some("bo".into()) }), "assigned open bo");
    assert_eq!(done("", Review::Assign { to: None }), "assigned open nobody");
    assert_eq!(done("", Review::Note { text: " ".into() }), "no: a note needs words");
    assert_eq!(done("", Review::Note { text: "asked the bank".into() }), "note open asked the bank");
    assert_eq!(
        done("", Review::Resolve { notes: String::new() }),
        "no: say what was done, for whoever meets it next"
    );
    assert_eq!(done("escalated=1", Review::Resolve { notes: "credited".into() }), "resolved closed credited");
    assert_eq!(done("", Review::Reopen { why: "again".into() }), "no: it is open");
    assert_eq!(done("closed=9", Review::Reopen { why: "again".into() }), "reopened open in review again");
}

#[test]
fn what_a_person_opened_again_only_a_person_closes() {
    let reopen = Review::Reopen { why: "it is not credited".into() };
    let (alert, ..) = review(&alert("closed=9"), &reopen, "anna", at(10.0)).unwrap();
    assert!(!alert.closes_itself());
    let (alert, ..) =
        review(&alert, &Review::Resolve { notes: "now it is".into() }, "anna", at(11.0)).unwrap();
    assert!(!alert.is_open());
}

#[test]
fn what_a_node_told_of_a_step_is_over_when_the_step_has_ended() {
    let told = |step: Option<Candidate>| match observe_own(&alert(""), step.as_ref()) {
        Observed::Still(_) => "still".to_string(),
        Observed::Waits(why) => format!("waits: {why}"),
        Observed::Left(how) => format!("left: {how}"),
    };
    assert_eq!(told(Some(step())), "still");
    assert_eq!(told(Some(Candidate { state: "running".into(), ..step() })), "still");
    assert_eq!(told(Some(Candidate { state: "completed".into(), ..step() })), "left: it is completed");
    assert_eq!(
        told(Some(Candidate { acts_on: Some("8".into()), ..step() })),
        "left: another step took its place"
    );
    assert_eq!(told(None), "left: it is gone");
    let group = Alert { entity: "dispatch_group".into(), reason: NO_PROGRESS.into(), ..alert("") };
    assert_eq!(observe_own(&group, None), Observed::Still(group.since), "its owner takes it back");
}

#[test]
fn what_a_node_told_of_itself_is_told_again_until_somebody_acknowledges() {
    for (words, is_told) in [("told=7", false), ("told=6", true), ("told=6 acked=7", false), ("", false)] {
        let critical = Alert { severity: Severity::Critical, ..alert(words) };
        assert_eq!(is_own_to_remind(&critical, at(10.0)), is_told, "{words}");
    }
}

#[test]
fn spans_are_told_in_their_two_largest_units() {
    for (seconds, words) in [
        (0, "0 s"),
        (59, "59 s"),
        (3_600, "1 h"),
        (5_430, "1 h 30 min"),
        (266_400, "3 d 2 h"),
        (86_401, "1 d"),
    ] {
        assert_eq!(span(Duration::from_secs(seconds)), words);
    }
}
