//! Every way a pause may end, and every way something may be sent to it.

use super::*;
use crate::workflow::Answers;
use model::definition::{ActionDef, Definition, Shape, StepDef, Work};
use model::{Pinned, StepId, WorkflowId};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);
const NOW: Timestamp = Timestamp(1_000_000_000_000);

fn pause(def: &PauseDef, reminders: u32) -> Pause {
    let Times { timeout_at, resume_at } = enter(def, NOW);
    Pause {
        workflow: WorkflowId::of(1),
        def: 0,
        run: 1,
        step: StepId::of(2),
        step_key: "ask".into(),
        trigger: def.trigger.as_deref().map(Into::into),
        token: None,
        registered_at: NOW,
        timeout_at,
        resume_at,
        reminders,
        state: PauseState::Waiting,
        ended_at: None,
        consumed: None,
        version: 0,
    }
}

fn def(on_timeout: PauseTimeout) -> PauseDef {
    PauseDef { trigger: Some("boss".into()), timeout: Some(DAY), on_timeout, ..PauseDef::default() }
}

fn due(def: &PauseDef, reminders: u32, after: Duration) -> Due {
    on_due(def, &pause(def, reminders), NOW + after)
}

#[test]
fn nothing_is_done_before_its_time() {
    for policy in [PauseTimeout::Fail, PauseTimeout::Remind, PauseTimeout::AutoApprove, PauseTimeout::Extend]
    {
        assert_eq!(due(&def(policy), 0, DAY - Duration::from_micros(1)), Due::NotYet);
    }
    let usual = PauseDef { timeout: None, ..def(PauseTimeout::Fail) };
    assert_eq!(due(&usual, 0, 7 * DAY - Duration::from_micros(1)), Due::NotYet);
    assert_eq!(due(&usual, 0, 7 * DAY), Due::Fail, "seven days unless it says otherwise");
}

#[test]
fn what_is_over_stays_over() {
    let def = def(PauseTimeout::Fail);
    for state in [PauseState::Resumed, PauseState::TimedOut, PauseState::Cancelled] {
        let over = Pause { state, ..pause(&def, 0) };
        assert_eq!(on_due(&def, &over, NOW + 9 * DAY), Due::NotYet);
    }
}

#[test]
fn a_date_lets_it_go_on() {
    let def = PauseDef { resume_after: Some(14 * DAY), ..PauseDef::default() };
    assert_eq!(due(&def, 0, 14 * DAY - Duration::from_micros(1)), Due::NotYet);
    assert_eq!(due(&def, 0, 14 * DAY), Due::Resume);
}

#[test]
fn it_is_reminded_of_and_extended_only_so_often() {
    let remind = PauseDef { reminders: Some(2), ..def(PauseTimeout::Remind) };
    assert_eq!(due(&remind, 1, 3 * DAY), Due::Remind(NOW + 4 * DAY), "from now on, not from when it was due");
    assert_eq!(due(&remind, 2, 3 * DAY), Due::Fail);
    let usual = def(PauseTimeout::Remind);
    assert_eq!(due(&usual, limits::REMINDERS_DEFAULT, DAY), Due::Fail);
    let extend = def(PauseTimeout::Extend);
    assert_eq!(due(&extend, 0, DAY), Due::Extend(NOW + 2 * DAY));
    assert_eq!(due(&extend, 1, DAY), Due::Fail);
}

#[test]
fn it_goes_on_with_what_stands_for_a_payload() {
    let auto = PauseDef { default: Some(json!({"ok": true})), ..def(PauseTimeout::AutoApprove) };
    assert_eq!(due(&auto, 0, DAY), Due::AutoApprove(json!({"ok": true})));
}

fn plan() -> Plan {
    let schema = json!({"type": "object", "required": ["ok"]});
    let pause = PauseDef {
        resume_when: Some("payload.ok == true && payload.n > outputs.ask.least".into()),
        payload: Some(Shape { schema: Some(schema) }),
        ..def(PauseTimeout::Fail)
    };
    let ask = StepDef {
        key: "ask".into(),
        work: Work::Action(Box::new(ActionDef { action: "x".into(), ..ActionDef::default() })),
        pause_after: Some(Box::new(pause)),
        ..StepDef::default()
    };
    let free = StepDef {
        key: "free".into(),
        pause_after: Some(Box::new(PauseDef { trigger: Some("any".into()), ..PauseDef::default() })),
        ..ask.clone()
    };
    let definition = Definition { workflow: "w".into(), steps: vec![ask, free], ..Definition::default() };
    let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
    Plan::compile(definition, Arc::new(pinned)).unwrap()
}

#[test]
fn a_payload_fits_by_its_shape_and_then_by_the_condition() {
    let plan = plan();
    let mut answers = Answers::of("{}".into());
    answers.put(0, r#"{"least": 3}"#);
    let data = Data::new(&plan, &answers);
    let fit = |payload: Value| match fits(&plan, 0, &payload, &data) {
        Fit::Yes => "yes".to_string(),
        Fit::No(why) => format!("no: {why}"),
        Fit::NotYet(why) => format!("not yet: {why}"),
    };
    assert_eq!(fit(json!({"ok": true, "n": 4})), "yes");
    assert_eq!(fit(json!({"n": 4})), "no: \"ok\" is a required property");
    assert_eq!(
        fit(json!({"ok": false, "n": 4})),
        "not yet: `payload.ok == true && payload.n > outputs.ask.least` does not hold for it"
    );
    assert!(fit(json!({"ok": true, "n": "x"})).starts_with("no: "), "what cannot be told is no yes");
    assert_eq!(fits(&plan, 1, &json!(null), &data), Fit::Yes, "without a schema anything is one");
    assert_eq!(has_shape(&plan, 0, &json!({"ok": false})), Fit::Yes);
}

#[test]
fn what_is_sent_finds_the_pause_ahead_waiting_or_over() {
    let no = || Fit::No("it is crooked".into());
    let not_yet = || Fit::NotYet("it is small".into());
    let waiting = pause(&def(PauseTimeout::Fail), 0);
    let all = [
        ("ahead", Standing::Ahead),
        ("waiting", Standing::Waiting(&waiting)),
        ("resumed", Standing::Over(PauseState::Resumed)),
        ("timed out", Standing::Over(PauseState::TimedOut)),
        ("cancelled", Standing::Over(PauseState::Cancelled)),
        ("passed by", Standing::PassedBy),
    ];
    let word = |answer: TriggerAnswer| answer.verdict().word();
    let table: Vec<String> = all
        .into_iter()
        .map(|(name, standing)| {
            let of = |fit| word(on_trigger(standing, fit, 0));
            format!("{name}: {} {} {}", of(Fit::Yes), of(no()), of(not_yet()))
        })
        .collect();
    assert_eq!(
        table,
        [
            "ahead: early rejected early",
            "waiting: accepted rejected rejected",
            "resumed: duplicate duplicate duplicate",
            "timed out: late late late",
            "cancelled: late late late",
            "passed by: late late late",
        ]
    );
    let full = on_trigger(Standing::Ahead, Fit::Yes, limits::EARLY_TRIGGERS_MAX);
    assert_eq!(full, TriggerAnswer::TooMany);
    assert_eq!(full.why(), Some("too many came before their pauses; send it again later"));
    assert_eq!(on_trigger(Standing::Over(PauseState::Waiting), Fit::Yes, 0), TriggerAnswer::Accepted);
    assert_eq!(on_trigger(all[1].1, no(), 0).why(), Some("it is crooked"));
    assert_eq!(on_trigger(all[1].1, not_yet(), 0), TriggerAnswer::StillWaiting("it is small".into()));
}

#[test]
fn a_pause_says_what_it_waits_for_and_when_it_is_looked_at() {
    let trigger = pause(&def(PauseTimeout::Fail), 0);
    assert_eq!((trigger.awaits().as_str(), trigger.wake_at()), ("the trigger `boss`", Some(NOW + DAY)));
    let dated = pause(&PauseDef { resume_after: Some(2 * DAY), ..PauseDef::default() }, 0);
    assert_eq!((dated.awaits().as_str(), dated.wake_at()), ("the time behind `ask`", Some(NOW + 2 * DAY)));
}
