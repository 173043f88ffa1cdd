//! One suite for every transport: the same cases against any broker, and none is passed over.
//!
//! Why    an engine that works on one transport works on all, since what differs is in their capabilities and the cases read
//!        it from there.

use super::cases;
use crate::Transport;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// A case that takes longer is stuck.
const LIMIT: Duration = Duration::from_secs(120);

/// A broker to test against.
#[async_trait]
pub trait Rig: Send + Sync + 'static {
    /// A queue that nobody has used, under this name.
    async fn make_queue(&self, name: &str);
    /// One more party on that queue.
    async fn connect(&self, queue: &str) -> Arc<dyn Transport>;
    /// Put a body into the queue as a stranger would.
    async fn put(&self, queue: &str, body: &str);
    async fn stop(&self);
    async fn start(&self);
}

/// One queue of a rig.
pub struct Scene {
    pub rig: Arc<dyn Rig>,
    queue: String,
}

impl Scene {
    async fn new(rig: &Arc<dyn Rig>) -> Scene {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let queue = format!("q{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        rig.make_queue(&queue).await;
        Scene { rig: rig.clone(), queue }
    }

    pub async fn connect(&self) -> Arc<dyn Transport> {
        self.rig.connect(&self.queue).await
    }

    pub async fn put(&self, body: &str) {
        self.rig.put(&self.queue, body).await;
    }
}

struct Case {
    name: &'static str,
    run: fn(Scene) -> BoxFuture<'static, ()>,
}

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        [$(Case { name: stringify!($name), run: |scene| Box::pin(cases::$name(scene)) }),*]
    };
}

/// Each on a queue of its own, so they run at the same time.
const CASES: [Case; 12] = cases![
    published_is_received_once_and_intact,
    acknowledged_never_comes_back,
    unacknowledged_comes_back,
    deferred_comes_back_when_due_and_not_before,
    extended_stays_hidden,
    a_duplicate_is_dropped_or_delivered_as_the_capabilities_say,
    what_is_no_pointer_can_be_acknowledged,
    a_thousand_messages_of_fifty_groups_all_arrive,
    a_large_batch_is_split,
    what_is_too_large_is_refused_and_the_others_are_not,
    an_empty_queue_is_waited_at,
    an_outdated_receipt_does_no_harm,
];

/// Those that stop the broker, one after another.
const CASES_ALONE: [Case; 1] = cases![probe_tells_a_stopped_broker_from_a_running_one];

/// Every case; panics if one fails, after all have run.
pub async fn run(rig: Arc<dyn Rig>) {
    let mut running = Vec::new();
    for case in &CASES {
        let rig = rig.clone();
        running.push((case.name, tokio::spawn(async move { play(&rig, case).await })));
    }
    let mut failed = Vec::new();
    for (name, task) in running {
        report(name, task.await, &mut failed);
    }
    for case in &CASES_ALONE {
        let rig = rig.clone();
        report(case.name, tokio::spawn(async move { play(&rig, case).await }).await, &mut failed);
    }
    assert!(failed.is_empty(), "{} of the cases failed: {}", failed.len(), failed.join(", "));
}

async fn play(rig: &Arc<dyn Rig>, case: &Case) -> Duration {
    let started_at = Instant::now();
    let played = timeout(LIMIT, async { (case.run)(Scene::new(rig).await).await }).await;
    assert!(played.is_ok(), "{} did not end within {LIMIT:?}", case.name);
    started_at.elapsed()
}

fn report(
    name: &'static str,
    ended: Result<Duration, tokio::task::JoinError>,
    failed: &mut Vec<&'static str>,
) {
    match ended {
        Ok(took) => println!("ok      {:5.1} s  {name}", took.as_secs_f64()),
        Err(_) => {
            println!("FAILED           {name}");
            failed.push(name);
        }
    }
}
