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
