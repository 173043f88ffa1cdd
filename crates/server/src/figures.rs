//! Adds tallies up into the figures that people look at; no history is ever counted.

use crate::convert::{instant, is_live};
use model::{Breaker, GroupStatus, State, Timestamp};
use std::collections::{BTreeMap, HashMap};
use store::{SessionRow, TallyKey};
use wire::{ActionFigures, Figures, GroupFigures, HostFigures};

/// Rows of one list on the page; a thousand workers are not read one by one.
const ROWS_MAX: usize = 200;

type Tally = (TallyKey, i64);

/// The counters of a state: all steps, and leaf steps alone.
fn slots(figures: &mut Figures, state: State) -> (&mut i64, &mut i64) {
    let f = figures;
    match state {
        State::NotRunnable => (&mut f.not_runnable, &mut f.child_not_runnable),
        State::Pending => (&mut f.pending, &mut f.child_pending),
        State::Dispatched => (&mut f.dispatched, &mut f.child_dispatched),
        State::Running => (&mut f.running, &mut f.child_running),
        State::Polling => (&mut f.polling, &mut f.child_polling),
        State::Completed => (&mut f.completed, &mut f.child_completed),
        State::Skipped => (&mut f.skipped, &mut f.child_skipped),
        State::Cancelled => (&mut f.cancelled, &mut f.child_cancelled),
        State::Failed => (&mut f.failed, &mut f.child_failed),
        State::Stopped => (&mut f.stopped, &mut f.child_stopped),
        State::TimedOut => (&mut f.timed_out, &mut f.child_timed_out),
        State::Superseded => (&mut f.superseded, &mut f.child_superseded),
    }
}

fn add(figures: &mut Figures, (key, n): &Tally) {
    let (all, leaves) = slots(figures, key.state);
    *all += n;
    if key.leaf {
        *leaves += n;
    }
    if is_throttled(key) {
        figures.throttled += n;
    }
}

/// A rate limit holds it back; once it runs again that is past.
fn is_throttled(key: &TallyKey) -> bool {
    key.state == State::Pending && key.throttled
}

pub fn all(tallies: &[Tally]) -> Figures {
    let mut figures = Figures::default();
    tallies.iter().for_each(|tally| add(&mut figures, tally));
    figures
}

pub fn group(tallies: &[Tally], dispatch_group: &str) -> Figures {
    let mut figures = Figures::default();
    let mine = tallies.iter().filter(|(key, _)| key.dispatch_group.as_str() == dispatch_group);
    mine.for_each(|tally| add(&mut figures, tally));
    figures
}

/// Steps of a group by state.
pub type States = Vec<(State, i64)>;

pub fn states(tallies: &[Tally], dispatch_group: &str) -> States {
    let mine = || tallies.iter().filter(|(key, _)| key.dispatch_group.as_str() == dispatch_group);
    let count = |state: State| mine().filter(|(key, _)| key.state == state).map(|(_, n)| n).sum();
    State::ALL.iter().map(|state| (*state, count(*state))).collect()
}

pub fn groups(
    tallies: &[Tally],
    groups: &[GroupStatus],
    everywhere: &Breaker,
    now: Timestamp,
) -> Vec<GroupFigures> {
    let figures = |g: &GroupStatus| GroupFigures {
        dispatch_group: g.dispatch_group.to_string(),
        can_dispatch_steps: !everywhere.is_off(now) && !g.breaker.is_off(now),
        owned: g.owner.is_some() && g.lease_ends_at.is_some_and(|at| now < at),
        last_tick_completed_at: g.last_tick_completed_at.map(instant),
        figures: group(tallies, g.dispatch_group.as_str()),
    };
    groups.iter().map(figures).collect()
}

/// Actions with steps in flight, by name.
pub fn actions<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Vec<ActionFigures> {
    let mut found: BTreeMap<&str, ActionFigures> = BTreeMap::new();
    for (key, n) in tallies {
        let one = found.entry(&key.action).or_default();
        match key.state {
            State::Running => {
                one.running += n;
                one.child_running += if key.leaf { *n } else { 0 };
            }
            State::Dispatched => one.dispatched += n,
            _ if is_throttled(key) => one.throttled += n,
            _ => {}
        }
    }
    let active = found.into_iter().filter(|(_, f)| f.running > 0 || f.child_running > 0 || f.dispatched > 0);
    active.map(|(action, figures)| ActionFigures { action: action.to_string(), ..figures }).collect()
}

/// No host has it.
fn waits(key: &TallyKey) -> bool {
    key.host.is_none() && matches!(key.state, State::Pending | State::Dispatched)
}

/// Hosts that work or worked, those with a live worker first, and by name.
pub fn hosts(tallies: &[Tally], sessions: &[SessionRow], now: Timestamp) -> Vec<HostFigures> {
    let mut found: BTreeMap<&str, (HostFigures, Vec<&Tally>)> = BTreeMap::new();
    for tally in tallies {
        if let Some(host) = tally.0.host.as_deref() {
            let (one, seen) = found.entry(host).or_default();
            add(&mut one.figures, tally);
            seen.push(tally);
        }
    }
    for session in sessions.iter().filter(|s| is_live(s, now)) {
        let (one, _) = found.entry(&session.offer.host).or_default();
        one.online = true;
        one.sessions += 1;
        one.capacity += session.offer.capacity;
    }
    // What waits in the queue that is named like a host is for that one.
    let names: HashMap<String, &str> = found.keys().map(|host| (host.to_lowercase(), *host)).collect();
    for tally in tallies.iter().filter(|(key, _)| waits(key)) {
        if let Some((one, seen)) = names.get(&*tally.0.queue).and_then(|host| found.get_mut(host)) {
            add(&mut one.figures, tally);
            seen.push(tally);
        }
    }
    let told = |(hostname, (figures, seen)): (&str, (HostFigures, Vec<&Tally>))| HostFigures {
        hostname: hostname.to_string(),
        actions: actions(seen),
        ..figures
    };
    let mut hosts: Vec<HostFigures> = found.into_iter().map(told).collect();
    hosts.sort_by_key(|host| !host.online);
    hosts
}

/// Keep what a page can show, and say how much was left out.
pub fn shorten<T>(rows: &mut Vec<T>) -> usize {
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    left_out
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DispatchGroup, NodeId, SessionId, SessionOffer};

    /// One line a sort: `group action host|-|queue= state leaf|parent throttled|free n`.
    fn tallies(text: &str) -> Vec<Tally> {
        let line = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let key = TallyKey {
                dispatch_group: DispatchGroup::new(words[0]),
                queue: words[2].strip_prefix("queue=").unwrap_or("default").into(),
                action: words[1].into(),
                host: (words[2] != "-" && !words[2].contains('=')).then(|| words[2].into()),
                state: words[3].parse().unwrap(),
                leaf: words[4] == "leaf",
                throttled: words[5] == "throttled",
            };
            (key, words[6].parse().unwrap())
        };
        text.lines().map(str::trim).filter(|l| !l.is_empty()).map(line).collect()
    }

    fn some() -> Vec<Tally> {
        tallies(
            "alpha charge w1 running   leaf   free      3
             alpha order  w1 running   parent free      2
             beta  charge w2 completed leaf   free      9
             beta  charge -  pending   leaf   throttled 4
             beta  idle   -  pending   leaf   free      5
             beta  ship   -  dispatched leaf  free      1",
        )
    }

    #[test]
    fn child_figures_are_leaves_alone() {
        let f = all(&some());
        assert_eq!((f.running, f.child_running), (5, 3));
        assert_eq!((f.pending, f.child_pending, f.throttled), (9, 9, 4));
        assert_eq!((f.dispatched, f.completed, f.failed), (1, 9, 0));
        assert_eq!(group(&some(), "alpha").running, 5);
        assert_eq!(group(&some(), "beta").completed, 9);
    }

    #[test]
    fn every_state_has_its_own_counters() {
        for state in State::ALL {
            let key = TallyKey { state: *state, ..some()[0].0.clone() };
            let figures = serde_json::to_value(all(&[(key, 7)])).unwrap();
            assert_eq!(figures[state.word()], 7);
            assert_eq!(figures[format!("child_{state}")], 7);
            assert_eq!(figures.as_object().unwrap().values().filter(|n| **n == 7).count(), 2, "{state}");
        }
    }

    #[test]
    fn only_actions_in_flight_are_active() {
        let told: Vec<String> = actions(&some())
            .iter()
            .map(|a| {
                format!("{} {} {} {} {}", a.action, a.running, a.child_running, a.throttled, a.dispatched)
            })
            .collect();
        assert_eq!(told, ["charge 3 3 4 0", "order 2 0 0 0", "ship 0 0 0 1"]);
    }

    #[test]
    fn what_waits_in_the_queue_of_a_host_is_counted_there() {
        let tallies = tallies(
            "alpha charge W1       running    leaf free      3
             alpha charge queue=w1 pending    leaf throttled 4
             alpha charge queue=w1 dispatched leaf free      2
             alpha charge queue=w1 skipped    leaf free      9
             alpha charge queue=w2 pending    leaf throttled 5
             alpha charge -        pending    leaf throttled 6",
        );
        let hosts = hosts(&tallies, &[], Timestamp(0));
        let told = |host: &HostFigures| {
            let f = &host.figures;
            let action = host.actions.first().map(|a| (a.throttled, a.dispatched));
            (host.hostname.clone(), f.running, f.throttled, f.dispatched, f.skipped, action)
        };
        assert_eq!(hosts.iter().map(told).collect::<Vec<_>>(), [("W1".into(), 3, 4, 2, 0, Some((4, 2)))]);
    }

    #[test]
    fn hosts_with_a_live_worker_stand_first() {
        let session = |host: &str, ends: i64| SessionRow {
            id: SessionId::of(1),
            node: NodeId::of(1),
            offer: SessionOffer {
                host: host.into(),
                queues: vec![],
                actions: vec![],
                capacity: 8,
                remote: false,
            },
            started_at: Timestamp(0),
            lease_ends_at: Timestamp(ends),
            ended_at: None,
        };
        let sessions = [session("w2", 100), session("w3", 100), session("w1", 10)];
        let told: Vec<String> = hosts(&some(), &sessions, Timestamp(10))
            .iter()
            .map(|h| format!("{} {} {} running={}", h.hostname, h.online, h.capacity, h.figures.running))
            .collect();
        assert_eq!(told, ["w2 true 8 running=0", "w3 true 8 running=0", "w1 false 0 running=5"]);
    }
}
