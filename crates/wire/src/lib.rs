//! The types Stepfast speaks over HTTP: plain, versioned by the path (`/v1`), and apart from the engine's own.
//!
//! Ids are UUIDs as text. Instants are RFC 3339 in UTC with microseconds. States are lower snake case.
//!
//! ```
//! # use stepfast_wire as wire;
//! let body: wire::BreakerBody = serde_json::from_str(r#"{"off": true, "why": "deploy", "ttl_seconds": 600}"#)?;
//! assert!(body.off);
//! let problem = serde_json::from_str::<wire::BreakerBody>(r#"{"of": true}"#).unwrap_err();
//! assert!(problem.to_string().contains("unknown field `of`"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod alert;
mod breaker;
mod bulk;
mod channel;
mod check;
mod dashboard;
mod definition;
mod dispatch;
mod execution;
mod flow;
mod group;
mod key;
mod message_group;
mod new_step;
mod node;
mod operate;
mod pause;
mod poll;
mod pool;
mod problem;
mod progress;
mod retention;
mod step;
mod stuck;
mod subscription;
mod tick;
mod worker;
mod workflow;

pub use alert::{
    AlertFiguresView, AlertMomentView, AlertPage, AlertReviewBody, AlertShow, AlertView, AuditPage, AuditView,
};
pub use breaker::{BreakerBody, BreakerView, BreakersView, DrainView};
pub use bulk::{
    BulkAnswer, BulkBody, BulkFilter, BulkPage, BulkPreview, BulkProgress, BulkRefusal, BulkSample, BulkView,
};
pub use channel::{
    ChannelBody, ChannelMadeView, ChannelPage, ChannelTestBody, ChannelView, NoticePage, NoticeView,
    TellingView,
};
pub use check::{CheckView, FindingView, InvariantView};
pub use dashboard::{
    ActionFigures, DashboardView, DashboardWords, Figures, GroupFigures, HostFigures, ToggleBody, ToggledView,
};
pub use definition::{
    DefinitionApplied, DefinitionChange, DefinitionDiff, DefinitionFault, DefinitionPage, DefinitionShow,
    DefinitionView, LiveVersion,
};
pub use dispatch::{ProcessBody, ProcessView};
pub use execution::{
    BeginBody, BegunView, CompleteBody, ExecutionPage, ExecutionShow, ExecutionView, FailBody, ForgetBody,
    ForgottenView, MomentView, RenewBody, RenewedView,
};
pub use flow::{
    FlowActionBody, FlowBody, FlowMomentView, FlowNowView, FlowPage, FlowSayBody, FlowShow, FlowStateBody,
    FlowStepBody, FlowStepView, FlowView,
};
pub use group::{GroupPage, GroupView};
pub use key::{KeyBody, KeyMadeView, KeyPage, KeyView};
pub use message_group::{
    GroupMoveView, GroupOperatedView, HoldView, MessageGroupPage, MessageGroupShow, MessageGroupView,
    ReplacedView,
};
pub use new_step::NewStepBody;
pub use node::{NodePage, NodeView, SessionView};
pub use operate::{MoveView, OperateBody, OperatedView, RemovedView};
pub use pause::{PausePage, PauseView, TokenView, TriggerPayloadPage, TriggerPayloadView, TriggeredView};
pub use poll::{PollPage, PollView, PollingView, PollsView, RecoverBody, RecoveredView};
pub use pool::{PoolBody, PoolPage, PoolView};
pub use problem::{Fault, Problem, ReadyView};
pub use progress::{PartItems, PartView, ProgressPage, ProgressShow};
pub use retention::{RetainedView, RetentionBody};
pub use step::{
    AttemptPage, AttemptView, ChildrenView, CreatedPage, CreatedView, DeliveryView, EventView, LogView,
    ProgressView, StepPage, StepShow, StepView, WouldCreateView,
};
pub use stuck::{
    DetectBody, DetectedView, DetectionView, LeftView, StuckAutoBody, StuckCallBody, StuckRuleBody,
    StuckRulePage, StuckRuleView,
};
pub use subscription::{
    SubscriptionBody, SubscriptionChangeBody, SubscriptionMadeView, SubscriptionPage, SubscriptionTestView,
    SubscriptionView,
};
pub use tick::{PhaseView, TickPage, TickView};
pub use worker::{
    ClaimBody, ClaimView, ClaimedPage, DeliveryItem, ForWorkflowView, HeartbeatBody, HeartbeatView, Held,
    LeaveBody, LookView, PollClaimView, PreviousBody, PreviousView, ProgressItem, ReportAnswerView,
    ReportBody, ReportItem, ReportedView,
};
pub use workflow::{
    CloudEvent, CompensationView, DecisionPage, DecisionView, EarlierRun, ItemCounts, ItemPage,
    ResolutionView, ResolveBody, StartBody, StartedView, WorkflowEventPage, WorkflowEventView,
    WorkflowOperateBody, WorkflowOperatedView, WorkflowPage, WorkflowShow, WorkflowStepView, WorkflowView,
    WouldStartView,
};
