//! The keys of a pause behind a step.

use super::table::{SHAPE, SPAN};
use super::{Form, Key, Object};
use crate::limits::ADDRESS_BYTES_MAX;
use model::limits::REMINDERS_MAX;

const ADDRESS: Form = Form::Text(ADDRESS_BYTES_MAX);

static SIGNED: Object = Object {
    what: "`{ url: …, signing: … }`",
    one_of: &[],
    keys: &[
        Key::new("url", ADDRESS, "https://example.com/approvals", "Where it is told.").required(),
        Key::new("signing", Form::Name, "approvals", "The key of `[signing.NAME]` that signs it.").required(),
    ],
};

pub(super) static PAUSE_AFTER: Object = Object {
    what: "`{ trigger: … }` or `{ resume_after: … }`",
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
            "Unless this holds for what was sent, it keeps waiting. It may read `payload`, `input` and `outputs`.",
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
