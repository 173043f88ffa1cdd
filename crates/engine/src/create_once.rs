//! Steps that are made once under a key, however often they are asked for.

use crate::{Ask, Created, Engine, EngineError, Once, OnceError};
use model::{NewStep, limits};

/// Where these keys are on record; those of the `Idempotency-Key` header are of their route.
const NAMESPACE: &str = "steps.create";

impl Engine {
    /// Create these steps, unless that was done under this key: then the answer is what was answered then. The same key with other
    /// steps is a conflict. Somebody who creates them now is waited for. Steps that are refused may be tried again as they are.
    ///
    /// The steps are stored by one commit and the record of the key by the next. A process that dies between the two leaves the key
    /// in progress for 60 seconds, and whoever asks after that makes the steps again; so does whoever asks again when the
    /// database did not say whether it had stored them. Where that must not be, make the steps and the record in one
    /// PostgreSQL transaction of your own (`enqueue_in`, `begin_in`, `complete_in`).
    pub async fn create_once(
        &self,
        key: &str,
        steps: Vec<NewStep>,
    ) -> Result<Once<Vec<Created>>, OnceError<EngineError>> {
        let ask = Ask::new(NAMESPACE, key).input(&steps).max_attempts(limits::ATTEMPTS_MAX);
        self.executions().once(ask, |_| self.create(steps)).await
    }
}
