//! What people ask, answered from one reading connection: for the API, the pages and the command line alike.

mod alerts;
mod bulk;
mod channels;
mod course;
mod definitions;
mod family;
mod flows;
mod half_done;
mod holds;
mod message_groups;
mod pauses;
mod polls;
mod progress;
mod rates;
mod subscriptions;
mod timeline;
mod within;
mod workflows;

pub use alerts::{alert, alert_figures, alerts, stuck_rule, stuck_rules};
pub use bulk::{BulkRecord, bulk_operation, bulk_operations, bulk_operations_within};
pub use channels::{channel, channels, notices, notices_behind};
pub use course::{NoItems, decisions, decisions_behind, events, events_before, items};
pub use definitions::{Standing, as_written, definition, definition_cursor, definitions, standing, stored};
pub use family::{BELOW_SHOWN, Family, family};
pub use flows::{flow, flows};
pub use half_done::half_done;
pub use message_groups::{GroupFilter, message_groups};
pub use pauses::{pauses, pauses_behind, triggers};
pub use polls::{polls, read_poll_cursor};
pub use progress::{flow_account, flow_progress, step_progress, workflow_progress};
pub use rates::{Rates, Window, rates};
pub use subscriptions::subscriptions;
pub use timeline::{Bar, Lane, LaneKind, LeftOut, Span, Timeline, timeline};
pub use within::{executions_within, steps_within, workflows_within};
pub use workflows::{workflow, workflows};

use crate::pages::cut;
use crate::secrets::{Known, Secrets};
use crate::{convert, figures, words};
use model::{BlockId, Breaker, DispatchGroup, StepId, Timestamp};
use std::collections::HashMap;
use std::rc::Rc;
use store::Browse;
use store::{AuditFilter, Filter, Result, StepRow};

/// Rows read at once; payloads are large, so a long page is read in pieces.
const ROWS_AT_ONCE: usize = 50;
/// A page ends early, with a cursor, once its payloads are this large.
const PAGE_BYTES_MAX: usize = 8 << 20;

/// Up to `filter.limit` steps, newest first, and the cursor of the next page when there is one.
pub fn steps(browse: &Browse, filter: &Filter) -> Result<wire::StepPage> {
    steps_down_to(browse, filter, None)
}

fn steps_down_to(browse: &Browse, filter: &Filter, oldest: Option<StepId>) -> Result<wire::StepPage> {
    let mut filter = filter.clone();
    let limit = filter.limit.max(1);
    let (mut parents, mut known) = (Parents::default(), Known::default());
    let (mut steps, mut bytes, mut last) = (Vec::new(), 0, None);
    loop {
        // One row more than wanted tells whether there is a next page.
        filter.limit = (limit + 1 - steps.len()).min(ROWS_AT_ONCE);
        let rows = browse.steps_down_to(&filter, oldest)?;
        let is_end = rows.len() < filter.limit;
        for row in &rows {
            if steps.len() == limit || bytes > PAGE_BYTES_MAX {
                return Ok(wire::StepPage { steps, next: last.map(|id: model::StepId| id.to_string()) });
            }
            bytes += weight(row);
            steps.push(view(browse, row, &mut parents, &mut known)?);
            last = Some(row.step.id);
        }
        if is_end {
            return Ok(wire::StepPage { steps, next: None });
        }
        filter.after = last;
    }
}

/// A step without what its workflow calls secret.
fn view(browse: &Browse, row: &StepRow, parents: &mut Parents, known: &mut Known) -> Result<wire::StepView> {
    let mut view = convert::step_view(row, parents.of(browse, row)?);
    secrets_of(browse, row, known)?.hide_step(&mut view);
    Ok(view)
}

fn secrets_of(browse: &Browse, row: &StepRow, known: &mut Known) -> Result<Rc<Secrets>> {
    let part = row.step.in_workflow;
    let found = part.map_or(Ok(None), |part| known.secrets_of(browse, part.workflow))?;
    Ok(found.unwrap_or_default())
}

fn weight(row: &StepRow) -> usize {
    let text = |t: &Option<String>| t.as_ref().map_or(0, String::len);
    let detail = &row.detail;
    row.step.arguments.len()
        + text(&detail.response)
        + text(&detail.error_message)
        + text(&detail.error_stack_trace)
}

/// Owners of blocks, asked for once.
#[derive(Default)]
struct Parents(HashMap<BlockId, Option<StepId>>);

impl Parents {
    fn of(&mut self, browse: &Browse, row: &StepRow) -> Result<Option<StepId>> {
        let Some(block) = row.step.block() else { return Ok(None) };
        if let Some(owner) = self.0.get(&block) {
            return Ok(*owner);
        }
        let owner = browse.block(block)?.and_then(|b| b.owner);
        self.0.insert(block, owner);
        Ok(owner)
    }
}

/// One step with all that is known about it.
pub fn step(browse: &Browse, id: StepId, now: Timestamp) -> Result<Option<wire::StepShow>> {
    browse.at_one_moment(|| shown(browse, id, now))
}

fn shown(browse: &Browse, id: StepId, now: Timestamp) -> Result<Option<wire::StepShow>> {
    let Some(row) = browse.step(id)? else { return Ok(None) };
    let why = if row.step.state.is_terminal() {
        Vec::new()
    } else {
        browse.why(&row, &browse.circumstances(now)?)?
    };
    let children = row.step.child_block.map(|b| browse.block(b)).transpose()?.flatten();
    let mut known = Known::default();
    let mut shown = wire::StepShow {
        step: view(browse, &row, &mut Parents::default(), &mut known)?,
        why: why.iter().map(convert::why_sentence).collect(),
        attempts: browse.attempts(id)?.iter().map(convert::attempt_view).collect(),
        history: browse.history(id)?.iter().map(convert::event_view).collect(),
        log: browse.log(id)?.iter().map(convert::log_view).collect(),
        children: children.as_ref().map(convert::children_view),
        polls: convert::polls_view(&row.step, &browse.polls(id)?),
        // The engine knows.
        progress: None,
    };
    let secrets = secrets_of(browse, &row, &mut known)?;
    secrets.hide_attempts(&mut shown.attempts);
    secrets.hide_log(&mut shown.log);
    shown.polls.iter_mut().for_each(|polls| secrets.hide_polls(polls));
    Ok(Some(shown))
}

/// One message group with the front of its line.
pub fn message_group(browse: &Browse, name: &str, limit: usize) -> Result<Option<wire::MessageGroupShow>> {
    let Some(group) = browse.message_group(name)? else { return Ok(None) };
    let (mut parents, mut known) = (Parents::default(), Known::default());
    let mut queue = Vec::new();
    for row in browse.line(&group, limit)? {
        queue.push(view(browse, &row, &mut parents, &mut known)?);
    }
    Ok(Some(wire::MessageGroupShow { group: convert::message_group_view(&group), queue }))
}

pub fn groups(browse: &Browse, now: Timestamp) -> Result<wire::GroupPage> {
    let (totals, everywhere) = (browse.totals()?, browse.breaker()?);
    let groups = browse.groups()?;
    let view = |g: &model::GroupStatus| {
        let steps = figures::group(&totals.tallies, g.dispatch_group.as_str());
        convert::group_view(g, &everywhere, steps, now)
    };
    Ok(wire::GroupPage { groups: groups.iter().map(view).collect(), next: None })
}

pub fn breakers(browse: &Browse, now: Timestamp) -> Result<wire::BreakersView> {
    let everywhere = convert::breaker_view(None, &browse.breaker()?, now);
    let groups = browse.groups()?;
    let view = |g: &model::GroupStatus| convert::breaker_view(Some(&g.dispatch_group), &g.breaker, now);
    Ok(wire::BreakersView {
        can_dispatch_steps: everywhere.can_dispatch_steps,
        everywhere,
        groups: groups.iter().map(view).collect(),
    })
}

/// Whether a restart is safe, for everything or for one dispatch group; none when there is no such group.
pub fn drain(browse: &Browse, scope: Option<&str>, now: Timestamp) -> Result<Option<wire::DrainView>> {
    let everywhere = browse.breaker()?;
    let (group, breaker): (Option<DispatchGroup>, Breaker) = match scope {
        None => (None, everywhere),
        Some(name) => {
            let found = browse.groups()?.into_iter().find(|g| g.dispatch_group.as_str() == name);
            let Some(found) = found else { return Ok(None) };
            let holds = if everywhere.is_off(now) { everywhere } else { found.breaker };
            (Some(found.dispatch_group), holds)
        }
    };
    let in_flight = browse.in_flight(scope)?.max(0);
    Ok(Some(wire::DrainView {
        safe: breaker.is_off(now) && in_flight == 0,
        in_flight,
        dispatch_group: group.as_ref().map(|g| g.to_string()),
        breaker: convert::breaker_view(group.as_ref(), &breaker, now),
    }))
}

pub fn nodes(browse: &Browse, now: Timestamp) -> Result<wire::NodePage> {
    let (groups, sessions) = (browse.groups()?, browse.sessions()?);
    let nodes = browse.nodes()?;
    Ok(wire::NodePage {
        nodes: nodes.iter().map(|n| convert::node_view(n, &groups, &sessions, now)).collect(),
        next: None,
    })
}

/// Ticks, newest first, behind one.
pub fn ticks(
    browse: &Browse,
    dispatch_group: Option<&str>,
    after: Option<i64>,
    limit: usize,
) -> Result<wire::TickPage> {
    let mut rows = browse.ticks_behind(dispatch_group, after, limit + 1)?;
    let next = cut(&mut rows, limit, |tick| tick.id.to_string());
    Ok(wire::TickPage { ticks: rows.iter().map(convert::tick_view).collect(), next })
}

/// What people did, newest first; of it what is asked for.
pub fn audit(browse: &Browse, filter: &AuditFilter) -> Result<wire::AuditPage> {
    let (rows, next) = browse.audit_page(filter)?;
    let audit = rows.into_iter().map(|(_, at, entry)| convert::audit_view(&(at, entry))).collect();
    Ok(wire::AuditPage { audit, next: next.map(|id| id.to_string()) })
}

/// Every figure of the page, from tallies.
pub fn dashboard(browse: &Browse, host: &str, version: &str, now: Timestamp) -> Result<wire::DashboardView> {
    let (totals, everywhere) = (browse.totals()?, browse.breaker()?);
    let in_flight = browse.in_flight(None)?.max(0);
    let mut actions = figures::actions(&totals.tallies);
    let mut hostnames = figures::hosts(&totals.tallies, &browse.sessions()?, now);
    let breaker = convert::breaker_view(None, &everywhere, now);
    let open_alerts = browse.open_alerts()?;
    let oldest = totals.oldest_pending.into_iter().chain(browse.oldest_due(now)?).min();
    Ok(wire::DashboardView {
        version: version.into(),
        host: host.into(),
        now: convert::instant(now),
        can_dispatch_steps: breaker.can_dispatch_steps,
        safe_to_restart: breaker.off && in_flight == 0,
        in_flight,
        words: words::dashboard(&breaker, in_flight, open_alerts, oldest.map(|at| now.since(at))),
        breaker,
        oldest_pending_at: oldest.map(convert::instant),
        open_alerts,
        global: figures::all(&totals.tallies),
        left_out: figures::shorten(&mut actions) + figures::shorten(&mut hostnames),
        actions,
        hostnames,
        dispatch_groups: figures::groups(&totals.tallies, &browse.groups()?, &everywhere, now),
    })
}
