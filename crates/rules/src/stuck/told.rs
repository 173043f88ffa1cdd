//! Spans of time in words, and what an action reports as stuck, read with everything that is wrong with it.

use model::{Finding, ReportedStuck, StuckRule, Timestamp, limits};
use serde_json::Value;
use std::time::Duration;

/// The two largest units: `3 d 4 h`, `25 min`.
pub fn span(length: Duration) -> String {
    let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    let mut left = length.as_secs();
    let mut words = Vec::new();
    for (unit, seconds) in units {
        if left >= seconds && words.len() < 2 {
            words.push(format!("{} {unit}", left / seconds));
            left %= seconds;
        } else if !words.is_empty() {
            break;
        }
    }
    if words.is_empty() { "0 s".into() } else { words.join(" ") }
}

/// The things that an action reports, or what it should have answered instead.
pub fn parse_reported(rule: &StuckRule, answer: Option<&str>, at: Timestamp) -> Result<Vec<Finding>, String> {
    let how = "answer a list of objects with `entity_type`, `entity_id` and, if known, `user`, `since`, `message`, `labels`, `data`";
    let text = answer.unwrap_or("[]");
    let all: Vec<ReportedStuck> =
        serde_json::from_str(text).map_err(|problem| format!("{problem}; {how}"))?;
    if all.len() > rule.max as usize {
        let problem = format!("{} things are reported", all.len());
        return Err(format!("{problem}; report at most {} at once, the oldest first", rule.max));
    }
    let mut found: Vec<Finding> = Vec::new();
    for (n, one) in all.into_iter().enumerate() {
        let finding = finding(rule, one, at).map_err(|problem| format!("[{n}]: {problem}; {how}"))?;
        if !found.iter().any(|other| other.key() == finding.key())
            && at.since(finding.since) >= rule.older_than
        {
            found.push(finding);
        }
    }
    Ok(found)
}

fn finding(rule: &StuckRule, one: ReportedStuck, at: Timestamp) -> Result<Finding, String> {
    let text = |value: Value| match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err("an id is a text or a number"),
    };
    let entity_id = text(one.entity_id)?;
    for (name, value) in [("entity_type", &one.entity_type), ("entity_id", &entity_id)] {
        if value.trim().is_empty() || value.len() > limits::NAME_BYTES_MAX || value.contains('\0') {
            return Err(format!("`{name}` is empty or longer than {} bytes", limits::NAME_BYTES_MAX));
        }
    }
    let since = match one.since {
        None => at,
        Some(text) => {
            let instant: jiff::Timestamp =
                text.parse().map_err(|_| format!("`since` is `{text}`, which is no RFC 3339 instant"))?;
            Timestamp(instant.as_microsecond()).min(at)
        }
    };
    let user = one.user.filter(|user| !user.is_null()).map(text).transpose()?;
    let mut message = one.message.unwrap_or_else(|| format!("{} {entity_id} is stuck", one.entity_type));
    message.retain(|c| c != '\0');
    let end = message.floor_char_boundary(limits::ALERT_TEXT_BYTES_MAX);
    message.truncate(end);
    Ok(Finding {
        rule: rule.name.clone(),
        entity: one.entity_type,
        entity_id,
        reason: rule.reason().into(),
        state: None,
        user,
        since,
        message,
        labels: one.labels,
        data: one.data,
        acts_on: None,
    })
}
