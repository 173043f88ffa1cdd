//! Pauses that ask by themselves: what may not be said of one.
//!
//! Why    a poll that ends a pause is claimed, lost, retried, listed and timed as every other poll. So it is one, in a step of its own
//!        that all follow who follow the step before it (`Definition::expanded`); it asks an action, and nobody else.

use model::definition::{PauseDef, PauseTimeout, StepDef, TriggerAuth, Work};

/// What a pause that polls may not say beside it.
pub(super) fn faults(step: &StepDef, pause: &PauseDef, wrong: &mut impl FnMut(&str, String, &str)) {
    if matches!(step.work, Work::Branch(_)) {
        let problem = "what a step chose cannot wait for a poll";
        wrong(".poll", problem.into(), "put a step with this pause before the one that chooses");
    }
    let both =
        "write one of them; where both are waited for, let two steps with a pause each meet in a third";
    if pause.trigger.is_some() {
        wrong(".trigger", "a poll ends it, so it cannot wait for a trigger too".into(), both);
    }
    if pause.resume_after.is_some() {
        wrong(".resume_after", "a poll ends it, so it cannot go on by itself too".into(), both);
    }
    let asked = [
        (".payload", pause.payload.is_some()),
        (".auth", pause.auth != TriggerAuth::ApiKey),
        (".notify", pause.notify.is_some()),
    ];
    for (option, _) in asked.into_iter().filter(|(_, is_said)| *is_said) {
        wrong(option, "it asks by itself, so nobody is waited for".into(), "remove it");
    }
    if matches!(pause.on_timeout, PauseTimeout::Remind | PauseTimeout::Extend) {
        let problem = "it asks by itself, so nobody is reminded";
        wrong(".on_timeout", problem.into(), "write fail or auto_approve, and a longer `timeout`");
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Plan;
    use model::Pinned;
    use serde_json::json;
    use std::sync::Arc;

    fn plan(steps: serde_json::Value) -> Result<Plan, String> {
        let text = json!({"workflow": "w", "version": "1.0.0", "steps": steps});
        let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
        let read = serde_json::from_value(text).expect("a definition");
        let told =
            |faults: Vec<model::Fault>| faults.into_iter().map(|f| format!("{}: {}", f.field, f.problem));
        Plan::compile(read, Arc::new(pinned)).map_err(|faults| told(faults).collect::<Vec<_>>().join("; "))
    }

    fn asks(more: serde_json::Value) -> serde_json::Value {
        let mut pause = json!({"poll": {"run": {"action": "look"}}, "resume_when": "payload.ok"});
        pause.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"key": "a", "pause_after": pause})
    }

    #[test]
    fn those_behind_the_step_follow_its_poll() {
        let plan = plan(json!([asks(json!({"timeout": 1000})), {"key": "b"}, {"key": "c", "after": ["a"]}]))
            .unwrap();
        let poll = plan.find("a:poll").unwrap();
        assert_eq!((poll, plan.polls_behind(poll), plan.polls_behind(1)), (3, Some(0), None));
        assert_eq!(plan.graph.nodes[0].after, [3]);
        assert_eq!(plan.graph.nodes[3].after, [1, 2]);
        assert_eq!(plan.graph.nodes[1].before[0].from, 3);
        let asked = plan.def(3).work.poll().unwrap();
        assert_eq!(asked.until.as_ref().unwrap().0, "payload.ok");
        assert_eq!(asked.max_duration.unwrap().as_secs(), 1);
        assert!(plan.pause(0).is_none(), "nobody else is waited for");
        assert_eq!(plan.graph.last().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn what_else_is_said_must_fit() {
        let told = |more| plan(json!([asks(more)])).err().unwrap_or_default();
        assert_eq!(told(json!({})), "");
        assert_eq!(told(json!({"on_timeout": "auto_approve", "default": {"ok": true}})), "");
        assert_eq!(
            told(json!({"trigger": "t"})),
            "steps[0].pause_after.trigger: a poll ends it, so it cannot wait for a trigger too"
        );
        assert_eq!(
            told(json!({"resume_after": 5})),
            "steps[0].pause_after.resume_after: a poll ends it, so it cannot go on by itself too"
        );
        let nobody = "it asks by itself, so nobody is waited for";
        assert_eq!(told(json!({"auth": "hmac"})), format!("steps[0].pause_after.auth: {nobody}"));
        assert_eq!(
            told(json!({"on_timeout": "remind"})),
            "steps[0].pause_after.on_timeout: it asks by itself, so nobody is reminded"
        );
    }
}
