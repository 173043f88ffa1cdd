//! The nodes of a round: started, killed, frozen and cut off, each known to the clients for as long as it serves.

use super::fault::Kind;
use super::proxy::{Cut, Proxy};
use super::takeover;
use crate::crash::database::Database;
use crate::crash::dice::Dice;
use crate::crash::phase::Phase;
use crate::crash::server::{Post, Server};
use crate::postgres::Postgres;
use crate::stopwatch::Stopwatch;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;

/// A frozen node wakes up when its groups are long another's.
const AFTER_TAKEOVER: Duration = Duration::from_millis(1500);
/// How long to wait for a chance to cut.
const CUT_LIMIT: Duration = Duration::from_secs(8);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// Bytes of a node until all its connections are cut.
const CUT_BYTES: (u64, u64) = (1, 200_000);

pub struct Ground<'a> {
    pub binary: &'a Path,
    pub directory: &'a Path,
    pub postgres: &'a Postgres,
    pub database: Database,
}

impl Ground<'_> {
    /// What a round that failed leaves behind beside its logs.
    pub fn keep_database(&self) {
        if let Err(problem) = self.postgres.dump(&self.directory.join("database.sql")) {
            eprintln!("xtask: the database was not kept: {problem:#}");
        }
    }
}

pub struct Nodes<'a> {
    ground: &'a Ground<'a>,
    /// Between the first node and PostgreSQL.
    proxy: Proxy,
    posts: Vec<Post>,
    servers: Vec<Option<Server>>,
    phase: watch::Sender<Phase>,
    pub logs: Vec<PathBuf>,
    pub takeover: Duration,
    pub lost_leases: u64,
    pub faults: BTreeMap<Kind, u64>,
}

impl<'a> Nodes<'a> {
    pub async fn start(
        ground: &'a Ground<'a>,
        posts: Vec<Post>,
        phase: watch::Sender<Phase>,
    ) -> Result<Nodes<'a>> {
        let proxy = Proxy::start(&ground.postgres.url)?;
        let servers = posts.iter().map(|_| None).collect();
        let (logs, faults, takeover) = (Vec::new(), BTreeMap::new(), Duration::ZERO);
        let mut nodes =
            Nodes { ground, proxy, posts, servers, phase, logs, takeover, lost_leases: 0, faults };
        for n in 0..nodes.posts.len() {
            nodes.up(n).await?;
        }
        let wrong = nodes.posts.iter().filter(|post| post.clock.is_some()).count();
        nodes.faults.extend((wrong > 0).then_some((Kind::WrongClock, wrong as u64)));
        Ok(nodes)
    }

    async fn up(&mut self, n: usize) -> Result<()> {
        let Ground { binary, directory, postgres, .. } = self.ground;
        let log = directory.join(format!("server-{}-of-node-{n}.log", self.logs.len()));
        self.logs.push(log.clone());
        let url = if n == 0 { self.proxy.url(&postgres.url) } else { postgres.url.clone() };
        let server = Server::start(binary, &url, &self.posts[n], log).await;
        self.servers[n] = Some(server.with_context(|| format!("node {n} did not start"))?);
        self.announce();
        Ok(())
    }

    fn down(&mut self, n: usize) -> Result<Server> {
        let server = self.servers[n].take().context("a node that is down cannot be troubled")?;
        self.announce();
        Ok(server)
    }

    fn addresses(&self) -> Vec<String> {
        self.servers.iter().flatten().map(|server| server.address.clone()).collect()
    }

    fn announce(&self) {
        self.phase.send_replace(Phase::Up(self.addresses()));
    }

    fn count(&mut self, kind: Kind) {
        *self.faults.entry(kind).or_default() += 1;
    }

    async fn taken_over(&mut self, watch: Stopwatch) -> Result<()> {
        let took = takeover::measure(&self.ground.database, &self.addresses(), watch).await?;
        self.takeover = self.takeover.max(took);
        Ok(())
    }

    pub async fn strike(&mut self, kind: Kind, n: usize, dice: &mut Dice) -> Result<()> {
        let struck = match kind {
            Kind::KillNode | Kind::KillWorker | Kind::KillFar => match dice.between(0, 1) {
                0 => self.kill(n).await,
                _ => self.kill_and_replace(n).await,
            },
            Kind::CrashDatabase => tokio::task::block_in_place(|| self.ground.postgres.crash()),
            Kind::Freeze => self.freeze(n).await,
            Kind::CutConnection => return self.cut(dice).await,
            Kind::WrongClock => return Ok(()),
        };
        struck.with_context(|| format!("{kind} (node {n})"))?;
        self.count(kind);
        Ok(())
    }

    /// SIGKILL; the others take over, and it comes back.
    async fn kill(&mut self, n: usize) -> Result<()> {
        let server = self.down(n)?;
        let watch = Stopwatch::start();
        server.kill().await?;
        self.taken_over(watch).await?;
        self.up(n).await
    }

    /// SIGKILL, and its successor is there before the others have taken over.
    async fn kill_and_replace(&mut self, n: usize) -> Result<()> {
        let server = self.down(n)?;
        let watch = Stopwatch::start();
        server.kill().await?;
        self.up(n).await?;
        self.taken_over(watch).await
    }

    /// It stands still until its groups are another's, and goes on as if nothing had happened.
    async fn freeze(&mut self, n: usize) -> Result<()> {
        let mut server = self.down(n)?;
        let watch = Stopwatch::start();
        server.freeze().await?;
        let taken_over = self.taken_over(watch).await;
        tokio::time::sleep(AFTER_TAKEOVER).await;
        server.thaw().await?;
        self.servers[n] = Some(server);
        self.announce();
        // It lives, and everything it had is another's.
        self.lost_leases += u64::from(taken_over.is_ok());
        taken_over
    }

    async fn cut(&mut self, dice: &mut Dice) -> Result<()> {
        let bytes = dice.between(CUT_BYTES.0, CUT_BYTES.1) as usize;
        let inside = dice.between(1, 6) as usize;
        let ways = [
            Cut::Bytes(bytes),
            Cut::BeforeCommit,
            Cut::InsideCommit(inside),
            Cut::AfterCommit,
            Cut::BeforeAnswer,
        ];
        let before = self.proxy.cuts();
        self.proxy.order(*dice.choose(&ways));
        let watch = Stopwatch::start();
        while self.proxy.cuts() == before && watch.elapsed() < CUT_LIMIT {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        self.proxy.call_off();
        if self.proxy.cuts() > before {
            self.count(Kind::CutConnection);
        }
        Ok(())
    }

    /// SIGTERM to all, one after the other.
    pub async fn stop(&mut self) -> Result<()> {
        for (n, server) in self.servers.iter_mut().enumerate() {
            if let Some(server) = server.take() {
                server.stop().await.with_context(|| format!("node {n}"))?;
            }
        }
        Ok(())
    }

    /// Nobody pushes any more.
    pub fn over(&self) {
        self.phase.send_replace(Phase::Over);
    }
}
