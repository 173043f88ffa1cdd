//! What the clients know of the servers: where they listen, that none is up, or that the pushing is over.

use super::dice::Dice;
use tokio::sync::watch;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The addresses they listen on; none while all are down.
    Up(Vec<String>),
    Over,
}

#[derive(Clone)]
pub struct Line(watch::Receiver<Phase>);

pub fn line() -> (watch::Sender<Phase>, Line) {
    let (sender, receiver) = watch::channel(Phase::Up(Vec::new()));
    (sender, Line(receiver))
}

impl Line {
    /// Wait until a server is up and take one of them; none when there is no more to push.
    pub async fn address(&mut self, dice: &mut Dice) -> Option<String> {
        let down = Phase::Up(Vec::new());
        match &*self.0.wait_for(|phase| *phase != down).await.ok()? {
            Phase::Up(addresses) => Some(dice.choose(addresses).clone()),
            Phase::Over => None,
        }
    }
}

/// A client of this machine's own servers: no proxy, one kept connection, never an endless wait.
pub fn http_client() -> anyhow::Result<reqwest::Client> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(1)
        .timeout(std::time::Duration::from_secs(5))
        .build()?;
    Ok(client)
}

#[cfg(test)]
mod tests {
    use super::{Dice, Phase, line};

    #[tokio::test]
    async fn an_address_is_told_only_while_it_is_up() {
        let (sender, mut line) = line();
        let mut dice = Dice::new(1);
        sender.send_replace(Phase::Up(vec!["there".into()]));
        assert_eq!(line.address(&mut dice).await.as_deref(), Some("there"));
        sender.send_replace(Phase::Over);
        assert_eq!(line.address(&mut dice).await, None);
    }

    #[tokio::test]
    async fn every_address_is_used() {
        let (sender, mut line) = line();
        let mut dice = Dice::new(1);
        sender.send_replace(Phase::Up(vec!["here".into(), "there".into()]));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..50 {
            seen.extend(line.address(&mut dice).await);
        }
        assert_eq!(Vec::from_iter(seen), ["here", "there"]);
    }
}
