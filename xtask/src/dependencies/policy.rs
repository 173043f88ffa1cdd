//! What `deny.toml` says, as far as it is looked at here.

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Policy {
    pub graph: Graph,
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
pub struct Graph {
    pub targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
    build: Build,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    /// Not banned, but there may be one version of it.
    #[serde(default)]
    deny_multiple_versions: bool,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Build {
    allow_build_scripts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

impl Policy {
    /// Why a crate may not be used at all.
    pub fn banned(&self, name: &str) -> Option<&str> {
        let is_it = |ban: &&Ban| ban.name == name && !ban.deny_multiple_versions;
        self.bans.deny.iter().find(is_it).map(|ban| ban.reason.as_deref().unwrap_or("deny.toml says so"))
    }

    /// Crates of which there may be one version.
    pub fn single(&self) -> impl Iterator<Item = &str> {
        self.bans.deny.iter().filter(|ban| ban.deny_multiple_versions).map(|ban| ban.name.as_str())
    }

    pub fn allows(&self, name: &str, licence: &str) -> bool {
        let own = self.licenses.exceptions.iter().filter(|exception| exception.name == name);
        self.licenses
            .allow
            .iter()
            .chain(own.flat_map(|exception| &exception.allow))
            .any(|word| word == licence)
    }

    pub fn may_run(&self, name: &str) -> bool {
        self.bans.build.allow_build_scripts.iter().any(|known| known == name)
    }

    pub fn takes_from(&self, source: &str) -> bool {
        let registry = source.strip_prefix("registry+");
        registry.is_some_and(|registry| self.sources.allow_registry.iter().any(|known| known == registry))
    }
}
