//! Publishes what the outbox holds: takes messages from the engine once they are on record, and says what came of each.
//!
//! Why    the engine must not wait for a broker. One that is away is tried again with growing pauses while the engine runs on, and
//!        nothing is forgotten meanwhile; a message that the broker will never take goes back to its step.

mod tray;

use crate::request::{Attending, Errand, Outgoing, Publication};
use crate::{Engine, EngineError};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use model::Name;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::Clock;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{info, warn};
use transport::token::{self, TokenKey};
use transport::{MediationType, Message, MessagePointer, Published, Transport, TransportError};
use tray::Tray;

/// How long the broker may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Wait before the engine is told again what it could not store.
const TELL_AGAIN: Duration = Duration::from_millis(200);

/// How messages are made and sent.
#[derive(Clone)]
pub struct PublisherConfig {
    /// What the queue is called on record; messages in a queue of another name are published again.
    pub queue: Name,
    /// Where whoever receives a message calls.
    pub endpoint: String,
    /// For steps without a pool of their own.
    pub default_pool: String,
    pub key: TokenKey,
    pub clock: Arc<dyn Clock>,
    /// How long a token is good for.
    pub token_life: Duration,
    /// Calls to the broker at once, and messages in one call.
    pub concurrency: usize,
    pub batch: usize,
    /// Messages in the queue at once.
    pub capacity: usize,
    /// A message that nobody came for in so long is lost.
    pub stale_after: Duration,
    pub look_every: Duration,
}

/// Why nothing can be published now, for whoever asks how things are.
#[derive(Clone, Default)]
pub struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    pub fn told(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    fn tell(&self, trouble: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

pub struct Publisher {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
    pub trouble: Trouble,
}

impl Publisher {
    pub async fn start(
        engine: Engine,
        transport: Arc<dyn Transport>,
        config: PublisherConfig,
    ) -> Result<Publisher, EngineError> {
        let (hand, work) = mpsc::unbounded_channel();
        let durable = transport.capabilities().durable;
        let PublisherConfig { capacity, stale_after, look_every, .. } = config;
        let queue = config.queue.clone();
        engine.attend(Attending { hand, queue, capacity, durable, stale_after, look_every }).await?;
        let (stop, stopped) = oneshot::channel();
        let trouble = Trouble::default();
        let desk = Desk {
            engine,
            transport,
            config,
            trouble: trouble.clone(),
            tray: Tray::default(),
            sending: FuturesUnordered::new(),
            telling: FuturesUnordered::new(),
            done: Vec::new(),
            away: None,
        };
        Ok(Publisher { stop, task: tokio::spawn(desk.run(work, stopped)), trouble })
    }

    /// What is not published stays on record for the next.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

/// What the broker said to a call; of what has no answer nobody knows what became of it.
struct Sent {
    batch: Vec<Outgoing>,
    answers: Vec<Result<Published, TransportError>>,
    /// It could not be reached.
    away: Option<String>,
}

type Told = (Vec<Publication>, Result<(), EngineError>);

struct Desk {
    engine: Engine,
    transport: Arc<dyn Transport>,
    config: PublisherConfig,
    trouble: Trouble,
    tray: Tray,
    sending: FuturesUnordered<BoxFuture<'static, Sent>>,
    telling: FuturesUnordered<BoxFuture<'static, Told>>,
    /// What the engine is to be told next.
    done: Vec<Publication>,
    away: Option<Away>,
}

/// The broker is away.
struct Away {
    pause: Duration,
    /// When it is tried again; none while that is on its way.
    resume: Option<Instant>,
}

impl Desk {
    async fn run(mut self, mut work: mpsc::UnboundedReceiver<Errand>, mut stopped: oneshot::Receiver<()>) {
        loop {
            self.send();
            self.tell();
            let resume = self.away.as_ref().and_then(|away| away.resume);
            tokio::select! {
                biased;
                _ = &mut stopped => return,
                Some(sent) = self.sending.next(), if !self.sending.is_empty() => self.sent(sent),
                Some(told) = self.telling.next(), if !self.telling.is_empty() => self.told(told),
                errand = work.recv() => match errand {
                    Some(errand) => {
                        self.take(errand);
                        while let Ok(errand) = work.try_recv() {
                            self.take(errand);
                        }
                    }
                    None => return,
                },
                () = sleep_until(resume), if resume.is_some() => self.try_again(),
            }
        }
    }

    fn take(&mut self, errand: Errand) {
        match errand {
            Errand::Publish(message) => self.tray.take(message),
            Errand::Forget { step, attempt } => self.tray.forget(step, attempt),
        }
    }

    fn send(&mut self) {
        while self.away.is_none()
            && self.sending.len() < self.config.concurrency.max(1)
            && !self.tray.is_empty()
        {
            self.send_one();
        }
    }

    /// One call tries; when it gets through, all do. With nothing to send, the broker is asked how it is.
    fn try_again(&mut self) {
        if let Some(away) = &mut self.away {
            away.resume = None;
        }
        match self.tray.is_empty() {
            true => self.ask(),
            false => self.send_one(),
        }
    }

    fn ask(&mut self) {
        let transport = self.transport.clone();
        self.sending.push(Box::pin(async move {
            let away = match tokio::time::timeout(PATIENCE, transport.probe()).await {
                Ok(Ok(())) => None,
                Ok(Err(problem)) => Some(problem.to_string()),
                Err(_) => Some("it did not answer".into()),
            };
            Sent { batch: Vec::new(), answers: Vec::new(), away }
        }));
    }

    fn send_one(&mut self) {
        let most = self.config.batch.clamp(1, self.transport.capabilities().publish_batch_max);
        let batch = self.tray.next(most);
        let messages = batch.iter().map(|message| self.message(message)).collect();
        let transport = self.transport.clone();
        self.sending.push(Box::pin(async move {
            let answers = tokio::time::timeout(PATIENCE, transport.publish(messages)).await;
            Sent { batch, answers: answers.unwrap_or_default(), away: None }
        }));
    }

    fn message(&self, outgoing: &Outgoing) -> Message {
        let Outgoing { step, attempt, pool, message_group } = outgoing;
        let id = step.to_string();
        let expires_at = (self.config.clock.now() + self.config.token_life).whole_seconds();
        let auth_token = token::sign(&self.config.key, &id, *attempt, expires_at);
        let pool_code = pool.as_deref().unwrap_or(&self.config.default_pool).to_string();
        let pointer = MessagePointer {
            id,
            pool_code,
            auth_token,
            mediation_type: MediationType::Http,
            mediation_target: self.config.endpoint.clone(),
            message_group_id: message_group.as_ref().map(|group| group.to_string()),
        };
        Message { pointer, attempt: *attempt }
    }

    fn sent(&mut self, Sent { batch, answers, mut away }: Sent) {
        let silence = || Err(TransportError::Unavailable("it did not answer".into()));
        let answers = answers.into_iter().chain(std::iter::repeat_with(silence));
        for (message, answer) in batch.into_iter().zip(answers) {
            let problem = match answer {
                Ok(Published::New | Published::Duplicate) => None,
                // Nobody knows whether it was taken: the same attempt is the same message.
                Err(TransportError::Unavailable(problem)) => {
                    away = Some(problem);
                    self.tray.put_back(message);
                    continue;
                }
                Err(refused) => Some(refused.to_string()),
            };
            self.done.push(Publication { step: message.step, attempt: message.attempt, problem });
        }
        match away {
            Some(problem) => self.stand_by(problem),
            None => self.is_back(),
        }
    }

    fn is_back(&mut self) {
        if self.away.take().is_some() {
            info!(transport = self.transport.capabilities().name, "the broker is back");
            self.trouble.tell(None);
        }
    }

    fn stand_by(&mut self, problem: String) {
        let name = self.transport.capabilities().name;
        let pause = match &self.away {
            None => {
                warn!(transport = name, problem, "the broker is away; messages wait");
                PAUSE
            }
            // A call that was made before this one said so.
            Some(Away { resume: Some(_), .. }) => return,
            Some(Away { pause, .. }) => (*pause * 2).min(PAUSE_MAX),
        };
        self.away = Some(Away { pause, resume: Some(Instant::now() + pause) });
        self.trouble.tell(Some(format!("the queue ({name}) cannot be reached: {problem}")));
    }

    /// One word at a time, with all that came meanwhile.
    fn tell(&mut self) {
        if self.telling.is_empty() && !self.done.is_empty() {
            let publications = std::mem::take(&mut self.done);
            self.telling.push(told_later(self.engine.clone(), publications, Duration::ZERO));
        }
    }

    fn told(&mut self, (publications, answer): Told) {
        match answer {
            Ok(()) => {
                for Publication { step, attempt, .. } in publications {
                    self.tray.forget(step, attempt);
                }
            }
            // The next engine finds it on record.
            Err(EngineError::Stopping) => {}
            Err(problem) => {
                warn!(%problem, messages = publications.len(), "what was published is not on record; saying it again");
                self.telling.push(told_later(self.engine.clone(), publications, TELL_AGAIN));
            }
        }
    }
}

fn told_later(engine: Engine, publications: Vec<Publication>, wait: Duration) -> BoxFuture<'static, Told> {
    Box::pin(async move {
        tokio::time::sleep(wait).await;
        let answer = engine.published(publications.clone()).await;
        (publications, answer)
    })
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
