//! Where sessions of other processes sit: each has its share of work waiting, and the last of it until it has arrived.

use crate::error::ApiError;
use engine::{Engine, Handed, SessionHandle};
use model::{Claim, Name, SessionId, SessionOffer};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

pub struct Seat {
    pub session: SessionId,
    /// What it serves, once somebody had to know.
    queues: OnceLock<Arc<[Name]>>,
    work: tokio::sync::Mutex<UnboundedReceiver<Handed>>,
    /// What was last given to a call; it is given again when that did not arrive.
    given: Mutex<Given>,
}

#[derive(Default, Clone)]
pub struct Given {
    pub number: u64,
    pub claims: Vec<Claim>,
}

impl Seat {
    fn new(SessionHandle { id, work }: SessionHandle) -> Seat {
        let (queues, given) = Default::default();
        Seat { session: id, queues, work: tokio::sync::Mutex::new(work), given }
    }

    /// Work for someone who has received everything up to this number; nothing comes to this seat any more if there is no answer.
    pub async fn next(&self, received: u64, wait: Duration) -> Option<Given> {
        let given = locked(&self.given).clone();
        if given.number > received {
            return Some(given);
        }
        let waited = tokio::time::timeout(wait, async {
            let mut work = self.work.lock().await;
            // Another call of the same worker may have taken some meanwhile.
            let given = locked(&self.given).clone();
            if given.number > received {
                return Some(given);
            }
            let first = work.recv().await?;
            let mut given = Given { number: first.number, claims: first.claims };
            while let Ok(more) = work.try_recv() {
                given.number = more.number;
                given.claims.extend(more.claims);
            }
            // From here to the answer nothing waits: what is taken is remembered.
            *locked(&self.given) = given.clone();
            Some(given)
        });
        waited.await.unwrap_or(Some(Given { number: received.max(given.number), claims: Vec::new() }))
    }
}

#[derive(Default)]
pub struct Seats {
    seats: Mutex<HashMap<SessionId, Arc<Seat>>>,
    /// One at a time comes back: two of one session would take each other's seat.
    door: tokio::sync::Mutex<()>,
}

impl Seats {
    pub async fn join(&self, engine: &Engine, offer: SessionOffer) -> Result<Arc<Seat>, ApiError> {
        Ok(self.take(engine.join(offer).await?))
    }
    /// The seat of a session; one that this server does not know may have sat at the one before it.
    pub async fn find(
        &self,
        engine: &Engine,
        session: SessionId,
        received: u64,
    ) -> Result<Arc<Seat>, ApiError> {
        let known = || locked(&self.seats).get(&session).cloned();
        if let Some(seat) = known() {
            return Ok(seat);
        }
        let _one = self.door.lock().await;
        match known() {
            Some(seat) => Ok(seat),
            None => Ok(self.take(engine.join_again(session, received).await?)),
        }
    }
    /// The queues of a session that sits here, if they are known.
    pub fn queues(&self, session: SessionId) -> Option<Arc<[Name]>> {
        locked(&self.seats).get(&session)?.queues.get().cloned()
    }
    pub fn note_queues(&self, session: SessionId, queues: &Arc<[Name]>) {
        if let Some(seat) = locked(&self.seats).get(&session) {
            seat.queues.get_or_init(|| queues.clone());
        }
    }
    pub fn leave(&self, session: SessionId) {
        locked(&self.seats).remove(&session);
    }
    /// Give up this seat, unless the session has another one by now.
    pub fn give_up(&self, seat: &Arc<Seat>) {
        let mut seats = locked(&self.seats);
        if seats.get(&seat.session).is_some_and(|known| Arc::ptr_eq(known, seat)) {
            seats.remove(&seat.session);
        }
    }
    fn take(&self, handle: SessionHandle) -> Arc<Seat> {
        let seat = Arc::new(Seat::new(handle));
        let mut seats = locked(&self.seats);
        // Sessions that the engine has given up have nobody at the other end any more.
        seats.retain(|_, seat| seat.work.try_lock().map_or(true, |work| !work.is_closed()));
        seats.insert(seat.session, seat.clone());
        seat
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
