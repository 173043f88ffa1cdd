//! Retries of steps whose lines another node decides about, at moments when not all is told: the row says more than the block's owner
//! heard, or the owner said more than the row says.
//!
//! Why    a block counted an end that it heard of after the step was made anew, and a step was made anew twice.

use super::count;
use engine::{GroupOperation, GroupVerb};
use model::{DEFAULT_GROUPS, DispatchGroup, State, StepId};
use serde_json::json;
use stepfast_testkit::{Doubt, Nodes};

/// The nodes that decide about the lines and about the blocks.
const LINES: usize = 0;
const BLOCKS: usize = 1;
/// One that comes when both are gone.
const NEXT: usize = 2;

/// How a block's node says that what is behind a failed step ends.
const FALL: &str = r#""event":"predecessor_failed"}}"#;

struct Told {
    nodes: Nodes,
    lines: Doubt,
    blocks: Doubt,
    /// A step that fails in its line, and one that is cut off behind it.
    fails: StepId,
    behind: StepId,
    message_group: String,
}

/// Nobody works yet.
async fn told() -> Told {
    let groups: Vec<DispatchGroup> = DEFAULT_GROUPS.iter().map(|g| DispatchGroup::new(g)).collect();
    let (lines_in, blocks_in) = groups.split_at(5);
    let config = |host, owned: &[DispatchGroup]| engine::Config {
        owned: owned.to_vec(),
        listen: store::Listen::Off,
        ..Nodes::config(host)
    };
    let mut nodes = Nodes::start(Vec::new()).await;
    let lines = nodes.add_doubtful(config("lines", lines_in));
    let blocks = nodes.add_doubtful(config("blocks", blocks_in));
    nodes.until("each has its groups", |n| n.spread() == [5, 5]).await;
    let names = (0..).map(|n| format!("g{n}"));
    let mut names = names.filter(|name| lines_in.contains(&rules::fifo::home(name, &groups)));
    let name = names.next().expect("there are many");
    let block = "0199c0de-0000-7000-8000-000000000000";
    let step = |action: &str, index: u32| json!({"action": action, "index": index, "block_id": block, "message_group": name, "mode": "block_on_error"});
    let first = json!({"action": "ok", "block_id": block, "dispatch_group": blocks_in[0].as_str()});
    let made = nodes.create(BLOCKS, json!([first, step("fail", 2), step("ok", 3)])).await;
    Told { nodes, lines, blocks, fails: made[1], behind: made[2], message_group: name }
}

impl Told {
    async fn work(&self) {
        self.nodes.work(LINES).await;
        self.nodes.work(BLOCKS).await;
    }
    async fn until(&self, id: StepId, state: State) {
        self.nodes.until(&format!("a step is {state}"), |n| n.state(id) == state).await;
    }
    /// The step failed, and the node of its line has not heard yet that what is behind it falls.
    async fn asked_to_fall(&self) {
        self.lines.deaf_to(Some(FALL));
        self.work().await;
        let client = self.nodes.client().await;
        let asked = format!("select count(*) from stepfast.signals where body like '%{FALL}'");
        while client.query_one(&asked, &[]).await.expect("a read").get::<_, i64>(0) == 0 {
            tokio::task::yield_now().await;
        }
    }
    /// Nothing is left to do or to be told, and every block is as its steps are.
    async fn at_rest(&self) {
        let client = self.nodes.client().await;
        let left = "select (select count(*) from stepfast.signals where answered_at is null)
                         + (select count(*) from stepfast.steps where state in ('pending', 'dispatched', 'running'))";
        while client.query_one(left, &[]).await.expect("a read").get::<_, i64>(0) > 0 {
            tokio::task::yield_now().await;
        }
        let now = store::Clock::now(&store::SystemClock::default());
        let found = self.nodes.browse().check(now, false, |_, _| {}).expect("check runs").findings;
        assert!(found.is_empty(), "check found {found:#?}");
    }
    /// Everything is heard, and the step failed again with what is behind it.
    async fn settled(&self, n: usize) {
        self.lines.deaf_to(None);
        self.blocks.deaf_to(None);
        for id in [self.fails, self.behind] {
            self.until(id, State::Superseded).await;
        }
        self.at_rest().await;
        let states = [State::Completed, State::Superseded, State::Failed, State::Cancelled];
        assert_eq!(states.map(|state| count(&self.nodes, state)), [1, 2, 1, 1]);
        assert_eq!(self.nodes.steps().len(), n);
    }
}

/// An end, as the node of a line tells it.
fn end_of(id: StepId) -> String {
    format!(r#""step":"{id}""#)
}

#[tokio::test]
async fn a_retry_hears_first_how_what_was_cut_off_ended() {
    let told = told().await;
    told.blocks.deaf_to(Some(&end_of(told.behind)));
    told.work().await;
    told.until(told.behind, State::Cancelled).await;
    told.nodes.operate(BLOCKS, told.fails, None).await.expect("it is retried");
    told.settled(5).await;
}

#[tokio::test]
async fn a_retry_hears_first_how_the_step_ended() {
    let told = told().await;
    told.blocks.deaf_to(Some(&end_of(told.fails)));
    told.work().await;
    told.until(told.fails, State::Failed).await;
    assert_eq!(told.nodes.state(told.behind), State::Pending);
    told.nodes.operate(BLOCKS, told.fails, None).await.expect("it is retried");
    told.blocks.deaf_to(None);
    told.until(told.fails, State::Superseded).await;
    told.until(told.behind, State::Cancelled).await;
    told.at_rest().await;
    assert_eq!(told.nodes.steps().len(), 4, "nothing was cut off before");
}

/// The step behind it would fall all the same, and nothing would take its place.
#[tokio::test]
async fn a_step_is_not_retried_while_another_node_cuts_off_what_is_behind_it() {
    let told = told().await;
    told.asked_to_fall().await;
    let refused = told.nodes.operate(BLOCKS, told.fails, None).await.expect_err("what is behind it falls");
    assert!(refused.contains("try again in a moment"), "{refused}");
    told.lines.deaf_to(None);
    told.until(told.behind, State::Cancelled).await;
    told.nodes.operate(BLOCKS, told.fails, None).await.expect("it is retried");
    told.settled(5).await;
}

/// Nobody waits for such a retry, so nobody would hear that it was refused.
#[tokio::test]
async fn a_line_is_retried_when_what_was_cut_off_has_fallen() {
    let told = told().await;
    told.asked_to_fall().await;
    let (by, why) = ("test".to_string(), "test".to_string());
    let message_group = told.message_group.as_str().into();
    let retry =
        GroupOperation { message_group, verb: GroupVerb::Requeue, head: None, by, why, dry_run: false };
    let done = told.nodes.engine(LINES).operate_group(retry).await.expect("it blocks");
    assert_eq!(done.replaced, [(told.fails, None)]);
    let client = told.nodes.client().await;
    let waits = "select id from stepfast.signals where body like '{\"operate\":%' and answered_at is null";
    let mut put_off: Vec<Vec<u8>> = Vec::new();
    while put_off.len() < 2 {
        put_off.push(client.query_one(waits, &[]).await.expect("it waits").get(0));
        put_off.dedup();
    }
    told.settled(5).await;
}

#[tokio::test]
async fn a_step_is_retried_once_although_its_line_has_not_heard_of_it() {
    let told = told().await;
    told.lines.deaf_to(Some(r#""event":"superseded"}}"#));
    told.work().await;
    told.until(told.behind, State::Cancelled).await;
    told.nodes.operate(BLOCKS, told.fails, None).await.expect("it is retried");
    assert_eq!(told.nodes.state(told.fails), State::Failed);
    for _ in 0..2 {
        let refused = told.nodes.operate(BLOCKS, told.fails, None).await.expect_err("another has its place");
        assert!(refused.contains("superseded"), "{refused}");
    }
    told.settled(5).await;
}

/// Nobody else decides any more, and what a line was told still lies there.
#[tokio::test]
async fn a_node_that_takes_over_hears_what_was_asked_before_it_retries() {
    let mut told = told().await;
    told.asked_to_fall().await;
    for node in [LINES, BLOCKS] {
        told.nodes.stop(node).await;
    }
    let config = engine::Config { listen: store::Listen::Off, ..Nodes::config("next") };
    let next = told.nodes.add_deaf(config, Some(FALL));
    told.nodes.until("one node has all groups", |n| n.spread() == [10]).await;
    told.nodes.work(NEXT).await;
    let refused = told.nodes.operate(NEXT, told.fails, None).await.expect_err("what is behind it falls");
    assert!(refused.contains("try again in a moment"), "{refused}");
    next.deaf_to(None);
    told.until(told.behind, State::Cancelled).await;
    told.nodes.operate(NEXT, told.fails, None).await.expect("it is retried");
    told.settled(5).await;
}

/// Two steps of one index fail, and both are retried at once: the second is not told to wait for what the first made anew.
#[tokio::test]
async fn steps_side_by_side_are_retried_in_one_turn_where_nodes_share_the_work() {
    let told = told().await;
    let block = "0199c0de-0000-7000-8000-000000000001";
    let step = |action: &str, index: u32| json!({"action": action, "index": index, "block_id": block, "dispatch_group": DEFAULT_GROUPS[5]});
    let made = told.nodes.create(BLOCKS, json!([step("fail", 1), step("fail", 1), step("ok", 2)])).await;
    told.work().await;
    told.until(made[2], State::Cancelled).await;
    told.until(told.behind, State::Cancelled).await;
    let retry = |id| told.nodes.operate(BLOCKS, id, None);
    let (first, second) = tokio::join!(retry(made[0]), retry(made[1]));
    assert_eq!((first, second), (Ok(State::Superseded), Ok(State::Superseded)));
    told.at_rest().await;
}

/// Issue 5: what a turn on its way had cut off was looked for on disk only, and stayed cancelled.
#[tokio::test]
async fn what_was_cut_off_in_a_turn_on_its_way_is_made_anew() {
    let told = told().await;
    let block = "0199c0de-0000-7000-8000-000000000001";
    let step = |index: u32| json!({"action": "ok", "index": index, "block_id": block, "dispatch_group": DEFAULT_GROUPS[5]});
    let made = told.nodes.create(BLOCKS, json!([step(1), step(2)])).await;
    let mut client = told.nodes.client().await;
    let hold = client.transaction().await.expect("a transaction");
    hold.batch_execute("lock table stepfast.steps in share mode").await.expect("nobody writes");
    let sent = told.blocks.commits();
    let until_sent = async |n: usize| {
        while told.blocks.commits() < sent + n {
            tokio::task::yield_now().await;
        }
    };
    let fail = told.nodes.operate(BLOCKS, made[0], Some(rules::operator::Verb::Fail));
    let retry = async {
        until_sent(1).await;
        // A turn that brings many steps does not wait for the one before it.
        let many = vec![json!({"action": "ok"}); 100];
        tokio::join!(told.nodes.operate(BLOCKS, made[0], None), told.nodes.create(BLOCKS, json!(many)))
    };
    let release = async {
        until_sent(2).await;
        hold.commit().await.expect("it is let go");
    };
    let (failed, (retried, _), ()) = tokio::join!(fail, retry, release);
    assert_eq!((failed, retried), (Ok(State::Failed), Ok(State::Superseded)));
    assert_eq!(told.nodes.state(made[1]), State::Superseded, "it was cancelled, and another has its place");
}
