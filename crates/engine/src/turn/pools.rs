//! Pools: what each still allows, who has a slot, and how slots come back.
//!
//! Why    a slot is a step that a worker has, so it goes with the step whatever happens to either. A node that is alone knows all
//!        of them; nodes that share a database ask it for slots before they claim, so that no claim can be one too many.

use super::node::{Node, Turn};
use model::{Name, NewStep, PoolUse, StepId, Timestamp, limits};
use rules::board::{Changes, IdMap};
use rules::pick::{Allowance, Pick};
use rules::pool;
use std::collections::{BTreeMap, BTreeSet};
use store::{Batch, Result, Slot, Wake, pools};

#[derive(Default)]
pub struct Pools {
    known: BTreeMap<Name, Known>,
    /// Steps of this node's groups that have a slot.
    held: IdMap<StepId, Name>,
    /// Slots that no step has, and steps that should have one: the next commit sets them right.
    stray: Vec<StepId>,
    missing: Vec<Slot>,
    /// By turn on its way, the slots it leaves; until it is stored, the database counts them.
    leaving: BTreeMap<u64, Vec<(StepId, Name)>>,
    /// Rates that were used in this turn, where nobody else uses them.
    used: BTreeSet<Name>,
    /// What is known may be old.
    stale: bool,
    read_at: Timestamp,
}

struct Known {
    /// With the slots of all nodes, as far as this one knows.
    now: PoolUse,
    /// Slots of steps in groups of other nodes.
    elsewhere: usize,
    /// Another node waits for a slot.
    wanted: bool,
    /// This node asked for more than it got; it asks again when something may have changed.
    refused: bool,
}

impl Known {
    fn allowed(&self, now: Timestamp) -> usize {
        if self.refused { 0 } else { pool::allowed(&self.now, now) }
    }
}

impl Pools {
    fn names(&self) -> BTreeSet<Name> {
        self.known.keys().cloned().collect()
    }
    /// Somebody may have changed something.
    pub fn look_again(&mut self) {
        self.stale = true;
    }
    /// What the database says, with the slots of this node's own steps as it knows them.
    fn see(&mut self, pools: Vec<PoolUse>, elsewhere: &BTreeMap<Name, usize>, now: Timestamp) {
        // A rate that was used in a turn on its way is not on record yet.
        let before = std::mem::take(&mut self.known);
        self.known = pools
            .into_iter()
            .map(|mut now| {
                let until = before.get(&now.pool.name).map(|known| known.now.full_until);
                now.full_until = until.map_or(now.full_until, |until| until.max(now.full_until));
                let elsewhere = elsewhere.get(&now.pool.name).copied().unwrap_or(0);
                (now.pool.name.clone(), Known { now, elsewhere, wanted: false, refused: false })
            })
            .collect();
        (self.stale, self.read_at) = (false, now);
        self.count();
    }
    fn count(&mut self) {
        let mut mine: BTreeMap<&Name, usize> = BTreeMap::new();
        self.held.values().for_each(|pool| *mine.entry(pool).or_default() += 1);
        for (name, known) in &mut self.known {
            known.now.used = known.elsewhere + mine.get(name).copied().unwrap_or(0);
        }
    }
    /// What is known to be free; or, where others share the pools and were just looked at, what could be: asking also means to wait
    /// for one's turn.
    fn allowance(&self, now: Timestamp, ask: bool) -> Allowance {
        let allowed = |known: &Known| match known.allowed(now) {
            0 if !ask => 0,
            _ => {
                let used = known.now.used.saturating_sub(known.elsewhere);
                pool::allowed(&PoolUse { used, ..known.now.clone() }, now)
            }
        };
        self.known.iter().map(|(name, known)| (name.clone(), allowed(known))).collect()
    }
    /// Whether another step of this pool may start, as far as is known.
    pub fn allows(&self, pool: &Name, now: Timestamp) -> bool {
        self.known.get(pool).is_some_and(|known| known.allowed(now) > 0)
    }
    /// When one of these lets something start that it does not let start now, if nobody tells before.
    pub fn next_at(&self, waiting: &BTreeSet<&Name>, shared: bool, now: Timestamp) -> Option<Timestamp> {
        let next = |name: &&Name| {
            let ask = || shared.then(|| self.read_at + limits::POOL_ASK_AGAIN);
            match self.known.get(*name) {
                None => ask(),
                Some(known) if known.allowed(now) > 0 => None,
                Some(known) => pool::next_start(&known.now, now).into_iter().chain(ask()).min(),
            }
        };
        waiting.iter().filter_map(next).min()
    }
    /// A turn is stored; true when slots that it left can be had again.
    pub fn durable(&mut self, turn: u64) -> bool {
        let later = self.leaving.split_off(&(turn + 1));
        let left = std::mem::replace(&mut self.leaving, later);
        for (_, name) in left.values().flatten() {
            self.known.entry(name.clone()).and_modify(|known| known.refused = false);
        }
        !left.is_empty()
    }
    /// A step that was to be claimed was not.
    pub fn give_back(&mut self, step: StepId) {
        if self.held.remove(&step).is_some() {
            self.stray.push(step);
        }
    }
}

impl Node {
    /// When a pool lets something start for which somebody has room.
    pub(super) fn next_pool(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.has_room() || self.breaker.is_off(now) {
            return None;
        }
        self.pools.next_at(&self.board.windows.pools(), self.store.is_shared(), now)
    }

    /// After everything was read anew: slots of steps that nobody has go back, and who is without one gets it.
    pub(super) fn adopt_slots(&mut self, found: Vec<PoolUse>, slots: Vec<Slot>) {
        let mut mine: BTreeMap<Name, usize> = BTreeMap::new();
        let mut on_record: IdMap<StepId, Name> = IdMap::default();
        self.pools = Pools::default();
        for slot in slots {
            *mine.entry(slot.pool.clone()).or_default() += 1;
            on_record.insert(slot.step, slot.pool);
        }
        for step in self.board.steps().filter(|step| step.is_held()) {
            let Some(pool) = step.pool.clone() else { continue };
            if on_record.remove(&step.id).is_none() {
                let (pool, dispatch_group) = (pool.clone(), step.dispatch_group.clone());
                self.pools.missing.push(Slot { step: step.id, pool, dispatch_group });
            }
            self.pools.held.insert(step.id, pool);
        }
        self.pools.stray = on_record.into_keys().collect();
        let elsewhere = |p: &PoolUse| {
            let mine = mine.get(&p.pool.name).copied().unwrap_or(0);
            (p.pool.name.clone(), p.used.saturating_sub(mine))
        };
        let elsewhere = found.iter().map(elsewhere).collect();
        self.pools.see(found, &elsewhere, self.board.now);
    }

    /// Every pool, read again if one is named that is not known here.
    pub(super) fn known_pools(&mut self, steps: &[NewStep], now: Timestamp) -> Result<BTreeSet<Name>> {
        if !names_pool(steps) {
            return Ok(BTreeSet::new());
        }
        let known = self.pools.names();
        if self.pools_are_old(now) || !steps.iter().all(|step| knows_pools(step, &known)) {
            self.read_pools(now)?;
        }
        Ok(self.pools.names())
    }

    /// Somebody may have changed a pool since they were read.
    fn pools_are_old(&self, now: Timestamp) -> bool {
        let aged = now.since(self.pools.read_at) >= limits::POOL_ASK_AGAIN;
        self.pools.stale || aged && self.store.is_shared()
    }

    /// Slots of this node's groups that no step has: of a claim that was never stored, by a node that stood still.
    pub(super) fn find_stray_slots(&mut self) -> Result<()> {
        if self.store.is_shared() && !self.pools.known.is_empty() {
            let on_record = pools::slots(self.store.reader(), &self.lease)?;
            let held = &self.pools.held;
            self.pools.stray.extend(on_record.iter().map(|s| s.step).filter(|id| !held.contains_key(id)));
        }
        Ok(())
    }

    fn read_pools(&mut self, now: Timestamp) -> Result<()> {
        let mut elsewhere: BTreeMap<Name, usize> = BTreeMap::new();
        for (pool, group, n) in pools::taken(self.store.reader())? {
            if !self.owns(&group) {
                *elsewhere.entry(pool).or_default() += n;
            }
        }
        let found = pools::all(self.store.reader())?;
        self.pools.see(found, &elsewhere, now);
        Ok(())
    }

    /// How many steps of each pool may start; nothing is read where nothing waits for one.
    pub(super) fn allowance(&mut self, now: Timestamp) -> Result<Allowance> {
        if self.board.windows.pools().is_empty() {
            return Ok(Allowance::new());
        }
        let old = self.pools_are_old(now);
        if old {
            self.read_pools(now)?;
        }
        Ok(self.pools.allowance(now, old && self.store.is_shared()))
    }

    /// Take the slots of what was picked; what gets none stays where it is.
    pub(super) fn take_slots(&mut self, picks: Vec<Pick>, now: Timestamp) -> Result<Vec<Pick>> {
        let mut wants: BTreeMap<Name, Vec<Slot>> = BTreeMap::new();
        let mut refused = BTreeSet::new();
        // A slot that is about to be left cannot be taken before it is.
        let leaving: BTreeSet<StepId> = self.pools.leaving.values().flatten().map(|(id, _)| *id).collect();
        for pick in &picks {
            if let Some(step) = self.board.step(pick.step)
                && let Some(pool) = &step.pool
            {
                if leaving.contains(&step.id) {
                    refused.insert(step.id);
                    continue;
                }
                let dispatch_group = step.dispatch_group.clone();
                let slot = Slot { step: step.id, pool: pool.clone(), dispatch_group };
                wants.entry(pool.clone()).or_default().push(slot);
            }
        }
        if wants.is_empty() && refused.is_empty() {
            return Ok(picks);
        }
        let shared = self.store.is_shared();
        for (name, reserved) in self.store.reserve(&self.lease, &wants, now)? {
            let slots = &wants[&name];
            let (taken, left) = slots.split_at(reserved.granted.min(slots.len()));
            refused.extend(left.iter().map(|slot| slot.step));
            let Some(known) = self.pools.known.get_mut(&name) else { continue };
            known.refused = !left.is_empty();
            match reserved.pool {
                Some(now) => {
                    (known.now, known.elsewhere) = (now, reserved.elsewhere);
                    known.wanted = reserved.wanted;
                }
                None if shared => {}
                None => {
                    known.now.full_until =
                        pool::after(&known.now.pool, known.now.full_until, now, taken.len());
                    if known.now.pool.rate.is_some() {
                        self.pools.used.insert(name.clone());
                    }
                }
            }
            for slot in taken {
                self.pools.held.insert(slot.step, name.clone());
            }
        }
        self.pools.count();
        // The places that were meant for them are given away in the next turn.
        self.again |= !refused.is_empty();
        Ok(picks.into_iter().filter(|pick| !refused.contains(&pick.step)).collect())
    }

    /// Slots follow the steps: taken with the claim, left when no worker has the step any more.
    pub(super) fn write_slots(&mut self, turn: &mut Turn, changes: &Changes, batch: &mut Batch) {
        let (mut wanted, mut left) = (false, Vec::new());
        for (step, change) in &changes.steps {
            let Some(pool) = &step.pool else { continue };
            let was = change.before.as_ref().is_some_and(|before| before.is_held());
            match (was, step.is_held()) {
                (false, true) => {
                    let (pool, dispatch_group) = (pool.clone(), step.dispatch_group.clone());
                    self.pools.held.insert(step.id, pool.clone());
                    batch.slots.push(Slot { step: step.id, pool, dispatch_group });
                }
                (true, false) => {
                    wanted |= self.pools.known.get(pool).is_some_and(|known| known.wanted);
                    self.pools.held.remove(&step.id);
                    batch.slots_left.push(step.id);
                    left.push((step.id, pool.clone()));
                }
                _ => {}
            }
        }
        if !batch.slots_left.is_empty() {
            self.pools.count();
            self.again |= !self.board.windows.pools().is_empty();
        }
        if wanted {
            turn.wake.insert(Wake::Everybody);
        }
        if self.store.is_shared() && !left.is_empty() {
            self.pools.leaving.insert(self.turn_number, left);
        }
        // One that was claimed since has its slot again.
        let held = &self.pools.held;
        batch.slots_left.extend(self.pools.stray.drain(..).filter(|id| !held.contains_key(id)));
        batch.slots.append(&mut self.pools.missing);
        for name in std::mem::take(&mut self.pools.used) {
            if let Some(known) = self.pools.known.get(&name) {
                batch.rates.push((name, known.now.full_until));
            }
        }
    }
}

fn names_pool(steps: &[NewStep]) -> bool {
    steps.iter().any(|step| step.pool.is_some() || names_pool(&step.children))
}
fn knows_pools(step: &NewStep, known: &BTreeSet<Name>) -> bool {
    step.pool.as_deref().is_none_or(|pool| known.contains(pool))
        && step.children.iter().all(|child| knows_pools(child, known))
}
