//! A few connections for people's questions, used off the threads that answer requests.

use std::sync::{Arc, Mutex, PoisonError};
use store::{Browse, Database, StoreError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Questions that are read at once; more wait.
const READERS_MAX: usize = 4;

type Result<T> = std::result::Result<T, StoreError>;

pub struct Readers {
    database: Database,
    idle: Arc<Mutex<Vec<Browse>>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub fn new(database: Database) -> Readers {
        Readers::with_places(database, READERS_MAX)
    }

    pub fn with_places(database: Database, places: usize) -> Readers {
        Readers { database, idle: Arc::default(), places: Arc::new(Semaphore::new(places)) }
    }

    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Browse) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| ended())?;
        let (idle, database) = (self.idle.clone(), self.database.clone());
        let task = spawn_blocking(move || {
            // Whoever asked may leave; the place is taken until their question is answered.
            let _place = place;
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let browse = kept.map_or_else(|| database.browse(), Ok)?;
            let found = work(&browse)?;
            // A connection that failed is not kept: the next question opens the file anew.
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(browse);
            Ok(found)
        });
        task.await.map_err(|_| ended())?
    }
}

fn ended() -> StoreError {
    StoreError::Down("a read ended before it had an answer".into())
}
