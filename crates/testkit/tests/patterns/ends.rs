//! How a run ends, and how a part of it comes again.

use super::page::Pattern;
use super::play::Play;
use model::limits::WORKFLOW_NESTING_MAX;
use serde_json::json;

pub async fn implicit_termination(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    play.done("take").await;
    play.answers("thank", json!("sent")).await;
    assert_eq!(play.flow(), "running: take C, ship R, thank C", "something is left");
    play.answers("ship", json!(1)).await;
    assert_eq!(play.flow(), "succeeded: take C, ship C, thank C");
    let output = play.stage.workflow(play.id).output;
    assert_eq!(output.as_deref(), Some(r#"{"ship":1,"thank":"sent"}"#));
}

/// How deep workflows go, as the page tells it.
fn tells_the_limit(pattern: &Pattern) -> bool {
    pattern.text.contains(&format!("at most {WORKFLOW_NESTING_MAX} levels below the first"))
}

pub async fn structured_loop(pattern: &Pattern) {
    assert!(tells_the_limit(pattern));
    let mut play = Play::begin(pattern, json!({})).await;
    for (from, answer) in [(0, json!({"next": 10})), (10, json!({"next": 20})), (20, json!({}))] {
        assert_eq!(play.in_hand(), "read", "one round after the other");
        assert_eq!(play.given("read"), json!({"from": from}));
        play.answers("read", answer).await;
    }
    assert_eq!(play.in_hand(), "index", "the condition does not hold any more");
    play.done("index").await;
    assert_eq!(play.flow(), "succeeded: pages C, index C");
    let mut last = play.below(play.id, "pages");
    for _ in 0..2 {
        assert_eq!(play.stage.flow(last), "succeeded: read C, more C");
        last = play.below(last, "more");
    }
    assert_eq!(play.stage.flow(last), "succeeded: read C, more K condition_false");
}

pub async fn recursion(pattern: &Pattern) {
    assert!(tells_the_limit(pattern));
    let mut play = Play::begin(pattern, json!({"box": "large"})).await;
    play.answers("open", json!({"box": "small"})).await;
    let inner = play.below(play.id, "inside");
    assert_eq!(&*play.stage.workflow(inner).input, r#"{"box":"small"}"#);
    assert_eq!(play.in_hand(), "open", "the outer one waits");
    play.answers("open", json!({})).await;
    assert_eq!(play.in_hand(), "fold");
    play.done("fold").await;
    assert_eq!(play.stage.flow(inner), "succeeded: open C, inside K condition_false, fold C");
    assert_eq!(play.flow(), "running: open C, inside C, fold R");
    play.done("fold").await;
    assert_eq!(play.flow(), "succeeded: open C, inside C, fold C");
}

pub async fn explicit_termination(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    assert_eq!(play.in_hand(), "check pack");
    play.answers("check", json!({"valid": false})).await;
    assert_eq!(play.in_hand(), "");
    assert_eq!(play.flow(), "failed: check C, pack X terminated_early, ship K terminated_early");
    assert_eq!(play.stage.workflow(play.id).message.as_deref(), Some("the order is not valid"));

    let mut valid = Play::begin(pattern, json!({})).await;
    for (key, answer) in [("check", json!({"valid": true})), ("pack", json!({})), ("ship", json!({}))] {
        valid.answers(key, answer).await;
    }
    assert_eq!(valid.flow(), "succeeded: check C, pack C, ship C");
}
