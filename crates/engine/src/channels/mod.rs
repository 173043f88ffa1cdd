//! Channels of notices: made, changed and removed while work runs, by the configuration or by people; secrets are kept sealed.

use crate::request::Request;
use crate::subscriptions::unsealed;
use crate::{Engine, EngineError, Keyring, SealError, SigningSecret};
use model::{Audience, Channel, ChannelKind, Fault, Notice, Severity, Telling, Timestamp, limits};
use rules::notice::{TEST, faults};
use sha2::{Digest, Sha256};
use std::fmt;
use store::channels::{self as record, Stored};
use store::{AuditEntry, Change, Store, StoreError};
use uuid::Uuid;

type Result<T> = std::result::Result<T, EngineError>;

/// Secrets that sign at once: the one in use, and the one before it while receivers change over.
const SECRETS_MAX: usize = 2;
const CONFIGURATION: &str = "the configuration";
/// How often a channel of the configuration is put while others change it.
const TRIES: usize = 5;

/// A channel as somebody wants it.
#[derive(Clone, PartialEq)]
pub struct ChannelOrder {
    /// An empty address leaves the one it has.
    pub channel: Channel,
    /// What signs, the newest first; none leaves those it has, and makes one where there is none.
    pub secrets: Option<Vec<String>>,
}

/// Its secrets are printed by nothing.
impl fmt::Debug for ChannelOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelOrder").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl Engine {
    /// Make a channel, or change the one of this name, where a revision is given if it is this one. A secret that was made is in the
    /// answer and can never be had again.
    pub async fn put_channel(
        &self,
        order: ChannelOrder,
        expected: Option<u64>,
        by: String,
    ) -> Result<(Channel, Option<SigningSecret>)> {
        let keys = self.keys().clone();
        self.with_store(move |store| {
            seen(store, &order.channel.name, expected)?;
            put(store, order, &by, &keys)
        })
        .await?
    }

    /// What was to be sent already still is; whether there was such a channel. Where a revision is given, it must be this one.
    pub async fn remove_channel(&self, name: String, expected: Option<u64>, by: String) -> Result<bool> {
        let keys = self.keys().clone();
        self.with_store(move |store| {
            seen(store, &name, expected)?;
            remove(store, &name, &by, &keys)
        })
        .await?
    }

    /// Tell one channel something, once for each key; whoever decides for it says what became of it.
    pub async fn tell_channel(&self, channel: &str, notice: Notice) -> Result<Telling> {
        let (channel, notice) = (channel.to_string(), Box::new(notice));
        self.ask(|reply| Request::Tell { channel, notice, reply }).await
    }

    /// Tell one channel something of no meaning.
    pub async fn test_channel(&self, name: &str, severity: Severity, by: &str) -> Result<Telling> {
        let wanted = name.to_string();
        let found =
            self.with_store(move |store| (record::find(store.reader(), &wanted), store.now())).await?;
        let (Some(stored), at) = (found.0?, found.1) else { return Err(EngineError::NoChannel(name.into())) };
        let after = Some(format!("to be told of something {severity}"));
        self.put_on_record(AuditEntry { after, ..entry("test channel", name, by) }).await?;
        let id = Uuid::from_bytes(crate::Ids::default().row(at));
        self.tell_channel(name, test(&stored.channel, severity, (by, id), at)).await
    }
}

fn test(channel: &Channel, severity: Severity, (by, id): (&str, Uuid), at: Timestamp) -> Notice {
    let text = match channel.audience {
        Audience::Admin => {
            format!("{by} looks whether the channel `{}` works. Nothing has happened.", channel.name)
        }
        Audience::User => "This is a test. Nothing has happened.".into(),
    };
    Notice {
        kind: TEST.into(),
        audience: channel.audience,
        severity,
        entity_type: "channel".into(),
        entity_id: channel.name.clone(),
        user: None,
        // It has what the channel asks for: a test is to arrive.
        labels: channel.labels.clone(),
        title: "a test of notifications".into(),
        text,
        key: format!("{TEST}/{id}"),
        at,
        data: serde_json::Value::Null,
    }
}

/// What the configuration says. Nodes that start together put the same, and whoever comes second finds it there.
pub fn put_all(store: &mut dyn Store, orders: &[ChannelOrder], keys: &Keyring) -> Result<()> {
    for order in orders {
        let mut done = Ok(());
        for _ in 0..TRIES {
            done = put(store, order.clone(), CONFIGURATION, keys).map(drop);
            if !matches!(done, Err(EngineError::Unavailable(StoreError::Busy(_)))) {
                break;
            }
        }
        done.map_err(named(order))?;
    }
    Ok(())
}

/// Of several channels, which one it is.
fn named(order: &ChannelOrder) -> impl Fn(EngineError) -> EngineError {
    let name = order.channel.name.clone();
    move |problem| match problem {
        EngineError::Invalid(faults) => {
            let of =
                |fault: Fault| Fault { field: format!("notify.channel {name}: {}", fault.field), ..fault };
            EngineError::Invalid(faults.into_iter().map(of).collect())
        }
        other => other,
    }
}

/// Whose the secrets of a channel are.
fn owner(name: &str) -> Uuid {
    let hash: [u8; 32] = Sha256::digest(format!("channel {name}")).into();
    Uuid::from_bytes(hash[..16].try_into().expect("a hash is longer than an id"))
}

/// A channel on record with its address, and what signs, in clear.
pub(crate) fn open(
    stored: &Stored,
    keys: &Keyring,
) -> std::result::Result<(Channel, Vec<String>), SealError> {
    let owner = owner(&stored.channel.name);
    let url = match stored.channel.kind {
        ChannelKind::Webhook => stored.channel.url.clone(),
        ChannelKind::Chat => keys.open_text(owner, &stored.channel.url)?,
    };
    let secrets = stored.secrets.iter().map(|text| keys.open_text(owner, text));
    Ok((Channel { url, ..stored.channel.clone() }, secrets.collect::<std::result::Result<_, _>>()?))
}

/// What somebody decided about another revision is not done.
fn seen(store: &mut dyn Store, name: &str, expected: Option<u64>) -> Result<()> {
    let Some(expected) = expected else { return Ok(()) };
    match record::find(store.reader(), name)? {
        None => Err(EngineError::NoChannel(name.into())),
        Some(stored) if stored.revision == expected => Ok(()),
        Some(stored) => Err(EngineError::changed(format!("channel `{name}`"), stored.revision)),
    }
}

/// Nothing is written down where nothing changes.
fn put(
    store: &mut dyn Store,
    order: ChannelOrder,
    by: &str,
    keys: &Keyring,
) -> Result<(Channel, Option<SigningSecret>)> {
    let before = record::find(store.reader(), &order.channel.name)?;
    let known = before.as_ref().map(|stored| open(stored, keys));
    let ChannelOrder { mut channel, secrets } = order;
    if let (true, Some(known)) = (channel.url.is_empty(), &known) {
        channel.url = known.clone().map_err(unsealed)?.0.url;
    }
    let mut faults = faults(&channel);
    let many = record::all(store.reader())?.len();
    faults.extend((before.is_none() && many >= limits::CHANNELS_MAX).then(|| too_many(many)));
    faults.extend(secrets.as_ref().and_then(|secrets| wrong(channel.kind, secrets)));
    if !faults.is_empty() {
        return Err(EngineError::Invalid(faults));
    }
    let had = match &known {
        Some(Ok((was, secrets))) if was.kind == channel.kind => secrets.clone(),
        _ => Vec::new(),
    };
    let (signs, made) = signing(channel.kind, secrets, had)?;
    if let Some(Ok(known)) = &known
        && *known == (channel.clone(), signs.clone())
    {
        return Ok((channel, None));
    }
    write(store, (before, &channel, &signs), by, keys)?;
    Ok((channel, made))
}

/// What signs from now on, and the secret that was made for it.
fn signing(
    kind: ChannelKind,
    given: Option<Vec<String>>,
    had: Vec<String>,
) -> Result<(Vec<String>, Option<SigningSecret>)> {
    match (kind, given) {
        (ChannelKind::Chat, _) => Ok((Vec::new(), None)),
        (ChannelKind::Webhook, Some(given)) => {
            given.iter().try_for_each(|text| SigningSecret::given(text).map(drop))?;
            Ok((given, None))
        }
        (ChannelKind::Webhook, None) if !had.is_empty() => Ok((had, None)),
        (ChannelKind::Webhook, None) => {
            let made = SigningSecret::fresh()?;
            Ok((vec![made.reveal().into()], Some(made)))
        }
    }
}

fn too_many(n: usize) -> Fault {
    Fault {
        field: "name".into(),
        problem: format!("there are {n} channels already"),
        fix: "remove one that nobody needs".into(),
    }
}

fn wrong(kind: ChannelKind, secrets: &[String]) -> Option<Fault> {
    let (problem, fix) = match kind {
        ChannelKind::Chat => {
            ("a chat is sent nothing signed", "leave it out; its address is its secret".into())
        }
        ChannelKind::Webhook if (1..=SECRETS_MAX).contains(&secrets.len()) => return None,
        ChannelKind::Webhook => {
            ("there are none, or too many", format!("write 1 to {SECRETS_MAX}, the newest first"))
        }
    };
    Some(Fault { field: "secrets".into(), problem: problem.into(), fix })
}

fn write(
    store: &mut dyn Store,
    (before, channel, signs): (Option<Stored>, &Channel, &[String]),
    by: &str,
    keys: &Keyring,
) -> Result<()> {
    let owner = owner(&channel.name);
    let seal = |text: &str| keys.seal(owner, text.as_bytes()).map_err(unsealed);
    let url = match channel.kind {
        ChannelKind::Webhook => channel.url.clone(),
        ChannelKind::Chat => seal(&channel.url)?,
    };
    let at = store.now();
    let new = Stored {
        channel: Channel { url, ..channel.clone() },
        secrets: signs.iter().map(|secret| seal(secret)).collect::<Result<_>>()?,
        created_at: before.as_ref().map_or(at, |before| before.created_at),
        created_by: before.as_ref().map_or(by, |before| &before.created_by).into(),
        revision: before.as_ref().map_or(0, |before| before.revision),
    };
    let news = before.as_ref().and_then(|before| open(before, keys).ok());
    let news = news.map(|known| unseen(&known, channel, signs)).unwrap_or_default();
    let entry = AuditEntry {
        before: before.as_ref().map(|before| told_of(before, keys)),
        after: Some(told(channel, signs.len()) + news),
        ..entry("set channel", &channel.name, by)
    };
    let change = if before.is_some() { Change::ChangeChannel(new) } else { Change::AddChannel(new) };
    if store.change(vec![change, Change::Audit { at, entry }])?.starts_with(&[0]) {
        return Err(busy(&channel.name));
    }
    Ok(())
}

fn remove(store: &mut dyn Store, name: &str, by: &str, keys: &Keyring) -> Result<bool> {
    let Some(before) = record::find(store.reader(), name)? else { return Ok(false) };
    let at = store.now();
    let removed = Change::RemoveChannel { name: name.into(), revision: before.revision };
    let before = Some(told_of(&before, keys));
    let entry = AuditEntry { before, ..entry("remove channel", name, by) };
    let found = store.change(vec![removed, Change::Audit { at, entry }])?;
    if found.starts_with(&[0]) && record::find(store.reader(), name)?.is_some() {
        return Err(busy(name));
    }
    Ok(!found.starts_with(&[0]))
}

fn busy(name: &str) -> EngineError {
    StoreError::Busy(format!("somebody else changed the channel `{name}`; try again")).into()
}

fn entry(verb: &str, name: &str, by: &str) -> AuditEntry {
    let target = format!("channel {name}");
    AuditEntry { who: by.into(), verb: verb.into(), target, why: None, before: None, after: None }
}

/// A channel on record, for the audit.
fn told_of(stored: &Stored, keys: &Keyring) -> String {
    let opened = open(stored, keys).map(|(channel, _)| channel);
    told(&opened.unwrap_or_else(|_| stored.channel.clone()), stored.secrets.len())
}

/// What is new about it and must not be shown.
fn unseen((was, had): &(Channel, Vec<String>), channel: &Channel, signs: &[String]) -> &'static str {
    if signs.iter().any(|secret| !had.contains(secret)) {
        ", with a new one"
    } else if was.url != channel.url && was.shown_url() == channel.shown_url() {
        ", at another address"
    } else {
        ""
    }
}

/// What it takes, where to, and with how many secrets, for the audit. A secret itself is nobody's to read.
fn told(channel: &Channel, secrets: usize) -> String {
    let Channel { kind, audience, min_severity, kinds, labels, per_minute, quiet, active, .. } = channel;
    let kinds = if kinds.is_empty() { "everything".into() } else { kinds.join(" ") };
    let labels: String = labels.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    let to = channel.shown_url();
    let state = if *active { "" } else { ", not active" };
    let (quiet, s) = (quiet.as_secs(), if secrets == 1 { "" } else { "s" });
    format!(
        "{kind} for {audience}: {kinds} from {min_severity}{labels} to {to}, {per_minute} a minute, \
         quiet for {quiet} s{state}, {secrets} secret{s}"
    )
}
