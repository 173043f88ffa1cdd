//! The way from a runner to the engine: in this process, or over HTTP.

#[cfg(feature = "remote")]
use crate::far;
use crate::job::JobResult;
#[cfg(feature = "remote")]
use crate::remote::Remote;
use engine::{Engine, EngineError, ReportAnswer, SessionHandle, Told};
use model::{Report, SessionId, SessionOffer, StepId};

#[derive(Clone)]
pub enum Link {
    Engine(Engine),
    #[cfg(feature = "remote")]
    Remote(Remote),
}

impl From<Engine> for Link {
    fn from(engine: Engine) -> Link {
        Link::Engine(engine)
    }
}

#[cfg(feature = "remote")]
impl From<Remote> for Link {
    fn from(remote: Remote) -> Link {
        Link::Remote(remote)
    }
}

type Result<T> = std::result::Result<T, EngineError>;

impl Link {
    /// Without a queue, for all that are known there.
    pub async fn join(&self, mut offer: SessionOffer) -> Result<SessionHandle> {
        match self {
            Link::Engine(engine) => {
                if offer.queues.is_empty() {
                    offer.queues = engine.queues().to_vec();
                }
                engine.join(offer).await
            }
            #[cfg(feature = "remote")]
            Link::Remote(remote) => remote.join(offer).await,
        }
    }
    pub async fn report(&self, reports: Vec<Report>) -> Result<Vec<ReportAnswer>> {
        match self {
            Link::Engine(engine) => engine.report(reports).await,
            #[cfg(feature = "remote")]
            Link::Remote(remote) => remote.report(reports).await,
        }
    }
    pub async fn heartbeat(
        &self,
        session: SessionId,
        received: u64,
        held: Vec<(StepId, u32)>,
        progress: Vec<Told>,
    ) -> Result<Vec<(StepId, u32)>> {
        match self {
            Link::Engine(engine) => {
                engine.note_progress(session, &held, progress);
                engine.heartbeat(session, received, held).await
            }
            #[cfg(feature = "remote")]
            Link::Remote(remote) => remote.heartbeat(session, received, held, progress).await,
        }
    }
    /// What the steps before a held one answered.
    #[cfg_attr(
        not(feature = "remote"),
        expect(unused_variables, reason = "a run in this process has its step until it is told otherwise")
    )]
    pub async fn previous(&self, session: SessionId, step: StepId, attempt: u32) -> JobResult<Vec<String>> {
        match self {
            Link::Engine(engine) => Ok(engine.previous(step).await?),
            #[cfg(feature = "remote")]
            Link::Remote(remote) => far::previous(remote, session, step, attempt).await,
        }
    }
    pub async fn pause_session(&self, session: SessionId) -> Result<()> {
        match self {
            Link::Engine(engine) => engine.pause_session(session).await,
            #[cfg(feature = "remote")]
            Link::Remote(remote) => remote.leave(session, false).await,
        }
    }
    pub async fn end_session(&self, session: SessionId) -> Result<()> {
        match self {
            Link::Engine(engine) => engine.end_session(session).await,
            #[cfg(feature = "remote")]
            Link::Remote(remote) => remote.leave(session, true).await,
        }
    }
}
