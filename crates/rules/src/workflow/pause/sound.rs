//! What a definition may not say of a pause.

use super::polled;
use model::Fault;
use model::definition::{Definition, Notify, PauseDef, PauseTimeout, TriggerAuth};
use std::collections::HashMap;

/// Everything that is wrong with the pauses of a definition.
pub fn faults(definition: &Definition) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut names: HashMap<&str, String> =
        definition.steps.iter().map(|step| (step.key.as_str(), "the key of a step".into())).collect();
    for (n, step) in definition.steps.iter().enumerate() {
        let Some(pause) = &step.pause_after else { continue };
        let mut wrong = |option: &str, problem: String, fix: &str| {
            let field = format!("steps[{n}].pause_after{option}");
            faults.push(Fault { field, problem, fix: fix.into() });
        };
        match &pause.poll {
            Some(_) => polled::faults(step, pause, &mut wrong),
            None => one_way_on(pause, &mut wrong),
        }
        out_of_time(pause, &mut wrong);
        if let Some(url) = pause.notify.as_ref().map(Notify::url).filter(|url| !is_address(url)) {
            wrong(".notify", format!("`{url}` is not an address"), "write https://… or http://…");
        }
        let Some(trigger) = pause.trigger.as_deref() else { continue };
        if let Some(other) = names.insert(trigger, format!("the trigger behind `{}`", step.key)) {
            let problem = format!("`{trigger}` is {other} already");
            wrong(".trigger", problem, "give it a name of its own: what is sent to it is an output");
        }
    }
    faults
}

/// It waits for a trigger or for a date, and for one of them only.
fn one_way_on(pause: &PauseDef, wrong: &mut impl FnMut(&str, String, &str)) {
    let remove = "remove it, or write `trigger` in place of `resume_after`";
    match (&pause.trigger, &pause.resume_after) {
        (None, None) => {
            let fix = "write `trigger: some-name`, `resume_after: 14d`, or `poll: { action: … }`";
            wrong("", "it waits for nothing".into(), fix);
        }
        (Some(_), Some(_)) => {
            let problem = "it goes on by itself, so it cannot wait for a trigger too";
            wrong(".resume_after", problem.into(), "write one of `trigger` and `resume_after`");
        }
        (Some(_), None) => {}
        (None, Some(_)) => {
            let said = [
                (".timeout", pause.timeout.is_some()),
                (".on_timeout", pause.on_timeout != PauseTimeout::Fail),
                (".resume_when", pause.resume_when.is_some()),
                (".payload", pause.payload.is_some()),
                (".auth", pause.auth != TriggerAuth::ApiKey),
                (".notify", pause.notify.is_some()),
            ];
            for (option, _) in said.into_iter().filter(|(_, is_said)| *is_said) {
                wrong(option, "it goes on by itself, so nobody is waited for".into(), remove);
            }
        }
    }
}

/// What is said of its end in time, and what that needs.
fn out_of_time(pause: &PauseDef, wrong: &mut impl FnMut(&str, String, &str)) {
    if pause.reminders.is_some() && pause.on_timeout != PauseTimeout::Remind {
        let problem = "nobody is reminded";
        wrong(".reminders", problem.into(), "write `on_timeout: remind`, or remove it");
    }
    match (&pause.default, pause.on_timeout) {
        (None, PauseTimeout::AutoApprove) => {
            let problem = "it is not said what it goes on with";
            wrong(
                ".on_timeout",
                problem.into(),
                "write `default: { approved: true }`, or whatever somebody might send",
            );
        }
        (Some(default), PauseTimeout::AutoApprove) => {
            let schema = pause.payload.as_ref().and_then(|shape| shape.schema.as_ref());
            let shape = schema.and_then(|schema| crate::workflow::Shape::compile(schema).ok());
            if let Some(complaint) = shape.and_then(|shape| shape.complaint(default)) {
                let problem = format!("it is not what the schema of the payload asks for: {complaint}");
                wrong(".default", problem, "write what somebody might send");
            }
        }
        (Some(_), _) => {
            let problem = "nothing goes on with it";
            wrong(".default", problem.into(), "write `on_timeout: auto_approve`, or remove it");
        }
        (None, _) => {}
    }
}

fn is_address(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !url.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::definition::{Shape, StepDef};
    use serde_json::json;
    use std::time::Duration;

    fn told(pauses: Vec<PauseDef>) -> Vec<String> {
        let step = |(n, pause): (usize, PauseDef)| StepDef {
            key: format!("s{n}"),
            pause_after: Some(Box::new(pause)),
            ..StepDef::default()
        };
        let steps = pauses.into_iter().enumerate().map(step).collect();
        let all = faults(&Definition { steps, ..Definition::default() });
        all.into_iter().map(|f| format!("{}: {}", f.field.replace("pause_after", "p"), f.problem)).collect()
    }

    fn on(trigger: &str) -> PauseDef {
        PauseDef { trigger: Some(trigger.into()), ..PauseDef::default() }
    }

    #[test]
    fn a_pause_waits_for_one_thing() {
        let day = Some(Duration::from_secs(86_400));
        assert!(told(vec![on("yes"), PauseDef { resume_after: day, ..PauseDef::default() }]).is_empty());
        assert_eq!(told(vec![PauseDef::default()]), ["steps[0].p: it waits for nothing"]);
        let both = PauseDef { resume_after: day, ..on("yes") };
        assert_eq!(
            told(vec![both]),
            ["steps[0].p.resume_after: it goes on by itself, so it cannot wait for a trigger too"]
        );
        let much = PauseDef {
            trigger: None,
            resume_after: day,
            timeout: day,
            on_timeout: PauseTimeout::Extend,
            resume_when: Some("true".into()),
            payload: Some(Shape::default()),
            auth: TriggerAuth::Token,
            notify: Some(Notify::Url("https://example.com".into())),
            ..PauseDef::default()
        };
        assert_eq!(told(vec![much]).len(), 6);
    }

    #[test]
    fn what_is_said_of_its_end_fits_together() {
        let remind = PauseDef { reminders: Some(2), ..on("a") };
        assert_eq!(told(vec![remind]), ["steps[0].p.reminders: nobody is reminded"]);
        let auto = |default| PauseDef { on_timeout: PauseTimeout::AutoApprove, default, ..on("a") };
        assert_eq!(told(vec![auto(None)]), ["steps[0].p.on_timeout: it is not said what it goes on with"]);
        assert!(told(vec![auto(Some(json!({"ok": true})))]).is_empty());
        let schema = Some(json!({"type": "object"}));
        let unfit = PauseDef { payload: Some(Shape { schema }), ..auto(Some(json!(7))) };
        assert!(told(vec![unfit])[0].starts_with("steps[0].p.default: it is not what the schema"));
        let idle = PauseDef { default: Some(json!(1)), ..on("a") };
        assert_eq!(told(vec![idle]), ["steps[0].p.default: nothing goes on with it"]);
    }

    #[test]
    fn a_trigger_has_a_name_and_its_notice_an_address() {
        assert_eq!(
            told(vec![on("s1"), on("x"), on("x")]),
            [
                "steps[0].p.trigger: `s1` is the key of a step already",
                "steps[2].p.trigger: `x` is the trigger behind `s1` already"
            ]
        );
        for bad in ["", "mail", "https://", "https:///x", "http://a b", "ftp://x"] {
            let pause = PauseDef { notify: Some(Notify::Url(bad.into())), ..on("a") };
            assert_eq!(told(vec![pause]), [format!("steps[0].p.notify: `{bad}` is not an address")]);
        }
    }
}
