//! A block: ordered steps as a summary of counts, so that no rule ever looks at 100,000 children.

use crate::state::words;
use crate::{BlockId, DispatchGroup, Event, State, StepId, StepKind, UnknownWord};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// When children make their parent succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Success {
    #[default]
    All,
    Majority,
    BestEffort,
    AtLeast(u32),
}

impl fmt::Display for Success {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Success::All => f.write_str("all"),
            Success::Majority => f.write_str("majority"),
            Success::BestEffort => f.write_str("best_effort"),
            Success::AtLeast(n) => write!(f, "at_least:{n}"),
        }
    }
}

impl FromStr for Success {
    type Err = UnknownWord;
    fn from_str(s: &str) -> Result<Self, UnknownWord> {
        match s {
            "all" => Ok(Success::All),
            "majority" => Ok(Success::Majority),
            "best_effort" => Ok(Success::BestEffort),
            _ => s.strip_prefix("at_least:").and_then(|n| n.parse().ok()).map(Success::AtLeast).ok_or(
                UnknownWord {
                    what: "success criterion",
                    word: s.into(),
                    expected: "all, majority, best_effort, at_least:N".into(),
                },
            ),
        }
    }
}

/// How many steps of a block are in each state. All that can still move by itself is one number: a claim, the most frequent
/// move of all, changes nothing here, so it writes no block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Pending, dispatched, running or polling.
    pub hot: u32,
    pub not_runnable: u32,
    pub completed: u32,
    pub skipped: u32,
    pub cancelled: u32,
    pub failed: u32,
    pub stopped: u32,
    pub timed_out: u32,
    pub superseded: u32,
}

impl Counts {
    /// One state for each number, in the order they are stored; `Pending` stands for everything hot.
    pub const COUNTED: [State; 9] = [
        State::Pending,
        State::NotRunnable,
        State::Completed,
        State::Skipped,
        State::Cancelled,
        State::Failed,
        State::Stopped,
        State::TimedOut,
        State::Superseded,
    ];
    pub fn of(&self, state: State) -> u32 {
        let mut copy = *self;
        *copy.of_mut(state)
    }
    pub fn of_mut(&mut self, state: State) -> &mut u32 {
        match state {
            State::Pending | State::Dispatched | State::Running | State::Polling => &mut self.hot,
            State::NotRunnable => &mut self.not_runnable,
            State::Completed => &mut self.completed,
            State::Skipped => &mut self.skipped,
            State::Cancelled => &mut self.cancelled,
            State::Failed => &mut self.failed,
            State::Stopped => &mut self.stopped,
            State::TimedOut => &mut self.timed_out,
            State::Superseded => &mut self.superseded,
        }
    }
    pub fn failed_set(&self) -> u32 {
        self.failed + self.stopped + self.timed_out
    }
    pub fn concluded(&self) -> u32 {
        self.completed + self.skipped
    }
    /// Steps that count for the parent: all but dormant and superseded ones.
    pub fn counting(&self) -> u32 {
        self.hot + self.concluded() + self.failed_set() + self.cancelled
    }
}

words!(
    /// Which children a sweep takes.
    SweepKind, "sweep" {
        /// Everything live: the owner ended.
        Close = "close",
        /// Default steps behind a failed index.
        Later = "later",
        /// Resolvers behind a failed resolver.
        LaterResolvers = "later_resolvers",
        /// Dormant resolvers, to wake them.
        Resolvers = "resolvers",
    }
);

/// A move of many children, done by pages; while it lasts nothing it covers is dispatched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sweep {
    pub kind: SweepKind,
    pub event: Event,
    /// Children with a higher index than this are taken.
    pub above: u32,
    /// Index and id of the last child looked at; the next page begins behind it.
    pub after: Option<(u32, StepId)>,
}

impl Sweep {
    pub fn covers(&self, kind: StepKind, state: State, index: u32) -> bool {
        match self.kind {
            SweepKind::Close => !state.is_terminal(),
            SweepKind::Later => kind == StepKind::Default && state.is_hot() && index > self.above,
            SweepKind::LaterResolvers => {
                kind == StepKind::Resolver && !state.is_terminal() && index > self.above
            }
            SweepKind::Resolvers => kind == StepKind::Resolver && state == State::NotRunnable,
        }
    }
}

/// The summary of a block.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub id: BlockId,
    pub owner: Option<StepId>,
    /// The dispatch group that decides it.
    pub home: DispatchGroup,
    pub success: Success,
    pub depth: u32,
    /// Default steps per state, and resolvers per state.
    pub steps: Counts,
    pub resolvers: Counts,
    /// The index whose steps may run; 0 while the owner has not returned.
    pub current_index: u32,
    /// Hot default steps at index 1, 2, …
    pub live: Vec<u32>,
    pub resolver_index: u32,
    pub live_resolvers: Vec<u32>,
    /// The lowest index that failed or was cancelled; later ones never run.
    pub cut_at: Option<u32>,
    pub resolver_cut_at: Option<u32>,
    /// A step of this block failed of itself, or asked for its resolvers.
    pub wants_resolvers: bool,
    /// The first few children that failed, for the parent's error.
    pub blame: Vec<StepId>,
    pub sweep: Option<Sweep>,
    /// Children that are still to be made.
    pub to_come: u32,
    /// Nothing of it starts: the workflow it belongs to is held.
    pub held: bool,
    /// The block has not come to rest: rules must look at it in the next turn.
    pub touched: bool,
    pub version: u64,
}

impl Block {
    pub fn new(id: BlockId, home: DispatchGroup) -> Block {
        Block {
            id,
            owner: None,
            home,
            success: Success::All,
            depth: 1,
            steps: Counts::default(),
            resolvers: Counts::default(),
            current_index: 0,
            live: Vec::new(),
            resolver_index: 0,
            live_resolvers: Vec::new(),
            cut_at: None,
            resolver_cut_at: None,
            wants_resolvers: false,
            blame: Vec::new(),
            sweep: None,
            to_come: 0,
            held: false,
            touched: true,
            version: 0,
        }
    }
    pub fn counts(&self, kind: StepKind) -> &Counts {
        match kind {
            StepKind::Default => &self.steps,
            StepKind::Resolver => &self.resolvers,
        }
    }
    pub fn total(&self) -> u32 {
        let all = |c: &Counts| c.counting() + c.not_runnable + c.superseded;
        all(&self.steps) + all(&self.resolvers)
    }
    pub fn counts_mut(&mut self, kind: StepKind) -> &mut Counts {
        match kind {
            StepKind::Default => &mut self.steps,
            StepKind::Resolver => &mut self.resolvers,
        }
    }
    /// Hot steps of a kind at an index.
    pub fn live_at(&self, kind: StepKind, index: u32) -> u32 {
        let live = match kind {
            StepKind::Default => &self.live,
            StepKind::Resolver => &self.live_resolvers,
        };
        index.checked_sub(1).and_then(|i| live.get(i as usize)).copied().unwrap_or(0)
    }
    /// Something behind the place where it was cut has not ended yet.
    pub fn is_alive_behind_cut(&self) -> bool {
        let behind = |cut: Option<u32>, live: &[u32]| {
            cut.is_some_and(|at| live.iter().skip(at as usize).any(|n| *n > 0))
        };
        behind(self.cut_at, &self.live) || behind(self.resolver_cut_at, &self.live_resolvers)
    }
    /// The slot that counts hot steps of a kind at an index, made when missing.
    pub fn live_mut(&mut self, kind: StepKind, index: u32) -> &mut u32 {
        let live = match kind {
            StepKind::Default => &mut self.live,
            StepKind::Resolver => &mut self.live_resolvers,
        };
        let i = index.max(1) as usize - 1;
        if live.len() <= i {
            live.resize(i + 1, 0);
        }
        &mut live[i]
    }
    /// The index that may run by the counts alone: the current one while something at it lives, else the next that has
    /// something live. A row whose block was only opened is not written, so what is stored may lag behind this.
    pub fn index_now(&self, kind: StepKind) -> u32 {
        let (current, live, cut) = match kind {
            StepKind::Default => (self.current_index, &self.live, self.cut_at),
            StepKind::Resolver => (self.resolver_index, &self.live_resolvers, self.resolver_cut_at),
        };
        if self.live_at(kind, current) > 0 {
            return current;
        }
        let next = live.iter().skip(current as usize).position(|n| *n > 0).map(|i| current + i as u32 + 1);
        next.filter(|next| cut.is_none_or(|cut| *next <= cut)).unwrap_or(current)
    }
    pub fn last_index(&self) -> u32 {
        self.live.len() as u32
    }
    /// Children that are not terminal, dormant ones included.
    pub fn unsettled(&self) -> u32 {
        self.steps.hot + self.steps.not_runnable + self.resolvers.hot + self.resolvers.not_runnable
    }
    /// No child can move any more, and none is still to come; dormant resolvers do not count.
    pub fn is_at_rest(&self) -> bool {
        self.steps.hot == 0 && self.resolvers.hot == 0 && self.to_come == 0 && self.sweep.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_was_cut_lives_behind_the_cut_until_all_has_ended() {
        let cut = |cut_at, live: &[u32]| {
            let block = Block::new(BlockId::of(1), DispatchGroup::new("alpha"));
            let steps = Block { cut_at, live: live.to_vec(), ..block.clone() };
            let resolvers = Block { resolver_cut_at: cut_at, live_resolvers: live.to_vec(), ..block };
            [steps, resolvers].map(|block| block.is_alive_behind_cut())
        };
        assert_eq!(cut(None, &[1, 1]), [false; 2]);
        assert_eq!(cut(Some(1), &[1, 0]), [false; 2], "what stands beside it is not behind it");
        assert_eq!(cut(Some(1), &[0, 0, 1]), [true; 2]);
    }
}
