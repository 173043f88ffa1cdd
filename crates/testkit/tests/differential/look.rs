//! What people see: lists, single steps and the figures of a page, as both databases tell them.

use super::op::Listing;
use super::side::Side;
use model::{Reason, Timestamp};
use store::{Clock, Filter, StepRow};

/// Jitter is a hash of the step's id; to the next tenth of a second all are equal. Ticks are numbered otherwise.
fn level(mut row: StepRow) -> StepRow {
    row.step.tick = row.step.tick.map(|_| 0);
    if row.step.reason == Some(Reason::Retrying) {
        row.step.wake_at = row.step.wake_at.map(|at| Timestamp((at.0 + 99_999) / 100_000 * 100_000));
    }
    row
}

pub fn list(side: &mut Side, listing: &Listing) {
    let Listing { states, action, queue, dispatch_group, step_key, block, after, ascending, limit } =
        listing.clone();
    let filter = Filter {
        states,
        action,
        queue,
        dispatch_group,
        step_key,
        block: block.map(|n| side.block(n)),
        after: after.map(|n| side.step(n)),
        ascending,
        limit,
        ..Filter::default()
    };
    let rows = side.browse.steps(&filter);
    for row in rows.iter().flatten() {
        side.see_step(row.step.id);
        let blocks = [row.step.block(), row.step.child_block];
        blocks.into_iter().flatten().for_each(|block| side.see_block(block));
    }
    side.say(&rows.map(|rows| rows.into_iter().map(level).collect::<Vec<_>>()));
}

pub fn show(side: &mut Side, number: usize) {
    let id = side.step(number);
    let Some(row) = side.browse.step(id).expect("a step can be read") else {
        return side.say(&"no such step");
    };
    let around = side.browse.circumstances(side.clock.now()).expect("what is around it can be read");
    let retrying = row.step.reason == Some(Reason::Retrying);
    let why: Vec<String> = match retrying {
        true => Vec::new(),
        false => side.browse.why(&row, &around).expect("a reason").iter().map(ToString::to_string).collect(),
    };
    side.say(&why);
    for block in [row.step.block(), row.step.child_block].into_iter().flatten() {
        side.see_block(block);
        let block = side.browse.block(block);
        side.say(&block);
    }
    let (attempts, history) = (side.browse.attempts(id), side.browse.history(id));
    side.say(&(level(row), attempts, history));
}

pub fn survey(side: &mut Side) {
    let mut totals = side.browse.totals().expect("totals");
    totals.tallies.sort();
    let mut ticks = side.browse.ticks(None, 20).expect("ticks");
    for tick in &mut ticks {
        (tick.id, tick.duration_us) = (0, 0);
        tick.phases.iter_mut().for_each(|(_, _, us)| *us = 0);
    }
    side.say(&(totals, ticks));
    let (mut groups, breaker) = (side.browse.groups().expect("groups"), side.browse.breaker());
    groups.iter_mut().for_each(|group| group.current_tick = group.current_tick.map(|_| 0));
    side.say(&(groups, breaker));
    let (nodes, sessions) = (side.browse.nodes(), side.browse.sessions());
    side.say(&(nodes, sessions));
    let (alerts, audit) = (side.browse.alerts(&store::AlertFilter::open()), side.browse.audit(50));
    side.say(&(alerts, audit));
    let in_flight = (side.browse.in_flight(None), side.browse.in_flight(Some("alpha")));
    side.say(&in_flight);
    check(side);
}

pub fn check(side: &mut Side) {
    let found = side.browse.check(side.clock.now(), false, |_, _| {}).map(|checked| checked.findings);
    side.say(&found);
}
