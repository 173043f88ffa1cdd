//! What people did, newest first, and whatever of it somebody asks for.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, instant, page_size};
use crate::pages::place;
use axum::Json;
use axum::extract::State;
use model::limits;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::AuditFilter;

/// Everything that is said must hold.
#[derive(Clone, Debug, Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    /// Who did it, as a row says; without ` from ADDRESS`, from wherever it was.
    #[schemars(length(min = 1, max = limits::AUDIT_ASKED_BYTES_MAX))]
    pub who: Option<String>,
    /// What was done, as a row says: `cancel`, `breaker off`.
    #[schemars(length(min = 1, max = limits::AUDIT_ASKED_BYTES_MAX))]
    pub verb: Option<String>,
    /// What it was done to: the id of a workflow, step, flow or subscription, or as a row says, `pool api`. A workflow is asked for
    /// with its triggers.
    #[schemars(length(min = 1, max = limits::AUDIT_ASKED_BYTES_MAX))]
    pub target: Option<String>,
    /// Done at this instant or later, as RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub from: Option<String>,
    /// Done before this instant.
    #[schemars(extend("format" = "date-time"))]
    pub to: Option<String>,
    /// `next` of the page before.
    pub after: Option<String>,
    #[schemars(range(min = 1, max = limits::PAGE_ROWS_MAX))]
    pub limit: Option<usize>,
}

impl Wanted {
    pub fn filter(&self) -> Result<AuditFilter, ApiError> {
        let time = |name, text: &Option<String>| text.as_deref().map(|text| instant(name, text)).transpose();
        let (from, to) = (time("from", &self.from)?, time("to", &self.to)?);
        if let (Some(first), Some(end)) = (from, to)
            && first > end
        {
            return Err(ApiError::BadRequest("from: it is after `to`; write the earlier one there".into()));
        }
        Ok(AuditFilter {
            who: word("who", &self.who)?,
            verb: word("verb", &self.verb)?,
            target: word("target", &self.target)?,
            from,
            to,
            after: place(self.after.as_deref())?,
            limit: page_size(self.limit)?,
        })
    }

    /// What is asked for, as it stands in an address.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let pairs = [
            ("after", self.after.clone()),
            ("who", self.who.clone()),
            ("verb", self.verb.clone()),
            ("target", self.target.clone()),
            ("from", self.from.clone()),
            ("to", self.to.clone()),
            ("limit", self.limit.map(|limit| limit.to_string())),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// What a form leaves empty is not asked for.
    pub fn without_empty(self) -> Wanted {
        let said =
            |text: Option<String>| text.map(|text| text.trim().to_string()).filter(|text| !text.is_empty());
        let Wanted { who, verb, target, from, to, after, limit } = self;
        Wanted {
            who: said(who),
            verb: said(verb),
            target: said(target),
            from: said(from),
            to: said(to),
            after: said(after),
            limit,
        }
    }
}

fn word(name: &str, text: &Option<String>) -> Result<Option<String>, ApiError> {
    let refused = match text.as_ref().map(String::len) {
        Some(0) => "it is empty; leave it out".to_string(),
        Some(n) if n > limits::AUDIT_ASKED_BYTES_MAX => {
            format!("it has {n} bytes; use at most {}", limits::AUDIT_ASKED_BYTES_MAX)
        }
        _ => return Ok(text.clone()),
    };
    Err(ApiError::BadRequest(format!("{name}: {refused}")))
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::AuditPage>, ApiError> {
    let filter = wanted.filter()?;
    Ok(Json(app.read(move |browse| answers::audit(browse, &filter)).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_said() {
        let long = "x".repeat(limits::AUDIT_ASKED_BYTES_MAX + 1);
        let day = |n: u8| Some(format!("2027-01-{n}T08:00:00Z"));
        let all = Wanted::default;
        let wrong = [
            (Wanted { who: Some(String::new()), ..all() }, "who: it is empty; leave it out"),
            (Wanted { target: Some(long), ..all() }, "target: it has 1001 bytes; use at most 1000"),
            (Wanted { to: Some("noon".into()), ..all() }, "to: `noon` is not an instant"),
            (Wanted { from: day(16), to: day(15), ..all() }, "from: it is after `to`"),
            (Wanted { after: Some("x".into()), ..all() }, "after: `x` is not a place in this list"),
        ];
        for (wanted, told) in wrong {
            let refused = wanted.filter().unwrap_err().to_string();
            assert!(refused.starts_with(told), "{refused}");
        }
        assert!(Wanted { from: day(15), to: day(15), ..all() }.filter().is_ok());
    }

    #[test]
    fn what_a_form_leaves_empty_is_not_asked_for() {
        let said = Wanted { who: Some(" ".into()), target: Some(" pool api ".into()), ..Wanted::default() };
        assert_eq!(said.without_empty().pairs(), [("target", "pool api".to_string())]);
    }
}
