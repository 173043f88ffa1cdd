//! The engine as people look at it: dispatch groups, nodes, ticks, breakers, pools, keys, and whether all is as it must be.

use super::{PAGES_MAX, Window, now};
use crate::{Refused, Unavailable};
use anyhow::{Result, bail};
use model::limits;
use serde::de::DeserializeOwned;
use server::{WantedAudit, answers, convert};
use wire::{
    AuditPage, BreakersView, CheckView, DrainView, GroupPage, GroupView, KeyPage, KeyView, NodePage,
    NodeView, PoolPage, PoolView, TickPage, TickView,
};

impl Window {
    pub async fn groups(&self) -> Result<Vec<GroupView>> {
        match self {
            Window::Database(browse) => Ok(answers::groups(browse, now())?.groups),
            Window::Server { .. } => self.all("groups", |page: GroupPage| (page.groups, page.next)).await,
        }
    }

    pub async fn nodes(&self) -> Result<Vec<NodeView>> {
        match self {
            Window::Database(browse) => Ok(answers::nodes(browse, now())?.nodes),
            Window::Server { .. } => self.all("nodes", |page: NodePage| (page.nodes, page.next)).await,
        }
    }

    pub async fn pools(&self) -> Result<Vec<PoolView>> {
        match self {
            Window::Database(browse) => {
                let now = now();
                Ok(browse.pools()?.iter().map(|pool| convert::pool_view(pool, now)).collect())
            }
            Window::Server { .. } => self.all("pools", |page: PoolPage| (page.pools, page.next)).await,
        }
    }

    /// Every API key, newest first.
    pub async fn keys(&self) -> Result<Vec<KeyView>> {
        match self {
            Window::Database(browse) => {
                let now = now();
                Ok(browse.keys()?.iter().map(|key| convert::key_view(key, now)).collect())
            }
            Window::Server { .. } => self.all("keys", |page: KeyPage| (page.keys, page.next)).await,
        }
    }

    /// Up to so many ticks, newest first.
    pub async fn ticks(&self, dispatch_group: Option<&str>, limit: usize) -> Result<Vec<TickView>> {
        let (mut ticks, mut after) = (Vec::new(), None::<i64>);
        while ticks.len() < limit {
            let page = self.ticks_behind(dispatch_group, after, limit - ticks.len()).await?;
            ticks.extend(page.ticks);
            match page.next.as_deref().map(str::parse) {
                Some(Ok(next)) => after = Some(next),
                Some(Err(_)) => bail!(strange_page()),
                None => break,
            }
        }
        Ok(ticks)
    }

    async fn ticks_behind(&self, group: Option<&str>, after: Option<i64>, limit: usize) -> Result<TickPage> {
        let limit = limit.min(limits::PAGE_ROWS_MAX);
        match self {
            Window::Database(browse) => Ok(answers::ticks(browse, group, after, limit)?),
            Window::Server { .. } => {
                let mut query = vec![("limit", limit.to_string())];
                query.extend(group.map(|group| ("dispatch_group", group.to_string())));
                query.extend(after.map(|after| ("after", after.to_string())));
                self.ask(&["v1", "ticks"], &query).await
            }
        }
    }

    /// A page of what people did, newest first; of it what is asked for.
    pub async fn audit(&self, wanted: &WantedAudit) -> Result<AuditPage> {
        let filter = wanted.filter().map_err(|refused| Refused(format!("--{refused}")))?;
        match self {
            Window::Database(browse) => Ok(answers::audit(browse, &filter)?),
            Window::Server { .. } => self.ask(&["v1", "audit"], &wanted.pairs()).await,
        }
    }

    pub async fn breakers(&self) -> Result<BreakersView> {
        match self {
            Window::Database(browse) => Ok(answers::breakers(browse, now())?),
            Window::Server { .. } => self.ask(&["v1", "breaker"], &[]).await,
        }
    }

    /// Whether a restart is safe, for everything or for one dispatch group.
    pub async fn drain(&self, dispatch_group: Option<&str>) -> Result<DrainView> {
        match self {
            Window::Database(browse) => {
                let name = dispatch_group.unwrap_or_default();
                let none = || Refused(format!("there is no dispatch group `{name}` in this database yet"));
                Ok(answers::drain(browse, dispatch_group, now())?.ok_or_else(none)?)
            }
            Window::Server { .. } => {
                let query: Vec<_> =
                    dispatch_group.map(|group| ("dispatch_group", group.to_string())).into_iter().collect();
                self.ask(&["v1", "drain"], &query).await
            }
        }
    }

    /// What a check of the whole database finds; `looked` is told how far it is, where that is known.
    pub async fn check(&self, is_offline: bool, looked: impl FnMut(usize, usize)) -> Result<CheckView> {
        match self {
            Window::Database(browse) => Ok(convert::check_view(&browse.check(now(), is_offline, looked)?)),
            Window::Server { .. } => self.ask(&["v1", "check"], &[]).await,
        }
    }

    /// A whole list of a server, page by page.
    async fn all<P: DeserializeOwned, T>(
        &self,
        list: &str,
        parts: impl Fn(P) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>> {
        let (mut all, mut query) = (Vec::new(), vec![("limit", limits::PAGE_ROWS_MAX.to_string())]);
        for _ in 0..PAGES_MAX {
            let (rows, next) = parts(self.ask(&["v1", list], &query).await?);
            all.extend(rows);
            match next {
                Some(next) => {
                    query.truncate(1);
                    query.push(("after", next));
                }
                None => return Ok(all),
            }
        }
        crate::cmd::note(format_args!("there are more; these are the first {}", all.len()));
        Ok(all)
    }
}

fn strange_page() -> Unavailable {
    Unavailable("the server answered with a page that has no number".into())
}
