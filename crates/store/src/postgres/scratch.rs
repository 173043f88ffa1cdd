//! A database of one's own on a given server, for a measurement or a test, gone when it is dropped.

use super::link::Link;
use crate::Result;

pub struct Scratch {
    server: String,
    name: String,
    pub url: String,
}

impl Scratch {
    /// Make an empty database beside the one the address names.
    pub fn new(server: &str, name: &str) -> Result<Scratch> {
        let link = Link::open(server)?;
        link.script(&format!("drop database if exists \"{name}\" with (force)"))?;
        link.script(&format!("create database \"{name}\""))?;
        Ok(Scratch { server: server.into(), name: name.into(), url: renamed(server, name) })
    }
    /// Another with the same rows. The server refuses as long as somebody is connected to this one.
    pub fn copy(&self, name: &str) -> Result<Scratch> {
        let link = Link::open(&self.server)?;
        link.script(&format!("drop database if exists \"{name}\" with (force)"))?;
        link.script(&format!("create database \"{name}\" template \"{}\"", self.name))?;
        Ok(Scratch { server: self.server.clone(), name: name.into(), url: renamed(&self.server, name) })
    }
    /// Look at the database as it is now, until the answer is dropped: what is deleted meanwhile cannot be cleaned up.
    pub fn hold_snapshot(&self) -> Result<HeldSnapshot> {
        let link = Link::open(&self.url)?;
        link.script(
            "set idle_in_transaction_session_timeout = 0; begin isolation level repeatable read; select count(*) from steps",
        )?;
        Ok(HeldSnapshot(link))
    }
}

/// An open transaction that has read and does not go on.
pub struct HeldSnapshot(#[expect(dead_code, reason = "it is held, not used")] Link);

impl Drop for Scratch {
    fn drop(&mut self) {
        let gone = Link::open(&self.server)
            .and_then(|link| link.script(&format!("drop database if exists \"{}\" with (force)", self.name)));
        if let Err(problem) = gone {
            tracing::warn!(%problem, database = self.name, "a scratch database is left behind");
        }
    }
}

/// The same address with another database.
fn renamed(url: &str, name: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, None), |(a, q)| (a, Some(q)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("postgres", address));
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    let query = query.map(|q| format!("?{q}")).unwrap_or_default();
    format!("{scheme}://{host}/{name}{query}")
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn only_the_name_changes() {
        assert_eq!(
            renamed("postgres://a:b@h:5/x?sslmode=disable", "y"),
            "postgres://a:b@h:5/y?sslmode=disable"
        );
        assert_eq!(renamed("postgres://h", "y"), "postgres://h/y");
    }
}
