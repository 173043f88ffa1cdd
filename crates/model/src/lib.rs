//! The nouns of Stepfast. No verbs, no I/O, no clock: everything here can be built in a test from a line of text.

mod alert;
mod block;
mod channel;
mod count;
pub mod definition;
mod delivery;
mod effect;
mod execution;
mod flow;
mod group;
mod id;
mod key;
pub mod limits;
mod message_group;
mod minute;
mod new_step;
mod notice;
mod pause;
mod pool;
mod readable;
mod report;
mod resolution;
mod sealed;
mod session;
mod state;
mod status;
mod step;
mod subscription;
mod time;
mod trace;
mod workflow;

pub use alert::{
    Alert, AlertEvent, AlertMoment, Finding, OBSERVED, Remedy, ReportedStuck, StuckCall, StuckClock,
    StuckPolicy, StuckRule, Watched,
};
pub use block::{Block, Counts, Success, Sweep, SweepKind};
pub use channel::{Channel, ChannelKind, ChannelSends, Telling, Waiting};
pub use count::Count;
pub use delivery::{Delivery, DeliveryError, DeliveryStatus};
pub use effect::{Effect, Move};
pub use execution::{
    Execution, ExecutionAsk, ExecutionEvent, ExecutionMoment, ExecutionName, ExecutionState, InputHash,
    Standing, name_faults,
};
pub use flow::{
    Flow, FlowAction, FlowAgain, FlowAsk, FlowEvent, FlowMoment, FlowName, FlowState, FlowStep,
    FlowStepState, NewFlowStep, message_fault, name_faults as flow_name_faults, text_fault,
};
pub use group::{Breaker, DEFAULT_GROUPS, DispatchGroup, GroupStatus};
pub use id::{
    BlockId, FlowId, KeyId, NodeId, OwnerToken, SessionId, SignalId, StepId, SubscriptionId, WorkflowId,
};
pub use key::{Key, NewKey, Right, Role};
pub use message_group::{
    DEFAULT_MESSAGE_GROUP, DEFAULT_SEQUENCE, DispatchMode, GroupHold, Member, Rank, group_key,
};
pub use minute::{Minute, Spread};
pub use new_step::{Fault, NewStep, NewSteps};
pub use notice::{Audience, Notice, Severity};
pub use pause::{Pause, PauseState, PausedBy, TokenHash, TriggerAnswer, TriggerPayload, Verdict};
pub use pool::{Pool, PoolUse, Rate};
pub use readable::{unreadable, unreadable_json};
pub use report::{Claim, Failure, ForWorkflow, LogLine, NotBegun, Outcome, Poll, Progress, Report};
pub use resolution::{
    Aftermath, CompensationRun, CompensationScope, CompensationState, Decision, ResolutionDecision,
    RetryItems, RetryMode, RetrySource, Undo,
};
pub use sealed::{HIDDEN, SEALED, Sealed, hide_sealed, replace_sealed};
pub use session::{Session, SessionOffer};
pub use state::{Event, IllegalMove, Reason, State, UnknownWord, said};
pub use status::Status;
pub use step::{
    Backoff, Detail, Look, LookAt, Name, Place, PollAttempt, PollVerdict, Polls, Priority, Step, StepKind,
};
pub use subscription::{NewSubscription, Subscription};
pub use time::Timestamp;
pub use trace::{NotATrace, Trace, attempt_span, workflow_span};
pub use workflow::{
    BRANCH_ACTION, BranchDecision, ITEMS_ACTION, InWorkflow, Pinned, WAIT_ACTION, WORKFLOW_ACTION, Workflow,
    WorkflowState,
};
