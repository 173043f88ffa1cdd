//! The claim log in memory: which steps are claimed by a row of `claims` alone, and when such a row is done with.
//!
//! Why    a step's own row is written once, when it ends. A parent whose job returned moves from the row of its claim to
//!        one that says `parked`, and its own row still waits for the end; unless that takes long.

use model::{StepId, Timestamp, limits};
use rules::board::IdMap;
use std::collections::{BTreeMap, BTreeSet};
use store::ClaimLog;

struct Open {
    /// Without the steps that are done.
    claim: ClaimLog,
    left: usize,
    until: Timestamp,
}

/// What the log knows of a step.
#[derive(Clone, Copy)]
pub struct Logged {
    row: i64,
    /// The step's own row is still as it was inserted.
    pub untouched: bool,
    pub parked: bool,
}

#[derive(Default)]
pub struct ClaimBook {
    by_step: IdMap<StepId, Logged>,
    open: BTreeMap<i64, Open>,
    /// When the steps of a row that is still open are written into their own rows.
    due: BTreeSet<(Timestamp, i64)>,
    parked: usize,
    last: i64,
    done: Vec<i64>,
}

impl ClaimBook {
    pub fn continue_after(&mut self, last: i64) {
        self.last = self.last.max(last);
    }
    pub fn next_id(&mut self) -> i64 {
        self.last += 1;
        self.last
    }
    pub fn knows(&self, step: StepId) -> bool {
        self.by_step.contains_key(&step)
    }
    pub fn log(&mut self, claim: &ClaimLog, now: Timestamp, untouched: impl Fn(StepId) -> bool) {
        for (step, _) in &claim.pairs {
            let logged = Logged { row: claim.id, untouched: untouched(*step), parked: claim.parked };
            self.by_step.insert(*step, logged);
        }
        self.open(claim.clone(), now);
    }
    fn open(&mut self, claim: ClaimLog, now: Timestamp) {
        let until = now + if claim.parked { limits::PARK_LOG_AGE } else { limits::CLAIM_LOG_AGE };
        self.parked += if claim.parked { claim.pairs.len() } else { 0 };
        self.due.insert((until, claim.id));
        self.open.insert(claim.id, Open { left: claim.pairs.len(), claim, until });
    }
    /// Their jobs returned and their children run: rows that say so, one for each row that had their claims.
    pub fn park(&mut self, steps: Vec<(StepId, u32)>, now: Timestamp) -> Vec<ClaimLog> {
        let mut by_row: BTreeMap<i64, Vec<(StepId, u32)>> = BTreeMap::new();
        for (step, attempt) in steps {
            by_row.entry(self.by_step[&step].row).or_default().push((step, attempt));
        }
        let mut rows = Vec::with_capacity(by_row.len());
        for (row, pairs) in by_row {
            let id = self.next_id();
            let head = &self.open[&row].claim;
            let ClaimLog { session, tick, at, .. } = *head;
            let dispatch_group = head.dispatch_group.clone();
            let claim = ClaimLog { id, session, dispatch_group, tick, at, parked: true, host: None, pairs };
            for (step, _) in &claim.pairs {
                let logged = self.by_step.get_mut(step).expect("it was just looked up");
                *logged = Logged { row: id, parked: true, ..*logged };
            }
            self.leave(row, claim.pairs.len());
            self.open(claim.clone(), now);
            rows.push(claim);
        }
        rows
    }
    /// The step's own row is being written: the log need not speak for it any more.
    pub fn settle(&mut self, step: StepId) -> Option<Logged> {
        let logged = self.by_step.remove(&step)?;
        self.parked -= usize::from(logged.parked);
        self.leave(logged.row, 1);
        Some(logged)
    }
    fn leave(&mut self, row: i64, n: usize) {
        if let Some(open) = self.open.get_mut(&row) {
            open.left -= n;
            if open.left == 0 {
                self.due.remove(&(open.until, row));
                self.open.remove(&row);
                self.done.push(row);
            }
        }
    }
    /// A row nobody in this process knows; it is removed with the next commit.
    pub fn drop_row(&mut self, id: i64) {
        self.done.push(id);
    }
    pub fn take_done(&mut self) -> Vec<i64> {
        std::mem::take(&mut self.done)
    }
    /// Steps that are to be written into their own rows: their time is over, or too many parents wait.
    pub fn aged(&self, now: Timestamp) -> Vec<StepId> {
        let mut spare = self.parked.saturating_sub(limits::PARK_LOG_MAX);
        let mut aged = Vec::new();
        for (until, row) in &self.due {
            let claim = &self.open[row].claim;
            if *until > now && (spare == 0 || !claim.parked) {
                if spare == 0 {
                    break;
                }
                continue;
            }
            let mine = |(step, _): &&(StepId, u32)| self.by_step.get(step).is_some_and(|l| l.row == *row);
            let before = aged.len();
            aged.extend(claim.pairs.iter().filter(mine).map(|(step, _)| *step));
            spare = spare.saturating_sub(if claim.parked { aged.len() - before } else { 0 });
        }
        aged
    }
    pub fn next_at(&self) -> Option<Timestamp> {
        self.due.first().map(|(until, _)| *until)
    }
}
