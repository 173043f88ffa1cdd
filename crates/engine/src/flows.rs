//! Tracked flows: the door to them for code that runs elsewhere, for any number of callers.
//!
//! Why    whoever does the work says what it did; it neither decides nor waits for a turn. An order that meets another at the same flow is
//!        carried out a moment later, so that none is lost.

use crate::{Engine, EngineError, Ids, OnceError};
use model::{
    Fault, Flow, FlowAction, FlowAgain, FlowAsk, FlowId, FlowName, FlowState, FlowStep, FlowStepState,
    NewFlowStep, NewStep, State, StepId, limits, message_fault, text_fault,
};
use rules::flow::{FlowRefusal, Wish, action_for};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::executions::{Order, Told};
use store::flows::{self as record, FlowNow, FlowOrder, FlowWord};
use store::{Ledger, Store, StoreError};
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// How often an order is given that meets others at the same flow, and the pause before the second time; it grows each time.
const TRIES: u32 = 40;
const TRY_AGAIN: Duration = Duration::from_millis(5);

/// The flow that a step does something for, as `relatable_type`.
pub const FLOW_RELATABLE: &str = "flow";

#[derive(Clone, Debug, PartialEq, Error)]
pub enum FlowError {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Fault>),
    #[error("flow {flow}: {why}")]
    Refused { flow: FlowId, why: FlowRefusal },
    #[error(transparent)]
    Engine(EngineError),
    #[error(transparent)]
    Unavailable(StoreError),
}

pub type Result<T> = std::result::Result<T, FlowError>;

/// What a caller says who starts a flow; everything but its name has a usual value.
#[derive(Clone, Debug, PartialEq)]
pub struct StartFlow {
    pub name: FlowName,
    pub user: Option<String>,
    pub steps: Vec<NewFlowStep>,
    pub open: bool,
    pub timeout: Duration,
    pub message: Option<String>,
    pub retry: Option<FlowAction>,
    pub cancel: Option<FlowAction>,
    pub again: FlowAgain,
    pub by: String,
}

impl StartFlow {
    pub fn new(name: FlowName, by: impl Into<String>) -> StartFlow {
        StartFlow {
            name,
            user: None,
            steps: Vec::new(),
            open: false,
            timeout: limits::FLOW_TIMEOUT_DEFAULT,
            message: None,
            retry: None,
            cancel: None,
            again: FlowAgain::Resume,
            by: by.into(),
        }
    }
}

/// What is said about a flow, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Saying {
    pub flow: FlowId,
    pub message: Option<String>,
    pub by: String,
}

/// What came of asking for a retry or a cancellation.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowAsked {
    pub now: FlowNow,
    /// The step that does it; none where the flow is simply over.
    pub step: Option<StepId>,
}

#[derive(Clone)]
pub struct Flows {
    ledger: Arc<dyn Ledger>,
    ids: Arc<Mutex<Ids>>,
}

impl Flows {
    pub fn new(ledger: Arc<dyn Ledger>) -> Flows {
        Flows { ledger, ids: Arc::default() }
    }

    /// Start a run, or go on with the one that is not over, as asked.
    pub async fn start(&self, start: StartFlow) -> Result<FlowNow> {
        let StartFlow { name, user, steps, open, timeout, message, retry, cancel, again, by } = start;
        let id = {
            let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
            FlowId::from_bytes(ids.row(self.ledger.now()))
        };
        let ask = FlowAsk { id, name, user, steps, open, timeout, message, retry, cancel, again, by };
        let mut faults = ask.faults();
        faults.extend(text_fault("by".into(), &ask.by));
        sound(faults)?;
        self.order(id, FlowOrder::Start(Box::new(ask))).await
    }

    pub async fn complete(&self, said: Saying, step: &str) -> Result<FlowNow> {
        self.mark(said, step, FlowStepState::Completed).await
    }
    pub async fn fail(&self, said: Saying, step: &str) -> Result<FlowNow> {
        self.mark(said, step, FlowStepState::Failed).await
    }
    pub async fn skip(&self, said: Saying, step: &str) -> Result<FlowNow> {
        self.mark(said, step, FlowStepState::Skipped).await
    }

    /// A step came to where it is.
    pub async fn mark(&self, said: Saying, step: &str, to: FlowStepState) -> Result<FlowNow> {
        sound(text_fault("step".into(), step).into_iter().collect())?;
        if to == FlowStepState::Pending {
            let fix = "tell the flow `running` to have what failed done again";
            return invalid("step", "is not put back by hand", fix);
        }
        self.say(said, FlowWord::Mark { step: step.into(), to }).await
    }

    /// Say where it is as its own code sees it, and what people may read.
    pub async fn update(&self, said: Saying, to: Option<FlowState>) -> Result<FlowNow> {
        if to.is_none() && said.message.is_none() {
            return invalid("state", "nothing is said", "write `state`, `message` or both");
        }
        self.say(said, FlowWord::Update { to }).await
    }

    /// It is completed, failed, or cancelled.
    pub async fn finish(&self, said: Saying, to: FlowState) -> Result<FlowNow> {
        if !matches!(to, FlowState::Completed | FlowState::Failed | FlowState::Cancelled) {
            let problem = format!("`{to}` is not how a flow ends");
            return invalid("state", problem, "write completed, failed or cancelled");
        }
        self.say(said, FlowWord::Finish { to }).await
    }

    async fn say(&self, said: Saying, word: FlowWord) -> Result<FlowNow> {
        let Saying { flow, message, by } = said;
        let mut faults: Vec<Fault> = message_fault("message", message.as_deref()).into_iter().collect();
        faults.extend(text_fault("by".into(), &by));
        sound(faults)?;
        self.order(flow, FlowOrder::Say { flow, word, message, by }).await
    }

    async fn order(&self, flow: FlowId, order: FlowOrder) -> Result<FlowNow> {
        let mut pause = TRY_AGAIN;
        for _ in 1..TRIES {
            match self.once(flow, order.clone()).await {
                Err(FlowError::Unavailable(StoreError::Busy(_))) => sleep(pause).await,
                other => return other,
            }
            pause = (pause * 2).min(TRY_AGAIN * 20);
        }
        self.once(flow, order).await
    }

    async fn once(&self, flow: FlowId, order: FlowOrder) -> Result<FlowNow> {
        let (caller, answer) = oneshot::channel();
        let done = Box::new(move |told| {
            // A caller that is gone does not hear it.
            let _ = caller.send(told);
        });
        self.ledger.order(Order::Flow(order), done);
        let stopped = || Err(StoreError::Down("the writer has stopped".into()));
        match answer.await.unwrap_or_else(|_| stopped()).map_err(FlowError::Unavailable)? {
            Told::Flow(Ok(now)) => Ok(*now),
            Told::Flow(Err(why)) => Err(FlowError::Refused { flow, why }),
            other => {
                let problem = format!("an order was answered with {other:?}");
                Err(FlowError::Unavailable(StoreError::Down(problem)))
            }
        }
    }
}

impl Engine {
    /// Have a flow retried or cancelled by what was declared for it when it was started. Asked again while nothing else was said about the
    /// flow, the step that was made is the answer, unless it came to nothing: then another is made.
    pub async fn ask_flow(&self, said: Saying, wish: Wish) -> Result<FlowAsked> {
        let id = said.flow;
        let found = self.with_store(move |store| as_asked(store, id, wish)).await;
        let found = found.map_err(FlowError::Engine)?.map_err(FlowError::Unavailable)?;
        let refused = |why| FlowError::Refused { flow: id, why };
        let Found { flow, steps, made } = found.ok_or_else(|| refused(FlowRefusal::NotThere))?;
        let action = action_for(&flow, wish).map_err(refused)?;
        if action.is_some() && made.is_some() {
            return Ok(FlowAsked { now: FlowNow { flow, steps, changed: false }, step: made });
        }
        let step = match action {
            Some(action) => self.do_for_flow(&flow, wish, action).await?,
            None => None,
        };
        let now = self.flows().say(said, FlowWord::Asked { wish, seen: flow.version, step }).await?;
        Ok(FlowAsked { now, step })
    }

    /// The step that does what was asked. What the flow looked like is its key, so that of those who ask at once one makes it.
    async fn do_for_flow(&self, flow: &Flow, wish: Wish, action: &FlowAction) -> Result<Option<StepId>> {
        let (id, word) = (flow.id, wish.word());
        let step = NewStep {
            action: action.action.clone(),
            queue: action.queue.clone(),
            arguments: action.arguments.clone(),
            label: Some(format!("{word} of flow {}", flow.name).chars().take(100).collect()),
            relatable_type: Some(FLOW_RELATABLE.into()),
            relatable_id: Some(id.to_string()),
            ..NewStep::default()
        };
        let key = format!("flow {id} run {} {word} {}", flow.run, flow.version);
        let made = self.create_once(&key, vec![step]).await.map_err(not_made)?.answer;
        Ok(made.first().map(|created| created.id))
    }
}

/// A flow about which something is asked.
struct Found {
    flow: Flow,
    steps: Vec<FlowStep>,
    /// The step that does it already, or has done it.
    made: Option<StepId>,
}

fn as_asked(store: &mut dyn Store, id: FlowId, wish: Wish) -> store::Result<Option<Found>> {
    let Some(flow) = record::find(store.reader(), id)? else { return Ok(None) };
    let steps = record::steps(store.reader(), id)?;
    let before = match record::asked_last(store.reader(), id, wish)? {
        Some(step) => store.step(step)?,
        None => None,
    };
    let in_vain = |state: State| state.is_failed() || state == State::Cancelled;
    let made = before.filter(|step| !in_vain(step.state)).map(|step| step.id);
    Ok(Some(Found { flow, steps, made }))
}

fn not_made(problem: OnceError<EngineError>) -> FlowError {
    match problem {
        OnceError::Operation(refused) => FlowError::Engine(refused),
        OnceError::Execution(problem) => FlowError::Unavailable(StoreError::Busy(problem.to_string())),
    }
}

fn sound(faults: Vec<Fault>) -> Result<()> {
    if faults.is_empty() { Ok(()) } else { Err(FlowError::Invalid(faults)) }
}

fn invalid<T>(field: &str, problem: impl Into<String>, fix: &str) -> Result<T> {
    let fault = Fault { field: field.into(), problem: problem.into(), fix: fix.into() };
    Err(FlowError::Invalid(vec![fault]))
}
