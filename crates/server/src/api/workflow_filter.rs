//! Which workflows a list is asked for, as parameters.

use crate::codes;
use crate::describe::{Asks, Operation};
use crate::error::ApiError;
use crate::extract::{instant, page_size};
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use model::{WorkflowState, limits};
use schemars::JsonSchema;
use std::fmt::Display;
use std::str::FromStr;
use store::WorkflowFilter;

const NAMES: &str = "state, workflow, version, label, from, to, quiet_since, nested, after, limit";

/// The same by name, for the description of the API.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is read by its names alone")]
struct Named {
    /// One or more, with commas between them.
    state: Option<String>,
    /// The name of a definition.
    workflow: Option<String>,
    version: Option<String>,
    /// As `name:value`; all that are said must hold.
    #[schemars(default, length(max = limits::LABELS_MAX), inner(regex(pattern = "^[^:]*:")))]
    label: Vec<String>,
    /// Made at this instant or later, as RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    from: Option<String>,
    /// Made before this instant.
    #[schemars(extend("format" = "date-time"))]
    to: Option<String>,
    /// Being done, and nothing has happened since this instant.
    #[schemars(extend("format" = "date-time"))]
    quiet_since: Option<String>,
    /// Also those that a step of another started.
    nested: Option<bool>,
    /// `next` of the page before.
    after: Option<String>,
    #[schemars(range(min = 1, max = limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
}

impl Asks for Wanted {
    fn ask(about: &mut Operation) {
        about.fields::<Named>("query");
        about.refuses(codes::BAD_REQUEST);
    }
}

/// The parameters as written; `label` may be said more than once.
#[derive(Clone, Default, Debug)]
pub struct Wanted {
    pub pairs: Vec<(String, String)>,
}

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let read = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(pairs) = read.map_err(|refused| ApiError::BadRequest(refused.body_text()))?;
        Ok(Wanted { pairs })
    }
}

impl Wanted {
    pub fn said(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(said, _)| said == name).map(|(_, value)| value.as_str())
    }

    /// The same, but for one parameter.
    pub fn with(&self, name: &'static str, value: Option<&str>) -> Wanted {
        let mut pairs: Vec<(String, String)> =
            self.pairs.iter().filter(|(said, _)| said != name).cloned().collect();
        pairs.extend(value.map(|value| (name.to_string(), value.to_string())));
        Wanted { pairs }
    }

    pub fn filter(&self) -> Result<WorkflowFilter, ApiError> {
        let mut filter = WorkflowFilter::default();
        let mut limit = None;
        for (name, value) in &self.pairs {
            match name.as_str() {
                "state" => filter.states.extend(states(value)?),
                "workflow" => filter.definition = Some(value.clone()),
                "version" => filter.version = Some(value.clone()),
                "label" => filter.labels.push(label(value)?),
                "from" => filter.created_from = Some(instant("from", value)?),
                "to" => filter.created_to = Some(instant("to", value)?),
                "quiet_since" => filter.quiet_since = Some(instant("quiet_since", value)?),
                "nested" => filter.nested = read("nested", value)?,
                "after" => filter.after = Some(read("after", value)?),
                "limit" => limit = Some(read("limit", value)?),
                _ => {
                    return Err(ApiError::BadRequest(format!(
                        "`{name}` is not a parameter; these are: {NAMES}"
                    )));
                }
            }
        }
        if filter.labels.len() > limits::LABELS_MAX {
            return Err(ApiError::BadRequest(format!("label: name at most {}", limits::LABELS_MAX)));
        }
        Ok(WorkflowFilter { limit: page_size(limit)?, ..filter })
    }
}

fn read<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, ApiError> {
    text.parse()
        .map_err(|problem| ApiError::BadRequest(format!("{name}: `{text}` is not understood: {problem}")))
}

fn states(words: &str) -> Result<Vec<WorkflowState>, ApiError> {
    words.split(',').filter(|word| !word.is_empty()).map(|word| read("state", word)).collect()
}

fn label(text: &str) -> Result<(String, String), ApiError> {
    let strange = || format!("label: `{text}` is not a label; write `name:value`");
    let (name, value) = text.split_once(':').ok_or_else(|| ApiError::BadRequest(strange()))?;
    Ok((name.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use std::collections::BTreeSet;

    fn wanted(pairs: &[(&str, &str)]) -> Wanted {
        let pair = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        Wanted { pairs: pairs.iter().map(pair).collect() }
    }

    #[test]
    fn everything_that_is_said_must_hold() {
        let said = [
            ("state", "running,failed"),
            ("label", "a:b:c"),
            ("label", "d:"),
            ("from", "2027-01-15T08:00:00Z"),
        ];
        let filter = wanted(&said).filter().unwrap();
        assert_eq!(filter.states.len(), 2);
        assert_eq!(filter.labels, [("a".into(), "b:c".into()), ("d".into(), String::new())]);
        assert_eq!(filter.created_from, Some(Timestamp(1_800_000_000_000_000)));
        assert_eq!((filter.limit, filter.nested), (50, false));
    }

    #[test]
    fn the_description_names_what_is_read() {
        let schema = schemars::schema_for!(Named).to_value();
        let described: BTreeSet<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, NAMES.split(", ").collect());
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (name, value, told) in [
            ("state", "done", "state: `done` is not understood"),
            ("label", "team", "write `name:value`"),
            ("from", "yesterday", "from: `yesterday` is not an instant"),
            ("quiet_since", "24h", "quiet_since: `24h` is not an instant"),
            ("nested", "maybe", "nested: `maybe` is not understood"),
            ("limit", "0", "limit: 0 is not between"),
            ("colour", "red", "`colour` is not a parameter; these are: state, workflow"),
        ] {
            let refused = wanted(&[(name, value)]).filter().unwrap_err().to_string();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
