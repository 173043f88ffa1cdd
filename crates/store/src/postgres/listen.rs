//! Nodes wake each other through `LISTEN` and `NOTIFY`, on connections of their own.
//!
//! Why    a notification inside a hot transaction makes all of them queue behind one lock. Here it goes out after the commit,
//!        many in one statement. It is a hint: one that is lost costs time until the next look, never work.

use super::address::Address;
use super::link::{Prepared, spawn};
use crate::{Wake, WakeUp};
use model::{DispatchGroup, NodeId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

const CHANNEL: &str = "stepfast";
/// Wakes every node, in one statement.
pub const EVERYBODY: &str = "select 1 from pg_notify('stepfast', 'everybody')";
/// Wait before a listener that was cut connects again.
const AGAIN: Duration = Duration::from_secs(1);

/// The way to the other nodes.
pub struct Bell {
    ring: mpsc::UnboundedSender<Wake>,
    hears: Arc<AtomicBool>,
    /// The listener ends when this is dropped.
    _end: oneshot::Sender<()>,
}

impl Bell {
    /// Hear the others from now on, and be able to wake them.
    pub fn start(address: Address, wake: WakeUp) -> Bell {
        let (ring, rung) = mpsc::unbounded_channel();
        spawn(ring_out(address.clone(), rung));
        let (hears, (end, ended)) = (Arc::new(AtomicBool::new(false)), oneshot::channel::<()>());
        let listening = hears.clone();
        spawn(async move {
            // Whoever asked to be woken is gone with the bell.
            tokio::select! {
                _ = ended => {}
                () = hear_on(&address, &wake, &listening) => {}
            }
        });
        Bell { ring, hears, _end: end }
    }
    /// Others can wake this node now.
    pub fn hears(&self) -> bool {
        self.hears.load(Ordering::Relaxed)
    }
    pub fn ring(&self, wake: Vec<Wake>) {
        for one in wake {
            // A bell that is gone rings for nobody.
            let _ = self.ring.send(one);
        }
    }
}

async fn hear_on(address: &Address, wake: &WakeUp, listening: &AtomicBool) {
    loop {
        let cut = hear(address, wake, listening).await.err();
        listening.store(false, Ordering::Relaxed);
        let problem = cut.map_or_else(|| "the connection ended".into(), |e| e.to_string());
        tracing::warn!(problem, "the listener was cut; nodes look for each other until it is back");
        tokio::time::sleep(AGAIN).await;
    }
}

async fn hear(address: &Address, wake: &WakeUp, listening: &AtomicBool) -> crate::Result<()> {
    let mut heard = address.listen(CHANNEL).await?;
    listening.store(true, Ordering::Relaxed);
    // What was missed while nobody listened.
    wake(Wake::Everybody);
    while let Some(text) = heard.next().await {
        if let Some(one) = read(&text) {
            wake(one);
        }
    }
    Ok(())
}

async fn ring_out(address: Address, mut rung: mpsc::UnboundedReceiver<Wake>) {
    let mut client: Option<Prepared> = None;
    while let Some(first) = rung.recv().await {
        let mut names = BTreeSet::from([write(&first)]);
        while let Ok(more) = rung.try_recv() {
            names.insert(write(&more));
        }
        let names: Vec<String> = names.into_iter().collect();
        if client.as_ref().is_none_or(|p| p.client.is_closed()) {
            client = address.connect().await.ok();
        }
        let Some(connected) = &client else { continue };
        let text = "select pg_notify($1, name) from unnest($2::text[]) name";
        if let Err(problem) = connected.client.query(text, &[&CHANNEL, &names]).await {
            tracing::debug!(%problem, "other nodes were not woken");
            client = None;
        }
    }
}

fn write(wake: &Wake) -> String {
    match wake {
        Wake::Group(group) => format!("group {group}"),
        Wake::Node(node) => format!("node {node}"),
        Wake::Everybody => "everybody".into(),
    }
}

fn read(text: &str) -> Option<Wake> {
    match text.split_once(' ') {
        Some(("group", name)) => Some(Wake::Group(DispatchGroup::new(name))),
        Some(("node", id)) => id.parse::<NodeId>().ok().map(Wake::Node),
        _ => (text == "everybody").then_some(Wake::Everybody),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rung_is_heard() {
        for wake in [Wake::Group(DispatchGroup::new("alpha")), Wake::Node(NodeId::of(7)), Wake::Everybody] {
            assert_eq!(read(&write(&wake)), Some(wake));
        }
        assert_eq!(read("something else"), None);
    }
}
