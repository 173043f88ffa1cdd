//! What the clients know of the server: where it listens, that it is down, or that the pushing is over.

use tokio::sync::watch;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The address it listens on.
    Up(String),
    Down,
    Over,
}

#[derive(Clone)]
pub struct Line(watch::Receiver<Phase>);

pub fn line() -> (watch::Sender<Phase>, Line) {
    let (sender, receiver) = watch::channel(Phase::Down);
    (sender, Line(receiver))
}

impl Line {
    /// Wait until the server is up; none when there is no more to push.
    pub async fn address(&mut self) -> Option<String> {
        match &*self.0.wait_for(|phase| *phase != Phase::Down).await.ok()? {
            Phase::Up(address) => Some(address.clone()),
            Phase::Down | Phase::Over => None,
        }
    }
}

/// A client of this machine's own server: no proxy, one kept connection, never an endless wait.
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
    use super::{Phase, line};

    #[tokio::test]
    async fn an_address_is_told_only_while_it_is_up() {
        let (sender, mut line) = line();
        sender.send_replace(Phase::Up("there".into()));
        assert_eq!(line.address().await.as_deref(), Some("there"));
        sender.send_replace(Phase::Over);
        assert_eq!(line.address().await, None);
    }
}
