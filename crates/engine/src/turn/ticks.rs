//! Figures of a group's turns, gathered into at most one row a second, and told to the log in the order of the phases.

use model::{DispatchGroup, Event, Timestamp};
use rules::board::Moved;
use rules::dispatcher::{DISPATCH, PICK, PIPELINE};
use std::collections::BTreeMap;
use std::time::Duration;
use store::Tick;
use tracing::info;

const PHASES: usize = PIPELINE.len() + 2;
const PICK_AT: usize = PIPELINE.len();
const DISPATCH_AT: usize = PIPELINE.len() + 1;

#[derive(Default)]
pub struct Ticks {
    open: BTreeMap<DispatchGroup, Open>,
    last: i64,
}

struct Open {
    tick: Tick,
    rows: [u64; PHASES],
    spent: [Duration; PHASES],
    breaker_off: bool,
}

/// What one turn adds to a group's tick.
pub struct TurnFigures<'a> {
    pub now: Timestamp,
    pub laps: &'a [Duration; PIPELINE.len()],
    pub pick: Duration,
    pub total: Duration,
    pub capped: &'a [DispatchGroup],
    pub max_per_tick: usize,
    pub off: &'a dyn Fn(&DispatchGroup) -> bool,
}

fn phase_of(event: Event) -> Option<usize> {
    match event {
        Event::Dispatched => Some(DISPATCH_AT),
        Event::ChildrenFailed => Some(4),
        Event::ChildrenCompleted | Event::ChildrenCancelled => Some(6),
        Event::Exhausted | Event::LostTooOften => Some(7),
        swept => PIPELINE.iter().position(|p| p.sweeps == Some(swept)),
    }
}

impl Ticks {
    pub fn continue_after(&mut self, last: i64) {
        self.last = self.last.max(last);
    }
    /// Ticks of groups that went to another node end unrecorded.
    pub fn keep(&mut self, mine: impl Fn(&DispatchGroup) -> bool) {
        self.open.retain(|group, _| mine(group));
    }
    /// The tick a group is in now; steps dispatched in it carry its id.
    pub fn current(&mut self, group: &DispatchGroup, now: Timestamp) -> i64 {
        if let Some(open) = self.open.get(group) {
            return open.tick.id;
        }
        self.last += 1;
        let tick = Tick {
            id: self.last,
            dispatch_group: group.clone(),
            started_at: now,
            completed_at: now,
            duration_us: 0,
            turns: 0,
            progress: 0,
            steps_dispatched: 0,
            capped: 0,
            left_over: 0,
            phases: Vec::new(),
        };
        let open = Open { tick, rows: [0; PHASES], spent: [Duration::ZERO; PHASES], breaker_off: false };
        self.open.insert(group.clone(), open);
        self.last
    }

    pub fn record(&mut self, moves: &[Moved], figures: &TurnFigures) {
        let mut rows: BTreeMap<&DispatchGroup, [u64; PHASES]> = BTreeMap::new();
        let mut totals = [0u64; PHASES];
        for moved in moves {
            let Some(phase) = moved.event.and_then(phase_of) else { continue };
            let mine = rows.entry(&moved.dispatch_group).or_insert([0; PHASES]);
            mine[phase] += 1;
            totals[phase] += 1;
            if phase == DISPATCH_AT {
                mine[PICK_AT] += 1;
                totals[PICK_AT] += 1;
            }
        }
        for (group, rows) in rows {
            self.current(group, figures.now);
            let open = self.open.get_mut(group).expect("current made it");
            for phase in 0..PHASES {
                open.rows[phase] += rows[phase];
                let spent = match phase {
                    PICK_AT => figures.pick,
                    DISPATCH_AT => Duration::ZERO,
                    n => figures.laps[n],
                };
                if totals[phase] > 0 {
                    open.spent[phase] += spent.mul_f64(rows[phase] as f64 / totals[phase] as f64);
                }
                if rows[phase] > 0 {
                    open.tick.progress = open.tick.progress.max(phase);
                }
            }
            open.tick.turns += 1;
            open.tick.completed_at = figures.now;
            open.tick.duration_us += figures.total.as_micros() as u64;
            open.tick.steps_dispatched += rows[DISPATCH_AT];
            open.breaker_off |= (figures.off)(group);
            let full = figures.max_per_tick > 0 && rows[DISPATCH_AT] >= figures.max_per_tick as u64;
            open.tick.capped += u64::from(full);
            open.tick.left_over += u64::from(figures.capped.contains(group));
        }
    }

    /// Ticks that have lasted their second, ready to be written.
    pub fn close(&mut self, before: Timestamp) -> Vec<Tick> {
        let over: Vec<DispatchGroup> =
            self.open.iter().filter(|(_, o)| o.tick.started_at <= before).map(|(g, _)| g.clone()).collect();
        over.into_iter()
            .filter_map(|group| self.open.remove(&group))
            .filter(|o| o.tick.turns > 0)
            .map(close)
            .collect()
    }

    pub fn next_at(&self) -> Option<Timestamp> {
        self.open.values().map(|o| o.tick.started_at + Duration::from_secs(1)).min()
    }
}

fn close(open: Open) -> Tick {
    let Open { mut tick, rows, spent, breaker_off } = open;
    let name = |n: usize| match n {
        PICK_AT => PICK,
        DISPATCH_AT => DISPATCH,
        n => PIPELINE[n].name,
    };
    let acted = (0..PHASES).filter(|n| rows[*n] > 0);
    tick.phases = acted.map(|n| (name(n).to_string(), rows[n], spent[n].as_micros() as u64)).collect();
    tell(&tick, breaker_off);
    tick
}

fn tell(tick: &Tick, breaker_off: bool) {
    let (id, group) = (tick.id, &tick.dispatch_group);
    info!(target: "dispatcher", tick = id, dispatch_group = %group, "[TICK START] Group: {group} | Tick: {id}");
    info!(target: "dispatcher", tick = id, "[LOCK ACQUIRED] Starting dispatch cycle");
    for (n, (phase, rows, us)) in tick.phases.iter().enumerate() {
        let ms = *us as f64 / 1e3;
        info!(target: "dispatcher", tick = id, "[Step {n}] {phase}: {rows} steps | Duration: {ms:.2}ms");
    }
    if breaker_off {
        info!(target: "dispatcher", tick = id, "CIRCUIT BREAKER: step dispatching is off; all other phases ran");
    }
    let ms = tick.duration_us as f64 / 1e3;
    info!(target: "dispatcher", tick = id, "[TICK END] Total: {ms:.2}ms | Dispatched: {}", tick.steps_dispatched);
}
