//! The table: every key, with what it takes, an example, and what it does.

use super::pause::PAUSE_AFTER;
use super::{Form, Home, Key, Object};
use crate::limits::{
    BRANCHES_MAX, DESCRIPTION_BYTES_MAX, LABELS_MAX, MESSAGE_BYTES_MAX, NAMES_MAX, SECRETS_MAX, STEPS_MAX,
};
use model::limits::{ATTEMPTS_MAX, INDEX_MAX, POLL_INTERVAL_MIN, POLLS_KEPT_MAX, POLLS_MAX, WAIT_MAX};
use std::time::Duration;

/// What may take no time at all, such as the wait before a retry.
const PAUSE: Form = Form::Duration { min: Duration::ZERO, max: WAIT_MAX };
/// What must take some time.
pub(super) const SPAN: Form = Form::Duration { min: Duration::from_millis(1), max: WAIT_MAX };
/// Between two polls.
pub(super) const INTERVAL: Form = Form::Duration { min: POLL_INTERVAL_MIN, max: WAIT_MAX };
/// What a worker runs, once or again and again.
const RUN: &[&str] = &["action", "poll"];
const STEP_KEYS: Form = Form::List { of: &Form::StepKey, min: 0, max: NAMES_MAX };
const COUNT: Form = Form::Whole { min: 1, max: INDEX_MAX };

pub(crate) static WORKFLOW: Object = Object {
    what: "a definition",
    one_of: &[],
    keys: &[
        Key::new(
            "workflow",
            Form::WorkflowKey,
            "order-fulfillment",
            "The key of the workflow: lower-case words with `-` between them.",
        )
        .required()
        .aka(&["name", "id", "key"]),
        Key::new(
            "version",
            Form::Version,
            "2.1.0",
            "major.minor.patch. What is registered under a version never changes.",
        )
        .required(),
        Key::new("description", Form::Text(DESCRIPTION_BYTES_MAX), "From order to parcel", "What it is for.")
            .aka(&["summary", "title"]),
        Key::new(
            "input",
            Form::Object(&SHAPE),
            "{ schema: { type: object } }",
            "What a run must be started with.",
        )
        .aka(&["inputs"]),
        Key::new("timeout", SPAN, "2d", "How long the whole may take."),
        Key::new("expected_within", SPAN, "1h", "How long it usually takes; beyond it somebody should look."),
        Key::new(
            "concurrency",
            Form::Object(&CONCURRENCY),
            "{ key: \"input.customer\", limit: 1 }",
            "At most so many live runs with the same key; the others wait for their turn.",
        ),
        Key::new(
            "labels",
            Form::Map { keys: &Form::Name, of: &Form::Name, min: 0, max: LABELS_MAX },
            "{ team: fulfilment }",
            "Words to find runs by.",
        )
        .aka(&["tags"]),
        Key::new(
            "secrets",
            Form::List { of: &Form::InputPath, min: 0, max: SECRETS_MAX },
            "[input.card.number]",
            "Values of the input that are stored sealed and told only to whoever runs a step.",
        ),
        Key::new(
            "on_failure",
            Form::Either(&Form::Word(&["await_decision", "auto_retry", "auto_compensate"]), &Form::Object(&RESOLUTION)),
            "{ strategy: auto_retry, max_retries: 3, delay: 60s }",
            "What happens when it fails: a person decides, what failed is done again, or what was done is undone.",
        )
        .default("await_decision")
        .aka(&["failure_resolution", "on_error"]),
        Key::new(
            "on_cancel",
            Form::Word(&["compensate", "no_compensate"]),
            "compensate",
            "Whether what was done is undone when it is cancelled. Without it, only where every failure is undone.",
        ),
        Key::new(
            "on_timeout",
            Form::Word(&["compensate", "fail", "await_decision"]),
            "compensate",
            "What happens when it took longer than `timeout`: it is undone, it has failed and nobody is asked, or a person decides.",
        ),
        Key::new(
            "steps",
            Form::List { of: &Form::Object(&STEP), min: 1, max: STEPS_MAX },
            "[{ key: reserve, action: inventory.reserve }]",
            "What is done, in the order written unless `after` says otherwise.",
        )
        .required()
        .aka(&["tasks", "jobs", "nodes"]),
    ],
};

static STEP: Object = Object {
    what: "a step",
    one_of: &["action", "poll", "wait", "branch", "workflow"],
    keys: &[
        Key::new("key", Form::StepKey, "reserve", "Its name in this definition.").required().aka(&["id", "name", "step"]),
        Key::new("action", Form::Name, "inventory.reserve", "A worker runs this action.")
            .of(Home::Action)
            .beside(&[])
            .aka(&["run", "uses", "job", "task", "do", "type"]),
        Key::new(
            "poll",
            Form::Object(&POLL),
            "{ action: payments.status, interval: 5m }",
            "A worker runs an action again and again, until it answers that what is waited for is there.",
        )
        .aka(&["polling", "repeat", "wait_for"]),
        Key::new(
            "wait",
            Form::Either(&SPAN, &Form::Object(&UNTIL)),
            "10m",
            "Nothing happens for so long, or until a time.",
        )
        .aka(&["sleep", "delay"]),
        Key::new("branch", Form::Object(&BRANCH), "{ choose: …, branches: … }", "It is decided which steps come next.")
            .aka(&["switch", "route", "choice"]),
        Key::new("workflow", Form::WorkflowKey, "packing", "Another workflow is started, and its end waited for.")
            .of(Home::Workflow)
            .beside(&[])
            .aka(&["call", "subworkflow", "sub_workflow"]),
        Key::new(
            "arguments",
            Form::Template,
            "{ sku: \"${input.sku}\" }",
            "What the worker is given; `${ … }` stands for what an expression says. Without it, the input of the workflow, or the item.",
        )
        .of(Home::Action)
        .aka(&["args", "params", "parameters", "with", "payload"]),
        Key::new("each", Form::Expression, "\"input.items\"", "Fan-out: the action is run once for each item of this list.")
            .of(Home::Action)
            .aka(&["foreach", "for_each", "items", "map", "loop"]),
        Key::new(
            "success",
            Form::Either(&Form::Word(&["all", "majority", "best_effort"]), &Form::Object(&AT_LEAST)),
            "{ at_least: 3 }",
            "How many items must succeed: all, majority, best_effort or `{ at_least: n }`.",
        )
        .of(Home::Each)
        .default("all"),
        Key::new("max_parallel", COUNT, "20", "How many items are in hand at once.").of(Home::Each).aka(&["parallel", "concurrency"]),
        Key::new(
            "gather",
            Form::Word(&["list", "merge", "counts"]),
            "list",
            "The answers as a list, merged into one object, or only how many there were.",
        )
        .of(Home::Each)
        .default("list"),
        Key::new("queue", Form::Name, "warehouse", "The queue that workers take it from.").of(Home::Action).beside(RUN),
        Key::new("priority", Form::Word(&["high", "normal"]), "high", "Before others of its queue, or in turn.").of(Home::Action).beside(RUN),
        Key::new("pool", Form::Name, "card", "The pool whose limits it counts for.").of(Home::Action).beside(RUN),
        Key::new(
            "message_group",
            Form::Expression,
            "\"'customer-' + input.customer\"",
            "Steps of one message group are done one after another.",
        )
        .of(Home::Action)
        .beside(RUN)
        .aka(&["group"]),
        Key::new(
            "mode",
            Form::Word(&["immediate", "next_on_error", "block_on_error"]),
            "block_on_error",
            "Whether it keeps its place in its message group, and whether its failure holds back those behind it.",
        )
        .of(Home::Action)
        .beside(RUN),
        Key::new("retry", Form::Object(&RETRY), "{ attempts: 3, delay: 1s }", "When and how often it is tried again.")
            .of(Home::Action)
        .beside(RUN)
            .aka(&["retries", "retry_policy"]),
        Key::new(
            "timeout",
            Form::Either(&SPAN, &Form::Object(&TIMEOUT)),
            "60s",
            "How long one attempt may take; or `{ attempt: …, step: … }`.",
        )
        .of(Home::Action)
        .beside(RUN),
        Key::new("version", Form::Version, "1.2.0", "The version of the workflow that is started; without it, the newest.").of(Home::Workflow),
        Key::new(
            "input",
            Form::Template,
            "{ order: \"${input.id}\" }",
            "What the workflow is started with. Without it, the input of this one.",
        )
        .of(Home::Workflow),
        Key::new("after", STEP_KEYS, "[reserve, charge]", "The steps it follows; without it, the one written before it. `[]` begins at once.")
            .aka(&["depends_on", "needs", "dependencies", "follows"]),
        Key::new("when", Form::Expression, "\"size(input.items) > 0\"", "Unless this holds it is skipped, and those after it go on.")
            .aka(&["if", "condition", "only_if"]),
        Key::new(
            "terminate_when",
            Form::Object(&TERMINATION),
            "{ if: …, reason: … }",
            "If this holds after the step, the whole ends here.",
        ),
        Key::new(
            "pause_after",
            Form::Object(&PAUSE_AFTER),
            "{ trigger: manager-approval }",
            "Those behind it wait until somebody triggers this, or for a while.",
        )
        .aka(&["pause", "approval", "wait_for", "await"]),
        Key::new("produces", Form::Object(&SHAPE), "{ schema: { type: object } }", "What it must answer.")
            .beside(&["action", "poll", "workflow"])
            .aka(&["output", "outputs"]),
        Key::new("requires", STEP_KEYS, "[reserve]", "Steps whose answers it cannot do without."),
        Key::new(
            "on_failure",
            Form::Word(&["fail_workflow", "pause_workflow", "skip_step", "continue_with_partial"]),
            "pause_workflow",
            "What its failure means for the whole.",
        )
        .default("fail_workflow")
        .aka(&["on_error", "continue_on_error"]),
        Key::new(
            "compensation",
            Form::Object(&COMPENSATION),
            "{ action: inventory.release, timeout: 60s }",
            "What undoes it.",
        )
        .beside(&["action", "poll", "workflow"])
        .aka(&["compensate", "undo", "rollback"]),
        Key::new("status_message", Form::Text(MESSAGE_BYTES_MAX), "Your order is being packed", "What people read while it is done.")
            .aka(&["message"]),
    ],
};

pub(super) static SHAPE: Object = Object {
    what: "`{ schema: … }`",
    one_of: &[],
    keys: &[Key::new("schema", Form::JsonSchema, "{ type: object }", "A JSON Schema (2020-12).").required()],
};

static CONCURRENCY: Object = Object {
    what: "`{ key: …, limit: … }`",
    one_of: &[],
    keys: &[
        Key::new(
            "key",
            Form::Expression,
            "\"input.customer\"",
            "Runs for which this says the same share the limit.",
        )
        .required(),
        Key::new("limit", COUNT, "1", "How many of them are live at once.").required().aka(&["max"]),
    ],
};

static AT_LEAST: Object = Object {
    what: "`{ at_least: … }`",
    one_of: &[],
    keys: &[Key::new("at_least", COUNT, "3", "So many items must succeed.").required()],
};

static RETRY: Object = Object {
    what: "`{ attempts: …, delay: … }`",
    one_of: &[],
    keys: &[
        Key::new(
            "attempts",
            Form::Whole { min: 1, max: ATTEMPTS_MAX },
            "3",
            "Executions, the first included.",
        )
        .aka(&["max_attempts", "limit", "max"]),
        Key::new("delay", PAUSE, "1s", "The wait before the second.").aka(&["interval", "wait"]),
        Key::new("backoff", Form::Factor { max: 1_000 }, "2.0", "By what the wait grows each time.")
            .aka(&["factor", "multiplier"]),
        Key::new("max_delay", PAUSE, "1m", "The longest wait.").aka(&["max_interval"]),
        Key::new(
            "scope",
            Form::Word(&["failed_items", "all"]),
            "all",
            "Of a fan-out: the items that failed, or all of them.",
        )
        .default("failed_items"),
    ],
};

static RESOLUTION: Object = Object {
    what: "`{ strategy: … }`",
    one_of: &[],
    keys: &[
        Key::new(
            "strategy",
            Form::Word(&["await_decision", "auto_retry", "auto_compensate"]),
            "auto_retry",
            "A person decides, what failed is done again after a while, or what was done is undone.",
        )
        .default("await_decision"),
        Key::new(
            "max_retries",
            Form::Whole { min: 1, max: ATTEMPTS_MAX },
            "3",
            "How often it is tried again by itself.",
        )
        .aka(&["retries", "attempts"]),
        Key::new("delay", PAUSE, "60s", "The wait before the first retry.").aka(&["interval", "wait"]),
        Key::new("backoff", Form::Factor { max: 1_000 }, "2.0", "By what the wait grows each time.")
            .aka(&["factor", "multiplier"]),
        Key::new("max_delay", PAUSE, "1h", "The longest wait.").aka(&["max_interval"]),
        Key::new(
            "fallback",
            Form::Word(&["await_decision", "auto_compensate"]),
            "await_decision",
            "What happens when the retries did not help.",
        )
        .default("await_decision"),
        Key::new(
            "scope",
            STEP_KEYS,
            "[charge, reserve]",
            "The steps that are undone by themselves; without it, all that were done.",
        ),
    ],
};

static COMPENSATION: Object = Object {
    what: "`{ action: … }`",
    one_of: &[],
    keys: &[
        Key::new("action", Form::Name, "inventory.release", "The action that undoes the step.").required(),
        Key::new(
            "arguments",
            Form::Template,
            "{ reservation: \"${undo.output.id}\" }",
            "What it is given. Without it, all of `undo`: step, run, item, state, input, output and reason.",
        )
        .aka(&["args", "params", "parameters", "with", "payload"]),
        Key::new(
            "when",
            Form::Word(&["completed", "started"]),
            "started",
            "The step was done, or it was begun and nobody knows how far it came.",
        )
        .default("completed"),
        Key::new("queue", Form::Name, "warehouse", "The queue that workers take it from."),
        Key::new(
            "priority",
            Form::Word(&["high", "normal"]),
            "high",
            "Before others of its queue, or in turn.",
        ),
        Key::new("pool", Form::Name, "card", "The pool whose limits it counts for."),
        Key::new(
            "message_group",
            Form::Expression,
            "\"'customer-' + input.customer\"",
            "Steps of one message group are done one after another.",
        )
        .aka(&["group"]),
        Key::new(
            "mode",
            Form::Word(&["immediate", "next_on_error", "block_on_error"]),
            "block_on_error",
            "Whether it keeps its place in its message group, and whether its failure holds back those behind it.",
        ),
        Key::new(
            "retry",
            Form::Object(&RETRY),
            "{ attempts: 3, delay: 5s }",
            "When and how often it is tried again.",
        )
        .aka(&["retries", "retry_policy"]),
        Key::new(
            "timeout",
            Form::Either(&SPAN, &Form::Object(&TIMEOUT)),
            "60s",
            "How long one attempt may take; or `{ attempt: …, step: … }`.",
        ),
    ],
};

static TIMEOUT: Object = Object {
    what: "`{ attempt: …, step: … }`",
    one_of: &[],
    keys: &[
        Key::new("attempt", SPAN, "60s", "How long one attempt may take."),
        Key::new("step", SPAN, "10m", "How long the step may take, with all its attempts and waits."),
    ],
};

static POLL: Object = Object {
    what: "`{ action: …, interval: … }`",
    one_of: &[],
    keys: &[
        Key::new("action", Form::Name, "payments.status", "What is run for each poll.")
            .required()
            .aka(&["run", "uses", "job", "task", "do"]),
        Key::new(
            "arguments",
            Form::Template,
            "{ order: \"${input.order}\" }",
            "What the worker is given, the same each time. Without it, the input of the workflow.",
        )
        .aka(&["args", "params", "parameters", "with", "payload"]),
        Key::new("interval", INTERVAL, "5m", "The wait between two polls, counted from the answer.")
            .default("5m")
            .aka(&["every", "delay"]),
        Key::new("backoff", Form::Factor { max: 1_000 }, "2.0", "By what the wait grows each time.")
            .aka(&["factor", "multiplier"]),
        Key::new("max_interval", INTERVAL, "1h", "The longest wait; without it, sixty times `interval`.")
            .aka(&["max_delay"]),
        Key::new(
            "max_duration",
            Form::Duration { min: POLL_INTERVAL_MIN, max: WAIT_MAX },
            "2d",
            "How long it may go on, from the first poll on.",
        )
        .default("1d")
        .aka(&["for", "within"]),
        Key::new(
            "max_attempts",
            Form::Whole { min: 1, max: POLLS_MAX },
            "576",
            "How many polls there may be; without it, as many as the time allows.",
        )
        .aka(&["attempts", "limit", "max_polls"]),
        Key::new(
            "until",
            Form::Expression,
            "\"answer.status == 'paid'\"",
            "The answer of an action that knows nothing of polls is the last if this holds.",
        )
        .aka(&["success_when", "complete_when"]),
        Key::new(
            "abort_when",
            Form::Expression,
            "\"answer.status == 'refused'\"",
            "If this holds, what is waited for will never come, and the step fails at once.",
        )
        .aka(&["fail_when"]),
        Key::new(
            "on_timeout",
            Form::Word(&["fail", "pause", "continue_with_default"]),
            "pause",
            "What it means that nothing came in time: the step fails, the workflow is paused, or the step answers `default`.",
        )
        .default("fail"),
        Key::new("default", Form::Template, "{ paid: false }", "What the step answers when nothing came in time."),
        Key::new(
            "keep_last",
            Form::Whole { min: 1, max: POLLS_KEPT_MAX },
            "50",
            "How many polls are kept on record; without it, 20.",
        ),
    ],
};

static UNTIL: Object = Object {
    what: "`{ until: … }`",
    one_of: &[],
    keys: &[Key::new(
        "until",
        Form::Expression,
        "\"input.not_before\"",
        "A time as text (2026-11-16T20:00:00Z), or in seconds since 1970.",
    )
    .required()
    .aka(&["till", "at", "time"])],
};

static BRANCH: Object = Object {
    what: "`{ choose: …, branches: … }`",
    one_of: &[],
    keys: &[
        Key::new(
            "kind",
            Form::Word(&["exclusive", "inclusive"]),
            "inclusive",
            "Exactly one of the branches, or one and more.",
        )
        .default("exclusive")
        .aka(&["type", "mode"]),
        Key::new(
            "choose",
            Form::Expression,
            "\"outputs['check'].priority\"",
            "The key of a branch, or a list of keys.",
        )
        .required()
        .aka(&["on", "switch", "condition", "if", "when"]),
        Key::new(
            "branches",
            Form::Map { keys: &Form::BranchKey, of: &STEP_KEYS, min: 1, max: BRANCHES_MAX },
            "{ high: [express], low: [] }",
            "The steps of each branch: one follows the other unless `after` says otherwise.",
        )
        .required()
        .aka(&["cases", "options", "paths"]),
        Key::new(
            "otherwise",
            Form::BranchKey,
            "low",
            "The branch that is taken when the expression names none.",
        )
        .aka(&["default", "else"]),
        Key::new("converge", Form::StepKey, "confirm", "The step at which the branches meet again.")
            .aka(&["join", "merge", "then"]),
    ],
};

static TERMINATION: Object = Object {
    what: "`{ if: …, state: …, reason: … }`",
    one_of: &[],
    keys: &[
        Key::new(
            "if",
            Form::Expression,
            "\"!outputs['check'].valid\"",
            "It may read the answer of its own step.",
        )
        .required()
        .aka(&["when", "condition"]),
        Key::new("state", Form::Word(&["succeeded", "failed"]), "failed", "How the whole ends.")
            .default("succeeded"),
        Key::new("reason", Form::Text(MESSAGE_BYTES_MAX), "the order is not valid", "What people read.")
            .required()
            .aka(&["message"]),
    ],
};
