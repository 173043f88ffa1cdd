//! What an engine is told when it starts.

use crate::{ChannelOrder, Keyring, Spans, StuckConfig};
use model::{DEFAULT_GROUPS, DispatchGroup, Name, Pool};
use store::Listen;

#[derive(Clone, Debug)]
pub struct Config {
    pub host: Name,
    /// Every dispatch group there is.
    pub groups: Vec<DispatchGroup>,
    /// The groups this node may decide for.
    pub owned: Vec<DispatchGroup>,
    /// Queues a step may name; the host's own name is always one.
    pub queues: Vec<Name>,
    /// Steps one group may dispatch in one turn; 0 is no limit.
    pub max_per_tick: usize,
    /// Keep every move as an event.
    pub full_history: bool,
    /// Turns happen only when asked for: `dispatch --once`, and tests.
    pub by_hand: bool,
    pub url: Option<String>,
    /// Take no group while a node lives that does not stand by.
    pub standby: bool,
    /// Whether nodes wake each other.
    pub listen: Listen,
    /// Actions whose steps go into the queue outside instead of to a worker.
    pub published: Vec<Name>,
    /// Pools that are made, or given these limits, when the engine starts.
    pub pools: Vec<Pool>,
    /// Channels of notices that are made, or changed to this, when the engine starts.
    pub channels: Vec<ChannelOrder>,
    /// What secret values are sealed with.
    pub secrets: Keyring,
    /// How it is looked for what is stuck.
    pub stuck: StuckConfig,
    /// Who is told what took how long, if anybody.
    pub spans: Option<Spans>,
}

impl Default for Config {
    fn default() -> Self {
        let groups: Vec<DispatchGroup> = DEFAULT_GROUPS.iter().map(|g| DispatchGroup::new(g)).collect();
        Config {
            host: "localhost".into(),
            owned: groups.clone(),
            groups,
            queues: vec!["default".into(), "priority".into()],
            max_per_tick: 0,
            full_history: false,
            by_hand: false,
            url: None,
            standby: false,
            listen: Listen::On,
            published: Vec::new(),
            pools: Vec::new(),
            channels: Vec::new(),
            secrets: Keyring::default(),
            stuck: StuckConfig::default(),
            spans: None,
        }
    }
}

impl Config {
    /// Every queue a step may name on this node.
    pub fn known_queues(&self) -> Vec<Name> {
        self.queues_and(&["default", "priority", &self.host.to_lowercase()])
    }

    fn queues_and(&self, always: &[&str]) -> Vec<Name> {
        let mut queues = self.queues.clone();
        for name in always {
            if !queues.iter().any(|q| &**q == *name) {
                queues.push((*name).into());
            }
        }
        queues
    }

    /// What has to be known where steps are made without a node, by name. A node's own queue is told by its row.
    pub fn announced(&self) -> [(&'static str, String); 3] {
        let queues = self.queues_and(&["default", "priority"]);
        let history = if self.full_history { "full" } else { "workflow" };
        let json = |names: &[Name]| serde_json::to_string(names).expect("names are texts");
        [("queues", json(&queues)), ("history", history.into()), ("published", json(&self.published))]
    }
}
