//! Configuration: flags over environment over file over defaults, every fault told at once.

mod actions;
mod dispatch_scheduler;
mod network;
mod notify;
#[cfg(test)]
mod reference;
mod secrets;
#[cfg(test)]
mod settings;
mod signing;
mod stuck;
mod traces;
mod triggers;
mod worker;

pub use actions::Actions;
pub use dispatch_scheduler::{Queue, Router, Scheduler};
pub use network::Network;
pub use traces::Traces;
pub use worker::{QueueLimit, Worker, queue_limit};

use crate::cli::Common;
use crate::host_name;
use anyhow::{Context, Result, bail};
use engine::Secret;
use model::{DEFAULT_GROUPS, DispatchGroup, Pool, limits};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use store::{Database, Listen};

/// Exactly what the file said.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawConfig {
    db: Option<String>,
    bind: Option<String>,
    port: Option<u16>,
    require_key: Option<bool>,
    workers: Option<usize>,
    queues: Option<Vec<String>>,
    groups: Option<Vec<String>>,
    history: Option<String>,
    standby: Option<bool>,
    listen: Option<String>,
    dispatch: RawDispatch,
    pools: BTreeMap<String, RawPool>,
    actions: actions::RawActions,
    signing: signing::RawSigning,
    triggers: triggers::RawTriggers,
    secrets: secrets::RawSecrets,
    notify: notify::RawNotify,
    worker: worker::RawWorker,
    #[serde(rename = "dispatch-scheduler")]
    dispatch_scheduler: Option<dispatch_scheduler::RawScheduler>,
    router: dispatch_scheduler::RawRouter,
    stuck: stuck::RawStuck,
    traces: traces::RawTraces,
    server: network::RawServer,
    tls: network::RawTls,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawDispatch {
    groups: Option<Vec<String>>,
    max_per_tick: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawPool {
    concurrency: Option<u32>,
    rate: Option<String>,
    burst: Option<u32>,
}

const KEYS: [&str; 24] = [
    "db",
    "bind",
    "port",
    "require_key",
    "workers",
    "queues",
    "groups",
    "history",
    "standby",
    "listen",
    "dispatch",
    "pools",
    "actions",
    "signing",
    "triggers",
    "secrets",
    "worker",
    "dispatch-scheduler",
    "router",
    "notify",
    "stuck",
    "traces",
    "server",
    "tls",
];
const POOL_KEYS: [&str; 3] = ["concurrency", "rate", "burst"];
const DISPATCH_KEYS: [&str; 2] = ["groups", "max_per_tick"];

#[derive(Debug, Clone)]
pub struct Settings {
    pub database: Database,
    /// Where `serve` listens.
    pub bind: SocketAddr,
    /// Ask for a key also on this machine.
    pub require_key: bool,
    pub network: Network,
    /// What commands show to a server.
    pub key: Option<Secret>,
    pub workers: usize,
    pub engine: engine::Config,
    pub actions: Actions,
    /// What signed triggers are made with.
    pub triggers: server::TriggerSecrets,
    /// What `worker` serves.
    pub worker: Worker,
    /// Steps that are handed over by a queue, where they are.
    pub scheduler: Option<Scheduler>,
    pub router: Router,
    /// Where spans are sent, if anywhere.
    pub traces: Option<Traces>,
}

pub const PORT: u16 = 7837;
const WORKERS: usize = 64;
const DATABASE: &str = "sqlite:stepfast.db";

fn check_names(groups: &[String], queues: &[String], faults: &mut Vec<String>) {
    if groups.is_empty() || groups.len() > limits::GROUPS_MAX {
        faults.push(format!("dispatch.groups: name 1 to {} groups", limits::GROUPS_MAX));
    }
    for name in groups.iter().chain(queues) {
        if name.trim().is_empty() || name.len() > limits::NAME_BYTES_MAX {
            let most = limits::NAME_BYTES_MAX;
            faults.push(format!("`{name}` is no name for a group or queue; use 1 to {most} bytes"));
        }
    }
}

impl Settings {
    pub fn load(common: &Common) -> Result<Settings> {
        Settings::of(read(common.config.as_deref())?, common, &|name| std::env::var(name).ok())
    }

    /// What the file says, and the environment instead of it.
    fn of(raw: RawConfig, common: &Common, environment: &dyn Fn(&str) -> Option<String>) -> Result<Settings> {
        let variable = |name| environment(name).filter(|text| !text.is_empty());
        let mut faults = Vec::new();
        let database = database(&place(common, &raw), &mut faults);
        let bind = bind_or_port(&raw, variable("PORT"), &mut faults);
        let names = raw.dispatch.groups.unwrap_or_else(|| DEFAULT_GROUPS.map(String::from).to_vec());
        check_names(&names, raw.queues.as_deref().unwrap_or_default(), &mut faults);
        let groups: Vec<DispatchGroup> = names.iter().map(|g| DispatchGroup::new(g)).collect();
        let owned = owned(raw.groups.as_deref().unwrap_or_default(), &groups, &mut faults);
        let full_history = full_history(variable("STEPFAST_HISTORY").or(raw.history), &mut faults);
        let listen = listen(variable("STEPFAST_LISTEN").or(raw.listen), &mut faults);
        let signing = signing::check(&raw.signing, &signing::environment(), &mut faults);
        let secrets = secrets::check(&raw.secrets, std::env::var(secrets::VARIABLE).ok(), &mut faults);
        let channels = notify::check(&raw.notify, &notify::environment(), &mut faults);
        faults.extend(notify::unsealable(&channels, &secrets, &database));
        let actions = Actions { signing, ..Actions::check(&raw.actions, &mut faults) };
        let triggers = triggers::check(&raw.triggers, &triggers::environment(), &mut faults);
        let worker = Worker::check(raw.worker, &mut faults);
        let scheduler = Scheduler::check(raw.dispatch_scheduler, &mut faults);
        let router = Router::check(raw.router, &mut faults);
        let pools = pools(&raw.pools, &mut faults);
        let stuck = stuck::check(raw.stuck, &mut faults);
        let traces = traces::check(&raw.traces, &traces::environment(), &mut faults);
        let network = Network::check(raw.server, raw.tls, &mut faults);
        let key = common.key.as_deref().and_then(|text| {
            let key = Secret::parse(text);
            if key.is_none() {
                faults.push("--key, STEPFAST_KEY: it is not a key; one looks like sf_…_…".into());
            }
            key
        });
        if !faults.is_empty() {
            bail!(crate::Refused(faults.join("\n")));
        }
        let queues = raw.queues.unwrap_or_default().iter().map(|q| q.as_str().into()).collect();
        let max_per_tick = raw.dispatch.max_per_tick.unwrap_or(0);
        let engine = engine::Config {
            host: host_name().into(),
            groups,
            owned,
            queues,
            max_per_tick,
            full_history,
            standby: raw.standby.unwrap_or(false),
            listen,
            pools,
            channels,
            secrets,
            stuck,
            published: scheduler.iter().map(|_| crate::scheduler::PUBLISHED.into()).collect(),
            ..engine::Config::default()
        };
        Ok(Settings {
            database,
            bind,
            require_key: raw.require_key.unwrap_or(false),
            network,
            key,
            workers: raw.workers.unwrap_or(WORKERS),
            engine,
            actions,
            triggers,
            worker,
            scheduler,
            router,
            traces,
        })
    }

    /// Decide only for these groups.
    pub fn limit_to(&mut self, names: &[String]) -> Result<()> {
        let mut faults = Vec::new();
        let owned = owned(names, &self.engine.groups, &mut faults);
        if !faults.is_empty() {
            bail!(crate::Refused(faults.join("\n")));
        }
        self.engine.owned = owned;
        Ok(())
    }
}

/// The path of specification 002 is where the steps are when nothing else says so.
fn place(common: &Common, raw: &RawConfig) -> String {
    let embedded = raw.dispatch_scheduler.as_ref().and_then(|s| s.embedded_path());
    let embedded = embedded.map(|path| format!("sqlite:{path}"));
    common.db.clone().or_else(|| raw.db.clone()).or(embedded).unwrap_or_else(|| DATABASE.into())
}

/// A port of the environment takes the place of the one in the file, also of that in its address.
fn bind_or_port(raw: &RawConfig, port: Option<String>, faults: &mut Vec<String>) -> SocketAddr {
    if raw.bind.is_some() && raw.port.is_some() {
        faults.push("bind: it holds a port already; leave `port` out".into());
    }
    let told = raw.bind.as_deref().map_or(Ok(loopback(raw.port.unwrap_or(PORT))), bind);
    let mut address = told.unwrap_or_else(|fault| {
        faults.push(fault);
        loopback(PORT)
    });
    match port.map(|text| text.parse().map_err(|_| text)) {
        None => {}
        Some(Ok(port)) => address.set_port(port),
        Some(Err(text)) => {
            faults.push(format!("PORT: `{text}` is not a port; write a number up to {}", u16::MAX))
        }
    }
    address
}

fn full_history(text: Option<String>, faults: &mut Vec<String>) -> bool {
    match text.as_deref() {
        None | Some("workflow") => false,
        Some("full") => true,
        Some(other) => {
            faults.push(format!("history: `{other}` is not known; write `workflow` or `full`"));
            false
        }
    }
}

/// Where this machine finds a server that listens on every address: on its own.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    let own = match address {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    if address.ip().is_unspecified() { SocketAddr::new(own, address.port()) } else { address }
}

/// Where nobody else can come.
pub fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// An address with its port, as it is written.
pub fn bind(text: &str) -> std::result::Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("bind: `{text}` is not an address with a port; write one like 0.0.0.0:{PORT} or [::]:{PORT}")
    })
}

fn owned(names: &[String], all: &[DispatchGroup], faults: &mut Vec<String>) -> Vec<DispatchGroup> {
    if names.is_empty() {
        return all.to_vec();
    }
    for name in names.iter().filter(|n| !all.iter().any(|g| g.as_str() == n.as_str())) {
        let known: Vec<&str> = all.iter().map(DispatchGroup::as_str).collect();
        faults.push(format!("`{name}` is not a dispatch group; {}", suggest(name, &known)));
    }
    all.iter().filter(|g| names.iter().any(|n| n == g.as_str())).cloned().collect()
}

/// How nodes wake each other.
fn pools(raw: &BTreeMap<String, RawPool>, faults: &mut Vec<String>) -> Vec<Pool> {
    let mut pools = Vec::new();
    for (name, RawPool { concurrency, rate, burst }) in raw {
        let (name, concurrency, rate, burst) = (name.clone(), *concurrency, rate.clone(), *burst);
        let body = wire::PoolBody { name, concurrency, rate, burst, by: None };
        match server::convert::pool(&body) {
            Ok(pool) => {
                let told = |f: &model::Fault| format!("pools.{}.{f}", body.name);
                faults.extend(pool.faults().iter().map(told));
                pools.push(pool);
            }
            Err(fault) => faults.push(format!("pools.{}.{fault}", body.name)),
        }
    }
    pools
}

fn listen(text: Option<String>, faults: &mut Vec<String>) -> Listen {
    match text.as_deref() {
        None | Some("on") => Listen::On,
        Some("off") => Listen::Off,
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Listen::At(url.into())
        }
        Some(other) => {
            faults.push(format!(
                "listen: `{other}` is not known; write `on`, `off` or the address of a server"
            ));
            Listen::On
        }
    }
}

fn database(url: &str, faults: &mut Vec<String>) -> Database {
    url.parse().unwrap_or_else(|fault| {
        faults.push(format!("db: {fault}"));
        Database::Sqlite(Path::new("").into())
    })
}

fn read(path: Option<&Path>) -> Result<RawConfig> {
    let (path, must) = (path.unwrap_or("stepfast.toml".as_ref()), path.is_some());
    if !must && !path.exists() {
        return Ok(RawConfig::default());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text
        .parse()
        .map_err(|e| crate::Refused(format!("{} is not valid TOML: {}", path.display(), told(&e, &text))))?;
    let mut faults = unknown(&table, &KEYS, "");
    faults.extend(worker::strange(&table));
    faults.extend(dispatch_scheduler::strange(&table));
    faults.extend(stuck::strange(&table));
    faults.extend(network::strange(&table));
    if let Some(toml::Value::Table(dispatch)) = table.get("dispatch") {
        faults.extend(unknown(dispatch, &DISPATCH_KEYS, "dispatch."));
    }
    if let Some(toml::Value::Table(all)) = table.get("pools") {
        for (name, pool) in all {
            let pool = pool.as_table().into_iter();
            faults.extend(pool.flat_map(|p| unknown(p, &POOL_KEYS, &format!("pools.{name}."))));
        }
    }
    if let Some(toml::Value::Table(all)) = table.get("actions") {
        faults.extend(unknown(all, &actions::KEYS, "actions."));
        for (name, action) in all {
            let action = action.as_table().into_iter();
            faults
                .extend(action.flat_map(|a| unknown(a, &actions::ACTION_KEYS, &format!("actions.{name}."))));
        }
    }
    if !faults.is_empty() {
        bail!(crate::Refused(format!("{}:\n{}", path.display(), faults.join("\n"))));
    }
    toml::from_str(&text)
        .map_err(|e| crate::Refused(format!("{}: {}", path.display(), told(&e, &text))).into())
}

/// What is wrong with a file. Its line is shown too, unless it may hold a secret.
fn told(problem: &toml::de::Error, text: &str) -> String {
    if !["signing", "secret", "keys", "queue-url", "notify"].iter().any(|word| text.contains(word)) {
        return problem.to_string();
    }
    let before = problem.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("{} at line {}", problem.message(), before.matches('\n').count() + 1)
}

fn unknown(table: &toml::Table, known: &[&str], prefix: &str) -> Vec<String> {
    let strange = table.keys().filter(|k| !known.contains(&k.as_str()));
    strange.map(|k| format!("{prefix}{k} is not a setting; {}", suggest(k, known))).collect()
}

/// The nearest known word, or all of them.
pub fn suggest(word: &str, known: &[&str]) -> String {
    let near = known.iter().map(|k| (distance(word, k), k)).min();
    let longer = known.iter().find(|k| word.len() > 2 && k.starts_with(word));
    match longer.map(|k| (0, k)).or(near) {
        Some((d, k)) if d <= 2.max(word.len() / 3) => format!("did you mean `{k}`?"),
        _ => format!("known are {}", known.join(", ")),
    }
}

/// How many letters must change to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepfast::ExecAllow;

    fn load(text: &str) -> Result<Settings> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stepfast.toml");
        std::fs::write(&path, text).unwrap();
        Settings::load(&Common { db: None, server: None, key: None, config: Some(path), json: false })
    }

    #[test]
    fn an_unknown_key_is_refused_with_a_suggestion() {
        let refused = load("worker = 3\n[dispatch]\nmax_per_tik = 5").unwrap_err().to_string();
        assert!(refused.contains("did you mean `workers`?"), "{refused}");
        assert!(
            refused.contains("dispatch.max_per_tik is not a setting; did you mean `max_per_tick`?"),
            "{refused}"
        );
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let refused =
            load("db = \"mysql://x\"\ngroups = [\"alpa\"]\nhistory = \"some\"").unwrap_err().to_string();
        for part in ["mysql://x", "did you mean `alpha`?", "history"] {
            assert!(refused.contains(part), "{part} in {refused}");
        }
    }

    #[test]
    fn it_listens_on_loopback_unless_it_is_told_otherwise() {
        let plain = load("").unwrap();
        assert!(plain.bind.ip().is_loopback() && !plain.require_key);
        assert_eq!(load("port = 80").unwrap().bind, "127.0.0.1:80".parse().unwrap());
        let open = load("bind = \"0.0.0.0:7000\"\nrequire_key = true").unwrap();
        assert!(open.bind == "0.0.0.0:7000".parse().unwrap() && open.require_key);
        for bad in ["bind = \"example.com:80\"", "bind = \"0.0.0.0\"", "bind = \"0.0.0.0:1\"\nport = 2"] {
            let refused = load(bad).unwrap_err().to_string();
            assert!(refused.starts_with("bind:"), "{refused}");
        }
    }

    #[test]
    fn the_environment_wins_over_the_file_for_every_setting_that_both_have() {
        let common = Common { db: None, server: None, key: None, config: None, json: false };
        let of = |file: &str, variables: &[(&str, &str)]| {
            let said = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
            Settings::of(toml::from_str(file).unwrap(), &common, &said)
        };
        let said = [("PORT", "81"), ("STEPFAST_HISTORY", "full"), ("STEPFAST_LISTEN", "off")];
        let both = of("port = 80\nhistory = \"workflow\"\nlisten = \"on\"", &said).unwrap();
        assert_eq!((both.bind, both.engine.full_history), (loopback(81), true));
        assert!(matches!(both.engine.listen, Listen::Off));
        let address = of("bind = \"0.0.0.0:80\"", &said).unwrap().bind;
        assert_eq!(address, "0.0.0.0:81".parse().unwrap(), "a host that gives out ports knows best");
        assert_eq!(of("port = 80", &[("PORT", "")]).unwrap().bind, loopback(80), "empty is not said");
        let refused = of("", &[("PORT", "eighty")]).unwrap_err().to_string();
        assert_eq!(refused, "PORT: `eighty` is not a port; write a number up to 65535");
    }

    #[test]
    fn a_key_that_is_none_is_refused_and_not_repeated() {
        let common =
            Common { db: None, server: None, key: Some("hunter2".into()), config: None, json: false };
        let refused = Settings::load(&common).unwrap_err().to_string();
        assert!(refused.contains("STEPFAST_KEY") && !refused.contains("hunter2"), "{refused}");
    }

    #[test]
    fn what_the_actions_may_do_is_read_or_told() {
        let none = load("").unwrap().actions;
        assert_eq!(none.exec, ExecAllow::Nothing);
        let some = load("[actions.http]\nallow = [\"10.0.0.0/8\"]\n[actions.exec]\nallow = \"any\"")
            .unwrap()
            .actions;
        assert_eq!(some.exec, ExecAllow::Any);
        assert!(some.http.check(None, "10.1.1.1".parse().unwrap(), Some(80)).is_ok());
        let refused =
            load("[actions.http]\nallow = [\"10.0.0.1/8\", \"*\"]\n[actions.exec]\nallow = [\"convert\"]");
        let refused = refused.unwrap_err().to_string();
        for part in [
            "actions.http.allow: `10.0.0.1/8` is not the start of a network; write `10.0.0.0/8`",
            "actions.http.allow: `*` is no place",
            "actions.exec.allow: `convert` is not a whole path; write for example `/usr/bin/convert`",
        ] {
            assert!(refused.contains(part), "{part} in {refused}");
        }
        let word = load("[actions.exec]\nallow = \"/bin/true\"").unwrap_err().to_string();
        assert!(word.contains("actions.exec.allow: write a list, [\"/bin/true\"], or \"any\""), "{word}");
        let unknown = load("[actions.http]\nalow = []\n[actions.htp]\n").unwrap_err().to_string();
        assert!(unknown.contains("actions.http.alow is not a setting; did you mean `allow`?"), "{unknown}");
        assert!(unknown.contains("actions.htp is not a setting; did you mean `http`?"), "{unknown}");
        assert!(
            load("[actions.exec]\nallow = 3")
                .unwrap_err()
                .to_string()
                .contains("is a list of texts, or one word")
        );
    }

    #[test]
    fn no_fault_of_a_file_shows_a_secret() {
        for file in [
            "[signing.a]\nsecret = hunter2",
            "[signing.a]\nsecret = \"hunter2",
            "[signing.a]\nsecret = \"hunter2\"",
            "[signing]\na = \"hunter2\"",
            "signing = \"hunter2\"",
            "[secrets]\nkeys = [\"hunter2\"]",
            "[secrets]\nkeys = hunter2",
            "secrets = \"hunter2\"",
            "[[notify.channel]]\nname = \"a\"\nkind = \"webhook\"\nurl = \"https://x.example\"\nsecret = \"hunter2\"",
            "[[notify.channel]]\nurl = hunter2",
            "port = \"x\"\n[signing.a]\nsecret = \"hunter2 hunter2 hunter2 hunter2\"",
        ] {
            let refused = format!("{:?}", load(file).unwrap_err());
            assert!(!refused.contains("hunter2"), "{refused}");
        }
        let wrong = load("\n[signing.a]\nsecret = hunter2").unwrap_err().to_string();
        assert!(wrong.ends_with("at line 3"), "{wrong}");
        let settings = load("[signing.a]\nsecret = \"hunter2 hunter2 hunter2 hunter2\"").unwrap();
        assert!(settings.actions.signing.has("a") && !format!("{settings:?}").contains("hunter2"));
    }

    #[test]
    fn pools_are_read_and_their_faults_told() {
        let settings = load("[pools.card]\nconcurrency = 3\nrate = \"100/m\"\nburst = 5\n").unwrap();
        assert_eq!(settings.engine.pools[0].to_string(), "3 at once, 100/m with bursts of 5");
        let refused =
            load("[pools.a]\nrate = \"often\"\n[pools.b]\n[pools.c]\nrat = 1\n").unwrap_err().to_string();
        assert!(refused.contains("pools.c.rat is not a setting; did you mean `rate`?"), "{refused}");
        let refused = load("[pools.a]\nrate = \"often\"\n[pools.b]\n").unwrap_err().to_string();
        assert!(refused.contains("pools.a.rate: `often` is no rate; write for example"), "{refused}");
        assert!(refused.contains("pools.b.concurrency: the pool limits nothing"), "{refused}");
    }

    #[test]
    fn a_node_may_be_limited_to_some_groups() {
        let settings = load("groups = [\"beta\", \"alpha\"]").unwrap();
        assert_eq!(settings.engine.owned.len(), 2);
        assert_eq!(settings.engine.groups.len(), 10);
    }
}
