//! What a person may do to an alert.
//!
//! Finds   the alert and what somebody wants to do about it.
//! Emits   the alert as it is from then on, and what is told of it; or why not.
//! Why     what a person has in hand stays theirs: after a note or a decision no remedy runs by itself, and what a person opened again
//!         only a person closes, whatever is seen of the thing.

use model::{Alert, AlertMoment, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Review {
    /// Somebody has seen it; it is not told again.
    Acknowledge,
    /// It is somebody's; without a name, nobody's.
    Assign {
        to: Option<String>,
    },
    Note {
        text: String,
    },
    /// It is over, with what was done.
    Resolve {
        notes: String,
    },
    Reopen {
        why: String,
    },
}

impl Review {
    pub fn word(&self) -> &'static str {
        match self {
            Review::Acknowledge => "ack",
            Review::Assign { .. } => "assign",
            Review::Note { .. } => "note",
            Review::Resolve { .. } => "resolve",
            Review::Reopen { .. } => "reopen",
        }
    }
}

/// The alert from then on, the moment, and its words.
pub fn review(
    alert: &Alert,
    wanted: &Review,
    by: &str,
    now: Timestamp,
) -> Result<(Alert, AlertMoment, String), String> {
    let mut after = Alert { updated_at: now, ..alert.clone() };
    let is_over =
        || format!("it was closed by {}; reopen it first", alert.closed_by.as_deref().unwrap_or("nobody"));
    let (moment, text) = match wanted {
        Review::Reopen { .. } if alert.is_open() => return Err("it is open".into()),
        Review::Reopen { why } => {
            (after.closed_at, after.closed_by) = (None, None);
            after.escalated_at = after.escalated_at.or(Some(now));
            after.reopened_at = Some(now);
            (AlertMoment::Reopened, why.clone())
        }
        _ if !alert.is_open() => return Err(is_over()),
        Review::Acknowledge => {
            if let Some(who) = &alert.acknowledged_by {
                return Err(format!("{who} has acknowledged it"));
            }
            (after.acknowledged_at, after.acknowledged_by) = (Some(now), Some(by.into()));
            (AlertMoment::Acknowledged, String::new())
        }
        Review::Assign { to } => {
            after.assigned_to = to.clone();
            (AlertMoment::Assigned, to.clone().unwrap_or_else(|| "nobody".into()))
        }
        Review::Note { text } if text.trim().is_empty() => return Err("a note needs words".into()),
        Review::Note { text } => {
            (after.reviewed_at, after.reviewed_by) = (Some(now), Some(by.into()));
            (AlertMoment::Note, text.clone())
        }
        Review::Resolve { notes } if notes.trim().is_empty() => {
            return Err("say what was done, for whoever meets it next".into());
        }
        Review::Resolve { notes } => {
            (after.reviewed_at, after.reviewed_by) = (Some(now), Some(by.into()));
            (after.closed_at, after.closed_by) = (Some(now), Some(by.into()));
            after.resolution_notes = Some(notes.clone());
            (AlertMoment::Resolved, notes.clone())
        }
    };
    Ok((after, moment, text))
}
