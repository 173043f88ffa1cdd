//! Steps that go over a queue: on record before they are published, begun by the attempt that is queued alone, and never forgotten.
#![allow(clippy::unwrap_used)]

use engine::{Attending, Config, Errand, GroupOperation, GroupVerb, Publication, Sent};
use model::{Breaker, NotBegun, Outcome, Pool, SessionId, State, StepId};
use rules::settle::Mode;
use serde_json::{Value, json};
use std::time::Duration;
use stepfast_testkit::{Stage, outcome_of};
use tokio::sync::mpsc;

const STALE_AFTER: Duration = Duration::from_secs(900);
const MINUTE: Duration = Duration::from_secs(60);

/// A stage whose `deliver` steps go over a queue that the test plays.
struct Office {
    stage: Stage,
    work: mpsc::UnboundedReceiver<Errand>,
    queue: Queue,
    /// What need not be published any more.
    forgotten: Vec<String>,
}

/// What the test plays.
#[derive(Clone, Copy)]
struct Queue {
    name: &'static str,
    durable: bool,
    capacity: usize,
}

const BROKER: Queue = Queue { name: "broker", durable: true, capacity: 100 };
const EMBEDDED: Queue = Queue { name: "embedded", durable: false, capacity: 100 };

impl Office {
    async fn new(queue: Queue) -> Office {
        let published = vec!["deliver".into()];
        let host = "stage".into();
        let config = Config { by_hand: true, full_history: true, host, published, ..Config::default() };
        let stage = Stage::with(config).await;
        let work = attend(&stage, queue).await;
        Office { stage, work, queue, forgotten: Vec::new() }
    }

    async fn tick(&mut self) {
        self.stage.decide(Mode::FixedPoint).await;
    }

    /// What is to be published now, by key and attempt.
    async fn posted(&mut self) -> String {
        self.tick().await;
        let mut posted = Vec::new();
        while let Ok(errand) = self.work.try_recv() {
            let (told, step, attempt) = match errand {
                Errand::Publish(message) => (&mut posted, message.step, message.attempt),
                Errand::Forget { step, attempt } => (&mut self.forgotten, step, attempt),
            };
            let key = self.stage.step(step).detail.step_key.unwrap_or_default();
            told.push(format!("{key}#{attempt}"));
        }
        posted.sort();
        posted.join(" ")
    }

    async fn came(&self, key: &str, attempt: u32, problem: Option<&str>) {
        let step = self.id(key);
        let problem = problem.map(String::from);
        self.stage.engine.published(vec![Publication { step, attempt, problem }]).await.unwrap();
    }

    fn id(&self, key: &str) -> StepId {
        self.stage.by_key(key).step.id
    }

    async fn begin(&mut self, key: &str, attempt: u32) -> Result<(), NotBegun> {
        let (step, session) = (self.id(key), self.stage.session.id);
        let begun = self.stage.engine.begin(Sent { session, step, attempt }).await.unwrap();
        let handed: Vec<StepId> = self.stage.handed().iter().map(|claim| claim.step).collect();
        assert_eq!(handed.contains(&step), begun.is_ok(), "what is begun is given as any other work");
        begun
    }

    async fn end(&self, key: &str, attempt: u32, action: &str) {
        let outcome: Outcome = outcome_of(action).unwrap();
        self.stage.report(self.stage.session.id, self.id(key), attempt, outcome).await;
    }

    /// State, attempt and failed attempts.
    fn told(&self, key: &str) -> String {
        let step = self.stage.by_key(key).step;
        format!("{} {} {}", step.state, step.attempt, step.failed_attempts)
    }

    async fn crash(&mut self) {
        self.stage.crash().await;
        self.work = attend(&self.stage, self.queue).await;
    }

    async fn wait(&self, span: Duration) {
        self.stage.advance(span).await;
    }
}

async fn attend(stage: &Stage, queue: Queue) -> mpsc::UnboundedReceiver<Errand> {
    let (hand, work) = mpsc::unbounded_channel();
    let Queue { name, durable, capacity } = queue;
    let (queue, look_every) = (name.into(), Duration::from_secs(60));
    let publisher = Attending { hand, queue, capacity, durable, stale_after: STALE_AFTER, look_every };
    stage.engine.attend(publisher).await.unwrap();
    work
}

fn letter(key: &str) -> Value {
    json!({"step_key": key, "action": "deliver", "arguments": {"url": "http://x"}})
}
fn ordered(key: &str, group: &str) -> Value {
    json!({"step_key": key, "action": "deliver", "message_group": group, "mode": "block_on_error", "arguments": {"url": "http://x"}})
}

#[tokio::test]
async fn a_message_is_on_record_before_it_is_published_and_begun_once() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([letter("a")])).await;
    assert_eq!(office.posted().await, "a#1");
    assert_eq!(office.told("a"), "dispatched 1 0");
    assert_eq!(office.stage.by_key("a").step.session, Some(SessionId::OUTBOX));
    let unpublished = |office: &Office| office.stage.browse().unpublished().unwrap();
    assert_eq!(unpublished(&office), (1, office.stage.by_key("a").step.dispatched_at));
    office.stage.check();
    office.came("a", 1, None).await;
    office.tick().await;
    assert_eq!(unpublished(&office), (0, None));
    assert_eq!(office.begin("a", 1).await, Ok(()));
    assert_eq!(office.told("a"), "running 1 0");
    assert_eq!(office.begin("a", 1).await, Err(NotBegun::Begun), "the message came twice");
    office.end("a", 1, "ok").await;
    assert_eq!(office.begin("a", 1).await, Err(NotBegun::Ended));
    let sent = Sent { session: office.stage.session.id, step: StepId::of(7), attempt: 1 };
    assert_eq!(office.stage.engine.begin(sent).await.unwrap(), Err(NotBegun::Unknown));
    assert_eq!(office.told("a"), "completed 1 0");
    assert_eq!(office.posted().await, "");
}

#[tokio::test]
async fn a_message_may_be_processed_before_the_queue_confirmed_it() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([letter("a")])).await;
    assert_eq!(office.posted().await, "a#1");
    assert_eq!(office.begin("a", 1).await, Ok(()));
    office.stage.check();
    office.came("a", 1, None).await;
    office.end("a", 1, "retry").await;
    assert_eq!(office.told("a"), "pending 1 1");
    office.wait(Duration::from_secs(15)).await;
    assert_eq!(office.posted().await, "a#2", "retries are the engine's");
    assert_eq!(office.begin("a", 1).await, Err(NotBegun::Old), "an old message");
}

#[tokio::test]
async fn what_the_queue_refuses_goes_back_at_no_cost_and_holds_up_its_group_alone() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([ordered("a1", "a"), ordered("b1", "b")])).await;
    office.stage.create(json!([ordered("a2", "a"), ordered("b2", "b")])).await;
    assert_eq!(office.posted().await, "a1#1 b1#1", "one of a group is in the queue at a time");
    office.came("a1", 1, Some("too large")).await;
    office.came("b1", 1, None).await;
    assert_eq!(office.told("a1"), "pending 1 0");
    let row = office.stage.by_key("a1");
    assert_eq!(row.detail.error_message.as_deref(), Some("its message was not published: too large"));
    assert_eq!(office.begin("b1", 1).await, Ok(()));
    office.end("b1", 1, "ok").await;
    assert_eq!(office.posted().await, "b2#1", "the head of the other group keeps its place while it waits");
    office.wait(Duration::from_secs(2)).await;
    assert_eq!(office.posted().await, "a1#2");
    assert_eq!(office.begin("a1", 1).await, Err(NotBegun::Old));
    assert_eq!(office.begin("a1", 2).await, Ok(()));
    office.end("a1", 2, "ok").await;
    assert_eq!(office.posted().await, "a2#1");
}

#[tokio::test]
async fn what_was_not_published_when_a_node_died_is_published_by_the_next() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([letter("a"), letter("b"), letter("c")])).await;
    assert_eq!(office.posted().await, "a#1 b#1 c#1");
    office.came("a", 1, None).await;
    assert_eq!(office.begin("c", 1).await, Ok(()));
    office.crash().await;
    assert_eq!(
        office.posted().await,
        "b#1 c#2",
        "of `a` the queue has the message; the worker of `c` is lost"
    );
    assert_eq!(office.begin("a", 1).await, Ok(()), "no attempt was counted for it");
    assert_eq!(office.begin("b", 1).await, Ok(()));
}

#[tokio::test]
async fn a_queue_that_dies_with_its_process_is_filled_again() {
    let mut office = Office::new(EMBEDDED).await;
    office.stage.create(json!([letter("a"), letter("b")])).await;
    assert_eq!(office.posted().await, "a#1 b#1");
    office.came("a", 1, None).await;
    office.crash().await;
    assert_eq!(office.posted().await, "a#1 b#1");
    assert_eq!(office.begin("a", 1).await, Ok(()));
    assert_eq!(office.posted().await, "", "and not once more");
}

#[tokio::test]
async fn a_message_that_nobody_came_for_is_published_anew_and_the_old_one_is_refused() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([ordered("a1", "a"), ordered("a2", "a"), letter("unsent")])).await;
    assert_eq!(office.posted().await, "a1#1 unsent#1");
    office.came("a1", 1, None).await;
    office.wait(STALE_AFTER - Duration::from_secs(1)).await;
    assert_eq!(office.posted().await, "");
    office.wait(Duration::from_secs(60)).await;
    assert_eq!(
        office.posted().await,
        "a1#2",
        "what was never sent is not lost, and its line keeps its order"
    );
    assert_eq!(office.told("a1"), "dispatched 2 0");
    assert_eq!(office.begin("a1", 1).await, Err(NotBegun::Old), "it turns up twenty minutes late");
    assert_eq!(office.begin("a1", 2).await, Ok(()));
    let attempts = office.stage.browse().attempts(office.id("a1")).unwrap();
    let told: Vec<_> =
        attempts.iter().map(|a| (a.attempt, a.outcome.as_str(), a.message.as_deref())).collect();
    assert_eq!(told, [(1, "given_back", Some("nobody was sent for it in 900 s"))]);
}

/// A router that was slower than the threshold had the front of its queue declared lost, and spent its calls on outdated messages.
#[tokio::test]
async fn while_a_slow_queue_moves_only_what_it_has_passed_is_lost() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([letter("a"), letter("b"), letter("c")])).await;
    assert_eq!(office.posted().await, "a#1 b#1 c#1");
    for key in ["a", "b", "c"] {
        office.came(key, 1, None).await;
    }
    office.wait(STALE_AFTER - MINUTE).await;
    office.stage.create(json!([letter("d")])).await;
    assert_eq!(office.posted().await, "d#1");
    office.came("d", 1, None).await;
    assert_eq!(office.begin("a", 1).await, Ok(()));
    office.wait(2 * MINUTE).await;
    assert_eq!(office.posted().await, "", "the others are next");
    assert_eq!(office.begin("d", 1).await, Ok(()), "it was published last");
    office.wait(MINUTE).await;
    assert_eq!(office.posted().await, "b#2 c#2");
}

#[tokio::test]
async fn what_the_queue_was_late_to_take_is_not_lost_for_that() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([letter("a")])).await;
    assert_eq!(office.posted().await, "a#1");
    office.wait(2 * STALE_AFTER).await;
    office.came("a", 1, None).await;
    office.wait(2 * MINUTE).await;
    assert_eq!(office.posted().await, "", "its time begins when the queue has it");
    assert_eq!(office.begin("a", 1).await, Ok(()));
}

#[tokio::test]
async fn what_is_over_is_not_begun() {
    let mut office = Office::new(BROKER).await;
    let expires_at = office.stage.clock_now().0 + 60_000_000;
    let letter = |key: &str| json!({"step_key": key, "action": "deliver", "expires_at": expires_at});
    office.stage.create(json!([letter("a"), letter("b")])).await;
    assert_eq!(office.posted().await, "a#1 b#1");
    office.came("a", 1, None).await;
    office.stage.clock.advance(Duration::from_secs(61));
    assert_eq!(office.begin("a", 1).await, Err(NotBegun::Ended));
    assert_eq!(office.told("a"), "cancelled 1 0");
    office.tick().await;
    assert_eq!(office.told("b"), "cancelled 1 0", "also if nobody comes");
}

#[tokio::test]
async fn with_the_breaker_off_nothing_is_queued_and_what_is_queued_may_begin() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([letter("a")])).await;
    assert_eq!(office.posted().await, "a#1");
    let off = Breaker { off: true, ..Breaker::default() };
    office.stage.engine.set_breaker(None, off, "test").await.unwrap();
    office.stage.create(json!([letter("b")])).await;
    assert_eq!(office.posted().await, "");
    assert_eq!(office.begin("a", 1).await, Ok(()));
    office.end("a", 1, "ok").await;
    office.stage.engine.set_breaker(None, Breaker::default(), "test").await.unwrap();
    office.tick().await;
    assert_eq!(office.posted().await, "b#1");
}

#[tokio::test]
async fn the_queue_takes_no_more_than_it_may_and_a_cancelled_step_leaves_room() {
    let mut office = Office::new(Queue { capacity: 2, ..BROKER }).await;
    office.stage.create(json!([letter("a"), letter("b"), letter("c"), letter("d")])).await;
    assert_eq!(office.posted().await, "a#1 b#1");
    let a = office.id("a");
    assert_eq!(office.stage.operate(a, Some(rules::operator::Verb::Cancel)).await, Ok(State::Cancelled));
    assert_eq!(office.posted().await, "c#1");
    assert_eq!(office.begin("a", 1).await, Err(NotBegun::Ended));
    assert_eq!(office.begin("b", 1).await, Ok(()));
    assert_eq!(office.posted().await, "d#1");
}

#[tokio::test]
async fn where_nothing_is_published_any_more_workers_take_what_was_queued() {
    let mut office = Office::new(BROKER).await;
    office.stage.create(json!([letter("a")])).await;
    assert_eq!(office.posted().await, "a#1");
    office.stage.config.published.clear();
    office.stage.crash().await;
    office.tick().await;
    assert_eq!(office.told("a"), "pending 1 0");
}

/// Issue 5: only the queues that the publishing node knows were looked at; what sat in the own queue of a host that has another
/// name now, or of another node, was never published.
#[tokio::test]
async fn what_sits_in_another_hosts_own_queue_is_published() {
    let mut office = Office::new(BROKER).await;
    office
        .stage
        .engine
        .put_pool(Pool { concurrency: Some(5), ..Pool::new("card") }, "test".into())
        .await
        .unwrap();
    switch(&office, Breaker { off: true, ..Breaker::default() }).await;
    let mine = |key: &str| json!({"step_key": key, "action": "deliver", "queue": "stage"});
    let with = |key: &str, field: &str, value: Value| {
        let mut step = mine(key);
        step[field] = value;
        step
    };
    let line = json!({"step_key": "line", "action": "deliver", "queue": "stage", "message_group": "g", "mode": "block_on_error"});
    let parent = json!({"step_key": "parent", "action": "ok", "children": [mine("child")]});
    let steps = json!([
        mine("plain"),
        with("pooled", "pool", json!("card")),
        with("late", "delay_ms", json!(60_000)),
        line,
        parent
    ]);
    office.stage.create(steps).await;
    assert_eq!(office.stage.by_key("plain").step.queue.as_ref(), "stage");
    office.stage.config.host = "another".into();
    office.crash().await;
    switch(&office, Breaker::default()).await;
    assert_eq!(office.posted().await, "line#1 plain#1 pooled#1");
    office.stage.settle().await;
    assert_eq!(office.posted().await, "child#1");
    office.wait(MINUTE).await;
    assert_eq!(office.posted().await, "late#1");
    office.stage.create(json!([with("new", "queue", json!("another"))])).await;
    assert_eq!(office.posted().await, "new#1");
}

async fn switch(office: &Office, breaker: Breaker) {
    office.stage.engine.set_breaker(None, breaker, "test").await.unwrap();
}

/// Issue 5: what was queued in the embedded queue counted as published when a broker took its place, and in one broker when another
/// did; it waited until it was taken for lost.
#[tokio::test]
async fn what_was_queued_before_the_queue_was_changed_is_published_where_it_is_looked_for_now() {
    let other = Queue { name: "another broker", ..BROKER };
    for (from, to) in [(EMBEDDED, BROKER), (BROKER, EMBEDDED), (BROKER, other)] {
        let mut office = Office::new(from).await;
        office
            .stage
            .create(json!([letter("a"), letter("unsent"), ordered("b1", "b"), ordered("b2", "b")]))
            .await;
        assert_eq!(office.posted().await, "a#1 b1#1 unsent#1");
        office.came("a", 1, None).await;
        office.came("b1", 1, None).await;
        office.queue = to;
        office.crash().await;
        assert_eq!(office.posted().await, "a#2 b1#2 unsent#2", "{} to {}", from.name, to.name);
        office.stage.check();
        assert_eq!(office.begin("a", 1).await, Err(NotBegun::Old), "the message in the other queue");
        assert_eq!(office.begin("a", 2).await, Ok(()));
        assert_eq!(office.begin("b1", 2).await, Ok(()));
        office.end("b1", 2, "ok").await;
        assert_eq!(office.posted().await, "b2#1", "the line keeps its order");
        assert_eq!(office.told("a"), "running 2 0", "it cost nothing");
        office.came("unsent", 2, None).await;
        office.crash().await;
        let again = if to.durable { "a#3 b2#1" } else { "a#3 b2#1 unsent#2" };
        assert_eq!(office.posted().await, again, "the queue is the same as before");
    }
}

/// Issue 5: a step that was in the queue when its message group was paused began all the same.
#[tokio::test]
async fn what_is_queued_when_its_group_is_paused_begins_after_it_is_resumed_and_in_order() {
    for queue in [BROKER, EMBEDDED] {
        let mut office = Office::new(queue).await;
        office.stage.create(json!([ordered("a1", "a"), ordered("a2", "a"), ordered("b1", "b")])).await;
        assert_eq!(office.posted().await, "a1#1 b1#1");
        office.came("a1", 1, None).await;
        steer(&office, "a", GroupVerb::Pause).await;
        assert_eq!(office.begin("a1", 1).await, Err(NotBegun::Old), "its message is done with");
        assert_eq!(office.told("a1"), "pending 1 0");
        assert_eq!(office.begin("b1", 1).await, Ok(()), "another group goes on");
        office.posted().await;
        office.crash().await;
        office.wait(STALE_AFTER + MINUTE).await;
        assert!(
            !office.posted().await.contains('a'),
            "it is paused, also for the next node and after any time"
        );
        steer(&office, "a", GroupVerb::Resume).await;
        assert!(office.posted().await.starts_with("a1#2"));
        assert_eq!(office.begin("a1", 2).await, Ok(()));
        steer(&office, "a", GroupVerb::Pause).await;
        assert_eq!(office.told("a1"), "running 2 0", "what runs goes on");
        office.end("a1", 2, "ok").await;
        assert!(!office.posted().await.contains("a2"));
        steer(&office, "a", GroupVerb::Resume).await;
        assert!(office.posted().await.contains("a2#1"));
    }
}

async fn steer(office: &Office, group: &str, verb: GroupVerb) {
    let (by, why) = ("test".into(), "test".into());
    let operation = GroupOperation { message_group: group.into(), verb, head: None, by, why, dry_run: false };
    office.stage.engine.operate_group(operation).await.unwrap();
}

/// Issue 5: what was cancelled before it was published stayed with whoever publishes.
#[tokio::test]
async fn what_is_cancelled_before_it_is_published_need_not_be() {
    for queue in [BROKER, EMBEDDED] {
        let mut office = Office::new(queue).await;
        office.stage.create(json!([letter("a"), letter("b")])).await;
        assert_eq!(office.posted().await, "a#1 b#1");
        let a = office.id("a");
        assert_eq!(office.stage.operate(a, Some(rules::operator::Verb::Cancel)).await, Ok(State::Cancelled));
        assert_eq!(office.posted().await, "");
        assert_eq!(office.forgotten, ["a#1"]);
    }
}
