//! Children that stand in a line of another dispatch group than their block's, where another node decides about one of the two.
//!
//! Why    nobody writes a row that another node decides about: what is to happen to it is asked for, and how it ended is told.

use super::Board;
use model::{BlockId, DispatchGroup, Event, Place, State, Step, StepId, StepKind, Sweep, SweepKind};

/// What only the owner of another dispatch group can do to a step that stands in a block of this one.
#[derive(Clone, PartialEq, Debug)]
pub struct Ask {
    pub step: StepId,
    pub dispatch_group: DispatchGroup,
    pub what: Asked,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Asked {
    /// Its turn has come in its block.
    Join,
    /// It falls with its block, or another step has taken its place there.
    Follow { event: Event, superseded_by: Option<StepId> },
}

/// A step of a block that another node decides for has ended here.
#[derive(Clone, PartialEq, Debug)]
pub struct EndedAway {
    pub step: StepId,
    pub place: Place,
    pub kind: StepKind,
    pub to: State,
    pub event: Event,
}

impl Board {
    /// Another node decides about it: it stands in line elsewhere.
    pub fn is_elsewhere(&self, step: &Step) -> bool {
        self.mine.as_ref().is_some_and(|mine| !mine.contains(&step.dispatch_group))
    }
    /// What the owners of other dispatch groups are to do.
    pub fn take_asks(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.asks)
    }
    /// Steps that ended here and count in blocks elsewhere.
    pub fn take_ended_away(&mut self) -> Vec<EndedAway> {
        std::mem::take(&mut self.ended_away)
    }
    /// The turn of a step has come in its block; whoever decides about it lets it stand in line.
    pub fn join(&mut self, step: &Step) {
        let dispatch_group = step.dispatch_group.clone();
        self.asks.push(Ask { step: step.id, dispatch_group, what: Asked::Join });
    }
    /// A child that is stored elsewhere counts in its block.
    pub fn count_child(&mut self, step: &Step) {
        if let Some(place) = step.place {
            self.count(place, step.kind, None, Some(step.state));
        }
    }
    /// A child that another node decides about has ended, which is said once.
    pub fn child_ended(&mut self, ended: &EndedAway) {
        let EndedAway { step, place, kind, to, event } = *ended;
        if self.blocks.contains_key(&place.block) {
            self.waits_for_others.remove(&place.block);
            self.count(place, kind, Some(State::Pending), Some(to));
            self.mark_block(place, (step, kind, to), event);
        }
    }
    /// What other nodes decide about was looked at, and may have moved since.
    pub fn forget_elsewhere(&mut self) {
        for id in std::mem::take(&mut self.guests) {
            self.drop_step(id);
        }
    }
    /// A sweep has asked other nodes, or missed what they have not told yet: it begins again when one of them answers.
    pub(super) fn waits_for_others(&self, block: BlockId, sweep: &Sweep) -> bool {
        self.waits_for_others.get(&block) == Some(&(sweep.kind, sweep.above))
    }

    /// Where nodes share the work, what a whole sweep leaves alive is another node's.
    pub(super) fn note_others(&mut self, id: BlockId) {
        let Some(block) = self.block(id).filter(|_| self.mine.is_some()) else { return };
        let Some(sweep) = block.sweep else { return };
        let above = |live: &[u32]| live.iter().skip(sweep.above as usize).any(|n| *n > 0);
        let left = match sweep.kind {
            SweepKind::Close => block.unsettled() > 0,
            SweepKind::Later => above(&block.live),
            SweepKind::LaterResolvers => above(&block.live_resolvers),
            SweepKind::Resolvers => false,
        };
        if left {
            self.waits_for_others.insert(id, (sweep.kind, sweep.above));
        }
    }

    /// A child that another node decides about is to meet what its block decided: its owner is told, and says how it ended.
    pub(super) fn follow(
        &mut self,
        id: StepId,
        (from, to): (State, State),
        event: Event,
        superseded_by: Option<StepId>,
    ) {
        let Some(entry) = self.steps.get_mut(&id) else { return };
        entry.step.state = to;
        let (place, kind) = (entry.step.place, entry.step.kind);
        let dispatch_group = entry.step.dispatch_group.clone();
        self.asks.push(Ask { step: id, dispatch_group, what: Asked::Follow { event, superseded_by } });
        // One that has ended already tells nothing more.
        if let Some(place) = place.filter(|_| from.is_terminal()) {
            self.count(place, kind, Some(from), Some(to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{blank, parse};
    use model::{Effect, Move};
    use std::collections::BTreeSet;

    /// A block of this node with two children, of which `there` stands in a line of a group that another node decides for.
    fn shared() -> (Board, StepId) {
        let mut tree = parse("top Running parked\n  here 1\n  there 2 beta");
        tree.board.mine = Some(BTreeSet::from([DispatchGroup::new("alpha")]));
        let there = tree.ids["there"];
        (tree.board, there)
    }

    fn asked(board: &mut Board) -> String {
        let told = |ask: Ask| {
            let what = match ask.what {
                Asked::Join => "join".into(),
                Asked::Follow { event, superseded_by: None } => event.to_string(),
                Asked::Follow { event, superseded_by: Some(by) } => format!("{event} by {}", by.bytes()[15]),
            };
            format!("{} {} {what}", ask.step.bytes()[15], ask.dispatch_group)
        };
        board.take_asks().into_iter().map(told).collect::<Vec<_>>().join(", ")
    }

    fn place(board: &Board, id: StepId) -> Place {
        board.step(id).and_then(|step| step.place).expect("it stands in a block")
    }

    #[test]
    fn what_another_node_decides_about_is_asked_for_and_not_written() {
        let (mut board, there) = shared();
        let block = place(&board, there).block;
        let step = board.step(there).expect("in hand").clone();
        assert!(board.is_elsewhere(&step));
        board.join(&step);
        let fall = |event| Effect::MoveStep(Box::new(Move::new(there, event)));
        board.apply(fall(Event::ParentCancelled)).expect("a pending step falls");
        assert_eq!(asked(&mut board), "3 beta join, 3 beta parent_cancelled");
        assert!(board.take_changes().steps.is_empty(), "its row is not this node's to write");
        assert_eq!(
            board.block(block).map(|b| b.steps.hot),
            Some(2),
            "it counts until it is said how it ended"
        );
    }

    #[test]
    fn one_that_has_ended_already_tells_nothing_more() {
        let (mut board, there) = shared();
        let block = place(&board, there).block;
        let place = place(&board, there);
        let ended = EndedAway {
            step: there,
            place,
            kind: StepKind::Default,
            to: State::Failed,
            event: Event::Failed,
        };
        board.child_ended(&ended);
        let counts = board.block(block).map(|b| (b.steps.hot, b.steps.failed, b.cut_at));
        assert_eq!(counts, Some((1, 1, Some(2))), "it cuts its block where it stood");
        board.edit(there, |step, _| step.state = State::Failed);
        board.take_changes();
        let mut again = Move::new(there, Event::Superseded);
        again.detail.superseded_by = Some(StepId::of(9));
        board.apply(Effect::MoveStep(Box::new(again))).expect("what failed may be made anew");
        assert_eq!(asked(&mut board), "3 beta superseded by 9");
        let counts = board.block(block).map(|b| (b.steps.failed, b.steps.superseded));
        assert_eq!(counts, Some((0, 1)), "nobody will say so");
    }

    #[test]
    fn a_sweep_waits_for_what_others_decide_about() {
        let (mut board, there) = shared();
        let block = place(&board, there).block;
        for (kind, above, waits) in [
            (SweepKind::Close, 0, true),
            (SweepKind::Later, 1, true),
            (SweepKind::Later, 2, false),
            (SweepKind::LaterResolvers, 0, false),
            (SweepKind::Resolvers, 0, false),
        ] {
            let sweep = Sweep { kind, event: Event::ParentCancelled, above, after: None };
            board.apply(Effect::StartSweep { block, sweep }).expect("it moves no step");
            board.apply(Effect::EndSweep { block }).expect("it moves no step");
            assert_eq!(board.waits_for_others(block, &sweep), waits, "{kind:?} above {above}");
            board.apply(Effect::StartSweep { block, sweep }).expect("it moves no step");
            let swept = board.block(block).is_some_and(|b| b.sweep.is_some());
            assert_eq!(swept, !waits, "one that waits is not begun again");
            board.edit_block(block, |b| b.sweep = None);
            board.waits_for_others.clear();
        }
    }

    #[test]
    fn what_is_stored_elsewhere_counts_here_and_is_looked_at_anew() {
        let (mut board, there) = shared();
        let place = place(&board, there);
        let more = Step { place: Some(place), ..blank(StepId::of(8)) };
        board.count_child(&more);
        assert_eq!(board.block(place.block).map(|b| b.steps.hot), Some(3));
        let guest = Step { dispatch_group: DispatchGroup::new("beta"), ..blank(StepId::of(9)) };
        board.load_step(guest);
        board.forget_elsewhere();
        assert!(board.step(StepId::of(9)).is_none(), "it may have moved since");
        let unknown = Place { block: BlockId::of(77), index: 1 };
        let ended = EndedAway {
            step: there,
            place: unknown,
            kind: StepKind::Default,
            to: State::Completed,
            event: Event::Completed,
        };
        board.child_ended(&ended);
        assert!(board.block(BlockId::of(77)).is_none(), "a block that nobody has in hand is left alone");
        assert!(board.take_ended_away().is_empty());
    }
}
