//! What a route hears beside its path and its body. What it would pass over is refused: whoever sends it believes that it counts.
//!
//! Why    a `dry_run` behind the question mark of a call that has none would do what was only to be tried, and an `If-Match` that nobody
//!        looks at would let through what it was to stop. Handlers that take parameters refuse unknown ones by themselves.

use super::Route;
use crate::describe::Operation;
use crate::error::ApiError;
use axum::http::request::Parts;
use axum::http::{Method, header};

#[derive(Clone, Debug)]
pub struct Heard {
    has_parameters: bool,
    has_revision: bool,
}

impl Heard {
    fn of(route: &Route) -> Heard {
        let mut about = Operation::new(Default::default());
        (route.describe)(&mut about);
        let has = |place, name: Option<&str>| {
            about.parameters.iter().any(|p| p.place == place && name.is_none_or(|name| p.name == name))
        };
        Heard { has_parameters: has("query", None), has_revision: has("header", Some("If-Match")) }
    }
}

impl Route {
    /// Programs are told; people may come by a link that has more in it.
    pub fn hears(&self, request: &Parts) -> Result<(), ApiError> {
        let query = request.uri.query().filter(|query| !query.is_empty());
        let tag = request.headers.get(header::IF_MATCH).filter(|tag| *tag != "*");
        let tag = tag.filter(|_| self.method != Method::GET);
        if !self.path.starts_with("/v1/") || (query.is_none() && tag.is_none()) {
            return Ok(());
        }
        let heard = self.heard.get_or_init(|| Heard::of(self));
        if let (Some(query), false) = (query, heard.has_parameters) {
            let where_to =
                if self.method == Method::GET { "" } else { "; what it is told stands in its body" };
            let problem = format!("this call takes no parameters, and `?{query}` has one{where_to}");
            return Err(ApiError::BadRequest(problem));
        }
        if tag.is_some() && !heard.has_revision {
            let problem = "If-Match: this call does not look at what you have seen; leave it out";
            return Err(ApiError::BadRequest(problem.into()));
        }
        Ok(())
    }
}
