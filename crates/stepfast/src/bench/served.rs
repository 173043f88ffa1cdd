//! An engine behind HTTP on this machine, for measurements that go that way.

use super::rig::Rig;
use crate::Local;
use anyhow::Result;
use server::Site;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use store::SystemClock;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub struct Served {
    pub local: Local,
    pub address: SocketAddr,
    pub url: String,
    close: oneshot::Sender<()>,
    site: JoinHandle<std::io::Result<()>>,
}

impl Served {
    pub async fn open(rig: &Rig, name: &str) -> Result<Served> {
        let local = rig.open(name)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let url = format!("http://{address}");
        let site = Site {
            engine: local.engine.clone(),
            database: rig.database(name)?,
            clock: Arc::new(SystemClock::default()),
            version: env!("CARGO_PKG_VERSION"),
            host: "bench".into(),
            require_key: false,
            processing: None,
            routing: None,
            triggers: Vec::new(),
            network: server::Network::default(),
        };
        let (close, closed) = oneshot::channel::<()>();
        let site = tokio::spawn(server::serve(listener, site, async {
            let _ = closed.await;
        }));
        Ok(Served { local, address, url, close, site })
    }

    pub async fn stop(self, grace: Duration) -> Result<()> {
        self.local.stop(grace).await?;
        let _ = self.close.send(());
        Ok(self.site.await??)
    }
}
