//! One run of one job, from the guards to the outcome: written once, for workers in this process and far away.
//!
//! Why    a job that is not verified or confirmed yet has done its work. It comes back to look, and neither guards nor `compute`
//!        run again: a guard must not skip, and a retry must not repeat, what has happened.

use crate::context::Context;
use crate::instead::Instead;
use crate::job::{Job, JobError, JobResult};
use crate::policy;
use futures_util::FutureExt;
use model::{Failure, LookAt, Outcome};
use serde::de::DeserializeOwned;
use std::panic::AssertUnwindSafe;

pub async fn run<J: Job>(job: &J, context: &Context) -> Outcome {
    let mut done = None;
    let ran = AssertUnwindSafe(steps(job, context, &mut done)).catch_unwind().await;
    match ran {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => match error.downcast::<Instead>() {
            Ok(Instead(outcome)) => without_doing_it_again(context, outcome, done),
            Err(error) => policy::judge(job, context, error, done).await,
        },
        Err(panic) => {
            let outcome = Outcome::Retry { after: None, failure: Some(panicked(&*panic)) };
            without_doing_it_again(context, outcome, done)
        }
    }
}

/// A panic in a job is a failed attempt, not a dead worker.
pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let message = format!("the job panicked: {}", text.unwrap_or_else(|| "without a message".into()));
    Failure { message, trace: None }
}

/// Who asks for another run after the work is done gets one that only looks.
fn without_doing_it_again(context: &Context, outcome: Outcome, done: Option<Done>) -> Outcome {
    let (Some(Done { at, response }), Outcome::Retry { .. } | Outcome::Throttle { .. }) = (done, &outcome)
    else {
        return outcome;
    };
    let (wait, failure) = match outcome {
        Outcome::Retry { after, failure } => (after, failure),
        Outcome::Throttle { after } => (Some(after), None),
        other => return other,
    };
    match context.look_again(at, response, failure) {
        Outcome::LookAgain { at, response, failure, .. } => {
            Outcome::LookAgain { at, response, after: wait, failure }
        }
        refused => refused,
    }
}

/// What has been done so far and how it is to be looked at, for whoever has to deal with an error.
pub struct Done {
    pub at: LookAt,
    pub response: Option<String>,
}

async fn steps<J: Job>(job: &J, context: &Context, done: &mut Option<Done>) -> JobResult<Outcome> {
    let claim = context.claim();
    let arguments: J::Arguments = read(&claim.arguments).map_err(|e| bad_arguments(context, &e))?;
    let (at, output) = match &claim.look {
        Some(look) => (Some(look.at), serde_json::from_str(look.response.as_deref().unwrap_or("null"))?),
        None => match early(job, context, &arguments).await? {
            Some(outcome) => return Ok(outcome),
            None => (None, job.compute(context, &arguments).await?),
        },
    };
    let response = Some(serde_json::to_string(&output)?);
    let at = at.unwrap_or(LookAt::Verify(0));
    *done = Some(Done { at, response: response.clone() });
    let again = |at| Ok(context.look_again(at, response.clone(), None));
    if let LookAt::Verify(denied) = at
        && !job.double_check(context, &arguments, &output).await?
    {
        return again(LookAt::Verify(denied + 1));
    }
    *done = Some(Done { at: LookAt::Confirm, response: response.clone() });
    if !job.confirm_or_retry(context, &arguments, &output).await? {
        return again(LookAt::Confirm);
    }
    job.complete(context, &arguments, &output).await?;
    Ok(context.completed(response))
}

/// A step without arguments has an empty object, which a job without arguments reads as nothing.
fn read<A: DeserializeOwned>(arguments: &str) -> Result<A, serde_json::Error> {
    let read = serde_json::from_str(arguments);
    if arguments == "{}" {
        read.or_else(|problem| serde_json::from_str("null").map_err(|_| problem))
    } else {
        read
    }
}

/// The guards, the rate limit and the budget: what keeps a job from starting.
async fn early<J: Job>(job: &J, context: &Context, arguments: &J::Arguments) -> JobResult<Option<Outcome>> {
    let why = |guard: &str| format!("`{guard}` of `{}` said no", context.claim().action);
    let failure = |message| Failure { message, trace: None };
    if !job.start_or_stop(context, arguments).await? {
        return Ok(Some(Outcome::Stop { why: why("start_or_stop") }));
    }
    if !job.start_or_fail(context, arguments).await? {
        return Ok(Some(Outcome::Fail { failure: failure(why("start_or_fail")), notify: true }));
    }
    if !job.start_or_skip(context, arguments).await? {
        return Ok(Some(Outcome::Skip { why: why("start_or_skip") }));
    }
    if !job.start_or_retry(context, arguments).await? {
        return Ok(Some(Outcome::Retry { after: None, failure: Some(failure(why("start_or_retry"))) }));
    }
    if let Some(after) = job.throttle(context, arguments).await? {
        return Ok(Some(Outcome::Throttle { after }));
    }
    let claim = context.claim();
    if claim.failed_attempts >= claim.max_attempts {
        let message = format!("all {} attempts are used up", claim.max_attempts);
        return Ok(Some(Outcome::Fail { failure: failure(message), notify: true }));
    }
    Ok(None)
}

/// No later attempt would read them better.
fn bad_arguments(context: &Context, problem: &serde_json::Error) -> JobError {
    let message = format!(
        "`{}` does not understand its arguments: {problem}; correct them and retry the step",
        context.claim().action
    );
    crate::instead::fail(message)
}
