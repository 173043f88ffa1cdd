//! What an error of a job does: retry it? ignore it? resolve it? else report and fail, told to people or not.

use crate::context::Context;
use crate::instead::Instead;
use crate::job::{Job, JobError};
use crate::lifecycle::Done;
use model::{Failure, Outcome};
use std::backtrace::BacktraceStatus;

pub async fn judge<J: Job>(job: &J, context: &Context, error: JobError, done: Option<Done>) -> Outcome {
    let claim = context.claim();
    let last = claim.failed_attempts + 1 >= claim.max_attempts;
    if !last && job.should_retry(&error) {
        let failure = Some(failure(&error));
        return match done {
            None => Outcome::Retry { after: None, failure },
            Some(Done { at, response }) => context.look_again(at, response, failure),
        };
    }
    if job.should_ignore(&error) {
        context.log(format!("completed in spite of: {error:#}"));
        return context.completed(done.and_then(|done| done.response));
    }
    match job.resolve(context, &error).await {
        Ok(Some(outcome)) => outcome,
        Ok(None) => Outcome::Fail { failure: failure(&error), notify: job.should_notify(&error) },
        Err(asked) => match asked.downcast::<Instead>() {
            Ok(Instead(outcome)) => outcome,
            Err(second) => {
                let mut failure = failure(&error);
                failure.message = format!("{}; and while it was resolved: {second:#}", failure.message);
                Outcome::Fail { failure, notify: job.should_notify(&error) }
            }
        },
    }
}

/// The message with its causes, and where it happened if the process keeps backtraces.
fn failure(error: &JobError) -> Failure {
    let causes: Vec<String> = error.chain().skip(1).map(|cause| format!("caused by: {cause}")).collect();
    let backtrace = error.backtrace();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    let trace: Vec<String> = causes.into_iter().chain(backtrace).collect();
    let message = error.to_string();
    Failure { message, trace: (!trace.is_empty()).then(|| trace.join("\n")) }
}
