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
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepfast::{Grace, Processor, Registry, register_deliver};
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
        bound: SocketAddr,
    ) -> anyhow::Result<Option<Scheduler>> {
        let Some(config) = &settings.scheduler else { return Ok(None) };
        let endpoint = endpoint(config, &settings.network, bound)?;
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
            queue: queue_name(&config.queue).into(),
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
    pub async fn stop(self, grace: Grace) {
        if let Some(publisher) = self.publisher {
            publisher.stop().await;
        }
        if let Some(router) = self.router {
            router.0.stop(Duration::ZERO).await;
        }
        self.endpoint.processor.stop(grace).await;
    }
}

/// Where whoever receives a message calls: as it is written, else this server. With a broker they may be anywhere, and a server
/// that listens on every address does not know by which of them it is found.
pub fn endpoint(
    config: &config::Scheduler,
    network: &config::Network,
    bound: SocketAddr,
) -> Result<String, Refused> {
    if let Some(written) = &config.processing_endpoint {
        return Ok(written.clone());
    }
    if config.queue != Queue::Embedded && bound.ip().is_unspecified() {
        let port = bound.port();
        return Err(Refused(format!(
            "dispatch-scheduler.processing-endpoint: the server listens on every address ({bound}), and routers on other machines \
             need one that leads here; write processing-endpoint = \"http://HOST:{port}{PATH}\" with a name or address that they \
             reach, or --bind ADDRESS:{port}"
        )));
    }
    Ok(format!("{}{PATH}", network.url(bound)))
}

/// What a queue is called on record: where it is, without what is secret or may change from start to start.
fn queue_name(queue: &Queue) -> String {
    let url = match queue {
        Queue::Embedded => return "embedded".into(),
        Queue::Sqs(url) | Queue::ActiveMq(url) => url.split(['?', '#']).next().unwrap_or_default(),
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    format!("{scheme}://{host}/{path}")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(queue: Queue, written: Option<&str>) -> config::Scheduler {
        let plain = config::Scheduler::check(Some(Default::default()), &mut Vec::new());
        let processing_endpoint = written.map(String::from);
        config::Scheduler {
            queue,
            processing_endpoint,
            ..plain.expect("nothing is wrong with what is usual")
        }
    }

    /// Issue 5: a server on every address told routers on other machines to call their own.
    #[test]
    fn with_a_broker_a_server_on_every_address_has_to_say_where_it_is_found() {
        let broker = || Queue::ActiveMq("stomp://h:61613/q".into());
        let told = |queue, written, bound: &str| {
            let bound = bound.parse().expect("an address");
            endpoint(&scheduler(queue, written), &config::Network::default(), bound)
                .unwrap_or_else(|refused| refused.0)
        };
        assert_eq!(told(broker(), None, "10.0.0.5:7837"), "http://10.0.0.5:7837/api/dispatch/process");
        assert_eq!(told(broker(), None, "127.0.0.1:7837"), "http://127.0.0.1:7837/api/dispatch/process");
        assert_eq!(told(broker(), Some("http://lb/x"), "0.0.0.0:7837"), "http://lb/x");
        assert_eq!(told(Queue::Embedded, None, "0.0.0.0:7837"), "http://127.0.0.1:7837/api/dispatch/process");
        assert_eq!(told(Queue::Embedded, None, "[::]:7837"), "http://[::1]:7837/api/dispatch/process");
        for bound in ["0.0.0.0:7837", "[::]:7837"] {
            let refused = told(broker(), None, bound);
            let how = "write processing-endpoint = \"http://HOST:7837/api/dispatch/process\"";
            assert!(refused.contains(bound) && refused.contains(how), "{refused}");
        }
    }

    #[test]
    fn the_name_of_a_queue_tells_no_secret() {
        let told = |url: &str| queue_name(&Queue::ActiveMq(url.into()));
        assert_eq!(told("stomp://me:secret@h:61613/q?heart-beat-ms=900"), "stomp://h:61613/q");
        assert_eq!(told("sqs+http://h/000/q.fifo?endpoint=http%3A%2F%2Fx"), "sqs+http://h/000/q.fifo");
        assert_eq!(queue_name(&Queue::Embedded), "embedded");
    }
}
