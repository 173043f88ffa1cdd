//! Conditions, branches and early ends.

use serde_json::json;
use stepfast_testkit::Stage;

const ROUTE: &str = "
workflow: route
version: 1.0.0
steps:
  - { key: validate, action: echo, arguments: { way: \"${input.way}\" } }
  - key: route
    branch:
      choose: \"outputs.validate.way\"
      branches: { high: [express, label], low: [batch], none: [] }
      otherwise: low
      converge: confirm
  - { key: express, action: ok }
  - { key: label, action: ok }
  - { key: batch, action: ok }
  - { key: confirm, action: ok }
";

#[tokio::test]
async fn exactly_one_branch_is_taken_and_they_meet_again() {
    let mut stage = Stage::new().await;
    let high = stage.run(ROUTE, json!({"way": "high"})).await;
    let (off, on) = ("K not_on_active_branch", "C");
    let flow = |express: &str, label: &str, batch: &str| {
        format!("succeeded: validate C, route C, express {express}, label {label}, batch {batch}, confirm C")
    };
    assert_eq!(stage.flow(high), flow(on, on, off));
    for (way, expected) in
        [("low", flow(off, off, on)), ("none", flow(off, off, off)), ("strange", flow(off, off, on))]
    {
        let id = stage.start("route", json!({"way": way})).await;
        stage.settle().await;
        assert_eq!(stage.flow(id), expected, "{way}");
    }
    let decision = &stage.browse().branch_decisions(high).unwrap()[0];
    assert_eq!((decision.kind, &*decision.step_key, &*decision.result), ("branch", "route", "[\"high\"]"));
    assert!(decision.inputs.contains("high"), "{}", decision.inputs);
    assert!(stage.told(high).contains(&"branch.evaluated route".to_string()));
    let row = stage
        .browse()
        .workflow_steps(high)
        .unwrap()
        .into_iter()
        .find(|r| r.detail.step_key.as_deref() == Some("label"));
    assert_eq!(row.unwrap().detail.branch_key.as_deref(), Some("high"));
}

#[tokio::test]
async fn several_branches_may_be_taken() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: promotions
version: 1.0.0
steps:
  - key: pick
    branch:
      kind: inclusive
      choose: \"input.ways\"
      branches: { a: [one], b: [two], c: [three] }
      converge: end
  - { key: one, action: ok }
  - { key: two, action: ok }
  - { key: three, action: ok }
  - { key: end, action: ok }
";
    let id = stage.run(yaml, json!({"ways": ["a", "c"]})).await;
    assert_eq!(stage.flow(id), "succeeded: pick C, one C, two K not_on_active_branch, three C, end C");
    let none = stage.start("promotions", json!({"ways": []})).await;
    stage.settle().await;
    assert_eq!(stage.flow(none), "failed: pick F", "no branch and no otherwise");
    let unknown = stage.start("promotions", json!({"ways": ["x"]})).await;
    stage.settle().await;
    let row = stage.step(stage.step_of(unknown, "pick"));
    assert_eq!(row.detail.error_message.as_deref(), Some("there is no branch `x`; there are a, b, c"));
}

#[tokio::test]
async fn branches_inside_branches() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: nested-branches
version: 1.0.0
steps:
  - { key: r, branch: { choose: \"input.r\", branches: { x: [s, m], y: [n] }, converge: e } }
  - { key: s, branch: { choose: \"input.s\", branches: { p: [t], q: [u] }, converge: m } }
  - { key: t, action: ok }
  - { key: u, action: ok }
  - { key: m, action: ok }
  - { key: n, action: ok }
  - { key: e, action: ok }
";
    let id = stage.run(yaml, json!({"r": "x", "s": "q"})).await;
    let off = "K not_on_active_branch";
    assert_eq!(stage.flow(id), format!("succeeded: r C, s C, t {off}, u C, m C, n {off}, e C"));
    let id = stage.start("nested-branches", json!({"r": "y"})).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), format!("succeeded: r C, s {off}, t {off}, u {off}, m {off}, n C, e C"));
}

#[tokio::test]
async fn a_workflow_may_end_early() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: early
version: 1.0.0
steps:
  - key: check
    action: echo
    arguments: { ok: \"${input.ok}\" }
    terminate_when: { if: \"!outputs.check.ok\", state: failed, reason: order is not valid }
  - { key: beside, action: hold, after: [] }
  - { key: then, action: ok, after: [check, beside] }
";
    let id = stage.run(yaml, json!({"ok": true})).await;
    assert_eq!(stage.flow(id), "running: check C, beside R");
    let id = stage.start("early", json!({"ok": false})).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: check C, beside X terminated_early, then K terminated_early");
    assert_eq!(stage.workflow(id).message.as_deref(), Some("order is not valid"));
    assert!(stage.told(id).contains(&"workflow.terminated_early check".to_string()), "{:?}", stage.told(id));
}

#[tokio::test]
async fn a_crash_between_keeps_what_was_decided() {
    let mut stage = Stage::new().await;
    stage.define(ROUTE).await;
    let id = stage.start("route", json!({"way": "high"})).await;
    for _ in 0..6 {
        stage.tick(rules::settle::Mode::FixedPoint).await;
        stage.crash().await;
    }
    stage.settle().await;
    assert!(
        stage.flow(id).starts_with("succeeded: validate C, route C, express C, label C"),
        "{}",
        stage.flow(id)
    );
    assert_eq!(stage.browse().branch_decisions(id).unwrap().len(), 1);
}
