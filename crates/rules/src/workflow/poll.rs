//! Polls: what the answer of one means, and when the next is due.
//!
//! Finds   a report about a step that is polled, and what its definition says of it.
//! Emits   `Completed`, `PollStarted` with the time of the next poll, `Failed(poll_aborted)`, or what is to happen when nothing came in
//!         time: `TimedOut(poll_timed_out)`, or `Completed(poll_timed_out)` with the answer that the definition has for that.
//! Why     a limit holds whoever looks first: both are looked at when a poll was answered, and the time once more by the clock, for a
//!         poll that nobody takes. The last poll is made when the time is over and not later, so none of it is given away.

use super::{Data, holds_with};
use crate::worker;
use expr::{Failure, Program};
use model::definition::{PollDef, PollTimeout};
use model::{
    Detail, Effect, Event, Move, Outcome, PollAttempt, PollVerdict, Polls, Reason, Report, State, Step,
    Timestamp, limits,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What a poll came to.
#[derive(Debug, PartialEq)]
pub struct Polled {
    pub effects: Vec<Effect>,
    pub attempt: PollAttempt,
    /// What is told of it beside the attempt, if it was the last.
    pub event: Option<&'static str>,
}

/// Why there is no further poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Attempts,
    Duration,
}

/// When the next poll is, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    At(Timestamp),
    Over(Limit),
}

pub fn max_duration(poll: &PollDef) -> Duration {
    poll.max_duration.unwrap_or(limits::POLL_DURATION_DEFAULT)
}

/// Polls of a step that stay on record.
pub fn kept(poll: &PollDef) -> u32 {
    poll.keep_last.unwrap_or(limits::POLLS_KEPT_DEFAULT)
}

/// The wait behind poll number `polls`.
pub fn interval(poll: &PollDef, polls: u32) -> Duration {
    let first = poll.interval.unwrap_or(limits::POLL_INTERVAL_DEFAULT);
    let most = poll.max_interval.unwrap_or(first * limits::POLL_GROWTH_DEFAULT).min(limits::WAIT_MAX);
    let exponent = polls.saturating_sub(1).min(i32::MAX as u32) as i32;
    let seconds = first.as_secs_f64() * poll.backoff.unwrap_or(1.0).max(1.0).powi(exponent);
    if seconds < most.as_secs_f64() { Duration::from_secs_f64(seconds) } else { most }
}

/// When the poll behind number `polls` is due; what the job asked for goes before what the definition says.
pub fn next(poll: &PollDef, polls: u32, began: Timestamp, asked: Option<Duration>, now: Timestamp) -> Next {
    let end = began + max_duration(poll);
    if poll.max_attempts.is_some_and(|most| polls >= most) {
        return Next::Over(Limit::Attempts);
    }
    if now >= end {
        return Next::Over(Limit::Duration);
    }
    let wait = asked.unwrap_or_else(|| interval(poll, polls));
    Next::At((now + wait.clamp(limits::POLL_INTERVAL_MIN, limits::WAIT_MAX)).min(end))
}

/// What the answer of a job that knows nothing of polls comes to: without `until` the first one is the last.
pub fn look(
    (until, abort): (Option<&Program>, Option<&Program>),
    answer: Option<&str>,
    polls: u32,
    data: &Data,
) -> Result<Outcome, Failure> {
    let text = answer.unwrap_or("null");
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let number = Value::from(polls);
    // Behind a step the answer stands where else something is sent.
    let more = [("answer", &value), ("payload", &value), ("polls", &number)];
    if let Some(abort) = abort
        && holds_with(abort, data, &more).map_err(|failure| told("abort_when", failure))?
    {
        return Ok(Outcome::Abort { why: format!("`{}` holds", abort.source()) });
    }
    let holds = until.map(|until| holds_with(until, data, &more));
    let is_last = holds.unwrap_or(Ok(true)).map_err(|failure| told("until", failure))?;
    let data = answer.map(Into::into);
    Ok(match is_last {
        true => Outcome::Complete { response: data },
        // What is too long to be told to the next poll is not told: the action itself does not look at it.
        false => {
            let data = data.filter(|data: &String| data.len() <= limits::POLL_DATA_BYTES_MAX);
            Outcome::Continue { data, after: None }
        }
    })
}

fn told(what: &str, failure: Failure) -> Failure {
    Failure { message: format!("`{what}` cannot be told: {}", failure.message) }
}

/// What an answered poll does to its step; none if it is no answer of a poll, or not that of the attempt that holds the step.
pub fn decide(step: &Step, poll: &PollDef, report: &Report, now: Timestamp) -> Option<Polled> {
    if !worker::is_current(step, report) || worker::unstorable(&report.outcome).is_some() {
        return None;
    }
    let known = step.polled.as_deref();
    let began = known.map_or(step.started_at.unwrap_or(now), |known| known.started_at);
    let (verdict, said, asked) = match &report.outcome {
        Outcome::Complete { response } => (PollVerdict::Complete, response.as_deref(), None),
        Outcome::Continue { data, after } => (PollVerdict::Continue, data.as_deref(), *after),
        Outcome::Abort { why } => (PollVerdict::Abort, Some(why.as_str()), None),
        _ => return None,
    };
    let number = step.polls + 1;
    let data = match verdict {
        PollVerdict::Continue => said.map(Into::into),
        _ => known.and_then(|known| known.data.clone()),
    };
    let polled = Some(Arc::new(Polls { started_at: began, data }));
    let (wanted, event) = match verdict {
        PollVerdict::Complete => {
            let detail = Detail { response: said.map(Into::into), ..Detail::default() };
            (Move { detail, ..Move::new(step.id, Event::Completed) }, Some("poll.completed"))
        }
        PollVerdict::Abort => (aborted(step, said.unwrap_or_default()), Some("poll.aborted")),
        PollVerdict::Continue => match next(poll, number, began, asked, now) {
            Next::At(at) => (Move { wake_at: Some(at), ..Move::new(step.id, Event::PollStarted) }, None),
            Next::Over(limit) => (over(step, poll, (limit, number)), Some("poll.timed_out")),
        },
    };
    let effects = vec![Effect::MoveStep(Box::new(Move { polled, ..wanted }))];
    let attempt = PollAttempt {
        step: step.id,
        number,
        attempt: report.attempt,
        verdict,
        next_interval: asked,
        at: now,
        data: said.map(brief),
    };
    Some(Polled { effects, attempt, event })
}

/// Its time is over, and nobody polls it now.
pub fn overdue(step: &Step, poll: &PollDef) -> Vec<Effect> {
    let wanted = over(step, poll, (Limit::Duration, step.polls));
    let waits = matches!(step.state, State::Pending | State::Polling);
    // It ends as if it had answered, so it begins first; no worker is asked.
    let entered = (waits && wanted.event == Event::Completed).then(|| Move::new(step.id, Event::Entered));
    entered.into_iter().chain([wanted]).map(|wanted| Effect::MoveStep(Box::new(wanted))).collect()
}

fn aborted(step: &Step, why: &str) -> Move {
    let why = if why.is_empty() { "it was not said why" } else { why };
    let detail = Detail { error_message: Some(format!("a poll gave up: {why}")), ..Detail::default() };
    Move { reason: Some(Reason::PollAborted), detail, ..Move::new(step.id, Event::Failed) }
}

fn over(step: &Step, poll: &PollDef, (limit, polls): (Limit, u32)) -> Move {
    let times = if polls == 1 { "1 poll".into() } else { format!("{polls} polls") };
    let message = match limit {
        Limit::Attempts => format!("nothing came of {times}"),
        Limit::Duration => format!("nothing came of {times} in {}", span(max_duration(poll))),
    };
    let reason = Some(Reason::PollTimedOut);
    match poll.on_timeout {
        PollTimeout::Fail | PollTimeout::Pause => {
            let detail = Detail { error_message: Some(message), ..Detail::default() };
            Move { reason, detail, ..Move::new(step.id, Event::TimedOut) }
        }
        PollTimeout::ContinueWithDefault => {
            let response = Some(poll.default.as_ref().unwrap_or(&Value::Null).to_string());
            let note = Some(format!("{message}; this is its default answer"));
            let detail = Detail { response, note, ..Detail::default() };
            Move { reason, detail, ..Move::new(step.id, Event::Completed) }
        }
    }
}

fn span(length: Duration) -> String {
    match length.subsec_millis() {
        0 => format!("{} s", length.as_secs()),
        _ => format!("{} ms", length.as_millis()),
    }
}

/// How a text begins.
fn brief(text: &str) -> String {
    text[..text.floor_char_boundary(limits::POLL_RECORD_BYTES_MAX)].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{running, step, told_effect};
    use crate::workflow::{Answers, Plan};
    use model::definition::{ActionDef, Definition, StepDef, Work};
    use model::{Pinned, SessionId};

    const fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    /// `interval=60 backoff=2 most=600 for=3600 polls=5 timeout=pause`, all as one writes them, in seconds.
    fn poll(text: &str) -> PollDef {
        let mut poll = PollDef::default();
        for part in text.split_whitespace() {
            let (key, value) = part.split_once('=').expect("key=value");
            let number = || value.parse::<u64>().expect("a number");
            match key {
                "interval" => poll.interval = Some(seconds(number())),
                "backoff" => poll.backoff = value.parse().ok(),
                "most" => poll.max_interval = Some(seconds(number())),
                "for" => poll.max_duration = Some(seconds(number())),
                "polls" => poll.max_attempts = Some(number() as u32),
                "keep" => poll.keep_last = Some(number() as u32),
                "default" => poll.default = serde_json::from_str(value).ok(),
                "timeout" => poll.on_timeout = serde_json::from_value(value.into()).expect("a policy"),
                other => panic!("`{other}` is nothing of a poll"),
            }
        }
        poll
    }

    fn intervals(text: &str, n: u32) -> Vec<u64> {
        (1..=n).map(|polls| interval(&poll(text), polls).as_secs()).collect()
    }

    #[test]
    fn waits_grow_by_the_backoff_up_to_the_longest() {
        assert_eq!(intervals("", 3), [300, 300, 300]);
        assert_eq!(intervals("interval=60 backoff=2 most=600", 6), [60, 120, 240, 480, 600, 600]);
        assert_eq!(intervals("interval=10 backoff=10", 4), [10, 100, 600, 600], "sixty times the first");
        assert_eq!(interval(&poll("interval=60 backoff=1000"), u32::MAX), seconds(3600));
        assert_eq!(interval(&poll("interval=30000000 backoff=9"), 9), limits::WAIT_MAX);
    }

    /// Polls of a step that always says `continue`, as seconds since the first.
    fn times(text: &str, asked: Option<Duration>) -> (Vec<u64>, Limit) {
        let (poll, began) = (poll(text), Timestamp(0));
        let (mut at, mut all) = (began, vec![0]);
        loop {
            match next(&poll, all.len() as u32, began, asked, at) {
                Next::Over(limit) => return (all, limit),
                Next::At(then) => {
                    assert!(then > at, "it goes on");
                    at = then;
                    all.push(at.since(began).as_secs());
                }
            }
        }
    }

    #[test]
    fn the_last_poll_is_when_the_time_is_over_and_whichever_limit_comes_first_ends_it() {
        assert_eq!(times("interval=60 for=150", None), (vec![0, 60, 120, 150], Limit::Duration));
        assert_eq!(times("interval=60 for=120", None), (vec![0, 60, 120], Limit::Duration));
        assert_eq!(times("interval=60 for=600 polls=3", None), (vec![0, 60, 120], Limit::Attempts));
        assert_eq!(times("polls=1", None), (vec![0], Limit::Attempts));
        let (two_days, limit) = times("interval=300 for=172800", None);
        assert_eq!((two_days.len(), limit), (577, Limit::Duration));
    }

    #[test]
    fn what_the_job_asks_for_goes_first_and_is_bounded() {
        assert_eq!(times("interval=60 for=25", Some(seconds(10))).0, [0, 10, 20, 25]);
        let next = |asked| next(&poll(""), 1, Timestamp(0), Some(asked), Timestamp(0));
        assert_eq!(next(Duration::ZERO), Next::At(Timestamp(10_000)), "ten milliseconds are the shortest");
        assert_eq!(next(Duration::MAX), Next::At(Timestamp(86_400_000_000)), "the time is over then");
    }

    fn answer(step: &Step, text: &str, outcome: Outcome) -> Option<Polled> {
        let (session, attempt) = (step.session.unwrap_or(SessionId::of(1)), step.attempt);
        let report = Report { session, step: step.id, attempt, outcome, log: Vec::new(), delivery: None };
        decide(step, &poll(text), &report, Timestamp(60_000_000))
    }

    fn told_poll(step: &Step, text: &str, outcome: Outcome) -> String {
        let Some(polled) = answer(step, text, outcome) else { return "none".into() };
        let effects: Vec<String> = polled.effects.iter().map(told_effect).collect();
        let PollAttempt { number, verdict, data, .. } = polled.attempt;
        let data = data.map(|data| format!(" {data}")).unwrap_or_default();
        format!("{} | {number} {verdict}{data} | {}", effects.join(", "), polled.event.unwrap_or("-"))
    }

    fn polled(n: u32) -> Step {
        let polled = Some(Arc::new(Polls { started_at: Timestamp(0), data: Some("7".into()) }));
        let started_at = Some(Timestamp(50_000_000));
        Step { polls: n, polled: polled.filter(|_| n > 0), started_at, ..running("pay attempt=3") }
    }

    fn goes_on(after: Option<u64>) -> Outcome {
        Outcome::Continue { data: Some("{}".into()), after: after.map(seconds) }
    }

    #[test]
    fn an_answer_ends_the_polls_or_asks_for_the_next() {
        let told = |outcome| told_poll(&polled(1), "interval=60", outcome);
        let complete = Outcome::Complete { response: Some("9".into()) };
        assert_eq!(told(complete), "completed | 2 complete 9 | poll.completed");
        assert_eq!(told(goes_on(None)), "poll_started @120000000us | 2 continue {} | -");
        assert_eq!(told(goes_on(Some(5))), "poll_started @65000000us | 2 continue {} | -");
        let gone = Outcome::Abort { why: "gone".into() };
        assert_eq!(told(gone), "failed poll_aborted | 2 abort gone | poll.aborted");
        assert_eq!(told(Outcome::Retry { after: None, failure: None }), "none", "it is an ordinary failure");
        assert_eq!(told(Outcome::Continue { data: Some("\0".into()), after: None }), "none");
        let late = Step { session: None, ..polled(1) };
        assert_eq!(told_poll(&late, "", goes_on(None)), "none");
    }

    #[test]
    fn what_is_known_goes_from_poll_to_poll() {
        let known = |step: &Step, outcome| {
            let polled = answer(step, "", outcome).unwrap();
            let Effect::MoveStep(wanted) = &polled.effects[0] else { panic!("a move") };
            let known = wanted.polled.clone().unwrap();
            (known.started_at.0, known.data.as_deref().map(String::from), wanted.detail.error_message.clone())
        };
        assert_eq!(known(&polled(0), goes_on(None)), (50_000_000, Some("{}".into()), None));
        assert_eq!(known(&polled(1), goes_on(None)), (0, Some("{}".into()), None));
        let quiet = Outcome::Abort { why: String::new() };
        let why = Some("a poll gave up: it was not said why".into());
        assert_eq!(known(&polled(1), quiet), (0, Some("7".into()), why));
        let never = Step { started_at: None, ..polled(0) };
        assert_eq!(known(&never, goes_on(None)).0, 60_000_000);
    }

    #[test]
    fn a_limit_does_what_the_definition_says() {
        let over = |text: &str, n| {
            let polled = answer(&polled(n), text, goes_on(None)).unwrap();
            let Effect::MoveStep(wanted) = &polled.effects[0] else { panic!("a move") };
            let Detail { response, error_message, note, .. } = wanted.detail.clone();
            let words = [error_message, response, note].into_iter().flatten().collect::<Vec<_>>().join(" | ");
            format!("{}: {words}", told_effect(&polled.effects[0]))
        };
        assert_eq!(over("polls=1", 0), "timed_out poll_timed_out: nothing came of 1 poll");
        assert_eq!(
            over("for=60 timeout=pause", 4),
            "timed_out poll_timed_out: nothing came of 5 polls in 60 s"
        );
        assert_eq!(
            over("polls=2 timeout=continue_with_default default={\"paid\":false}", 1),
            "completed poll_timed_out: {\"paid\":false} | nothing came of 2 polls; this is its default answer"
        );
        assert_eq!(
            over("polls=2 timeout=continue_with_default", 1),
            "completed poll_timed_out: null | nothing came of 2 polls; this is its default answer"
        );
    }

    #[test]
    fn a_poll_that_nobody_takes_ends_by_the_clock() {
        let waits = |line: &str, text: &str| {
            let effects = overdue(&step(line, 1), &poll(text));
            effects.iter().map(told_effect).collect::<Vec<_>>().join(", ")
        };
        let default = "timeout=continue_with_default";
        assert_eq!(waits("pay Polling attempt=1", ""), "timed_out poll_timed_out");
        assert_eq!(waits("pay Polling attempt=1", default), "entered, completed poll_timed_out");
        assert_eq!(waits("pay Pending attempt=1", default), "entered, completed poll_timed_out");
        let message = |poll: &PollDef| match &overdue(&step("pay Polling", 1), poll)[0] {
            Effect::MoveStep(wanted) => wanted.detail.error_message.clone().unwrap_or_default(),
            other => panic!("{other:?}"),
        };
        let short = PollDef { max_duration: Some(Duration::from_millis(1_500)), ..PollDef::default() };
        assert_eq!(message(&short), "nothing came of 0 polls in 1500 ms");
    }

    #[test]
    fn what_stays_on_record_is_bounded() {
        assert_eq!((kept(&poll("")), kept(&poll("keep=3"))), (20, 3));
        let long = Outcome::Continue { data: Some("ä".repeat(20_000)), after: None };
        let polled = answer(&polled(0), "", long).unwrap();
        assert_eq!(polled.attempt.data.unwrap().len(), limits::POLL_RECORD_BYTES_MAX);
    }

    fn looked(until: Option<&str>, abort_when: Option<&str>, answer: Option<&str>) -> String {
        let run = ActionDef { action: "x".into(), ..ActionDef::default() };
        let (until, abort_when) = (until.map(Into::into), abort_when.map(Into::into));
        let work = Work::Poll(Box::new(PollDef { run, until, abort_when, ..PollDef::default() }));
        let pay = StepDef { key: "pay".into(), work, ..StepDef::default() };
        let order = StepDef { key: "order".into(), ..StepDef::default() };
        let definition = Definition { steps: vec![order, pay], ..Definition::default() };
        let pinned = Arc::new(Pinned { key: "k".into(), version: "v".into(), hash: "h".into() });
        let plan = Plan::compile(definition, pinned).unwrap();
        let mut answers = Answers::of(r#"{"most": 3}"#.into());
        answers.put(0, r#"{"want": "paid"}"#);
        let compiled = &plan.steps[1];
        let programs = (compiled.until.as_ref(), compiled.abort.as_ref());
        match look(programs, answer, 2, &Data::new(&plan, &answers)) {
            Ok(outcome) => serde_json::to_string(&outcome).unwrap(),
            Err(failure) => failure.message,
        }
    }

    #[test]
    fn a_plain_answer_is_judged_by_until_and_abort_when() {
        let paid = Some(r#"{"status":"paid"}"#);
        assert_eq!(looked(None, None, None), r#"{"complete":{"response":null}}"#);
        let until = Some("answer.status == outputs.order.want");
        assert_eq!(looked(until, None, paid), r#"{"complete":{"response":"{\"status\":\"paid\"}"}}"#);
        let open = Some(r#"{"status":"open"}"#);
        assert_eq!(
            looked(until, None, open),
            r#"{"continue":{"data":"{\"status\":\"open\"}","after":null}}"#
        );
        assert_eq!(
            looked(until, Some("polls >= input.most - 1"), paid),
            r#"{"abort":{"why":"`polls >= input.most - 1` holds"}}"#
        );
        assert_eq!(
            looked(Some("answer == 'done'"), None, Some("done")),
            r#"{"complete":{"response":"done"}}"#
        );
        let long = format!("\"{}\"", "x".repeat(limits::POLL_DATA_BYTES_MAX));
        assert_eq!(looked(Some("false"), None, Some(&long)), r#"{"continue":{"data":null,"after":null}}"#);
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let until = looked(Some("answer.status == 'paid'"), None, Some("{}"));
        assert!(until.starts_with("`until` cannot be told: `answer.status == 'paid'`: "), "{until}");
        let abort = looked(None, Some("answer"), Some("1"));
        assert!(abort.starts_with("`abort_when` cannot be told: "), "{abort}");
    }
}
