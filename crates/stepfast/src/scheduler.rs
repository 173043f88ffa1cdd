//! Puts the parts of the dispatch scheduler together: the queue, whoever publishes to it, whoever it sends, and the processing
//! endpoint they call.

use crate::config::{self, Queue};
use crate::{Refused, config::Settings};
use anyhow::bail;
use engine::{Clock, Engine, EngineError, Publisher, PublisherConfig, Trouble};
use model::{Name, NotBegun, StepId};
use router::{PoolConfig, Router, RouterConfig, Targets};
use serde_json::Value;
use server::{Later, Processed, Processing, Routing};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepfast::{Processor, Registry, register_deliver};
use transport::Transport;
use transport::activemq::ActiveMq;
use transport::embedded::EmbeddedQueue;
use transport::token::{self, TokenFault, TokenKey};

/// What goes over the queue.
pub const PUBLISHED: &str = "deliver";
const PATH: &str = "/api/dispatch/process";
/// A token outlives whatever it is for; an old attempt is refused by its number.
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 3_600);
const KEY_BYTES: usize = 32;

pub struct Scheduler {
    endpoint: Arc<Endpoint>,
    transport: Arc<dyn Transport>,
    publishing: PublisherConfig,
    publisher: Option<Publisher>,
    router: Option<Arc<Routed>>,
}

/// A router as the server shows it.
pub struct Routed(pub router::Running);

impl Routing for Routed {
    fn status(&self) -> Value {
        serde_json::to_value(self.0.status()).unwrap_or_default()
    }
    fn reset_breakers(&self, target: Option<&str>) -> bool {
        match target {
            Some(target) => self.0.reset_breaker(target),
            None => {
                self.0.reset_breakers();
                true
            }
        }
    }
    fn set_active(&self, pool: &str, active: bool) -> bool {
        let set = if active { self.0.activate(pool) } else { self.0.suspend(pool) };
        set.is_ok()
    }
    fn set_pools(&self, pools: Value) -> Result<(), String> {
        let pools: Vec<PoolConfig> = serde_json::from_value(pools).map_err(|problem| problem.to_string())?;
        self.0.set_pools(&pools);
        Ok(())
    }
}

/// What the server calls for the processing endpoint.
pub struct Endpoint {
    processor: Processor,
    key: TokenKey,
    clock: Arc<dyn Clock>,
    trouble: OnceLock<Trouble>,
}

impl Scheduler {
    /// The endpoint and the router first: a message must find them.
    pub async fn prepare(
        engine: &Engine,
        settings: &Settings,
        clock: Arc<dyn Clock>,
        url: &str,
    ) -> anyhow::Result<Option<Scheduler>> {
        let Some(config) = &settings.scheduler else { return Ok(None) };
        let endpoint = config.processing_endpoint.clone().unwrap_or_else(|| format!("{url}{PATH}"));
        let mut registry = Registry::new();
        register_deliver(&mut registry, &settings.actions.http, &settings.actions.signing)?;
        let host: Name = settings.engine.host.clone();
        let processor = Processor::start(engine.clone(), registry, host, clock.clone()).await?;
        let key = config.key.clone().map_or_else(random_key, Ok)?;
        let (transport, router): (Arc<dyn Transport>, _) = match &config.queue {
            Queue::Embedded => {
                let queue = EmbeddedQueue::default();
                let router = embedded_router(settings, config, &endpoint, &queue)?;
                (Arc::new(queue.connect()), Some(Arc::new(Routed(router))))
            }
            Queue::Sqs(url) | Queue::ActiveMq(url) => (connect(url).await?, None),
        };
        let publishing = PublisherConfig {
            endpoint,
            default_pool: config.default_pool.clone(),
            key: key.clone(),
            clock: clock.clone(),
            token_life: TOKEN_LIFE.max(2 * config.stale_after),
            concurrency: config.max_concurrent_groups,
            batch: config.batch_size,
            capacity: config.max_queued,
            stale_after: config.stale_after,
            look_every: config.stale_every,
        };
        let endpoint = Arc::new(Endpoint { processor, key, clock, trouble: OnceLock::new() });
        Ok(Some(Scheduler { endpoint, transport, publishing, publisher: None, router }))
    }

    pub fn endpoint(&self) -> Arc<dyn Processing> {
        self.endpoint.clone()
    }
    pub fn routing(&self) -> Option<Arc<dyn Routing>> {
        Some(self.router.clone()?)
    }

    /// Publish, now that the endpoint answers.
    pub async fn start(&mut self, engine: &Engine) -> anyhow::Result<()> {
        let (transport, config) = (self.transport.clone(), self.publishing.clone());
        let publisher = Publisher::start(engine.clone(), transport, config).await?;
        let _ = self.endpoint.trouble.set(publisher.trouble.clone());
        self.publisher = Some(publisher);
        Ok(())
    }

    /// Nothing more is published or received; deliveries may end, and are reported.
    pub async fn stop(self, grace: Duration) {
        if let Some(publisher) = self.publisher {
            publisher.stop().await;
        }
        if let Some(router) = self.router {
            router.0.stop(Duration::ZERO).await;
        }
        self.endpoint.processor.stop(grace).await;
    }
}

fn embedded_router(
    settings: &Settings,
    config: &config::Scheduler,
    endpoint: &str,
    queue: &EmbeddedQueue,
) -> anyhow::Result<router::Running> {
    let targets = Targets::only([endpoint]).map_err(|faults| Refused(faults.join("\n")))?;
    let config = RouterConfig {
        name: settings.engine.host.to_string(),
        pools: settings.router.pools.clone(),
        default_pool: config.default_pool.clone(),
        mediation_timeout: config.mediation_timeout,
        poll_wait: config.poll_interval,
        ..RouterConfig::new(targets)
    };
    Ok(Router::start(config, Arc::new(queue.connect()))?)
}

/// A broker by its address.
pub async fn connect(url: &str) -> anyhow::Result<Arc<dyn Transport>> {
    let refused = |fault: transport::AddressFault| Refused(format!("queue-url: {fault}"));
    Ok(match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("stomp" | "stomp+ssl") => Arc::new(ActiveMq::new(url).map_err(refused)?),
        #[cfg(feature = "sqs")]
        Some("sqs" | "sqs+http") => Arc::new(transport_sqs::Sqs::new(url).await.map_err(refused)?),
        _ => bail!(Refused(
            "queue-url: it begins with stomp://, stomp+ssl://, sqs:// or sqs+http://; see docs/transports.md"
                .into()
        )),
    })
}

fn random_key() -> anyhow::Result<TokenKey> {
    Ok(TokenKey::new(&engine::chance::<KEY_BYTES>()?)?)
}

impl Endpoint {
    async fn run(&self, message_id: &str, token: &str) -> Processed {
        let now = self.clock.now().whole_seconds();
        let attempt = match token::verify(&self.key, message_id, token, now) {
            Ok(verified) => verified.attempt,
            Err(fault @ (TokenFault::Malformed | TokenFault::Forged | TokenFault::Expired)) => {
                return processed(401, false, fault);
            }
        };
        let Ok(step) = message_id.parse::<StepId>() else {
            return processed(200, true, "there is no such step");
        };
        match self.processor.process(step, attempt).await {
            Ok(Ok(())) => processed(200, true, ""),
            Ok(Err(no)) => processed(200, true, told(no)),
            Err(problem @ (EngineError::Unavailable(_) | EngineError::Stopping | EngineError::NoSession)) => {
                processed(503, false, problem)
            }
            Err(problem) => processed(500, false, problem),
        }
    }
}

fn processed(status: u16, ack: bool, message: impl ToString) -> Processed {
    Processed { status, ack, message: message.to_string() }
}

fn told(no: NotBegun) -> &'static str {
    match no {
        NotBegun::Unknown => "there is no such step",
        NotBegun::Old => "another attempt was queued since; this message is outdated",
        NotBegun::Begun => "somebody has begun it",
        NotBegun::Ended => "it has ended",
    }
}

/// The endpoint behind its pointer, which a call keeps as long as it needs it.
impl Processing for Endpoint {
    fn process(self: Arc<Self>, message_id: String, token: String) -> Later<Processed> {
        Box::pin(async move { self.run(&message_id, &token).await })
    }
    fn trouble(&self) -> Option<String> {
        self.trouble.get().and_then(Trouble::told)
    }
}
