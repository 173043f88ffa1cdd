//! Routes, each declared with what it asks of its caller: one that asks nothing has to say so.

use super::{Access, Route, Takes};
use crate::app::App;
use crate::extract::BODY_BYTES_MAX;
use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath};
use axum::handler::Handler;
use axum::http::Method;
use axum::http::request::Parts;
use axum::routing::{self, MethodRouter};
use std::sync::Arc;

/// One method with its handler, before it has a path.
pub struct Declared {
    method: Method,
    access: Access,
    body: Takes,
    handler: MethodRouter<Arc<App>>,
}

pub fn get<H, T>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    let handler = routing::get(handler);
    Declared { method: Method::GET, access: access.into(), body: Takes::Json, handler }
}

/// A call that changes something, told in JSON.
pub fn post<H, T>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    let handler = routing::post(handler);
    Declared { method: Method::POST, access: access.into(), body: Takes::Json, handler }
}

/// A call that makes something what it says.
pub fn put<H, T>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    let handler = routing::put(handler);
    Declared { method: Method::PUT, access: access.into(), body: Takes::Json, handler }
}

/// A call that takes something away; its body says no more than who asks.
pub fn delete<H, T>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    let handler = routing::delete(handler);
    Declared { method: Method::DELETE, access: access.into(), body: Takes::Json, handler }
}

/// A call that changes something, told in YAML or JSON.
pub fn text<H, T>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    Declared { body: Takes::Text, ..post(access, handler) }
}

/// A call that changes something, told by a form.
pub fn form<H, T>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>>,
    T: 'static,
{
    Declared { body: Takes::Form, ..post(access, handler) }
}

#[derive(Default)]
pub struct Routes {
    router: Router<Arc<App>>,
    table: Vec<Route>,
}

impl Routes {
    pub fn at(mut self, path: &'static str, methods: impl IntoIterator<Item = Declared>) -> Routes {
        for Declared { method, access, body, handler } in methods {
            self.router = self.router.route(path, handler);
            self.table.push(Route { method, path, access, body });
        }
        self
    }

    pub fn and(mut self, others: Routes) -> Routes {
        self.router = self.router.merge(others.router);
        self.table.extend(others.table);
        self
    }

    pub fn parts(self) -> (Router<Arc<App>>, Table) {
        (self.router.layer(DefaultBodyLimit::max(BODY_BYTES_MAX)), Table(self.table))
    }
}

/// What every declared route asks.
pub struct Table(Vec<Route>);

impl Table {
    pub fn routes(&self) -> &[Route] {
        &self.0
    }

    /// The route of a request; none where nothing answers it.
    pub fn find(&self, request: &Parts) -> Option<&Route> {
        let path = request.extensions.get::<MatchedPath>()?.as_str();
        let method = if request.method == Method::HEAD { &Method::GET } else { &request.method };
        self.0.iter().find(|route| route.path == path && route.method == method)
    }
}
