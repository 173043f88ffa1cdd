//! The imperative shell: it gathers, lets the rules decide, commits once, and acts on what is durable.

mod browsers;
mod channels;
mod config;
mod create_once;
mod decider;
mod definitions;
mod delivery;
mod error;
mod executions;
mod flows;
mod handle;
mod ids;
mod keys;
mod meters;
mod pace;
mod pools;
pub mod possible;
mod progress;
mod publisher;
mod request;
mod seal;
mod signal;
mod spans;
mod stopwatch;
mod stuck;
mod subscriptions;
mod triggers;
mod turn;
mod webhooks;
mod workflows;
mod would_create;

pub use browsers::BrowserToken;
pub use channels::ChannelOrder;
pub use config::Config;
pub use definitions::Applied;
pub use error::EngineError;
pub use executions::{Ask, Begin, Begun, ExecutionError, Executions, Forgotten, Held, Once, OnceError};
pub use flows::{FLOW_RELATABLE, FlowAsked, FlowError, Flows, Saying, StartFlow};
pub use handle::{Engine, EngineThread, SessionHandle};
pub use ids::Ids;
pub use keys::{Secret, chance, has_admin};
pub use meters::Meters;
pub use pools::Removal;
pub use progress::Told;
pub use publisher::{Publisher, PublisherConfig, Trouble};
pub use request::{
    Attending, Created, Dispatch, Errand, Forced, GroupOperated, GroupOperation, Handed, Operated, Operation,
    Outgoing, PollRecovery, Publication, ReportAnswer, SeenStep, Sent, StartWorkflow, Started, TickReport,
    WorkflowOperated, WorkflowOperation, WorkflowVerb,
};
pub use rules::fifo::GroupVerb;
pub use rules::flow::{FlowRefusal, Wish as FlowWish, action_for as flow_action};
pub use rules::idempotency::Refusal;
pub use rules::operator::Verb;
pub use rules::pool::next_start as next_pool_start;
/// How far something is.
pub use rules::progress as account;
pub use rules::stuck::{Review, overlaid as stuck_rules_over};
pub use rules::why::Why;
/// A definition, compiled.
pub use rules::workflow::Plan;
pub use seal::{Keyring, SealError, SealKey};
pub use spans::{Span, SpanOf, Spans};
pub use stopwatch::Stopwatch;
pub use store::flows::FlowNow;
pub use store::{Clock, StoreError, SystemClock};
pub use stuck::{
    DetectOrder, Detected, Detection, LeftOut, Remedies, Scope, StuckConfig, dry_detect, dry_look,
};
pub use subscriptions::{SecretChange, SigningSecret, SubscriptionChange};
pub use triggers::{PauseToken, TokenOrder, TriggerOrder, Triggered};
pub use turn::start_faults;
pub use webhooks::{WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, WebhookSecrets, variable_part};
pub use would_create::would_create;
