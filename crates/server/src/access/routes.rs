//! Routes, each declared with what it asks of its caller: one that asks nothing has to say so.

use super::{Access, Route, Takes, Within};
use crate::app::App;
use crate::describe::{Described, name_of};
use crate::extract::BODY_BYTES_MAX;
use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath};
use axum::handler::Handler;
use axum::http::Method;
use axum::http::request::Parts;
use axum::routing::{self, MethodRouter};
use std::sync::{Arc, OnceLock};

/// One method with its handler, before it has a path.
pub struct Declared {
    route: Route,
    handler: MethodRouter<Arc<App>>,
}

impl Declared {
    fn new<H: Described<D>, D>(method: Method, access: Access, handler: MethodRouter<Arc<App>>) -> Declared {
        let route = Route {
            method,
            path: "",
            access,
            body: Takes::Json,
            within: Within::Closed,
            name: name_of::<H>(),
            describe: <H as Described<D>>::describe,
            heard: OnceLock::new(),
        };
        Declared { route, handler }
    }

    /// A key with a scope is let in for what this is about; without it, it is refused.
    pub fn within(self, within: Within) -> Declared {
        Declared { route: Route { within, ..self.route }, ..self }
    }

    fn taking(self, body: Takes) -> Declared {
        Declared { route: Route { body, ..self.route }, ..self }
    }
}

pub fn get<H, T, D>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>> + Described<D>,
    T: 'static,
{
    Declared::new::<H, D>(Method::GET, access.into(), routing::get(handler))
}

/// A call that changes something, told in JSON.
pub fn post<H, T, D>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>> + Described<D>,
    T: 'static,
{
    Declared::new::<H, D>(Method::POST, access.into(), routing::post(handler))
}

/// A call that makes something what it says.
pub fn put<H, T, D>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>> + Described<D>,
    T: 'static,
{
    Declared::new::<H, D>(Method::PUT, access.into(), routing::put(handler))
}

/// A call that takes something away; its body says no more than who asks.
pub fn delete<H, T, D>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>> + Described<D>,
    T: 'static,
{
    Declared::new::<H, D>(Method::DELETE, access.into(), routing::delete(handler))
}

/// A call that changes something, told in YAML or JSON.
pub fn text<H, T, D>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>> + Described<D>,
    T: 'static,
{
    post(access, handler).taking(Takes::Text)
}

/// A call that changes something, told by a form.
pub fn form<H, T, D>(access: impl Into<Access>, handler: H) -> Declared
where
    H: Handler<T, Arc<App>> + Described<D>,
    T: 'static,
{
    post(access, handler).taking(Takes::Form)
}

#[derive(Default)]
pub struct Routes {
    router: Router<Arc<App>>,
    table: Vec<Route>,
}

impl Routes {
    pub fn at(mut self, path: &'static str, methods: impl IntoIterator<Item = Declared>) -> Routes {
        for Declared { route, handler } in methods {
            self.router = self.router.route(path, handler);
            self.table.push(Route { path, ..route });
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
