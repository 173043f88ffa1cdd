//! Runs an operation once: wait for whoever runs it, keep the lease while it runs, record how it ended.

use super::{Ask, Begin, Begun, ExecutionError, Executions, Held, OnceError, Result};
use model::limits;
use rules::idempotency::Refusal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Between two looks at what somebody else runs, where no bell can ring; doubled each time.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(1);
/// How often an end is recorded anew while the store does not answer, and the pause before the second time; doubled each time.
const RECORDINGS: u32 = 6;
const RECORD_AGAIN: Duration = Duration::from_millis(50);

/// The one answer, and whether it is from before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once<T> {
    pub answer: T,
    pub replayed: bool,
}

impl Executions {
    /// Run the operation unless it has been run; in either case this is its answer. Somebody who runs it now is waited for, at the
    /// cost of no attempt. An error of the operation is recorded and uses up one of its attempts. If the lease is lost, the
    /// operation is dropped where it stands, for another runs it.
    pub async fn once<T, E, F>(
        &self,
        ask: Ask,
        operation: impl FnOnce(Begun) -> F,
    ) -> std::result::Result<Once<T>, OnceError<E>>
    where
        T: Serialize + DeserializeOwned,
        E: Display,
        F: Future<Output = std::result::Result<T, E>>,
    {
        let begun = match self.begin_or_wait(&ask).await? {
            Begin::Run(begun) => begun,
            Begin::Replay { answer } => return Ok(read(&ask, &answer)?),
        };
        match self.hold(&begun, operation(begun.clone())).await? {
            Ok(answer) => {
                self.record(&begun.held, &answer).await?;
                Ok(Once { answer, replayed: false })
            }
            Err(error) => {
                let text = storable(error.to_string());
                if let Err(problem) = self.until_recorded(|| self.fail(&begun.held, text.clone())).await {
                    // Its lease will run out; whoever asked is told what really went wrong.
                    tracing::warn!(execution = %begun.held.name, %problem, "a failure was not recorded: {problem}");
                }
                Err(OnceError::Operation(error))
            }
        }
    }

    /// Begin, waiting for whoever has begun before. In this process a bell says when that has ended; otherwise it is looked for.
    pub async fn begin_or_wait(&self, ask: &Ask) -> Result<Begin> {
        let owner = ask.owner.unwrap_or_else(|| self.new_owner());
        let ask = ask.clone().owner(owner);
        let mut pause = LOOK_AGAIN;
        loop {
            let mut rung = pin!(self.bell(&ask.name).notified());
            // It counts from before the look, so that no end falls between the two.
            rung.as_mut().enable();
            match self.begin(&ask).await {
                Err(ExecutionError::InProgress { retry_after, .. }) => {
                    let wait = pause.min(retry_after).max(Duration::from_millis(1));
                    if timeout(wait, rung).await.is_err() {
                        pause = (pause * 2).min(LOOK_AGAIN_MAX);
                    }
                }
                other => return other,
            }
        }
    }

    /// Run something while the lease of a beginning is renewed; an error when it was lost.
    pub async fn hold<R>(&self, begun: &Begun, work: impl Future<Output = R>) -> Result<R> {
        tokio::select! {
            biased;
            outcome = work => Ok(outcome),
            lost = self.renew_until_lost(begun) => Err(lost),
        }
    }

    async fn renew_until_lost(&self, begun: &Begun) -> ExecutionError {
        loop {
            sleep(begun.lease / 3).await;
            match self.renew(&begun.held, begun.lease).await {
                Err(lost @ ExecutionError::Refused { .. }) => return lost,
                Err(problem) => {
                    tracing::warn!(execution = %begun.held.name, %problem, "a lease was not renewed: {problem}");
                }
                Ok(_) => {}
            }
        }
    }

    /// What was done must not be done again, whatever becomes of its answer.
    async fn record(&self, held: &Held, answer: &impl Serialize) -> Result<()> {
        let name = held.name.clone();
        let text = serde_json::to_string(answer);
        let (text, problem) = match text {
            Ok(text) if text.len() <= limits::PAYLOAD_BYTES_MAX => (text, None),
            Ok(text) => ("null".into(), Some(ExecutionError::AnswerTooLarge { name, bytes: text.len() })),
            Err(e) => ("null".into(), Some(ExecutionError::Unreadable { name, problem: e.to_string() })),
        };
        self.until_recorded(|| self.complete(held, text.clone())).await?;
        problem.map_or(Ok(()), Err)
    }

    /// While it is not known whether the end is on record, it is recorded again: that is no mistake.
    async fn until_recorded<F>(&self, record: impl Fn() -> F) -> Result<()>
    where
        F: Future<Output = Result<()>>,
    {
        let mut pause = RECORD_AGAIN;
        for _ in 1..RECORDINGS {
            match record().await {
                Err(ExecutionError::Unavailable(_)) => sleep(pause).await,
                other => return other,
            }
            pause *= 2;
        }
        record().await
    }
}

impl ExecutionError {
    /// Another has taken over.
    pub fn is_lost(&self) -> bool {
        matches!(self, ExecutionError::Refused { why: Refusal::Lost { .. }, .. })
    }
}

fn read<T: DeserializeOwned>(ask: &Ask, answer: &str) -> Result<Once<T>> {
    let unreadable =
        |e: serde_json::Error| ExecutionError::Unreadable { name: ask.name.clone(), problem: e.to_string() };
    Ok(Once { answer: serde_json::from_str(answer).map_err(unreadable)?, replayed: true })
}

/// An error is for people: it is kept as far as it can be, and says so.
fn storable(error: String) -> String {
    let error = error.replace('\0', "\u{fffd}");
    if error.len() <= limits::PAYLOAD_BYTES_MAX {
        return error;
    }
    let mut end = limits::PAYLOAD_BYTES_MAX - 64;
    while !error.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} … (cut; it was {} bytes long)", &error[..end], error.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};
    use store::executions::{Beginning, Done, Order, Told};
    use store::{Ledger, StoreError};

    /// Begins at once, and says of the first ends that it does not know.
    struct Notes {
        orders: Mutex<Vec<&'static str>>,
        unknown: usize,
    }

    impl Ledger for Notes {
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }
        fn order(&self, order: Order, done: Done) {
            let mut orders = self.orders.lock().unwrap();
            let (word, told) = match order {
                Order::Begin(_) => {
                    let begun = Beginning::Begun { attempt: 1, lease_ends_at: Timestamp(1) };
                    ("begin", Ok(Told::Beginning(begun)))
                }
                _ if orders.len() <= self.unknown => ("end", Err(StoreError::Unknown("cut".into()))),
                _ => ("end", Ok(Told::Ended)),
            };
            orders.push(word);
            done(told);
        }
    }

    async fn orders(unknown: usize) -> Vec<&'static str> {
        let notes = Arc::new(Notes { orders: Mutex::default(), unknown });
        let executions = Executions::new(notes.clone());
        let once = executions.once(Ask::new("pay", "7"), |_| async { Ok::<_, Infallible>(1) });
        assert_eq!(once.await.unwrap(), Once { answer: 1, replayed: false });
        notes.orders.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn it_costs_two_orders() {
        assert_eq!(orders(0).await, ["begin", "end"]);
    }

    #[tokio::test]
    async fn an_end_that_may_not_be_on_record_is_recorded_again() {
        assert_eq!(orders(2).await, ["begin", "end", "end", "end"]);
    }

    #[test]
    fn an_error_that_is_too_long_says_so() {
        let cut = storable("é".repeat(limits::PAYLOAD_BYTES_MAX));
        assert!(cut.len() <= limits::PAYLOAD_BYTES_MAX);
        assert!(cut.ends_with("… (cut; it was 2097152 bytes long)"), "{}", &cut[cut.len() - 60..]);
        assert_eq!(storable("a\0b".into()), "a\u{fffd}b");
    }
}
