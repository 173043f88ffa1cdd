//! Fan-outs: a step that waits for one child for each item, made by pages and as there is room.

use super::super::node::{Node, Turn};
use super::{Entry, Live, load};
use crate::EngineError;
use model::ITEMS_ACTION;
use model::definition::{ActionDef, Gather};
use model::{
    Block, BlockId, Detail, Effect, Event, Move, NewStep, Reason, State, Step, StepId, StepKind, Success,
    Timestamp, limits,
};
use rules::workflow::progress::Next;
use rules::workflow::{self, Data, Items, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{Result, StoreError};

/// Fan-outs that make items in one turn.
const FILLED_PER_TURN: usize = 50;

/// The children of a step that has one for each item, or just one that stands in a line.
pub struct Fan {
    pub block: BlockId,
    /// None: it has one child, whose answer is its own.
    pub items: Option<Items>,
    /// What the first item that failed said, where this process heard it.
    pub first_said: Option<String>,
    answers: BTreeMap<u32, Arc<str>>,
    /// More was answered than can be kept.
    bytes: usize,
    /// Which of an earlier run's items come next, where some are made again.
    pub again: Again,
}

/// How far a fan-out is that makes items again.
pub enum Again {
    /// It is to be read, once this turn is durable.
    Unread(u64),
    /// Behind this row come those that are left. These items are made already, though the rows of those before may not say so yet.
    Behind(Option<StepId>, BTreeSet<u32>),
}

impl Fan {
    pub fn new(block: BlockId, items: Option<Items>) -> Fan {
        Fan { block, items, first_said: None, answers: BTreeMap::new(), bytes: 0, again: Again::Unread(0) }
    }
    pub fn len(&self) -> u32 {
        self.items.as_ref().map_or(1, |items| items.len() as u32)
    }
    /// Whether what its children answer is needed.
    pub fn keeps(&self, plan: &Plan, def: u32) -> bool {
        self.items.is_none() || how(plan, def) != Gather::Counts
    }
    pub fn keep(&mut self, item: u32, answer: Arc<str>) {
        if self.answers.contains_key(&item) {
            return;
        }
        self.bytes += answer.len();
        // What is too much for one answer is not kept: all that is told of it is that.
        if self.bytes <= limits::PAYLOAD_BYTES_MAX {
            self.answers.insert(item, answer);
        }
    }
}

fn action(plan: &Plan, def: u32) -> Option<&ActionDef> {
    plan.def(def).work.action()
}

fn how(plan: &Plan, def: u32) -> Gather {
    action(plan, def).and_then(|action| action.each.as_ref()).map_or(Gather::List, |each| each.gather)
}

/// A step whose children are made and waited for.
pub(super) struct Parent {
    pub items: Option<Items>,
    /// Not before then.
    pub at: Option<Timestamp>,
}

impl Node {
    /// One step for each item; without items it is done at once.
    pub(super) fn fan_out(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        items: Items,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let text = items.text();
        if text.len() > limits::PAYLOAD_BYTES_MAX {
            let max = limits::PAYLOAD_BYTES_MAX;
            let message = format!("its items are {} bytes long; {max} are kept", text.len());
            return self.fail_step(turn, entry, def, message, now);
        }
        if items.is_empty() {
            let answer = workflow::gather(how(&entry.plan, def), 0, &BTreeMap::new(), 0).unwrap_or_default();
            return self.complete_at_once(turn, entry, def, answer, now);
        }
        self.make_parent(turn, entry, def, Parent { items: Some(items), at: None }, now)?;
        Ok(Vec::new())
    }

    /// A step with one child that stands in line, perhaps where another node decides.
    pub(super) fn run_in_line(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        new: NewStep,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let id = self.make_parent(turn, entry, def, Parent { items: None, at: None }, now)?;
        let block = self.board.step(id).and_then(|step| step.child_block);
        block.map_or(Ok(()), |block| self.open_index(block))?;
        match self.plan(turn, &[NewStep { block_id: block, ..new }], now)? {
            Err(faults) => {
                let message = EngineError::Invalid(faults).to_string();
                self.end_parent(id, message)?;
            }
            Ok(mut plan) => {
                self.mark(entry, def, &mut plan, Some(0))?;
                self.carry_out(turn, plan)?;
            }
        }
        Ok(Vec::new())
    }

    /// The row of a step whose children come after it.
    pub(super) fn make_parent(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        parent: Parent,
        now: Timestamp,
    ) -> Result<StepId> {
        let Parent { items, at } = parent;
        let plan = entry.plan.clone();
        let block = BlockId::from_bytes(self.ids.row(now));
        let text = items.as_ref().map_or("{}".into(), Items::text);
        let arguments = serde_json::value::RawValue::from_string(text).ok();
        let new = NewStep {
            action: ITEMS_ACTION.into(),
            child_block_id: Some(block),
            arguments,
            ..self.own_step(entry, def)
        };
        let mut rows = self.sound_plan(turn, new, now)?;
        let each = action(&plan, def).and_then(|action| action.each.as_ref());
        for made in &mut rows.blocks {
            made.success = each.map_or(Success::All, |each| each.success);
            made.to_come = items.as_ref().map_or(0, |items| items.len() as u32);
        }
        self.mark(entry, def, &mut rows, None)?;
        let id = rows.roots.first().copied().expect("one step was asked for");
        for (step, _) in &mut rows.steps {
            step.wake_at = at;
        }
        let run = entry.run(def);
        let live = Live {
            step: id,
            run,
            deadline: load::deadline(&plan, def, now),
            goes_on_at: at,
            fan: Some(Fan::new(block, items)),
            below: None,
        };
        entry.begin(def);
        entry.live.insert(def, live);
        self.carry_out(turn, rows)?;
        if at.is_none() {
            self.begin_parent(id)?;
        }
        Ok(id)
    }

    /// It runs without a worker, and waits for its children.
    pub(super) fn begin_parent(&mut self, id: StepId) -> Result<()> {
        self.start_without_worker(id)?;
        self.board
            .apply(Effect::Park { step: id, detail: Box::default() })
            .map_err(|refused| StoreError::Lost { what: refused.to_string() })?;
        self.workflows.filling.insert(id);
        Ok(())
    }

    /// What no worker is needed for begins whether or not work is handed out.
    pub(super) fn start_without_worker(&mut self, id: StepId) -> Result<()> {
        self.board.edit(id, |step, _| step.attempt += 1);
        self.apply(Move::new(id, Event::Entered))
    }

    /// A fan-out has items to make.
    pub(in super::super) fn fill_later(&mut self, id: StepId) {
        self.workflows.filling.insert(id);
    }

    /// Make the items there is room for, a page of each fan-out.
    pub(in super::super) fn fill(&mut self, turn: &mut Turn, now: Timestamp) -> Result<bool> {
        let mut any = false;
        for id in std::mem::take(&mut self.workflows.filling) {
            // A page of each, and only so many of them: a turn must be stored while its leases last.
            if self.workflows.filled.len() >= FILLED_PER_TURN || !self.workflows.filled.insert(id) {
                self.workflows.fill_next.insert(id);
                continue;
            }
            any = true;
            self.fill_one(turn, id, now)?;
        }
        Ok(any)
    }

    fn fill_one(&mut self, turn: &mut Turn, id: StepId, now: Timestamp) -> Result<()> {
        if !self.bring(id)? {
            return Ok(());
        }
        let step = self.board.step(id).expect("it was just brought").clone();
        let (Some(part), Some(block), true) = (step.in_workflow, step.child_block, step.parked) else {
            return Ok(());
        };
        let Some(summary) = self.block_or_load(block)? else { return Ok(()) };
        if step.state.is_terminal() || summary.to_come == 0 {
            return Ok(());
        }
        let Some(mut entry) = self.entry(part.workflow)? else { return Ok(()) };
        if entry.is_going_on() {
            let live = summary.live_at(StepKind::Default, 1);
            let most = action(&entry.plan, part.def).and_then(|action| action.each.as_ref()?.max_parallel);
            let room = most.map_or(u32::MAX, |most| most.saturating_sub(live));
            let page = summary.to_come.min(room).min(limits::ITEMS_PAGE as u32);
            let made = self.make_page(turn, &mut entry, (part.def, &summary), page, now)?;
            if made > 0 && made < summary.to_come && made < room {
                self.workflows.fill_next.insert(id);
            }
        }
        self.workflows.put(entry);
        Ok(())
    }

    /// So many of the items that are to come: first those that are made again, then those there never were.
    fn make_page(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (def, block): (u32, &Block),
        page: u32,
        now: Timestamp,
    ) -> Result<u32> {
        let fan = entry.live.get(&def).and_then(|live| live.fan.as_ref());
        let Some(n) = fan.map(Fan::len).filter(|_| page > 0) else { return Ok(0) };
        // An item counts as what it was until it is made again, and as one that is to come.
        match (block.steps.counting() + block.to_come).saturating_sub(n) {
            0 => {
                let first = n - block.to_come;
                let numbers: Vec<u32> = (first..first + page).collect();
                self.make_items(turn, entry, def, (block.id, &numbers), now)?;
                Ok(page)
            }
            left => self.make_again(turn, entry, (def, block.id), page.min(left), now),
        }
    }

    /// The rows of these items, in their order; none if they cannot be made.
    pub(super) fn make_items(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        def: u32,
        (block, numbers): (BlockId, &[u32]),
        now: Timestamp,
    ) -> Result<Vec<StepId>> {
        let Some(items) = entry.live.get(&def).and_then(|live| live.fan.as_ref()?.items.clone()) else {
            return Ok(Vec::new());
        };
        let data = Data::new(&entry.plan, &entry.answers);
        self.open_index(block)?;
        let made = numbers.iter().map(|index| workflow::item(&entry.plan, def, &items, *index, &data));
        let (new, failures): (Vec<NewStep>, Vec<_>) =
            made.map(|(new, failure)| (NewStep { block_id: Some(block), ..new }, failure)).unzip();
        let mut rows = match self.plan(turn, &new, now)? {
            Ok(rows) => rows,
            Err(faults) => {
                let owner = self.board.block(block).and_then(|block| block.owner);
                let message = EngineError::Invalid(faults).to_string();
                owner.map_or(Ok(()), |owner| self.end_parent(owner, message))?;
                return Ok(Vec::new());
            }
        };
        let ids = rows.roots.clone();
        let number: BTreeMap<StepId, u32> = ids.iter().copied().zip(numbers.iter().copied()).collect();
        for (step, detail) in &mut rows.steps {
            if let Some(item) = number.get(&step.id) {
                super::make::mark_step(entry, def, step, detail, Some(*item));
            }
        }
        self.carry_out(turn, rows)?;
        self.board.edit_block(block, |block| block.to_come -= numbers.len() as u32);
        for (id, failure) in ids.iter().copied().zip(failures) {
            if let Some(failure) = failure {
                let detail = Detail { error_message: Some(failure.message), ..Detail::default() };
                let wanted =
                    Move { reason: Some(Reason::JobFailed), detail, ..Move::new(id, Event::ForcedFail) };
                self.apply(wanted)?;
            }
        }
        Ok(ids)
    }

    /// All items stand at one index, which is open as soon as the first is made: those in a line stand in it at once.
    fn open_index(&mut self, block: BlockId) -> Result<()> {
        if self.board.block(block).is_some_and(|block| block.current_index == 0) {
            self.board
                .apply(Effect::OpenIndex { block, index: 1 })
                .map_err(|refused| StoreError::Lost { what: refused.to_string() })?;
        }
        Ok(())
    }

    /// Whoever waited for its items has ended: those that are not made are not made any more.
    pub(super) fn make_no_more(&mut self, block: BlockId) -> Result<()> {
        self.bring_block(block)?;
        if self.board.block(block).is_some_and(|block| block.to_come > 0) {
            self.board.edit_block(block, |block| block.to_come = 0);
        }
        Ok(())
    }

    /// A step with children that cannot be made fails with them.
    pub(super) fn end_parent(&mut self, id: StepId, message: String) -> Result<()> {
        let detail = Detail { error_message: Some(message), ..Detail::default() };
        self.apply(Move { detail, ..Move::new(id, Event::ChildrenFailed) })
    }

    pub(in super::super) fn apply(&mut self, wanted: Move) -> Result<()> {
        let moved = self.board.apply(Effect::MoveStep(Box::new(wanted)));
        moved.map(drop).map_err(|refused| StoreError::Lost { what: refused.to_string() })
    }

    /// An item has ended: its answer is kept, and there may be room for the next.
    pub(super) fn item_ended(&mut self, entry: &mut Entry, def: u32, item: u32, answer: Option<Arc<str>>) {
        let Some(live) = entry.live.get_mut(&def) else { return };
        self.workflows.filling.insert(live.step);
        let Some(fan) = &mut live.fan else { return };
        if let Some(answer) = answer
            && fan.keeps(&entry.plan, def)
        {
            fan.keep(item, answer);
        }
    }

    /// What a fan-out that has ended answers. It is part of its row.
    pub(super) fn gathered(&mut self, entry: &Entry, def: u32, fan: Fan, step: &Step) -> Result<Answered> {
        let answer = match &fan.items {
            None => Ok(fan.answers.values().next().cloned()),
            Some(_) if step.state != State::Completed && !keeps_part(&entry.plan, def) => Ok(None),
            Some(_) if fan.bytes > limits::PAYLOAD_BYTES_MAX => Err(format!(
                "the items answered {} bytes together; {} are kept: write `gather: counts`, or let them keep it elsewhere",
                fan.bytes,
                limits::PAYLOAD_BYTES_MAX
            )),
            Some(_) => {
                let block = self.block_or_load(fan.block)?;
                let completed = block.as_ref().map_or(0, |block| block.steps.completed);
                let (n, how) = (fan.len(), how(&entry.plan, def));
                workflow::gather(how, n, &fan.answers, n.saturating_sub(completed))
                    .map(|text| Some(text.into()))
            }
        };
        if let Ok(Some(text)) = &answer {
            self.board.edit(step.id, |_, detail| detail.response = Some(text.to_string()));
        }
        Ok(answer)
    }
}

/// The answer of a step, or why there is none that can be kept.
pub(super) type Answered = std::result::Result<Option<Arc<str>>, String>;

fn keeps_part(plan: &Plan, def: u32) -> bool {
    plan.def(def).on_failure == model::definition::FailurePolicy::ContinueWithPartial
}
