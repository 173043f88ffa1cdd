//! Fan-outs that are done again and keep what succeeded: the new run takes the items over, and only those that failed are made anew.
//!
//! Why    an item that succeeded is not done twice, and its row is not copied either: the block goes from one run to the next, so what is
//!        counted, gathered and undone there is what stands in it.

use super::super::node::{Node, Turn};
use super::fan_out::{Again, Fan};
use super::{Entry, Live, load};
use model::{
    Block, BlockId, Decision, ITEMS_ACTION, NewStep, RetryItems, RetryMode, Step, StepId, Timestamp,
};
use rules::workflow::Items;
use rules::workflow::progress::Next;
use rules::workflow::resolution::Verdict;
use rules::workflow::spare::{self, FanOut, Unspared};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use store::sql::Sql;
use store::workflows as record;
use store::{Result, items};

/// What is spared, by step, and that in words; or why it cannot be said yet.
pub(super) type Spared = std::result::Result<(BTreeMap<u32, StepId>, Vec<String>), Unspared>;

impl Node {
    /// The fan-outs that keep items if a decision is carried out.
    pub(super) fn spared(&mut self, entry: &Entry, decision: &Decision, verdict: &Verdict) -> Result<Spared> {
        let (from, items) = match decision {
            Decision::Retry { items } => (None, *items),
            Decision::RetryFromStep { include_step: true, mode, items, .. } if undoes(*mode) => {
                return Ok(as_a_whole(*items));
            }
            Decision::RetryFromStep { step, items, .. } => (entry.plan.find(step), *items),
            _ => return Ok(Ok(Default::default())),
        };
        let behind = || from.map(|n| entry.plan.graph.behind(n)).unwrap_or_default();
        let steps: BTreeSet<u32> = match verdict {
            Verdict::Restart { again, .. } => again.clone(),
            _ => behind()
                .into_iter()
                .chain(from)
                .chain(entry.broken.keys().chain(&entry.cut).copied())
                .collect(),
        };
        self.spared_of(entry, &steps, (from, items))
    }

    /// The same where nobody said anything about items: what is broken is done again. While items of it are still being ended it is not
    /// known which of them failed.
    pub(super) fn spared_by_itself(
        &mut self,
        entry: &Entry,
    ) -> Result<std::result::Result<BTreeMap<u32, StepId>, Unspared>> {
        let broken = entry.broken.keys().copied().collect();
        Ok(self.spared_of(entry, &broken, (None, None))?.map(|(spared, _)| spared))
    }

    pub(super) fn spared_of(
        &mut self,
        entry: &Entry,
        steps: &BTreeSet<u32>,
        (from, items): (Option<u32>, Option<RetryItems>),
    ) -> Result<Spared> {
        let candidates: BTreeSet<u32> = entry.broken.keys().chain(&entry.cut).copied().chain(from).collect();
        let mut fans = BTreeMap::new();
        for def in candidates {
            fans.extend(self.fan_that_ended(entry, def)?.map(|fan| (def, fan)));
        }
        let (plan, again) = (&entry.plan, spare::Again { steps, from, items });
        let spared = match spare::spared(plan, again, &fans) {
            Ok(spared) => spared,
            Err(refused) => return Ok(Err(refused)),
        };
        let told = spare::tell(plan, &spared, &fans);
        let runs = spared.into_iter().filter_map(|def| Some((def, entry.runs.get(&def)?.step)));
        Ok(Ok((runs.collect(), told)))
    }

    /// What is left of a fan-out that has ended; none if it is none, or its items are still being done.
    fn fan_that_ended(&mut self, entry: &Entry, def: u32) -> Result<Option<FanOut>> {
        let fans_out = entry.plan.def(def).work.action().is_some_and(|action| action.each.is_some());
        let is_over = !entry.live.contains_key(&def) && !entry.replaced.contains_key(&def);
        let Some(run) = entry.runs.get(&def).filter(|_| fans_out && is_over) else { return Ok(None) };
        let Some((step, block)) = self.with_block(run.step)? else { return Ok(None) };
        let Some(items) = Items::read(&step.arguments) else { return Ok(None) };
        Ok(Some(FanOut::of(items.len() as u32, &block)))
    }

    pub(super) fn with_block(&mut self, id: StepId) -> Result<Option<(Step, Block)>> {
        if !self.bring(id)? {
            return Ok(None);
        }
        let Some(step) = self.board.step(id).cloned() else { return Ok(None) };
        let Some(block) = step.child_block else { return Ok(None) };
        Ok(self.block_or_load(block)?.map(|block| (step, block)))
    }

    /// The next run of a fan-out, which takes over the items of the last.
    pub(super) fn fan_out_rest(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (def, last): (u32, StepId),
        items: Items,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let found = self.with_block(last)?;
        let known = found.and_then(|(step, block)| Some((Items::read(&step.arguments)?, step, block)));
        let Some((items, old, block)) = known else { return self.fan_out(turn, entry, def, items, now) };
        let arguments = RawValue::from_string(old.arguments.to_string()).ok();
        let new = NewStep { action: ITEMS_ACTION.into(), arguments, ..self.own_step(entry, def) };
        let mut rows = self.sound_plan(turn, new, now)?;
        self.mark(entry, def, &mut rows, None)?;
        rows.steps.iter_mut().for_each(|(step, _)| step.child_block = Some(block.id));
        let id = rows.roots.first().copied().expect("one step was asked for");
        let left = (items.len() as u32).saturating_sub(block.steps.concluded());
        let mut fan = Fan::new(block.id, Some(items));
        fan.again = Again::Unread(self.turn_number);
        let (run, deadline) = (entry.run(def), load::deadline(&entry.plan, def, now));
        entry.begin(def);
        entry
            .live
            .insert(def, Live { step: id, run, deadline, goes_on_at: None, fan: Some(fan), below: None });
        self.board.edit(old.id, |step, _| step.child_block = None);
        self.board.edit_block(block.id, |block| take_over(block, id, left));
        self.carry_out(turn, rows)?;
        self.begin_parent(id)?;
        Ok(Vec::new())
    }

    /// Items of an earlier run are made again, and take the place of those there were; how many.
    pub(super) fn make_again(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (def, block): (u32, BlockId),
        page: u32,
        now: Timestamp,
    ) -> Result<u32> {
        let run = entry.run(def);
        if !self.read_again(entry, (def, run), block)? {
            return Ok(0);
        }
        let Some(live) = entry.live.get_mut(&def) else { return Ok(0) };
        let (id, Some(fan)) = (live.step, live.fan.as_mut()) else { return Ok(0) };
        let found = next_unfinished(self.store.reader(), (block, run), &mut fan.again, page as usize)?;
        if found.len() < page as usize {
            let missing = page as usize - found.len();
            let message = format!("{missing} of its items are counted and cannot be found");
            self.end_parent(id, message)?;
            return Ok(0);
        }
        let numbers: Vec<u32> = found.iter().map(|(item, _)| *item).collect();
        let made = self.make_items(turn, entry, def, (block, &numbers), now)?;
        for ((_, old), new) in found.iter().zip(&made) {
            self.supersede(*old, *new)?;
        }
        Ok(made.len() as u32)
    }

    /// Where it goes on is known; not while what it goes on from is not on disk.
    fn read_again(&mut self, entry: &mut Entry, (def, run): (u32, u32), block: BlockId) -> Result<bool> {
        let (durable, plan) = (self.durable, entry.plan.clone());
        let Some(live) = entry.live.get_mut(&def) else { return Ok(false) };
        let (id, Some(fan)) = (live.step, live.fan.as_mut()) else { return Ok(false) };
        match fan.again {
            Again::Behind(..) => Ok(true),
            Again::Unread(turn) if turn > durable => {
                self.workflows.to_redo.push_back((turn, id));
                Ok(false)
            }
            Again::Unread(_) => {
                let reader = self.store.reader();
                if fan.keeps(&plan, def) {
                    let kept = record::answers(reader, block)?;
                    kept.into_iter().for_each(|(item, answer)| fan.keep(item, answer.into()));
                }
                // Where another node decides about a line, it may not have been told yet that an item is made again.
                let made = match plan.is_in_line(def) {
                    true => items::made_in(reader, block, run)?,
                    false => BTreeSet::new(),
                };
                fan.again = Again::Behind(None, made);
                Ok(true)
            }
        }
    }

    /// Fan-outs whose last runs are on disk as they ended.
    pub(super) fn redo_items(&mut self) {
        while let Some((_, id)) = self.workflows.to_redo.pop_front_if(|(turn, _)| *turn <= self.durable) {
            self.workflows.filling.insert(id);
        }
    }
}

/// The next items that an earlier run left without success.
fn next_unfinished(
    sql: &dyn Sql,
    (block, run): (BlockId, u32),
    again: &mut Again,
    page: usize,
) -> Result<Vec<(u32, StepId)>> {
    let Again::Behind(behind, made) = again else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    while found.len() < page {
        let more = items::unfinished(sql, block, run, *behind, page - found.len())?;
        let Some((_, last)) = more.last() else { break };
        *behind = Some(*last);
        found.extend(more.into_iter().filter(|(item, _)| !made.contains(item)));
    }
    Ok(found)
}

fn undoes(mode: RetryMode) -> bool {
    mode == RetryMode::CompensateThenRetry
}

/// What is undone is done again as a whole.
fn as_a_whole(items: Option<RetryItems>) -> Spared {
    match items {
        Some(RetryItems::Failed) => Err(Unspared::Not(
            "what is undone is done again as a whole; leave out `items`, or `include_step`",
        )),
        Some(RetryItems::All) | None => Ok(Default::default()),
    }
}

/// It has another owner, and so many of its children are to come; nothing in it is broken any more.
fn take_over(block: &mut Block, owner: StepId, left: u32) {
    block.owner = Some(owner);
    block.to_come = left;
    (block.cut_at, block.wants_resolvers, block.held) = (None, false, false);
    block.blame.clear();
}
