//! What a step is told about those before it.

use engine::EngineError;
use model::{StepId, limits};
use serde_json::{Value, json};
use stepfast_testkit::Stage;

/// A parent with these children, all run as far as they go; the step at the last index.
async fn last_of(stage: &mut Stage, children: Vec<Value>) -> StepId {
    stage.create(json!([{"action": "ok", "step_key": "parent", "children": children}])).await;
    stage.settle().await;
    stage.by_key("last").step.id
}

fn child(action: &str, index: u32) -> Value {
    json!({"action": action, "index": index})
}

#[tokio::test]
async fn the_answers_at_the_index_before_and_no_others() {
    let mut stage = Stage::new().await;
    let last = json!({"action": "hold", "index": 3, "step_key": "last"});
    let children = vec![child("quiet", 1), child("ok", 2), child("skip", 2), child("quiet", 2), last];
    let step = last_of(&mut stage, children).await;
    assert_eq!(stage.engine.previous(step).await, Ok(vec!["{\"ok\":true}".into(), "null".into()]));
    let parent = stage.by_key("parent").step.id;
    assert_eq!(stage.engine.previous(parent).await, Ok(vec![]), "a step of its own has none before it");
}

#[tokio::test]
async fn more_than_can_be_told_at_once_is_refused() {
    let mut stage = Stage::new().await;
    let last = json!({"action": "hold", "index": 2, "step_key": "last"});
    let many = (0..=limits::PREVIOUS_STEPS_MAX).map(|_| child("quiet", 1)).chain([last]).collect();
    let step = last_of(&mut stage, many).await;
    let refused = stage.engine.previous(step).await;
    assert_eq!(refused, Err(EngineError::too_much_before(step)));
}
