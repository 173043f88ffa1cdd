//! Who a page is made for, known wherever it is drawn: nobody is led to what they may not open.
//!
//! Why    every page has the same way around, and most are made from what they show alone. Who looks is known for as long as a request
//!        is answered, so it need not be carried through each of them.

use super::{Access, Caller, Route, Within};
use axum::http::Method;
use std::sync::LazyLock;

tokio::task_local! {
    static LOOKS: Caller;
}

/// Every route, found once.
static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(crate::routes);

/// Answer for somebody.
pub async fn looking<T>(caller: Caller, answer: impl Future<Output = T>) -> T {
    LOOKS.scope(caller, answer).await
}

/// Whether whoever looks may open what is at this path; where nobody is known, everything is told.
pub fn is_open(path: &str) -> bool {
    let route = ROUTES.iter().find(|route| route.path == path && route.method == Method::GET);
    let may = |caller: &Caller| route.is_some_and(|route| caller.may_open(route));
    LOOKS.try_with(may).unwrap_or(true)
}

impl Caller {
    fn may_open(&self, route: &Route) -> bool {
        match route.access {
            Access::Open => true,
            Access::Token => false,
            Access::Needs(right) => {
                self.must(right).is_ok() && (!self.has_scope() || route.within != Within::Closed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::caller::tests::caller;
    use super::*;
    use model::Role;

    #[tokio::test]
    async fn nobody_is_led_to_what_is_closed_to_them() {
        let paths = ["/step-dispatcher", "/step-dispatcher/steps", "/bulk", "/keys", "/metrics", "/sign-in"];
        let open = async |caller: Caller| {
            looking(caller, async { paths.into_iter().filter(|path| is_open(path)).collect::<Vec<_>>() })
                .await
        };
        assert_eq!(open(Caller::Loopback).await, paths);
        assert_eq!(
            open(caller(Role::Viewer, &[])).await,
            ["/step-dispatcher", "/step-dispatcher/steps", "/bulk", "/metrics", "/sign-in"]
        );
        assert_eq!(
            open(caller(Role::Admin, &["slow"])).await,
            ["/step-dispatcher/steps", "/bulk", "/sign-in"]
        );
        assert_eq!(open(Caller::Nobody).await, ["/sign-in"]);
        assert!(is_open("/keys"), "where nobody looks, nothing is kept back");
    }
}
