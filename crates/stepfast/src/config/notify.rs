//! `[[notify.channel]]` and `STEPFAST_NOTIFY_NAME_SECRET`, `STEPFAST_NOTIFY_NAME_URL`: who is told of what fails or waits. Secrets are told by nothing here.

use super::suggest;
use engine::{ChannelOrder, Keyring, SigningSecret, variable_part};
use model::ChannelKind;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use store::Database;
use toml::{Table, Value};

const VARIABLE: &str = "STEPFAST_NOTIFY_";
pub const KEYS: [&str; 12] = [
    "name",
    "kind",
    "url",
    "secret",
    "secrets",
    "audience",
    "min_severity",
    "kinds",
    "labels",
    "per_minute",
    "quiet",
    "active",
];

/// Exactly what the file said, whatever it is: a complaint about its type would show it.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct RawNotify(Value);

impl Default for RawNotify {
    fn default() -> Self {
        RawNotify(Value::Table(Table::new()))
    }
}

impl fmt::Debug for RawNotify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawNotify")
    }
}

/// The variables that can be read.
pub fn environment() -> Vec<(String, String)> {
    let read = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(read).filter(|(name, _)| name.starts_with(VARIABLE)).collect()
}

/// What the environment says of a channel takes the place of what the file says.
pub fn check(
    raw: &RawNotify,
    environment: &[(String, String)],
    faults: &mut Vec<String>,
) -> Vec<ChannelOrder> {
    let how = "notify holds channels, as [[notify.channel]] with `name`, `kind` and `url`";
    let Some(table) = raw.0.as_table() else {
        faults.push(how.into());
        return Vec::new();
    };
    for strange in table.keys().filter(|key| *key != "channel") {
        faults.push(format!("notify.{strange} is not a setting; write [[notify.channel]]"));
    }
    let Some(channels) = table.get("channel") else { return Vec::new() };
    let Some(channels) = channels.as_array() else {
        faults.push(how.into());
        return Vec::new();
    };
    let (mut orders, mut seen) = (Vec::new(), BTreeSet::new());
    for (n, channel) in channels.iter().enumerate() {
        let name =
            channel.get("name").and_then(Value::as_str).map_or_else(|| format!("#{}", n + 1), String::from);
        if !seen.insert(variable_part(&name)) {
            faults.push(format!(
                "notify.channel {name}: another name differs only in case or signs, or not at all"
            ));
        }
        match one(channel, &name, environment) {
            Ok(order) => orders.push(order),
            Err(wrong) => {
                faults.extend(wrong.into_iter().map(|fault| format!("notify.channel {name}: {fault}")))
            }
        }
    }
    orders
}

/// What is stored of them is sealed, and that needs a key.
pub fn unsealable(channels: &[ChannelOrder], keys: &Keyring, database: &Database) -> Option<String> {
    let has_file = database.key_file().is_some();
    let first = channels.first().filter(|_| keys.is_unset() && !has_file)?;
    Some(format!(
        "notify.channel {}: its secret is stored sealed, and there is no key for that; write `[secrets]` with \
         `keys = [\"k1:…\"]`, or set STEPFAST_SECRETS_KEYS",
        first.channel.name
    ))
}

fn one(value: &Value, name: &str, environment: &[(String, String)]) -> Result<ChannelOrder, Vec<String>> {
    let Some(table) = value.as_table() else { return Err(vec!["write it as [[notify.channel]]".into()]) };
    let strange = table.keys().filter(|key| !KEYS.contains(&key.as_str()));
    let mut faults: Vec<String> =
        strange.map(|key| format!("{key} is not a setting; {}", suggest(key, &KEYS))).collect();
    let from = |end: &str| {
        let variable = format!("{VARIABLE}{}_{end}", variable_part(name));
        environment.iter().find(|(known, _)| *known == variable).map(|(_, value)| value.clone())
    };
    let given = from("SECRET").map(|text| Ok(Some(text.split_whitespace().map(String::from).collect())));
    let secrets = given.unwrap_or_else(|| secrets(table)).unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let url = from("URL").map_or_else(|| text(table, "url", &mut faults), Some);
    let body = wire::ChannelBody {
        name: text(table, "name", &mut faults).unwrap_or_default(),
        kind: text(table, "kind", &mut faults).unwrap_or_default(),
        url: url.unwrap_or_default(),
        audience: text(table, "audience", &mut faults),
        min_severity: text(table, "min_severity", &mut faults),
        kinds: kinds(table, &mut faults),
        labels: labels(table, &mut faults),
        per_minute: number(table, &mut faults),
        quiet: text(table, "quiet", &mut faults),
        active: active(table, &mut faults),
        secrets,
        by: None,
    };
    match (server::convert::channel(body), faults.is_empty()) {
        (Ok(order), true) => sound(order),
        (Ok(_), false) => Err(faults),
        (Err(words), _) => Err(faults.into_iter().chain(words.iter().map(ToString::to_string)).collect()),
    }
}

/// What is wrong with what was understood.
fn sound(order: ChannelOrder) -> Result<ChannelOrder, Vec<String>> {
    let mut faults: Vec<String> =
        rules::notice::faults(&order.channel).iter().map(ToString::to_string).collect();
    match (order.channel.kind, order.secrets.as_deref()) {
        (ChannelKind::Webhook, None | Some([])) => {
            faults.push(
                "a webhook is signed; write `secret = \"whsec_…\"` with the base64 of 24 to 64 bytes".into(),
            );
        }
        (ChannelKind::Webhook, Some(secrets)) => {
            let wrong = secrets.iter().filter_map(|secret| SigningSecret::given(secret).err());
            faults.extend(wrong.map(|problem| problem.to_string()));
        }
        (ChannelKind::Chat, Some(_)) => {
            faults.push("a chat is sent nothing signed; leave `secret` out".into())
        }
        (ChannelKind::Chat, None) => {}
    }
    if faults.is_empty() { Ok(order) } else { Err(faults) }
}

fn text(table: &Table, key: &str, faults: &mut Vec<String>) -> Option<String> {
    let value = table.get(key)?;
    if value.as_str().is_none() {
        faults.push(format!("{key}: write a text"));
    }
    value.as_str().map(String::from)
}

fn kinds(table: &Table, faults: &mut Vec<String>) -> Vec<String> {
    let Some(value) = table.get("kinds") else { return Vec::new() };
    let read =
        value.as_array().and_then(|all| all.iter().map(|one| one.as_str().map(String::from)).collect());
    read.unwrap_or_else(|| {
        faults.push("kinds: write a list of texts, such as [\"step.failed\", \"workflow.*\"]".into());
        Vec::new()
    })
}

fn labels(table: &Table, faults: &mut Vec<String>) -> BTreeMap<String, String> {
    let Some(value) = table.get("labels") else { return BTreeMap::new() };
    let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_string()));
    let read = value.as_table().and_then(|all| all.iter().map(pair).collect());
    read.unwrap_or_else(|| {
        faults.push("labels: write names and texts, such as { team = \"a\" }".into());
        BTreeMap::new()
    })
}

fn number(table: &Table, faults: &mut Vec<String>) -> Option<u32> {
    let value = table.get("per_minute")?;
    let read = value.as_integer().and_then(|n| u32::try_from(n).ok());
    if read.is_none() {
        faults.push(format!("per_minute: write 1 to {}", model::limits::NOTICES_PER_MINUTE_MAX));
    }
    read
}

fn active(table: &Table, faults: &mut Vec<String>) -> Option<bool> {
    let value = table.get("active")?;
    if value.as_bool().is_none() {
        faults.push("active: write true or false".into());
    }
    value.as_bool()
}

fn secrets(table: &Table) -> Result<Option<Vec<String>>, String> {
    let how = || "write `secret = \"whsec_…\"`, or `secrets` as a list, the newest first".to_string();
    match (table.get("secret"), table.get("secrets")) {
        (None, None) => Ok(None),
        (Some(Value::String(one)), None) => Ok(Some(vec![one.clone()])),
        (None, Some(Value::Array(many))) => many
            .iter()
            .map(|s| s.as_str().map(String::from).ok_or_else(how))
            .collect::<Result<_, _>>()
            .map(Some),
        _ => Err(how()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn read(file: &str, environment: &[(&str, &str)]) -> Result<Vec<ChannelOrder>, String> {
        let raw: RawNotify = toml::from_str(file).unwrap();
        assert!(!format!("{raw:?}").contains("hunter2"));
        let environment: Vec<_> = environment.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let mut faults = Vec::new();
        let orders = check(&raw, &environment, &mut faults);
        assert!(!format!("{orders:?} {faults:?}").contains("hunter2"), "{faults:?}");
        if faults.is_empty() { Ok(orders) } else { Err(faults.join("\n")) }
    }

    #[test]
    fn channels_are_read_and_the_environment_goes_before_the_file() {
        let file = format!(
            "[[channel]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"https://example.com/hook\"\nsecret = \"{SECRET}\"\n\
             min_severity = \"medium\"\nkinds = [\"step.failed\"]\nlabels = {{ team = \"a\" }}\nper_minute = 5\nquiet = \"1h\"\n\
             [[channel]]\nname = \"people\"\nkind = \"chat\"\naudience = \"user\"\nactive = false\n"
        );
        let orders =
            read(&file, &[("STEPFAST_NOTIFY_PEOPLE_URL", "https://chat.example.com/T/hunter2")]).unwrap();
        let (ops, people) = (&orders[0].channel, &orders[1].channel);
        assert_eq!(
            (ops.per_minute, ops.quiet.as_secs(), ops.kinds.len(), ops.labels.len()),
            (5, 3_600, 1, 1)
        );
        assert_eq!((ops.min_severity, people.audience), (model::Severity::Medium, model::Audience::User));
        assert!(people.url.ends_with("hunter2") && !people.active && orders[1].secrets.is_none());
        assert_eq!(orders[0].secrets.as_deref(), Some(&[SECRET.to_string()][..]));
    }

    #[test]
    fn whatever_is_wrong_is_told_without_the_secret() {
        let webhook = |more: &str| {
            format!("[[channel]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"https://example.com\"\n{more}")
        };
        for (file, part) in [
            (webhook(""), "notify.channel ops: a webhook is signed; write `secret ="),
            (webhook("secret = \"hunter2\""), "notify.channel ops: secret: is no secret of a webhook"),
            (webhook("secret = 7"), "notify.channel ops: write `secret ="),
            (webhook("secrets = \"hunter2\""), "as a list, the newest first"),
            (webhook("sercet = \"hunter2\""), "sercet is not a setting; did you mean `secret`?"),
            (webhook(&format!("secret = \"{SECRET}\"\nper_minute = 0")), "per_minute: is 0; write 1 to 600"),
            (
                webhook("min_severity = \"loud\""),
                "min_severity: `loud` is not known; write one of low, medium",
            ),
            (webhook("quiet = \"soon\""), "quiet: is no span of time"),
            (
                "[[channel]]\nname = \"c\"\nkind = \"chat\"\nurl = \"hunter2\"".into(),
                "url: does not begin with http",
            ),
            (
                "[[channel]]\nkind = \"mail\"".into(),
                "notify.channel #1: kind: `mail` is not known; write one of webhook, chat",
            ),
            ("channel = \"hunter2\"".into(), "notify holds channels"),
            ("[chanel]".into(), "notify.chanel is not a setting"),
        ] {
            let refused = read(&file, &[]).unwrap_err();
            assert!(refused.contains(part), "{part} in {refused}");
        }
        let twice = webhook(&format!("secret = \"{SECRET}\"\n")).repeat(2);
        assert!(read(&twice, &[]).unwrap_err().contains("another name differs only"));
    }
}
