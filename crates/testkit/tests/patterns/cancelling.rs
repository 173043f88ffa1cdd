//! What is withdrawn, and what goes on without it.

use super::page::Pattern;
use super::play::Play;
use engine::{ReportAnswer, WorkflowVerb};
use model::{Outcome, StepId};
use rules::operator::Verb;
use serde_json::json;

/// Somebody who has not heard of it yet answers.
async fn late(play: &Play, step: StepId) -> ReportAnswer {
    let attempt = play.stage.step(step).step.attempt;
    let outcome = Outcome::Complete { response: None };
    play.stage.report(play.stage.session.id, step, attempt, outcome).await
}

pub async fn cancel_task(pattern: &Pattern) {
    let mut running = Play::begin(pattern, json!({})).await;
    assert_eq!(running.in_hand(), "survey");
    running.operate("survey", Verb::Cancel).await;
    assert_eq!(late(&running, running.stage.step_of(running.id, "survey")).await, ReportAnswer::Late);

    let mut waiting = Play::set(pattern, json!({})).await;
    assert_eq!(waiting.flow(), "running: survey P");
    waiting.operate("survey", Verb::Cancel).await;

    for mut play in [running, waiting] {
        assert_eq!(play.in_hand(), "bill");
        play.done("bill").await;
        assert_eq!(play.flow(), "succeeded: survey X operator, bill C");
    }
}

pub async fn cancel_case(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    let inner = play.below(play.id, "shipping");
    assert_eq!(play.in_hand(), "label pack");
    play.stage.operate_workflow(play.id, WorkflowVerb::Cancel).await.expect("it may be cancelled");
    play.rest().await;
    assert_eq!(play.in_hand(), "");
    assert_eq!(play.flow(), "cancelled: pack X workflow_cancelled, shipping X workflow_cancelled");
    assert_eq!(play.stage.flow(inner), "cancelled: label X workflow_cancelled");
    assert_eq!(late(&play, play.stage.step_of(play.id, "pack")).await, ReportAnswer::Late);
}

pub async fn cancel_region(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    let region = play.below(play.id, "offers");
    play.done("letter").await;
    assert_eq!(play.in_hand(), "call take");
    play.stage.operate_workflow(region, WorkflowVerb::Cancel).await.expect("it may be cancelled");
    play.rest().await;
    assert_eq!(play.stage.flow(region), "cancelled: letter C, call X workflow_cancelled");
    assert_eq!(play.in_hand(), "take", "what is outside goes on");
    play.done("take").await;
    play.done("ship").await;
    assert_eq!(play.flow(), "succeeded: offers X children_cancelled, take C, ship C");
}

pub async fn cancelling_discriminator(pattern: &Pattern) {
    for (first, other) in [("north", "south"), ("south", "north")] {
        let mut play = Play::begin(pattern, json!({})).await;
        let offers = play.below(play.id, "offer");
        assert_eq!(play.in_hand(), "north south");
        let withdrawn = play.job(other).step.id;
        play.answers(first, json!({"from": first})).await;
        assert_eq!(play.in_hand(), "order", "the other is withdrawn");
        assert_eq!(play.given("order"), json!({"from": first}));
        assert_eq!(late(&play, withdrawn).await, ReportAnswer::Late);
        let flow = play.stage.flow(offers);
        assert!(flow.starts_with("succeeded: "), "{flow}");
        assert!(flow.contains(&format!("{other} X terminated_early")), "{flow}");
        play.done("order").await;
        assert_eq!(play.flow(), "succeeded: offer C, order C");
    }
}

pub async fn cancelling_partial_join(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    let votes = play.below(play.id, "votes");
    assert_eq!(play.in_hand(), "ada ben cleo");
    play.answers("cleo", json!("yes")).await;
    assert_eq!(play.in_hand(), "ada ben", "one is not enough");
    play.answers("ada", json!("no")).await;
    assert_eq!(play.in_hand(), "decide");
    assert_eq!(play.stage.flow(votes), "succeeded: ada C, ben X terminated_early, cleo C");
    play.done("decide").await;
    assert_eq!(play.flow(), "succeeded: votes C, decide C");
}
