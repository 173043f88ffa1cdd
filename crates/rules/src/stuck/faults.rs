//! Everything that is wrong with a rule about what is stuck, each with what to write instead.

use model::{Fault, Remedy, State, StuckClock, StuckRule, Watched, WorkflowState, limits};
use std::time::Duration;

/// What may be done about a thing of ours.
pub fn remedies_of(entity: Watched) -> &'static [Remedy] {
    use Remedy::{Cancel, Escalate, Notify, Retry};
    match entity {
        Watched::Step | Watched::Workflow | Watched::Flow | Watched::MessageGroup => {
            &[Retry, Cancel, Escalate, Notify]
        }
        Watched::Compensation => &[Retry, Escalate, Notify],
        Watched::Pause => &[Cancel, Escalate, Notify],
        Watched::DispatchGroup | Watched::Breaker => &[Escalate, Notify],
    }
}

/// The states that a thing of ours can be stuck in.
fn states_of(entity: Watched) -> Vec<&'static str> {
    let words = |states: &[State]| states.iter().map(|s| s.word()).collect();
    match entity {
        Watched::Step => words(&[
            State::Pending,
            State::Dispatched,
            State::Running,
            State::Polling,
            State::Failed,
            State::Stopped,
            State::TimedOut,
        ]),
        Watched::Workflow => {
            let all = [
                WorkflowState::Pending,
                WorkflowState::Running,
                WorkflowState::Paused,
                WorkflowState::Failed,
            ];
            all.iter().map(|s| s.word()).collect()
        }
        Watched::Compensation => {
            vec![WorkflowState::Compensating.word(), WorkflowState::CompensationFailed.word()]
        }
        Watched::Flow => vec!["pending", "running", "failed"],
        Watched::MessageGroup => vec!["blocked", "paused"],
        Watched::Pause => vec!["waiting"],
        Watched::DispatchGroup => vec!["no_owner"],
        Watched::Breaker => vec!["off"],
    }
}

struct Faults(Vec<Fault>);

impl Faults {
    fn put(&mut self, field: &str, problem: impl Into<String>, fix: impl Into<String>) {
        self.0.push(Fault { field: field.into(), problem: problem.into(), fix: fix.into() });
    }
}

/// Everything that is wrong with a rule.
pub fn faults(rule: &StuckRule) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    names(rule, &mut faults);
    subject(rule, &mut faults);
    times(rule, &mut faults);
    remedy(rule, &mut faults);
    faults.0
}

fn names(rule: &StuckRule, faults: &mut Faults) {
    let most = limits::NAME_BYTES_MAX;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if rule.name.is_empty() || rule.name.len() > most || !rule.name.chars().all(plain) {
        let fix = format!("write 1 to {most} of a to z, 0 to 9, `-`, `_` and `.`");
        faults.put("name", format!("`{}` is no name of a rule", rule.name), fix);
    }
    let reason = rule.reason();
    if reason.is_empty() || reason.len() > most || !reason.chars().all(plain) {
        faults.put(
            "reason",
            format!("`{reason}` is no reason"),
            "write it like a name, as `pending_too_long`",
        );
    }
    let long = |text: &Option<String>| text.as_ref().is_some_and(|t| t.is_empty() || t.len() > most);
    for (field, text) in [
        ("action", &rule.action),
        ("definition", &rule.definition),
        ("type", &rule.flow_type),
        ("relatable_type", &rule.relatable_type),
    ] {
        if long(text) {
            faults.put(field, "is empty or too long", format!("use 1 to {most} bytes, or leave it out"));
        }
    }
    let is_long =
        |(name, value): (&String, &String)| name.is_empty() || name.len() > most || value.len() > most;
    if rule.labels.len() > limits::LABELS_MAX || rule.labels.iter().any(is_long) {
        let fix =
            format!("write at most {} with names and values of at most {most} bytes", limits::LABELS_MAX);
        faults.put("labels", "there are too many, or one is too long or has no name", fix);
    }
    let status = rule.status.as_deref().unwrap_or("-");
    if status.trim().is_empty() || status.len() > limits::ALERT_TEXT_BYTES_MAX || status.contains('\0') {
        let fix =
            format!("write one sentence of at most {} bytes, or leave it out", limits::ALERT_TEXT_BYTES_MAX);
        faults.put("status", "is empty or too long", fix);
    }
}

fn subject(rule: &StuckRule, faults: &mut Faults) {
    let all: Vec<&str> = Watched::ALL.iter().map(|entity| entity.word()).collect();
    let fix =
        format!("write `entity` as one of {}, or `detect` with an action that reports yours", all.join(", "));
    match (rule.entity, &rule.detect) {
        (None, None) => {
            faults.put("entity", "the rule says neither what it looks at nor who reports it", fix)
        }
        (Some(_), Some(_)) => {
            faults.put("entity", "the rule has both `entity` and `detect`", "leave one of them out")
        }
        _ => {}
    }
    for (field, call) in [("detect.action", &rule.detect), ("remedy_by.action", &rule.remedy_by)] {
        let named =
            call.as_ref().is_none_or(|c| !c.action.is_empty() && c.action.len() <= limits::NAME_BYTES_MAX);
        if !named {
            faults.put(field, "is empty or too long", "name an action that a worker offers");
        }
    }
    let Some(entity) = rule.entity else {
        let filters = !rule.states.is_empty() || rule.action.is_some() || rule.definition.is_some();
        if filters || rule.relatable_type.is_some() || !rule.labels.is_empty() || rule.flow_type.is_some() {
            let fix = "let the action report only what is meant, and give it `arguments`";
            faults.put("detect", "what an action reports is not filtered", fix);
        }
        return;
    };
    let known = states_of(entity);
    for (n, state) in rule.states.iter().enumerate().filter(|(_, s)| !known.contains(&s.as_str())) {
        let fix = format!("write {}", known.join(", "));
        faults.put(&format!("states[{n}]"), format!("a {entity} is never stuck in `{state}`"), fix);
    }
    if rule.flow_type.is_some() && entity != Watched::Flow {
        faults.put("type", format!("a {entity} has no type"), "leave it out");
    }
    let has_clock = !matches!(entity, Watched::MessageGroup | Watched::Breaker | Watched::DispatchGroup);
    if rule.clock == StuckClock::Created && entity == Watched::Flow {
        let fix = "write `clock = \"state\"` for its own time, or `clock = \"progress\"`";
        faults.put("clock", "a flow says itself how long it may take", fix);
    }
    if rule.clock != StuckClock::State && !has_clock {
        faults.put("clock", format!("of a {entity} only the state has a time"), "write `clock = \"state\"`");
    }
}

fn times(rule: &StuckRule, faults: &mut Faults) {
    let within = |span: Duration, least: Duration| span >= least && span <= limits::STUCK_AGE_MAX;
    let days = limits::STUCK_AGE_MAX.as_secs() / 86_400;
    if !within(rule.older_than, Duration::ZERO) {
        faults.put("older_than", "is too long", format!("write at most {days}d"));
    }
    if !within(rule.remind_every, limits::REMIND_EVERY_MIN) {
        let least = limits::REMIND_EVERY_MIN.as_secs();
        faults.put("remind_every", "is too short or too long", format!("write {least}s to {days}d"));
    }
    if rule.detect_every.is_some_and(|every| !within(every, limits::STUCK_EVERY_MIN)) {
        let least = limits::STUCK_EVERY_MIN.as_secs();
        faults.put("detect.every", "is too short or too long", format!("write {least}s to {days}d"));
    }
    if rule.max == 0 || rule.max > limits::STUCK_FINDINGS_MAX {
        faults.put(
            "max",
            format!("{} is out of range", rule.max),
            format!("write 1 to {}", limits::STUCK_FINDINGS_MAX),
        );
    }
    if rule.attempts == 0 || rule.attempts > limits::REMEDY_ATTEMPTS_MAX {
        let fix = format!("write 1 to {}", limits::REMEDY_ATTEMPTS_MAX);
        faults.put("attempts", format!("{} is out of range", rule.attempts), fix);
    }
}

fn remedy(rule: &StuckRule, faults: &mut Faults) {
    let acts = matches!(rule.remedy, Remedy::Retry | Remedy::Cancel);
    match rule.entity {
        Some(entity) if !remedies_of(entity).contains(&rule.remedy) => {
            let known: Vec<&str> = remedies_of(entity).iter().map(|remedy| remedy.word()).collect();
            let problem = format!("`{}` is nothing that can be done to a {entity}", rule.remedy);
            faults.put("remedy", problem, format!("write {}", known.join(", ")));
        }
        Some(entity) if rule.remedy_by.is_some() && entity != Watched::Flow => {
            faults.put("remedy_by", format!("a {entity} is ours, and the remedy too"), "leave it out");
        }
        None if acts && rule.remedy_by.is_none() => {
            let problem = format!("nobody is named who can `{}` what is reported", rule.remedy);
            let fix = "write `remedy_by = { action = \"…\" }`, or `remedy = \"escalate\"`";
            faults.put("remedy_by", problem, fix);
        }
        _ => {}
    }
    if rule.auto == Some(true) && rule.remedy == Remedy::Notify {
        faults.put("auto", "nothing is done by `notify`", "leave it out, or name another remedy");
    }
}
