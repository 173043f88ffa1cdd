//! `serve`: the engine, its workers and the HTTP server, until it is told to stop.

use crate::cli::Serve;
use crate::config::{self, Settings};
use crate::scheduler::{self, Scheduler};
use crate::tracer::Tracer;
use crate::{Local, LocalConfig, Refused, Unavailable};
use anyhow::{Result, bail};
use engine::LeftOut;
use model::limits;
use server::Site;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use stepfast::{Grace, Registry};
use store::SystemClock;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// How long jobs may go on after a stop was asked for, unless it is asked for again.
const GRACE: Duration = Duration::from_secs(20);

pub async fn run(mut settings: Settings, args: Serve) -> Result<ExitCode> {
    settings.limit_to(&args.groups)?;
    settings.bind = match (&args.bind, args.port) {
        (Some(text), _) => config::bind(text).map_err(Refused)?,
        (None, Some(port)) => config::loopback(port),
        (None, None) => settings.bind,
    };
    settings.engine.standby |= args.standby;
    settings.workers = args.workers.unwrap_or(settings.workers).min(limits::SESSION_CAPACITY_MAX);
    let mut signals = Signals::listen();
    let running = Running::start(settings).await?;
    println!("listening on {}", running.url);
    tokio::select! {
        () = signals.next() => {}
        () = running.local.engine.gone() => {
            // A node that decides nothing only holds others up; whoever started it starts it again.
            bail!(Unavailable("the engine has fallen; what it held is taken over when it is started again".into()));
        }
    }
    running.stop(signals.grace()).await?;
    Ok(ExitCode::SUCCESS)
}

/// A served engine: what `serve` and `demo` share.
pub struct Running {
    pub local: Local,
    pub url: String,
    scheduler: Option<Scheduler>,
    close: oneshot::Sender<()>,
    site: tokio::task::JoinHandle<std::io::Result<()>>,
    tracer: Option<Tracer>,
}

impl Running {
    pub async fn start(mut settings: Settings) -> Result<Running> {
        let address = settings.bind;
        let listener = match TcpListener::bind(address).await {
            Ok(listener) => listener,
            Err(problem) => {
                bail!(Unavailable(format!(
                    "cannot listen on {address}: {problem}; try another --port or --bind"
                )))
            }
        };
        let bound = listener.local_addr()?;
        if let Some(scheduler) = &settings.scheduler {
            scheduler::endpoint(scheduler, &settings.network, bound)?;
        }
        let network = settings.network.open().map_err(Refused)?;
        let url = settings.network.url(bound);
        let tracer = match &settings.traces {
            Some(traces) => {
                let (spans, tracer) = Tracer::start(traces, &settings.engine.host)?;
                settings.engine.spans = Some(spans);
                Some(tracer)
            }
            None => None,
        };
        let mut engine = settings.engine.clone();
        engine.stuck.left_out = LeftOut::Remove;
        let config =
            LocalConfig { engine, doing: "serve".into(), url: Some(url.clone()), ..LocalConfig::default() };
        let database = settings.database.clone();
        // It takes as long as its migrations take, and those who ask are not left waiting.
        let opening = tokio::task::spawn_blocking(move || Local::open(&database, config));
        let mut local = server::while_opening(&listener, &network, opening).await??;
        let clock = Arc::new(SystemClock::default());
        let mut scheduler = Scheduler::prepare(&local.engine, &settings, clock.clone(), bound).await?;
        let site = Site {
            engine: local.engine.clone(),
            database: settings.database.clone(),
            clock,
            version: env!("CARGO_PKG_VERSION"),
            host: settings.engine.host.to_string(),
            require_key: settings.require_key,
            processing: scheduler.as_ref().map(Scheduler::endpoint),
            routing: scheduler.as_ref().and_then(Scheduler::routing),
            triggers: vec![Arc::new(settings.triggers.clone())],
            network,
        };
        if let Err(refused) = server::may_bind(&site, bound).await {
            local.stop(Duration::ZERO).await?;
            bail!(Refused(refused.to_string()));
        }
        if settings.workers > 0 {
            let mut registry = Registry::default();
            match &scheduler {
                Some(_) => settings.actions.register_all_but_deliver(&mut registry)?,
                None => settings.actions.register(&mut registry)?,
            }
            let bulk = server::Bulk::new(local.engine.clone(), settings.database.clone());
            crate::bulk_job::register(&mut registry, bulk);
            local.run(registry, settings.workers).await?;
        }
        let (close, closed) = oneshot::channel::<()>();
        let site = tokio::spawn(server::serve(listener, site, async {
            let _ = closed.await;
        }));
        if let Some(scheduler) = &mut scheduler {
            scheduler.start(&local.engine).await?;
        }
        let url = settings.network.shown(bound);
        Ok(Running { local, url, scheduler, close, site, tracer })
    }

    pub async fn stop(self, grace: Grace) -> Result<()> {
        self.local.engine.announce_stop();
        if let Some(scheduler) = self.scheduler {
            scheduler.stop(grace.clone()).await;
        }
        self.local.stop(grace).await?;
        if let Some(tracer) = self.tracer {
            tracer.stop().await;
        }
        let _ = self.close.send(());
        // A page that stays open must not keep the process.
        if let Ok(ended) = tokio::time::timeout(Duration::from_secs(2), self.site).await {
            ended??;
        }
        Ok(())
    }
}

/// Ctrl-C and SIGTERM, from the moment they are listened for: whoever is told that it runs may stop it at once.
pub struct Signals {
    both: Option<[Signal; 2]>,
}

impl Signals {
    pub fn listen() -> Signals {
        let [term, interrupt] = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
        // Without its own ear the process ends the way the system ends it.
        Signals { both: term.ok().zip(interrupt.ok()).map(|(term, interrupt)| [term, interrupt]) }
    }

    pub async fn next(&mut self) {
        let Some([term, interrupt]) = &mut self.both else { return std::future::pending().await };
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    }

    /// What jobs are given after the first of them. Whoever sends a second does not wait for them.
    pub fn grace(mut self) -> Grace {
        let seconds = GRACE.as_secs();
        eprintln!(
            "stopping: jobs have {seconds} s to finish, the rest is given back; once more stops at once"
        );
        Grace::of(GRACE).unless(async move { self.next().await })
    }
}
