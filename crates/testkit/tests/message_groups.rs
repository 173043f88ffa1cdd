//! Message groups: one step of a group at a time and in order, a failure counts as its mode says, and no group holds up another.
#![allow(clippy::unwrap_used)]

use engine::{GroupOperated, GroupOperation, GroupVerb};
use model::{Claim, Outcome, State, StepId};
use rules::settle::Mode;
use serde_json::{Value, json};
use std::time::Duration;
use stepfast_testkit::{Stage, outcome_of};
use store::Filter;

fn letter(key: &str, action: &str, group: &str, mode: &str) -> Value {
    json!({"step_key": key, "action": action, "message_group": group, "mode": mode})
}
fn many(action: &str, group: &str, n: usize) -> Value {
    (0..n).map(|_| json!({"action": action, "message_group": group, "mode": "block_on_error"})).collect()
}

async fn handed(stage: &mut Stage) -> Vec<Claim> {
    stage.decide(Mode::FixedPoint).await;
    stage.handed()
}
/// The keys of the steps that start now.
async fn started(stage: &mut Stage) -> String {
    let claims = handed(stage).await;
    let key = |c: &Claim| stage.step(c.step).detail.step_key.unwrap_or_default();
    let mut keys: Vec<String> = claims.iter().map(key).collect();
    keys.sort();
    keys.join(" ")
}
async fn end(stage: &Stage, key: &str, action: &str) {
    let filter =
        Filter { step_key: Some(key.into()), states: vec![State::Running], limit: 1, ..Filter::default() };
    let step = stage.browse().steps(&filter).unwrap().remove(0).step;
    stage.report(step.session.unwrap(), step.id, step.attempt, outcome_of(action).unwrap()).await;
}
/// The keys of all steps in the order in which they ran, each run at once.
async fn order(stage: &mut Stage, ticks: usize) -> String {
    let mut keys = Vec::new();
    for _ in 0..ticks {
        let claims = handed(stage).await;
        for claim in &claims {
            keys.push(stage.step(claim.step).detail.step_key.unwrap_or_default());
            let done = Outcome::Complete { response: None };
            stage.report(stage.session.id, claim.step, claim.attempt, done).await;
        }
    }
    keys.join(" ")
}
async fn state(stage: &Stage, id: StepId) -> State {
    stage.step(id).step.state
}

#[tokio::test]
async fn one_of_a_group_runs_at_a_time_and_in_order() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([
            letter("a1", "hold", "a", "next_on_error"),
            letter("b1", "hold", "b", "next_on_error")
        ]))
        .await;
    stage
        .create(json!([
            letter("a2", "hold", "a", "block_on_error"),
            letter("a3", "hold", "a", "next_on_error")
        ]))
        .await;
    stage
        .create(json!([letter("x1", "hold", "a", "immediate"), letter("x2", "hold", "a", "immediate")]))
        .await;
    assert_eq!(started(&mut stage).await, "a1 b1 x1 x2");
    assert_eq!(started(&mut stage).await, "");
    end(&stage, "a1", "ok").await;
    assert_eq!(started(&mut stage).await, "a2");
    end(&stage, "b1", "ok").await;
    assert_eq!(started(&mut stage).await, "");
    end(&stage, "a2", "ok").await;
    assert_eq!(started(&mut stage).await, "a3");
}

#[tokio::test]
async fn a_lower_sequence_goes_first_and_without_a_group_all_share_one() {
    let mut stage = Stage::new().await;
    let step = |key: &str, sequence: Option<i32>| json!({"step_key": key, "action": "hold", "mode": "next_on_error", "sequence": sequence});
    stage
        .create(json!([
            step("d", None),
            step("c", Some(99)),
            step("b", Some(5)),
            step("a", Some(-1)),
            step("e", Some(100))
        ]))
        .await;
    assert_eq!(order(&mut stage, 6).await, "a b d c e");
    let member = stage.by_key("a").step.member.unwrap();
    assert_eq!((&*member.group, member.sequence), ("default", -1));
}

#[tokio::test]
async fn whoever_was_claimed_keeps_the_head_while_it_waits_for_a_retry() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([
            letter("a1", "hold", "a", "next_on_error"),
            letter("a2", "hold", "a", "next_on_error")
        ]))
        .await;
    assert_eq!(started(&mut stage).await, "a1");
    end(&stage, "a1", "throttle").await;
    // One that would go first by its number comes too late.
    stage.create(json!([{"step_key": "a0", "action": "hold", "message_group": "a", "mode": "next_on_error", "sequence": 1}])).await;
    assert_eq!(started(&mut stage).await, "");
    stage.crash().await;
    assert_eq!(started(&mut stage).await, "");
    stage.advance(Duration::from_secs(65)).await;
    assert_eq!(started(&mut stage).await, "a1");
    end(&stage, "a1", "retry").await;
    assert_eq!(started(&mut stage).await, "");
    stage.advance(Duration::from_secs(15)).await;
    assert_eq!(started(&mut stage).await, "a1");
    end(&stage, "a1", "ok").await;
    assert_eq!(started(&mut stage).await, "a0");
}

#[tokio::test]
async fn a_failure_is_passed_over_or_blocks_as_the_mode_says() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([
            letter("n1", "hold", "n", "next_on_error"),
            letter("n2", "hold", "n", "next_on_error")
        ]))
        .await;
    stage
        .create(json!([
            letter("b1", "hold", "b", "block_on_error"),
            letter("b2", "hold", "b", "block_on_error")
        ]))
        .await;
    stage
        .create(json!([letter("b3", "hold", "b", "next_on_error"), letter("b4", "hold", "b", "immediate")]))
        .await;
    assert_eq!(started(&mut stage).await, "b1 b4 n1");
    end(&stage, "n1", "fail").await;
    end(&stage, "b1", "fail").await;
    assert_eq!(started(&mut stage).await, "b3 n2");
    for key in ["b3", "b4", "n2"] {
        end(&stage, key, "ok").await;
    }
    for _ in 0..2 {
        assert_eq!(started(&mut stage).await, "");
        stage.crash().await;
        stage.advance(Duration::from_millis(1)).await;
    }
    // Made anew, it has the place it had.
    stage.operate(stage.by_key("b1").step.id, None).await.unwrap();
    assert_eq!(started(&mut stage).await, "b1");
    end(&stage, "b1", "ok").await;
    assert_eq!(started(&mut stage).await, "b2");
}

#[tokio::test]
async fn blocked_and_busy_groups_cost_the_others_nothing() {
    let mut stage = Stage::new().await;
    for group in ["blocked", "busy"] {
        for _ in 0..2 {
            stage.create(many("hold", group, 5_000)).await;
        }
    }
    let claims = handed(&mut stage).await;
    let blocked =
        claims.iter().find(|c| &*stage.step(c.step).step.member.unwrap().group == "blocked").unwrap();
    stage.report(stage.session.id, blocked.step, blocked.attempt, outcome_of("fail").unwrap()).await;
    for round in 0..2 {
        let ids = stage.create(json!([letter("free", "ok", "zz", "block_on_error"), {"action": "ok"}])).await;
        stage.tick(Mode::FixedPoint).await;
        for id in ids {
            assert_eq!(state(&stage, id).await, State::Completed, "in round {round}");
        }
        stage.crash().await;
    }
}

#[tokio::test]
async fn a_long_line_is_kept_in_order_however_it_is_read() {
    let mut stage = Stage::new().await;
    let step = |n: usize| json!({"step_key": format!("{n:03}"), "action": "hold", "message_group": "a", "mode": "block_on_error"});
    stage.create((0..150).map(step).collect()).await;
    let mut ran = order(&mut stage, 70).await;
    stage.create((150..200).map(step).collect()).await;
    stage.crash().await;
    ran = format!("{ran} {}", order(&mut stage, 131).await);
    let expected: Vec<String> = (0..200).map(|n| format!("{n:03}")).collect();
    assert_eq!(ran, expected.join(" "));
}

#[tokio::test]
async fn a_step_stands_in_line_from_when_it_is_due() {
    let mut stage = Stage::new().await;
    stage.create(json!([{"step_key": "late", "action": "hold", "message_group": "a", "mode": "next_on_error", "delay_ms": 60_000}])).await;
    stage
        .create(json!([
            letter("a1", "hold", "a", "next_on_error"),
            letter("a2", "hold", "a", "next_on_error")
        ]))
        .await;
    assert_eq!(started(&mut stage).await, "a1");
    stage.advance(Duration::from_secs(61)).await;
    assert_eq!(started(&mut stage).await, "");
    stage.crash().await;
    assert_eq!(started(&mut stage).await, "a1");
    end(&stage, "a1", "ok").await;
    assert_eq!(started(&mut stage).await, "late");
}

#[tokio::test]
async fn steps_of_a_block_stand_in_line_when_their_index_has_come() {
    let mut stage = Stage::new().await;
    let child = |key: &str, index: u32| json!({"step_key": key, "action": "hold", "index": index, "message_group": "a", "mode": "block_on_error"});
    stage
        .create(json!([{"step_key": "parent", "action": "ok", "children": [child("c1", 1), child("c2", 2)]}]))
        .await;
    stage.tick(Mode::FixedPoint).await;
    stage.create(json!([letter("a1", "hold", "a", "block_on_error")])).await;
    assert_eq!(started(&mut stage).await, "c1");
    end(&stage, "c1", "ok").await;
    // The child was made first, and stands in line since its turn came in its block.
    assert_eq!(started(&mut stage).await, "c2");
    stage.crash().await;
    assert_eq!(started(&mut stage).await, "c2");
    end(&stage, "c2", "ok").await;
    assert_eq!(started(&mut stage).await, "a1");
    assert_eq!(stage.by_key("parent").step.state, State::Completed);
}

#[tokio::test]
async fn a_parent_that_waits_for_its_children_lets_go_of_its_group() {
    let mut stage = Stage::new().await;
    let child =
        json!({"step_key": "child", "action": "hold", "message_group": "a", "mode": "block_on_error"});
    stage.create(json!([{"step_key": "parent", "action": "hold", "message_group": "a", "mode": "block_on_error", "children": [child]}])).await;
    stage.create(json!([letter("a2", "hold", "a", "block_on_error")])).await;
    assert_eq!(started(&mut stage).await, "parent");
    end(&stage, "parent", "ok").await;
    assert_eq!(started(&mut stage).await, "child");
    end(&stage, "child", "ok").await;
    assert_eq!(started(&mut stage).await, "a2");
}

async fn operate(stage: &Stage, group: &str, verb: GroupVerb) -> Result<GroupOperated, String> {
    let message_group = group.into();
    let operation = GroupOperation {
        message_group,
        verb,
        head: None,
        by: "test".into(),
        why: "test".into(),
        dry_run: false,
    };
    let tried = GroupOperation { dry_run: true, ..operation.clone() };
    let before = stage.states();
    let tried = stage.engine.operate_group(tried).await.map_err(|e| e.to_string());
    assert_eq!(stage.states(), before);
    let done = stage.engine.operate_group(operation).await.map_err(|e| e.to_string());
    let shape = |done: &GroupOperated| (done.forgiven.clone(), done.moved.clone(), done.replaced.len());
    assert_eq!(tried.as_ref().map(shape), done.as_ref().map(shape), "what is tried is what is done");
    done
}
fn why(stage: &Stage, key: &str) -> String {
    let browse = stage.browse();
    let around = browse.circumstances(stage.clock_now()).unwrap();
    let why = browse.why(&stage.by_key(key), &around).unwrap();
    why.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn a_paused_group_starts_nothing_until_it_is_resumed() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([
            letter("a1", "hold", "a", "block_on_error"),
            letter("a2", "hold", "a", "block_on_error")
        ]))
        .await;
    assert_eq!(started(&mut stage).await, "a1");
    operate(&stage, "a", GroupVerb::Pause).await.unwrap();
    assert_eq!(
        operate(&stage, "a", GroupVerb::Pause).await.unwrap_err(),
        "message group `a`: it is paused already"
    );
    end(&stage, "a1", "ok").await;
    assert_eq!(started(&mut stage).await, "");
    stage.crash().await;
    assert_eq!(started(&mut stage).await, "");
    assert_eq!(why(&stage, "a2"), "its message group `a` was paused by test (test)");
    let list = stage.browse().message_groups("", 10).unwrap();
    assert_eq!((list.len(), list[0].waiting, list[0].holds.len()), (1, 1, 1));
    operate(&stage, "a", GroupVerb::Resume).await.unwrap();
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(started(&mut stage).await, "a2");
}

#[tokio::test]
async fn what_failed_is_made_anew_ignored_or_skipped() {
    let mut stage = Stage::new().await;
    for group in ["anew", "ignored", "skipped", "unblocked"] {
        let key = |n: u32| format!("{group}{n}");
        stage
            .create(json!([
                letter(&key(1), "hold", group, "block_on_error"),
                letter(&key(2), "hold", group, "block_on_error")
            ]))
            .await;
    }
    started(&mut stage).await;
    for key in ["anew1", "ignored1", "skipped1", "unblocked1"] {
        end(&stage, key, "fail").await;
    }
    assert_eq!(started(&mut stage).await, "");
    let failed = stage.by_key("ignored1").step.id;
    assert_eq!(
        why(&stage, "ignored2"),
        format!(
            "its message group `ignored` is blocked by step {failed}, which failed; \
             see `stepfast message-groups show ignored`"
        )
    );
    assert_eq!(operate(&stage, "anew", GroupVerb::Requeue).await.unwrap().replaced.len(), 1);
    assert_eq!(operate(&stage, "ignored", GroupVerb::Ignore).await.unwrap().forgiven, [failed]);
    operate(&stage, "skipped", GroupVerb::SkipHead).await.unwrap();
    operate(&stage, "unblocked", GroupVerb::Unblock).await.unwrap();
    stage.advance(Duration::from_millis(1)).await;
    stage.decide(Mode::FixedPoint).await;
    stage.crash().await;
    assert_eq!(started(&mut stage).await, "anew1 ignored2 skipped2 unblocked2");
    let ignored = stage.step(failed);
    assert_eq!(ignored.step.state, State::Failed);
    assert_eq!(ignored.detail.block_cleared_by.as_deref(), Some("test"));
    let audit = stage.browse().audit(10).unwrap();
    assert!(audit.iter().any(|entry| entry.1.verb == "requeue" && entry.1.target == "message group anew"));
}

#[tokio::test]
async fn a_head_is_skipped_and_a_group_is_cancelled() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([
            letter("a1", "hold", "a", "next_on_error"),
            letter("a2", "hold", "a", "next_on_error")
        ]))
        .await;
    stage
        .create(json!([
            letter("a3", "hold", "a", "next_on_error"),
            letter("a4", "hold", "a", "next_on_error")
        ]))
        .await;
    let first = stage.by_key("a1").step.id;
    let skip = GroupOperation {
        message_group: "a".into(),
        verb: GroupVerb::SkipHead,
        head: Some(first),
        by: "test".into(),
        why: "test".into(),
        dry_run: false,
    };
    stage.engine.operate_group(skip.clone()).await.unwrap();
    assert_eq!(stage.by_key("a1").step.state, State::Skipped);
    let late = stage.engine.operate_group(skip).await.unwrap_err().to_string();
    let second = stage.by_key("a2").step.id;
    let told = format!("message group `a`: step {first} is not its head any more; {second} is");
    assert_eq!((late, stage.states().as_str()), (told, "KPPP"), "of two who skip the same one, one does");
    assert_eq!(started(&mut stage).await, "a2");
    let done = operate(&stage, "a", GroupVerb::Cancel).await.unwrap();
    assert_eq!((done.moved.len(), done.more), (3, false));
    assert_eq!(stage.states(), "KXXX");
    assert_eq!(
        operate(&stage, "a", GroupVerb::Cancel).await.unwrap_err(),
        "message group `a`: no step of it waits or runs"
    );
    stage.create(json!([letter("a5", "hold", "a", "next_on_error")])).await;
    assert_eq!(started(&mut stage).await, "a5");
}

#[tokio::test]
async fn what_is_over_before_it_started_is_not_wanted_any_more() {
    let mut stage = Stage::new().await;
    let until = |key: &str, action: &str, secs: i64| {
        let at = stage.clock_now().0 + secs * 1_000_000;
        json!({"step_key": key, "action": action, "message_group": "a", "mode": "block_on_error", "expires_at": at})
    };
    let steps = json!([until("a1", "hold", 30), until("a2", "hold", 60), until("a3", "hold", 600), {"step_key": "ghost",
        "action": "nobody runs this", "expires_at": stage.clock_now().0 + 90_000_000}]);
    stage.create(steps).await;
    assert_eq!(started(&mut stage).await, "a1");
    // It runs, and what runs is not called off; deferred for ever, it ends with its time.
    stage.advance(Duration::from_secs(10)).await;
    end(&stage, "a1", "throttle").await;
    stage.advance(Duration::from_secs(65)).await;
    assert_eq!(started(&mut stage).await, "a3");
    for key in ["a1", "a2"] {
        let step = stage.by_key(key).step;
        assert_eq!((step.state, step.reason), (State::Cancelled, Some(model::Reason::Expired)), "{key}");
    }
    stage.advance(Duration::from_secs(30)).await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.by_key("ghost").step.state, State::Cancelled);
    assert!(stage.browse().message_group("a").unwrap().unwrap().holds.is_empty());
}
