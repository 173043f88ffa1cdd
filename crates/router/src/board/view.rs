//! The board as data for people.

use super::{Board, Key, Line, Place, Ticket};
use crate::breaker::{Breaker, State};
use crate::limits::IN_FLIGHT_SHOWN_MAX;
use crate::status::{BreakerState, BreakerStatus, ConsumerStatus, InFlight, PoolState, RouterStatus, Stage};
use std::collections::HashMap;
use std::time::Duration;

impl Board {
    pub fn view(&self, transport: &str, now: Duration) -> RouterStatus {
        let mut breakers: Vec<_> = self.breakers.iter().map(|(name, one)| breaker(name, one, now)).collect();
        breakers.sort_by(|a, b| a.target.cmp(&b.target));
        // All of them are in order before some are left out: the eldest are those that matter.
        let mut in_flight: Vec<_> = self.tickets.iter().collect();
        in_flight.sort_by(|(a, one), (b, other)| (one.received_at, &a.id).cmp(&(other.received_at, &b.id)));
        let shown = in_flight.iter().take(IN_FLIGHT_SHOWN_MAX);
        RouterStatus {
            transport: transport.into(),
            uptime_ms: millis(now),
            pools: self.pool_states(),
            breakers,
            held: self.tickets.len(),
            in_flight: shown.map(|(key, ticket)| message(key, ticket, now)).collect(),
            counters: self.counters,
            warnings: self.warnings.list(now),
            consumer: ConsumerStatus {
                last_poll_ms_ago: self.consumer.polled_at.map(|at| millis(now.saturating_sub(at))),
                ..self.consumer.status.clone()
            },
        }
    }

    fn pool_states(&self) -> Vec<PoolState> {
        let mut waiting: HashMap<&str, usize> = HashMap::new();
        for ticket in self.tickets.values().filter(|ticket| matches!(ticket.place, Place::Waiting)) {
            *waiting.entry(&ticket.pool).or_default() += 1;
        }
        let states = self.pools.iter().map(|(code, pool)| PoolState {
            code: code.clone(),
            status: pool.config.status,
            concurrency: pool.config.slots(),
            rate_per_minute: pool.config.rate_per_minute,
            capacity: pool.config.capacity(),
            in_flight: pool.calling,
            waiting: waiting.get(code.as_str()).copied().unwrap_or_default(),
            lines_ready: pool.ring.len(),
            leaving: pool.leaving,
        });
        states.collect()
    }
}

fn breaker(target: &str, breaker: &Breaker, now: Duration) -> BreakerStatus {
    let (calls, failures) = breaker.tally();
    let (state, until) = match breaker.state() {
        State::Closed { .. } => (BreakerState::Closed, None),
        State::Open { until } => (BreakerState::Open, Some(*until)),
        State::HalfOpen { .. } => (BreakerState::HalfOpen, None),
    };
    let tries_again_in_ms = until.map(|until| millis(until.saturating_sub(now)));
    BreakerStatus { target: target.into(), state, calls, failures, tries_again_in_ms }
}

fn message(key: &Key, ticket: &Ticket, now: Duration) -> InFlight {
    InFlight {
        id: key.id.clone(),
        attempt: key.attempt,
        pool: ticket.pool.clone(),
        message_group: match &ticket.line {
            Line::Group(group) => Some(group.clone()),
            Line::Alone(_) => None,
        },
        target: ticket.target.clone(),
        stage: match ticket.place {
            Place::Waiting => Stage::Waiting,
            Place::Calling(_) => Stage::Calling,
            Place::Leaving { .. } => Stage::Leaving,
        },
        elapsed_ms: millis(now.saturating_sub(ticket.received_at)),
        receipt_lost: ticket.receipt_lost,
    }
}

fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}
