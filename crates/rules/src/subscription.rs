//! Which subscriptions an event is for, and what a receiver reads of it.

use model::{Fault, NewSubscription, Timestamp, hide_sealed, limits};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What happened, as far as a receiver is told.
pub struct Happened<'e> {
    /// The same for whoever hears of it twice.
    pub id: &'e str,
    pub source: &'e str,
    /// Without what all of them begin with.
    pub kind: &'e str,
    pub subject: Option<&'e str>,
    pub at: Timestamp,
    pub data: Option<&'e str>,
}

/// The event as CloudEvents 1.0 in JSON, as `/v1/events` tells it. What is sealed is told to nobody.
pub fn cloud_event(happened: &Happened) -> String {
    let time = match jiff::Timestamp::from_microsecond(happened.at.0) {
        Ok(at) => format!("{at:.6}"),
        Err(_) => format!("{} microseconds from 1970", happened.at.0),
    };
    let mut event = json!({
        "specversion": "1.0",
        "id": happened.id,
        "source": happened.source,
        "type": format!("stepfast.{}", happened.kind),
        "time": time,
        "datacontenttype": "application/json",
    });
    if let Some(subject) = happened.subject {
        event["subject"] = Value::from(subject);
    }
    let data = happened.data.map(|data| hide_sealed(data).unwrap_or_else(|| data.into()));
    if let Some(data) = data.and_then(|data| RawValue::from_string(data).ok()) {
        event["data"] = serde_json::from_str(data.get()).unwrap_or_default();
    }
    event.to_string()
}

/// Whether a workflow's event is one that was asked for.
pub fn takes(asked: &NewSubscription, kind: &str, definition: &str, labels: &[(String, String)]) -> bool {
    let is_kind = |wanted: &String| match wanted.strip_suffix('*') {
        Some(start) => kind.starts_with(start),
        None => kind == wanted,
    };
    let has = |(name, value): (&String, &String)| labels.iter().any(|(n, v)| n == name && v == value);
    asked.active
        && asked.types.iter().any(is_kind)
        && asked.workflow.as_ref().is_none_or(|wanted| wanted == definition)
        && asked.labels.iter().all(has)
}

/// Kinds as they are kept: without what all of them begin with in a CloudEvent.
pub fn plain_types(types: Vec<String>) -> Vec<String> {
    let plain = |kind: String| kind.trim().strip_prefix("stepfast.").map(String::from).unwrap_or(kind);
    types.into_iter().map(plain).collect()
}

/// Everything that is wrong with what was asked for.
pub fn faults(asked: &NewSubscription) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut fault = |field: &str, problem: String, fix: String| {
        faults.push(Fault { field: field.into(), problem, fix });
    };
    let most = limits::NAME_BYTES_MAX;
    if asked.name.trim().is_empty() || asked.name.len() > most {
        fault("name", "is empty or too long".into(), format!("use 1 to {most} bytes"));
    }
    if let Some(problem) = address(&asked.url) {
        let fix = "write a whole address, such as https://example.com/hooks/orders";
        fault("url", problem, fix.into());
    }
    let most_types = limits::SUBSCRIPTION_TYPES_MAX;
    if asked.types.is_empty() || asked.types.len() > most_types {
        let fix = format!("name 1 to {most_types}, such as `workflow.failed`, `workflow.*` or `*`");
        fault("types", format!("{} kinds are named", asked.types.len()), fix);
    }
    for (n, kind) in asked.types.iter().enumerate().filter(|(_, kind)| !is_kind(kind)) {
        let fix = "write a whole kind such as `workflow.failed`, or the beginning of some as `workflow.*`";
        fault(&format!("types[{n}]"), format!("`{kind}` is no kind of event"), fix.into());
    }
    if asked.workflow.as_ref().is_some_and(|key| key.is_empty() || key.len() > most) {
        fault("workflow", "is empty or too long".into(), "name a definition, or leave it out".into());
    }
    let is_long =
        |(name, value): (&String, &String)| name.is_empty() || name.len() > most || value.len() > most;
    if asked.labels.len() > limits::LABELS_MAX || asked.labels.iter().any(is_long) {
        let fix =
            format!("write at most {} with names and values of at most {most} bytes", limits::LABELS_MAX);
        fault("labels", "there are too many, or one is too long or has no name".into(), fix);
    }
    let texts = [&asked.name, &asked.url].into_iter().chain(&asked.types).chain(&asked.workflow);
    let texts = texts.chain(asked.labels.iter().flat_map(|(name, value)| [name, value]));
    if texts.into_iter().any(|text| text.contains('\0')) {
        faults.push(Fault::nul("subscription"));
    }
    faults
}

pub(crate) fn is_kind(kind: &str) -> bool {
    let start = kind.strip_suffix('*');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let rest = start.unwrap_or(kind);
    kind.len() <= limits::NAME_BYTES_MAX && rest.chars().all(plain) && (start.is_some() || !rest.is_empty())
}

/// What is wrong with an address; where it may lead to is looked at whenever something is sent there.
pub(crate) fn address(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else { return Some("does not begin with http:// or https://".into()) };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let most = limits::SUBSCRIPTION_URL_BYTES_MAX;
    let wrong = [
        (url.len() > most, format!("is longer than {most} bytes")),
        (host.is_empty() || host.starts_with(':'), "names no host".into()),
        (host.contains('@'), "holds a user or a password".into()),
        (url.chars().any(|c| c.is_whitespace() || c.is_control()), "holds a blank".into()),
    ];
    wrong.into_iter().find(|(is_so, _)| *is_so).map(|(_, problem)| problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(types: &[&str]) -> NewSubscription {
        NewSubscription {
            name: "n".into(),
            url: "https://example.com/x".into(),
            types: types.iter().map(ToString::to_string).collect(),
            active: true,
            ..NewSubscription::default()
        }
    }

    fn told(asked: &NewSubscription) -> String {
        faults(asked).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn an_event_is_for_those_that_asked_for_its_kind_definition_and_labels() {
        let labels = [("team".to_string(), "a".to_string()), ("x".into(), "y".into())];
        for (types, kind, wanted) in [
            (&["workflow.failed"][..], "workflow.failed", true),
            (&["workflow.failed"], "workflow.failed2", false),
            (&["workflow.*"], "workflow.started", true),
            (&["workflow.*"], "step.skipped", false),
            (&["step.skipped", "*"], "branch.evaluated", true),
        ] {
            assert_eq!(takes(&asked(types), kind, "order", &labels), wanted, "{types:?} {kind}");
        }
        let all = asked(&["*"]);
        let of = |change: &dyn Fn(&mut NewSubscription)| {
            let mut asked = all.clone();
            change(&mut asked);
            takes(&asked, "workflow.failed", "order", &labels)
        };
        assert!(of(&|a| a.workflow = Some("order".into())) && !of(&|a| a.workflow = Some("orders".into())));
        assert!(of(&|a| a.labels = [("team".into(), "a".into())].into()));
        assert!(!of(&|a| a.labels = [("team".into(), "b".into())].into()));
        assert!(!of(&|a| a.active = false));
    }

    #[test]
    fn whatever_is_wrong_is_told_with_what_to_write() {
        assert_eq!(told(&asked(&["workflow.*", "*", "step.skipped"])), "");
        let bad = asked(&["a*b", ""]);
        assert!(
            told(&bad).contains("types[0]: `a*b` is no kind of event; write a whole kind"),
            "{}",
            told(&bad)
        );
        assert!(told(&bad).contains("types[1]"));
        for (url, part) in [
            ("ftp://x", "does not begin with http"),
            ("https://", "names no host"),
            ("https://me:pw@example.com/", "holds a user or a password"),
            ("https://example.com/a b", "holds a blank"),
        ] {
            let bad = NewSubscription { url: url.into(), ..asked(&["*"]) };
            assert!(told(&bad).starts_with(&format!("url: {part}")), "{}", told(&bad));
        }
        let none = NewSubscription::default();
        assert_eq!(faults(&none).len(), 3, "{}", told(&none));
        assert_eq!(plain_types(vec!["stepfast.workflow.*".into(), "x".into()]), ["workflow.*", "x"]);
    }

    #[test]
    fn a_receiver_reads_a_cloud_event_and_nothing_sealed() {
        let sealed = model::Sealed::written("k1", model::WorkflowId::of(7).0, "AAAA");
        let data = format!(r#"{{"message":"no {sealed}"}}"#);
        let happened = Happened {
            id: "alpha/12",
            source: "/v1/workflows/x",
            kind: "workflow.failed",
            subject: Some("pay"),
            at: Timestamp(0),
            data: Some(&data),
        };
        let read: Value = serde_json::from_str(&cloud_event(&happened)).unwrap();
        assert_eq!(
            read,
            json!({"specversion": "1.0", "id": "alpha/12", "source": "/v1/workflows/x", "type": "stepfast.workflow.failed",
                   "subject": "pay", "time": "1970-01-01T00:00:00.000000Z", "datacontenttype": "application/json",
                   "data": {"message": "no [secret]"}})
        );
    }
}
