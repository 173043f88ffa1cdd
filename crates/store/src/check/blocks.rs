//! Blocks against their steps: the summary is recounted, and parent and children agree.
//!
//! Why    rules decide by a block's summary and never look at its steps; a summary that is wrong decides wrongly for ever.
//!        Blocks and steps are read side by side in the order of the block's id, so one block is in memory at a time.

use super::{Report, Scene};
use crate::pages::{BEFORE_ALL, Key, Pages};
use crate::sql::{Param, Row};
use crate::statements::BLOCK_COLUMNS;
use crate::{Result, StoreError, params, rows};
use model::{Block, BlockId, Counts, State, StepId, StepKind, limits};
use rules::dispatcher::{Verdict, verdict};
use std::cmp::Ordering;

/// A step as its block sees it.
struct Child {
    block: BlockId,
    index: u32,
    id: StepId,
    kind: StepKind,
    state: State,
    parked: bool,
    /// None of a step that is done in order: it lives where its message group does.
    dispatch_group: Option<model::Name>,
    /// Ended by hand at this time.
    by_hand_at: Option<i64>,
}

/// The step that owns a block.
struct Owner {
    state: State,
    parked: bool,
    simply: bool,
    child_block: Option<BlockId>,
    dispatch_group: String,
    ended_at: Option<i64>,
    /// How deep its own block is.
    depth: u32,
}

/// What a block's steps say.
#[derive(Default)]
struct Recount {
    steps: Counts,
    resolvers: Counts,
    live: Vec<u32>,
    live_resolvers: Vec<u32>,
    /// Resolvers that may have slept on when their parent ended, and were ended by hand since.
    afterwards: Counts,
}

impl Recount {
    fn add(&mut self, child: &Child, owner: Option<&Owner>) {
        let (counts, live) = match child.kind {
            StepKind::Default => (&mut self.steps, &mut self.live),
            StepKind::Resolver => (&mut self.resolvers, &mut self.live_resolvers),
        };
        *counts.of_mut(child.state) += 1;
        if owner.is_some_and(|owner| may_have_outlived(child, owner)) {
            *self.afterwards.of_mut(child.state) += 1;
        }
        let slot = child.index.clamp(1, limits::INDEX_MAX) as usize;
        if live.len() < slot {
            live.resize(slot, 0);
        }
        live[slot - 1] += u32::from(child.state.is_hot());
    }
    fn hot(&self) -> u32 {
        self.steps.hot + self.resolvers.hot
    }
    fn unsettled(&self) -> u32 {
        self.hot() + self.steps.not_runnable + self.resolvers.not_runnable
    }
    /// The end its owner should have had, as far as the children had ended by then.
    fn verdict(&self, block: &Block) -> Verdict {
        let mut resolvers = self.resolvers;
        for state in &Counts::COUNTED {
            *resolvers.of_mut(*state) -= self.afterwards.of(*state);
        }
        verdict(&Block { steps: self.steps, resolvers, sweep: None, wants_resolvers: false, ..block.clone() })
    }
}

/// Only a resolver that sleeps lives on under a parent that completed, and a person may end it later. Of two ends at one instant
/// the rows do not say which was first: a step's was, for its parent waited for it; a resolver gets the benefit of the doubt.
fn may_have_outlived(child: &Child, owner: &Owner) -> bool {
    let ends = owner.ended_at.zip(child.by_hand_at);
    child.kind == StepKind::Resolver && ends.is_some_and(|(parent, child)| child >= parent)
}

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let mut children = Children::of(scene)?;
    let mut blocks = blocks(scene);
    while let Some(Summary { id, block, is_open }) = blocks.next()? {
        children.skip_to(Some(id), report)?;
        let block = match block {
            Ok(block) => block,
            Err(StoreError::Corrupt { column, value, .. }) => {
                report.add("S5", format!("block {id}"), format!("its {column} is `{value}`"));
                children.take(id, |_| {})?;
                continue;
            }
            Err(problem) => return Err(problem),
        };
        let owner = block.owner.map(|owner| read_owner(scene, owner)).transpose()?.flatten();
        let mut count = Recount::default();
        children.take(id, |child| {
            look_at_child(&block, owner.as_ref(), &child, report);
            count.add(&child, owner.as_ref());
        })?;
        look_at_tree(&block, owner.as_ref(), report);
        look_at_summary(&block, &count, is_open, report);
        if let Some(owner) = &owner {
            look_at_family(&block, owner, &count, report);
        }
    }
    children.skip_to(None, report)
}

/// A block's row, and the block in it if it can be understood.
struct Summary {
    id: BlockId,
    block: Result<Block>,
    is_open: bool,
}

/// Blocks in the order of their ids.
fn blocks<'a>(scene: &'a Scene) -> Pages<'a, Summary> {
    let text = format!("select {BLOCK_COLUMNS}, is_open from blocks where id > $1 order by id limit $2");
    let read = |row: &Row| {
        let id = BlockId::from_bytes(row.get(0)?);
        Ok(Summary { id, block: rows::block(row), is_open: row.get(24)? })
    };
    let key = |summary: &Summary| -> Key { vec![summary.id.into()] };
    Pages::new(scene.sql(), text, &[BEFORE_ALL], read, key)
}

/// Steps in the order of their block, one ahead.
struct Children<'a> {
    rows: Pages<'a, Child>,
    scene: &'a Scene<'a>,
    next: Option<Child>,
}

impl<'a> Children<'a> {
    fn of(scene: &'a Scene<'a>) -> Result<Children<'a>> {
        let text = "select block_id, block_index, id, kind, state, parked,
                           case when mode is null then dispatch_group end,
                           case when reason = 'operator' then completed_at end
                      from steps where block_id is not null and (block_id, block_index, id) > ($1, $2, $3)
                     order by block_id, block_index, id limit $4";
        let first = [BEFORE_ALL, Param::Int(0), BEFORE_ALL];
        let key = |child: &Child| -> Key { vec![child.block.into(), child.index.into(), child.id.into()] };
        let rows = Pages::new(scene.sql(), text, &first, read_child, key);
        let mut children = Children { rows, scene, next: None };
        children.step()?;
        Ok(children)
    }
    fn step(&mut self) -> Result<()> {
        self.next = self.rows.next()?.map(|child| {
            let (state, parked) = self.scene.claims.standing(child.id, child.state, child.parked);
            Child { state, parked, ..child }
        });
        Ok(())
    }
    /// Steps before this block stand in one that does not exist.
    fn skip_to(&mut self, block: Option<BlockId>, report: &mut Report) -> Result<()> {
        while let Some(child) = &self.next
            && block.is_none_or(|block| child.block < block)
        {
            report.add(
                "I17",
                format!("step {}", child.id),
                format!("its block {} does not exist", child.block),
            );
            self.step()?;
        }
        Ok(())
    }
    fn take(&mut self, block: BlockId, mut look: impl FnMut(Child)) -> Result<()> {
        while let Some(child) = self.next.take_if(|child| child.block == block) {
            look(child);
            self.step()?;
        }
        Ok(())
    }
}

fn read_child(row: &Row) -> Result<Child> {
    Ok(Child {
        block: BlockId::from_bytes(row.get(0)?),
        index: row.get(1)?,
        id: StepId::from_bytes(row.get(2)?),
        // The schema knows no other words.
        kind: row.text(3)?.parse().unwrap_or(StepKind::Default),
        state: row.text(4)?.parse().unwrap_or(State::NotRunnable),
        parked: row.get(5)?,
        dispatch_group: rows::optional_shared(row, 6)?,
        by_hand_at: row.get(7)?,
    })
}

fn read_owner(scene: &Scene, id: StepId) -> Result<Option<Owner>> {
    let text =
        "select o.state, o.parked, o.reason is null, o.child_block_id, o.dispatch_group, o.completed_at,
                       coalesce(b.depth, 1)
                  from steps o left join blocks b on b.id = o.block_id where o.id = $1";
    scene.sql().first(text, params![id], |row| {
        let state = row.text(0)?.parse().unwrap_or(State::NotRunnable);
        let (state, parked) = scene.claims.standing(id, state, row.get(1)?);
        Ok(Owner {
            state,
            parked,
            simply: row.get(2)?,
            child_block: row.get::<Option<[u8; 16]>>(3)?.map(BlockId::from_bytes),
            dispatch_group: row.get(4)?,
            ended_at: row.get(5)?,
            depth: row.get(6)?,
        })
    })
}

/// Rules will look at the block again, so what follows from its steps may not be written yet.
fn is_moving(block: &Block) -> bool {
    block.touched || block.sweep.is_some()
}

fn look_at_child(block: &Block, owner: Option<&Owner>, child: &Child, report: &mut Report) {
    let entity = || format!("step {}", child.id);
    if let Some(group) = child.dispatch_group.as_deref().filter(|group| *group != block.home.as_str()) {
        let problem = format!("it is of dispatch group `{group}`, its block of `{}`", block.home);
        report.add("I17", entity(), problem);
    }
    let at = block.index_now(child.kind);
    if is_moving(block) {
        return;
    }
    let begun = child.state.is_in_flight() || child.parked;
    match child.index.cmp(&at) {
        Ordering::Greater if begun => {
            report.add("S1", entity(), format!("it runs at index {}, its block is at {at}", child.index));
        }
        Ordering::Less if child.state.is_hot() => {
            report.add(
                "S1",
                entity(),
                format!("its block is at index {at} and left it behind at {}", child.index),
            );
        }
        _ => {}
    }
    if begun && owner.is_some_and(|o| !o.parked && !o.state.is_terminal()) {
        report.add("I16", entity(), "it runs before the job of its parent returned");
    }
}

fn look_at_tree(block: &Block, owner: Option<&Owner>, report: &mut Report) {
    let entity = format!("block {}", block.id);
    let depth = match (block.owner, owner) {
        (None, _) => 1,
        (Some(id), None) => return report.add("I17", entity, format!("its owner {id} does not exist")),
        (Some(_), Some(owner)) => owner.depth + 1,
    };
    if block.depth != depth {
        report.add("I17", &entity, format!("it says it is {} deep, and is {depth}", block.depth));
    }
    let Some(owner) = owner else { return };
    if owner.child_block != Some(block.id) {
        report.add("I17", &entity, "its owner does not know it");
    }
    if owner.dispatch_group != block.home.as_str() {
        let problem =
            format!("it is of dispatch group `{}`, its owner of `{}`", block.home, owner.dispatch_group);
        report.add("I17", &entity, problem);
    }
}

fn look_at_summary(block: &Block, count: &Recount, is_open: bool, report: &mut Report) {
    let entity = format!("block {}", block.id);
    for (what, told, there) in
        [("", &block.steps, &count.steps), ("resolver ", &block.resolvers, &count.resolvers)]
    {
        for state in Counts::COUNTED.iter().filter(|state| told.of(**state) != there.of(**state)) {
            let (told, there) = (told.of(*state), there.of(*state));
            report.add("S1", &entity, format!("it counts {told} {state} {what}steps, there are {there}"));
        }
    }
    for (what, told, there) in
        [("", &block.live, &count.live), ("resolver ", &block.live_resolvers, &count.live_resolvers)]
    {
        if told.len() != there.len() {
            let (told, there) = (told.len(), there.len());
            report.add("S1", &entity, format!("its {what}steps end at index {there}, it says {told}"));
        } else if let Some(i) = (0..told.len()).find(|i| told[*i] != there[*i]) {
            let (told, there) = (told[i], there[i]);
            report.add(
                "S1",
                &entity,
                format!("it counts {told} live {what}steps at index {}, there are {there}", i + 1),
            );
        }
    }
    let at = [(block.current_index, &block.live), (block.resolver_index, &block.live_resolvers)];
    if at.iter().any(|(index, live)| *index as usize > live.len()) {
        report.add("S1", &entity, "it is at an index that no step has");
    }
    // Whether resolvers that sleep keep a block open is the engine's choice: they can be found either way.
    let moves = is_moving(block) || block.to_come > 0;
    let (must, may) = (count.hot() > 0 || moves, count.unsettled() > 0 || moves);
    if (must && !is_open) || (is_open && !may) {
        let there = count.unsettled();
        report.add(
            "S1",
            &entity,
            format!("it is marked open: {is_open}, and {there} of its steps have not ended"),
        );
    }
}

fn look_at_family(block: &Block, owner: &Owner, count: &Recount, report: &mut Report) {
    if is_moving(block) {
        return;
    }
    let entity = format!("step {}", block.owner.map(|id| id.to_string()).unwrap_or_default());
    let (hot, unsettled) = (count.hot(), count.unsettled());
    if owner.state.is_terminal() && block.to_come > 0 {
        report.add(
            "I15",
            entity,
            format!("it is {}, and {} of its children are to come", owner.state, block.to_come),
        );
    } else if owner.parked && hot == 0 && block.to_come == 0 {
        report.add("I16", entity, "it waits for its children, and none of them can move any more");
    } else if owner.state.is_terminal() && hot > 0 {
        report.add("I15", entity, format!("it is {}, and {hot} of its children are live", owner.state));
    } else if owner.state.is_terminal() && owner.state != State::Completed && unsettled > 0 {
        report.add(
            "I15",
            entity,
            format!("it is {}, and {unsettled} of its resolvers still sleep", owner.state),
        );
    } else if owner.state == State::Completed && owner.simply {
        let end = count.verdict(block);
        if end != Verdict::Completed {
            report.add("I14", entity, format!("it is completed, but by its children it would be {end:?}"));
        }
    } else if !owner.parked && !owner.state.is_terminal() && block.current_index + block.resolver_index > 0 {
        report.add("I16", entity, "its block was opened before its job returned");
    }
}
