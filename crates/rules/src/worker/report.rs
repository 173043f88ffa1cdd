//! Turns a job's outcome into moves, if the attempt that sends it is the one that holds the step.
//!
//! Finds   the step of a report.
//! Emits   the moves of the outcome, or `RecordLate` when the attempt is no longer the current one.
//! Why     a worker that lost its step may still write; the attempt number is the fence, and what comes late is kept
//!         for people to see but moves nothing.

use crate::backoff;
use model::limits::DENIALS_MAX;
use model::{
    Block, Detail, Effect, Event, Failure, Look, LookAt, Move, Outcome, Priority, Reason, Report, Step,
    Timestamp,
};
use std::time::Duration;

#[derive(Debug, PartialEq)]
pub enum Answer {
    Applied(Vec<Effect>),
    /// The attempt does not hold the step any more.
    Late,
}

/// `children` is the step's own block, when it has one: its rows decide whether the step waits.
pub fn decide(step: &Step, children: Option<&Block>, report: &Report, now: Timestamp) -> Answer {
    if !is_current(step, report) {
        return Answer::Late;
    }
    if let Some(failure) = unstorable(&report.outcome) {
        let detail = failed(failure);
        return Answer::Applied(vec![moved(Move { detail, ..Move::new(step.id, Event::Failed) })]);
    }
    Answer::Applied(match &report.outcome {
        Outcome::Complete { response } | Outcome::Children { response, .. } => {
            let detail = Detail { response: response.clone(), ..Detail::default() };
            match children {
                Some(block) if block.total() > 0 => {
                    vec![Effect::Park { step: step.id, detail: Box::new(detail) }]
                }
                _ => vec![moved(Move { detail, ..Move::new(step.id, Event::Completed) })],
            }
        }
        Outcome::Retry { after, failure } => again(step, None, *after, failed_or_not(failure.clone()), now),
        Outcome::LookAgain { at, response, after, failure } => {
            look_again(step, *at, response.as_deref(), *after, failure.clone(), now)
        }
        Outcome::Throttle { after } => vec![moved(Move {
            wake_at: Some(now + (*after).min(model::limits::WAIT_MAX)),
            detail: Detail { was_throttled: Some(true), ..Detail::default() },
            ..Move::new(step.id, Event::Throttled)
        })],
        Outcome::Skip { why } => vec![noted(step, Event::Skipped, None, why)],
        Outcome::End { why } => vec![noted(step, Event::Skipped, Some(Reason::Ended), why)],
        Outcome::Stop { why } => vec![noted(step, Event::Stopped, None, why)],
        Outcome::Resolved { note } => vec![noted(step, Event::Resolved, None, note)],
        Outcome::Continue { .. } | Outcome::Abort { .. } => {
            let message = "its job answered as a poll does, and it is not polled; let the job complete, or \
                           write `poll` in the definition of its workflow";
            let detail = failed(Failure { message: message.into(), trace: None });
            vec![moved(Move { detail, ..Move::new(step.id, Event::Failed) })]
        }
        Outcome::Fail { failure, notify } => vec![moved(Move {
            detail: Detail { was_notified: (!notify).then_some(false), ..failed(failure.clone()) },
            ..Move::new(step.id, Event::Failed)
        })],
    })
}

/// The attempt that reports is the one that holds the step.
pub fn is_current(step: &Step, report: &Report) -> bool {
    step.is_held() && step.attempt == report.attempt && step.session == Some(report.session)
}

/// An answer that cannot be kept as it is, is a failure that says so; nothing is cut off or replaced in silence.
pub(crate) fn unstorable(outcome: &Outcome) -> Option<Failure> {
    let mut limit = model::limits::PAYLOAD_BYTES_MAX;
    let (what, texts) = match outcome {
        Outcome::Complete { response } | Outcome::Children { response, .. } => {
            ("response", [response.as_deref(), None, None])
        }
        Outcome::LookAgain { response, failure, .. } => {
            let failure = failure.as_ref();
            let trace = failure.and_then(|f| f.trace.as_deref());
            ("response", [response.as_deref(), failure.map(|f| f.message.as_str()), trace])
        }
        Outcome::Retry { failure: Some(failure), .. } | Outcome::Fail { failure, .. } => {
            ("error", [Some(&*failure.message), failure.trace.as_deref(), None])
        }
        Outcome::Continue { data, .. } => {
            limit = model::limits::POLL_DATA_BYTES_MAX;
            ("word to the next poll", [data.as_deref(), None, None])
        }
        Outcome::Skip { why }
        | Outcome::End { why }
        | Outcome::Stop { why }
        | Outcome::Abort { why }
        | Outcome::Resolved { note: why } => ("note", [Some(why.as_str()), None, None]),
        Outcome::Retry { failure: None, .. } | Outcome::Throttle { .. } => return None,
    };
    let message = texts.into_iter().flatten().find_map(|text| match text.find('\0') {
        _ if text.len() > limit => Some(format!(
            "the job's {what} is {} bytes long; {limit} are kept, store more elsewhere",
            text.len()
        )),
        Some(at) => Some(format!("the job's {what} has a NUL character at byte {at}: {}", shown(text))),
        None => None,
    });
    let message = message.or_else(|| unreadable_answer(outcome))?;
    Some(Failure { message, trace: None })
}

/// Expressions read what was answered, and so do workers that come later.
fn unreadable_answer(outcome: &Outcome) -> Option<String> {
    let (what, text) = match outcome {
        Outcome::Complete { response }
        | Outcome::Children { response, .. }
        | Outcome::LookAgain { response, .. } => ("response", response),
        Outcome::Continue { data, .. } => ("word to the next poll", data),
        _ => return None,
    };
    let problem = model::unreadable_json(text.as_deref()?)?;
    Some(format!("the job's {what} cannot be read as JSON: {problem}"))
}

/// The beginning of a text, with its NUL characters as one writes them.
fn shown(text: &str) -> String {
    text.chars().take(200).collect::<String>().replace('\0', "\\0")
}

fn moved(wanted: Move) -> Effect {
    Effect::MoveStep(Box::new(wanted))
}

fn noted(step: &Step, event: Event, reason: Option<Reason>, why: &str) -> Effect {
    let detail = Detail { note: Some(why.into()), ..Detail::default() };
    moved(Move { reason, detail, ..Move::new(step.id, event) })
}

fn failed(failure: Failure) -> Detail {
    Detail { error_message: Some(failure.message), error_stack_trace: failure.trace, ..Detail::default() }
}

fn failed_or_not(failure: Option<Failure>) -> Detail {
    failure.filter(|f| !f.message.is_empty()).map(failed).unwrap_or_default()
}

/// The work is not done again, only looked at. What was found not to hold too often fails, and so does what nobody confirms
/// while attempts last: an effect that cannot be seen is not called a success.
fn look_again(
    step: &Step,
    at: LookAt,
    response: Option<&str>,
    after: Option<Duration>,
    failure: Option<Failure>,
    now: Timestamp,
) -> Vec<Effect> {
    let known = step.look.as_ref().and_then(|look| look.response.clone());
    let failure = failure.unwrap_or_else(|| {
        let message = match at {
            LookAt::Verify(denied) => format!("what it did was found not to hold, {denied} times"),
            LookAt::Confirm => "what it did was not confirmed".into(),
        };
        Failure { message, trace: None }
    });
    let detail = Detail { response: response.map(Into::into), ..failed(failure) };
    if matches!(at, LookAt::Verify(denied) if denied >= DENIALS_MAX) {
        return vec![moved(Move { detail, ..Move::new(step.id, Event::Failed) })];
    }
    let look = Look { at, response: known.or_else(|| response.map(Into::into)) };
    again(step, Some(look), after, detail, now)
}

/// One more execution, if there is one left.
fn again(
    step: &Step,
    look: Option<Look>,
    after: Option<Duration>,
    detail: Detail,
    now: Timestamp,
) -> Vec<Effect> {
    let used = step.failed_attempts + 1;
    if used >= step.max_attempts {
        let message = detail.error_message.clone().unwrap_or_else(|| format!("used all {used} attempts"));
        let detail = Detail { error_message: Some(message), ..detail };
        return vec![moved(Move { detail, ..Move::new(step.id, Event::Exhausted) })];
    }
    let wait =
        after.unwrap_or_else(|| backoff::delay(&step.backoff, step.id, used)).min(model::limits::WAIT_MAX);
    let mut effects = Vec::new();
    if used * 2 >= step.max_attempts && step.priority != Priority::High {
        effects.push(Effect::RaisePriority { step: step.id });
    }
    let wake_at = (!wait.is_zero()).then(|| now + wait);
    effects.push(moved(Move { wake_at, look, detail, ..Move::new(step.id, Event::Retried) }));
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{running, told};

    fn answer(step: &Step, attempt: u32, outcome: Outcome) -> String {
        let report = Report {
            session: step.session.unwrap(),
            step: step.id,
            attempt,
            outcome,
            log: Vec::new(),
            delivery: None,
        };
        told(&decide(step, None, &report, Timestamp(0)))
    }

    #[test]
    fn an_old_attempt_is_late_and_moves_nothing() {
        let step = running("charge attempt=2");
        assert_eq!(answer(&step, 1, Outcome::Complete { response: None }), "late");
        assert_eq!(answer(&step, 2, Outcome::Complete { response: None }), "completed");
    }

    #[test]
    fn a_retry_counts_and_the_last_one_fails() {
        let again = || Outcome::Retry { after: Some(Duration::from_secs(5)), failure: None };
        assert_eq!(answer(&running("charge attempt=1 failed=0 max=3"), 1, again()), "retried @5000000us");
        assert_eq!(
            answer(&running("charge attempt=2 failed=1 max=3"), 2, again()),
            "raise, retried @5000000us"
        );
        assert_eq!(answer(&running("charge attempt=3 failed=2 max=3"), 3, again()), "exhausted");
    }

    #[test]
    fn what_did_not_hold_is_looked_at_once_more_and_then_fails() {
        let look = |denied| Outcome::LookAgain {
            at: LookAt::Verify(denied),
            response: Some("7".into()),
            after: Some(Duration::from_secs(10)),
            failure: None,
        };
        let step = running("charge attempt=1 failed=0 max=9");
        assert_eq!(answer(&step, 1, look(1)), "retried @10000000us");
        assert_eq!(answer(&step, 1, look(2)), "failed");
        assert_eq!(answer(&running("charge attempt=1 failed=0 max=1"), 1, look(1)), "exhausted");
    }

    #[test]
    fn what_nobody_confirms_is_asked_for_while_attempts_last() {
        let after = Some(Duration::from_secs(10));
        let look = || Outcome::LookAgain { at: LookAt::Confirm, response: None, after, failure: None };
        assert_eq!(answer(&running("charge attempt=7 failed=1 max=9"), 7, look()), "retried @10000000us");
        assert_eq!(answer(&running("charge attempt=9 failed=2 max=3"), 9, look()), "exhausted");
    }

    /// A later run sends no answer of its own: it did not do the work.
    #[test]
    fn the_answer_of_the_work_stays_with_the_step() {
        let step = Step {
            look: Some(Look { at: LookAt::Verify(0), response: Some("7".into()) }),
            ..running("charge attempt=2 failed=1 max=9")
        };
        let outcome = Outcome::LookAgain { at: LookAt::Confirm, response: None, after: None, failure: None };
        let report = Report {
            session: step.session.unwrap(),
            step: step.id,
            attempt: 2,
            outcome,
            log: Vec::new(),
            delivery: None,
        };
        let Answer::Applied(effects) = decide(&step, None, &report, Timestamp(0)) else { panic!("late") };
        let Some(Effect::MoveStep(moved)) = effects.last() else { panic!("{effects:?}") };
        let look = Look { at: LookAt::Confirm, response: Some("7".into()) };
        assert_eq!(moved.look, Some(look));
    }

    #[test]
    fn a_throttle_costs_nothing() {
        let wait = Outcome::Throttle { after: Duration::from_secs(60) };
        assert_eq!(answer(&running("charge attempt=9 failed=2 max=3"), 9, wait), "throttled @60000000us");
    }

    #[test]
    fn max_attempts_counts_executions_including_the_first() {
        let again = Outcome::Retry { after: None, failure: None };
        assert_eq!(answer(&running("charge attempt=1 failed=0 max=1"), 1, again), "exhausted");
    }

    #[test]
    fn every_other_outcome_has_its_meaning() {
        let step = running("charge attempt=1");
        assert_eq!(answer(&step, 1, Outcome::Skip { why: "empty".into() }), "skipped");
        assert_eq!(answer(&step, 1, Outcome::End { why: "enough".into() }), "skipped ended");
        assert_eq!(answer(&step, 1, Outcome::Stop { why: "closed".into() }), "stopped");
        assert_eq!(answer(&step, 1, Outcome::Resolved { note: "fixed".into() }), "resolved");
        let fail = Outcome::Fail { failure: Failure { message: "no".into(), trace: None }, notify: true };
        assert_eq!(answer(&step, 1, fail), "failed");
    }

    #[test]
    fn a_text_with_a_nul_is_a_failure_that_says_so() {
        let step = running("charge attempt=1");
        let fail = |message: &str| Failure { message: message.into(), trace: None };
        let told = |outcome| unstorable(&outcome).map(|f| f.message).unwrap_or_default();
        let response = Outcome::Complete { response: Some("a\0b".into()) };
        assert_eq!(answer(&step, 1, response.clone()), "failed");
        assert_eq!(told(response), "the job's response has a NUL character at byte 1: a\\0b");
        let again = Outcome::Retry { after: None, failure: Some(fail("no\0")) };
        assert_eq!(told(again), "the job's error has a NUL character at byte 2: no\\0");
        assert_eq!(
            told(Outcome::Skip { why: "\0".into() }),
            "the job's note has a NUL character at byte 0: \\0"
        );
        assert_eq!(told(Outcome::Complete { response: Some("\"a\\u0000\"".into()) }), "");
    }

    #[test]
    fn an_answer_that_nobody_could_read_is_a_failure_that_says_so() {
        let told = |outcome| unstorable(&outcome).map(|f| f.message).unwrap_or_default();
        let response = Outcome::Complete { response: Some("{\"x\":1e400}".into()) };
        assert_eq!(answer(&running("charge attempt=1"), 1, response.clone()), "failed");
        let problem = "the job's response cannot be read as JSON: number out of range";
        assert!(told(response).starts_with(problem));
        let data = Outcome::Continue { data: Some("[".repeat(200) + &"]".repeat(200)), after: None };
        assert!(told(data).starts_with("the job's word to the next poll cannot be read as JSON: nested"));
        assert_eq!(told(Outcome::Complete { response: Some("paid".into()) }), "", "a text is a text");
    }
}
