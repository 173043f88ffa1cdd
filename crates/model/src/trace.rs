//! Which trace a piece of work belongs to, as W3C trace context writes it.
//!
//! Why    whoever asks for work and whoever does it see one trace, however often and however much later it is done.

use crate::limits::TRACE_STATE_BYTES_MAX;
use crate::{StepId, WorkflowId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// A place in a trace: whatever comes of it has this for its parent.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Trace {
    pub id: u128,
    pub span: u64,
    /// Whether somebody wants to see it.
    pub sampled: bool,
    /// What vendors add; carried and never read.
    pub state: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no trace context; write {SHAPE}")]
pub struct NotATrace(String);

const SHAPE: &str = "`00-<32 hex digits>-<16 hex digits>-<2 hex digits>`";

impl NotATrace {
    /// What is wrong, and what to write instead.
    pub fn told(&self) -> (String, String) {
        (format!("`{}` is no trace context", self.0), format!("write {SHAPE}"))
    }
}

impl Trace {
    /// With what came in the header `tracestate`; one that is too long is left out, as the standard allows.
    #[must_use]
    pub fn with_state(self, state: Option<&str>) -> Trace {
        let fits = |text: &&str| {
            !text.is_empty()
                && text.len() <= TRACE_STATE_BYTES_MAX
                && text.bytes().all(|b| (0x20..0x7f).contains(&b))
        };
        Trace { state: state.map(str::trim).filter(fits).map(Into::into), ..self }
    }
    /// The trace of a step that came without one is its workflow's, or its own.
    pub fn of_step(step: StepId, workflow: Option<WorkflowId>) -> Trace {
        match workflow {
            Some(workflow) => Trace::of_workflow(workflow).at(workflow_span(workflow)),
            None => Trace::rooted(u128::from_be_bytes(*step.bytes())),
        }
    }
    /// Of a workflow that came without one.
    pub fn of_workflow(workflow: WorkflowId) -> Trace {
        Trace::rooted(u128::from_be_bytes(*workflow.bytes()))
    }
    fn rooted(id: u128) -> Trace {
        Trace { id, span: 0, sampled: true, state: None }
    }
    /// Whether nothing is above it.
    pub fn is_root(&self) -> bool {
        self.span == 0
    }
    /// The same trace, further down.
    #[must_use]
    pub fn at(&self, span: u64) -> Trace {
        Trace { span, ..self.clone() }
    }
    /// As the header `traceparent` says it.
    pub fn parent(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.id, self.span, u8::from(self.sampled))
    }
}

/// The span of one attempt of a step: whoever knows these knows it, and nobody stores it.
pub fn attempt_span(step: StepId, attempt: u32) -> u64 {
    span_of(u128::from_be_bytes(*step.bytes()), attempt)
}

/// The span of a whole workflow.
pub fn workflow_span(workflow: WorkflowId) -> u64 {
    span_of(u128::from_be_bytes(*workflow.bytes()), 0)
}

fn span_of(id: u128, attempt: u32) -> u64 {
    // splitmix64: every id and attempt gives another number, evenly spread.
    let mut x = (id as u64) ^ ((id >> 64) as u64).rotate_left(32) ^ (u64::from(attempt) << 1);
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)).max(1)
}

/// As it is stored: the header `traceparent`, and behind a space what `tracestate` said.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parent())?;
        self.state.iter().try_for_each(|state| write!(f, " {state}"))
    }
}

impl FromStr for Trace {
    type Err = NotATrace;
    fn from_str(text: &str) -> Result<Trace, NotATrace> {
        let (parent, state) =
            text.split_once(' ').map_or((text, None), |(parent, state)| (parent, Some(state)));
        let refused = || NotATrace(parent.chars().take(80).collect());
        parse(parent).map(|trace| trace.with_state(state)).ok_or_else(refused)
    }
}

fn parse(parent: &str) -> Option<Trace> {
    let mut parts = parent.split('-');
    let [version, id, span, flags] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    let version = hex(version, 2)?;
    // A later version may say more behind these; this one may not.
    if version == 0xff || (version == 0 && parts.next().is_some()) {
        return None;
    }
    let trace = Trace {
        id: hex(id, 32)?,
        span: u64::try_from(hex(span, 16)?).ok()?,
        sampled: hex(flags, 2)? & 1 == 1,
        state: None,
    };
    (trace.id != 0 && trace.span != 0).then_some(trace)
}

fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    (text.len() == digits && is_hex).then(|| u128::from_str_radix(text, 16).ok())?
}

impl Serialize for Trace {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Trace, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn it_is_written_as_it_is_read() {
        for text in [PARENT.to_owned(), format!("{PARENT} congo=t61rcWkgMzE,rojo=00f067aa0ba902b7")] {
            assert_eq!(text.parse::<Trace>().unwrap().to_string(), text);
        }
        let unsampled = PARENT.replace("-01", "-00").parse::<Trace>().unwrap();
        assert!(!unsampled.sampled);
        assert_eq!(unsampled.parent(), PARENT.replace("-01", "-00"));
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let later = format!("{}-what-comes", PARENT.replacen("00", "01", 1));
        assert_eq!(later.parse::<Trace>().unwrap().parent(), PARENT);
    }

    #[test]
    fn what_is_no_context_is_refused() {
        let zeros = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";
        let no_span = "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01";
        let upper = PARENT.to_uppercase();
        let more = format!("{PARENT}-more");
        let reserved = PARENT.replacen("00", "ff", 1);
        for text in ["", "x", zeros, no_span, &upper, &more, &reserved, &PARENT[..54], "00-é-é-é"] {
            assert!(text.parse::<Trace>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_state_that_is_too_long_is_left_out() {
        let trace = |state: &str| PARENT.parse::<Trace>().unwrap().with_state(Some(state)).state;
        assert_eq!(trace("a=1").as_deref(), Some("a=1"));
        assert_eq!(trace(&"a".repeat(TRACE_STATE_BYTES_MAX + 1)), None);
        assert_eq!(trace("a=\n"), Some("a=".into()));
        assert_eq!(trace("a=\u{7}b"), None);
    }

    #[test]
    fn spans_differ_by_attempt_and_by_step() {
        let spans: std::collections::BTreeSet<u64> =
            (0..100).flat_map(|id| (0..100).map(move |attempt| span_of(id << 40 | id, attempt))).collect();
        assert_eq!(spans.len(), 10_000);
    }
}
