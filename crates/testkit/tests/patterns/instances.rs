//! Steps that are done several times at once.

use super::page::Pattern;
use super::play::Play;
use model::State::{Cancelled, Completed, Running, Skipped};
use rules::operator::Verb;
use serde_json::{Value, json};
use worker::{NewStep, Outcome, Registry, Trial};

pub async fn without_synchronization(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({"friends": ["ada", "ben"]})).await;
    play.done("take").await;
    assert_eq!(play.in_hand(), "ship tell tell");
    play.done("ship").await;
    play.done("bill").await;
    assert_eq!(play.flow(), "running: take C, tell R, ship C, bill C", "the rest has not waited");
    play.done("tell").await;
    play.done("tell").await;
    assert_eq!(play.flow(), "succeeded: take C, tell C, ship C, bill C");
}

pub async fn design_time_knowledge(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    for left in ["review review review", "review review", "review"] {
        assert_eq!(play.in_hand(), left);
        play.done("review").await;
    }
    assert_eq!(play.in_hand(), "decide");
    play.done("decide").await;
    assert_eq!(play.flow(), "succeeded: review C, decide C");
}

pub async fn run_time_knowledge(pattern: &Pattern) {
    for lines in [json!([]), json!(["tea"]), json!(["tea", "cup", "pot"])] {
        let mut play = Play::begin(pattern, json!({})).await;
        play.answers("lines", lines.clone()).await;
        let n = lines.as_array().map_or(0, Vec::len);
        assert_eq!(play.in_hand().matches("reserve").count(), n);
        for _ in 0..n {
            let line = play.given("reserve");
            assert!(!play.in_hand().contains("ship"), "it waits for all");
            play.answers("reserve", line).await;
        }
        assert_eq!(play.given("ship"), lines, "the answers in the order of the lines");
        play.done("ship").await;
        assert_eq!(play.flow(), "succeeded: lines C, reserve C, ship C");
    }
}

/// What the job answers that found so many further pages.
async fn crawled(found: u32) -> Outcome {
    let mut jobs = Registry::new();
    jobs.job("pages.crawl", |cx, found: u32| async move {
        let page =
            || NewStep { action: "pages.crawl".into(), step_key: Some("page".into()), ..NewStep::default() };
        cx.children((0..found).map(|_| page()));
        Ok(())
    });
    Trial::of("pages.crawl").arguments(&found).run(&jobs).await.outcome
}

pub async fn without_run_time_knowledge(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    play.report("crawl", crawled(2).await).await;
    assert_eq!(play.in_hand(), "page page");
    play.report("page", crawled(3).await).await;
    assert_eq!(play.in_hand(), "page page page page", "three more while one is under way");
    for _ in 0..4 {
        assert_eq!(play.flow(), "running: crawl R", "it waits for all that were added");
        play.report("page", crawled(0).await).await;
    }
    assert_eq!(play.flow(), "running: crawl C, index R");
    play.done("index").await;
    assert_eq!(play.flow(), "succeeded: crawl C, index C");
}

async fn asked(pattern: &Pattern) -> Play {
    let mut play = Play::begin(pattern, json!({"suppliers": ["a", "b", "c", "d"]})).await;
    play.answers("ask", json!(7)).await;
    play
}

pub async fn cancel_instances(pattern: &Pattern) {
    let mut play = asked(pattern).await;
    let ask = play.stage.step_of(play.id, "ask");
    assert_eq!(play.items(ask), [Completed, Running, Running], "the fourth is not made yet");
    play.operate("ask", Verb::Cancel).await;
    assert_eq!(play.items(ask), [Completed, Cancelled, Cancelled], "and is not made any more");
    assert_eq!(play.in_hand(), "order");
    play.done("order").await;
    assert_eq!(play.flow(), "succeeded: ask X operator, order C");
}

pub async fn complete_instances(pattern: &Pattern) {
    let mut play = asked(pattern).await;
    let ask = play.stage.step_of(play.id, "ask");
    assert_eq!(play.items(ask), [Completed, Running, Running, Running]);
    play.operate("ask", Verb::Skip).await;
    assert_eq!(play.items(ask), [Completed, Skipped, Skipped, Skipped]);
    assert_eq!(play.given("order"), json!({"offers": [7, Value::Null, Value::Null, Value::Null]}));
    play.done("order").await;
    assert_eq!(play.flow(), "succeeded: ask K operator, order C");
}
