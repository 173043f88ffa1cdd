//! Looks whether the database can be read, with a connection that has seen nothing of it yet: one look at a time, for everybody who asks.
//!
//! Why    whether a node is ready is asked by anybody, without a key. If each question were a connection, whoever asks often enough
//!        would leave the database none for anybody else.

use engine::Stopwatch;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

/// How long strangers are told what was found last.
const KEPT_FOR: Duration = Duration::from_secs(1);

type Result<T> = std::result::Result<T, StoreError>;

/// How old an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// It was looked after it was asked.
    None,
    /// Or so shortly before that nobody is the worse for it.
    Short,
}

struct Found {
    begun: Stopwatch,
    ended: Stopwatch,
    found: Result<()>,
}

pub struct Looks {
    last: Arc<Mutex<Option<Found>>>,
    kept_for: Duration,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks::keeping(KEPT_FOR)
    }
}

impl Looks {
    fn keeping(kept_for: Duration) -> Looks {
        Looks { last: Arc::default(), kept_for }
    }

    /// Those who ask while somebody looks share the next look.
    pub async fn ask(&self, age: Age, look: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
        let asked = Stopwatch::start();
        let mut last = self.last.clone().lock_owned().await;
        if let Some(last) = &*last
            && self.answers(last, age, asked)
        {
            return last.found.clone();
        }
        // Whoever asked may leave; until the look has ended nobody begins another.
        let task = spawn_blocking(move || {
            let begun = Stopwatch::start();
            let found = look();
            *last = Some(Found { begun, ended: Stopwatch::start(), found: found.clone() });
            found
        });
        task.await.map_err(|_| StoreError::Down("a look ended before it had an answer".into()))?
    }

    fn answers(&self, last: &Found, age: Age, asked: Stopwatch) -> bool {
        let is_after = last.begun.until(asked).is_zero();
        is_after || (age == Age::Short && last.ended.elapsed() < self.kept_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    const ALWAYS: Duration = Duration::from_secs(3_600);

    /// How often it was looked, and how many looked at once.
    #[derive(Clone, Default)]
    struct Counted {
        looks: Arc<AtomicUsize>,
        now: Arc<AtomicUsize>,
        most: Arc<AtomicUsize>,
    }

    impl Counted {
        fn look(&self, found: impl FnOnce() -> Result<()>) -> Result<()> {
            self.looks.fetch_add(1, Ordering::SeqCst);
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            let found = found();
            self.now.fetch_sub(1, Ordering::SeqCst);
            found
        }
        fn counts(&self) -> (usize, usize) {
            (self.looks.load(Ordering::SeqCst), self.most.load(Ordering::SeqCst))
        }
    }

    /// A look that ends when it is let, or when nobody is left to let it.
    fn held(counted: &Counted) -> (mpsc::Sender<()>, impl FnOnce() -> Result<()> + Send + 'static) {
        let (let_go, wait) = mpsc::channel();
        let counted = counted.clone();
        (let_go, move || {
            counted.look(|| {
                wait.recv().ok();
                Ok(())
            })
        })
    }

    fn quick(counted: &Counted, found: Result<()>) -> impl FnOnce() -> Result<()> + Send + 'static {
        let counted = counted.clone();
        move || counted.look(|| found)
    }

    fn gone() -> Result<()> {
        Err(StoreError::Down("it is gone".into()))
    }

    #[tokio::test]
    async fn s26a_however_many_ask_at_once_one_looks_and_the_rest_share_the_next() {
        for age in [Age::None, Age::Short] {
            let (looks, counted) = (Looks::default(), Counted::default());
            let (let_go, first) = held(&counted);
            let others = join_all((0..200).map(|_| looks.ask(age, quick(&counted, Ok(())))));
            let (first, others, sent) =
                tokio::join!(biased; looks.ask(Age::None, first), others, async { let_go.send(()) });
            assert!(first.is_ok() && others.iter().all(Result::is_ok) && sent.is_ok());
            let (times, at_once) = counted.counts();
            assert!(times <= 2 && at_once == 1, "{age:?}: {times} looks, {at_once} at once");
        }
    }

    #[tokio::test]
    async fn whoever_asked_and_left_leaves_no_room_for_another_look() {
        let (looks, counted) = (Looks::default(), Counted::default());
        let (let_go, first) = held(&counted);
        tokio::select! {
            biased;
            _ = looks.ask(Age::None, first) => panic!("it is held"),
            () = std::future::ready(()) => {}
        }
        while counted.counts().0 == 0 {
            tokio::task::yield_now().await;
        }
        let again = looks.ask(Age::None, quick(&counted, Ok(())));
        let (again, sent) = tokio::join!(biased; again, async { let_go.send(()) });
        assert!(again.is_ok() && sent.is_ok());
        assert_eq!(counted.counts(), (2, 1));
    }

    #[tokio::test]
    async fn a_stranger_is_told_what_was_found_last_and_whoever_may_operate_what_is_so_now() {
        let (looks, counted) = (Looks::keeping(ALWAYS), Counted::default());
        assert!(looks.ask(Age::Short, quick(&counted, Ok(()))).await.is_ok());
        assert!(looks.ask(Age::Short, quick(&counted, gone())).await.is_ok(), "it was looked just now");
        assert_eq!(looks.ask(Age::None, quick(&counted, gone())).await, gone());
        assert_eq!(
            looks.ask(Age::Short, quick(&counted, Ok(()))).await,
            gone(),
            "and so strangers hear of it"
        );
        assert_eq!(counted.counts(), (2, 1));
        let hasty = Looks::keeping(Duration::ZERO);
        assert!(hasty.ask(Age::Short, quick(&counted, Ok(()))).await.is_ok());
        assert_eq!(hasty.ask(Age::Short, quick(&counted, gone())).await, gone(), "what is old is not told");
    }
}
