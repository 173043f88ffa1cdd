//! The keys of a pause behind a step.

use super::table::{INTERVAL, SHAPE, SPAN};
use super::{Form, Key, Object};
use crate::limits::ADDRESS_BYTES_MAX;
use model::limits::{POLLS_KEPT_MAX, POLLS_MAX, REMINDERS_MAX};

const ADDRESS: Form = Form::Text(ADDRESS_BYTES_MAX);

static SIGNED: Object = Object {
    what: "`{ url: …, signing: … }`",
    one_of: &[],
    keys: &[
        Key::new("url", ADDRESS, "https://example.com/approvals", "Where it is told.").required(),
        Key::new("signing", Form::Name, "approvals", "The key of `[signing.NAME]` that signs it.").required(),
    ],
};

/// What a pause asks by itself. When it ends, and when it has lasted too long, is said beside it.
static ASKED: Object = Object {
    what: "`{ action: …, interval: … }`",
    one_of: &[],
    keys: &[
        Key::new("action", Form::Name, "payments.status", "What is run for each poll.")
            .required()
            .aka(&["run", "uses", "job", "task", "do"]),
        Key::new(
            "arguments",
            Form::Template,
            "{ order: \"${outputs.submit.id}\" }",
            "What the worker is given, the same each time. Without it, the input of the workflow.",
        )
        .aka(&["args", "params", "parameters", "with"]),
        Key::new("interval", INTERVAL, "5m", "The wait between two polls, counted from the answer.")
            .default("5m")
            .aka(&["every", "delay"]),
        Key::new("backoff", Form::Factor { max: 1_000 }, "2.0", "By what the wait grows each time.")
            .aka(&["factor", "multiplier"]),
        Key::new("max_interval", INTERVAL, "1h", "The longest wait; without it, sixty times `interval`.")
            .aka(&["max_delay"]),
        Key::new(
            "max_attempts",
            Form::Whole { min: 1, max: POLLS_MAX },
            "576",
            "How many polls there may be; without it, as many as `timeout` allows.",
        )
        .aka(&["attempts", "limit", "max_polls"]),
        Key::new(
            "abort_when",
            Form::Expression,
            "\"payload.status == 'refused'\"",
            "If this holds for an answer, what is waited for will never come, and the workflow fails at once.",
        )
        .aka(&["fail_when"]),
        Key::new(
            "keep_last",
            Form::Whole { min: 1, max: POLLS_KEPT_MAX },
            "50",
            "How many polls are kept on record; without it, 20.",
        ),
    ],
};

pub(super) static PAUSE_AFTER: Object = Object {
    what: "`{ trigger: … }`, `{ resume_after: … }` or `{ poll: … }`",
    one_of: &[],
    keys: &[
        Key::new(
            "trigger",
            Form::StepKey,
            "manager-approval",
            "What somebody triggers to let it go on. What is sent with it is an output of this name.",
        )
        .aka(&["event", "signal", "on", "await"]),
        Key::new(
            "resume_after",
            SPAN,
            "14d",
            "It goes on by itself after so long, and listens to no one. In place of `trigger`.",
        )
        .aka(&["after", "delay", "wait"]),
        Key::new(
            "poll",
            Form::Object(&ASKED),
            "{ action: payments.status, interval: 5m }",
            "It asks an action again and again, and goes on when `resume_when` holds for an answer. In place of `trigger`.",
        )
        .aka(&["polling", "ask"]),
        Key::new("timeout", SPAN, "7d", "How long it waits before `on_timeout`.").aka(&["expires_after"]),
        Key::new(
            "on_timeout",
            Form::Word(&["fail", "remind", "auto_approve", "extend"]),
            "remind",
            "When nobody came: the workflow fails; it is told again and waits as long again; it goes on with `default`; or it waits as long again, once.",
        )
        .default("fail"),
        Key::new(
            "reminders",
            Form::Whole { min: 1, max: REMINDERS_MAX },
            "3",
            "How often it is reminded of before it fails; 3 unless it is said.",
        )
        .aka(&["max_reminders"]),
        Key::new(
            "default",
            Form::Template,
            "{ approved: true }",
            "What `auto_approve` goes on with, as it stands here.",
        ),
        Key::new(
            "resume_when",
            Form::Expression,
            "\"payload.approved == true\"",
            "Unless this holds for what was sent, or answered to `poll`, it keeps waiting. It may read `payload`, `input` and `outputs`.",
        )
        .aka(&["when", "if", "condition"]),
        Key::new(
            "payload",
            Form::Object(&SHAPE),
            "{ schema: { type: object } }",
            "What must be sent; anything else is refused.",
        )
        .aka(&["body", "input"]),
        Key::new(
            "auth",
            Form::Word(&["api_key", "hmac", "token"]),
            "hmac",
            "How whoever triggers it shows who they are: an API key, a signature, or a token made for this very pause. There is no pause without.",
        )
        .default("api_key")
        .aka(&["authentication", "security"]),
        Key::new(
            "notify",
            Form::Either(&ADDRESS, &Form::Object(&SIGNED)),
            "https://example.com/approvals",
            "Where it is told that it waits, as a webhook; or `{ url: …, signing: … }`.",
        )
        .aka(&["webhook"]),
    ],
};
