//! An undoing and all that may come between: late answers, lost leases, attempts that fail, people who retry, skip and cancel.
//!
//! Two steps run side by side, each of which can be undone. A job that was given away answers at some time, also when its step was
//! taken from it; which answers count, what is undone and what people may decide, the rules say.

mod properties;
mod rows;

use super::{breaks, holds, plan};
use crate::recover;
use crate::worker::{self, Answer};
use crate::workflow::compensation::{self, Done};
use crate::workflow::progress::{Passed, Progress};
use crate::workflow::resolution::{self, Verdict, View};
use crate::workflow::{Plan, undoing};
use model::{
    CompensationScope, CompensationState as C, Decision, Failure, Outcome, Report, SessionId, State as S,
    StepId, Timestamp, WorkflowState as W,
};
use properties::{LEFT, STILL, STRANGER, TAKEN, TWICE};
use rows::{Line, Mind, NEW, Row, State, Which, on_board, step_of};
use serde_json::json;
use stateright::{Model, Property};
use std::collections::BTreeSet;

/// Steps that are done, and beside each the one that undoes it.
const STEPS: usize = 2;

/// What keeps what was taken back apart from what counts; one of them is taken away to see that it matters.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Without {
    Nothing,
    /// An answer names the attempt that it is of.
    Attempt,
    /// What has ended takes no answer.
    State,
    /// The plan is made when nothing runs any more.
    Wait,
    /// A line of the plan that has ended is not begun again.
    Line,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Says {
    Done,
    Again,
    Fails,
}

#[derive(Clone, PartialEq, Debug)]
enum Act {
    Claim(Which),
    Answer(Which, u32, Says),
    Lose(Which),
    Decide(Mind),
    /// Whoever still runs has had its time.
    WaitOver,
    MakePlan,
}

struct Undoing {
    plan: Plan,
    without: Without,
}

fn world(without: Without) -> Undoing {
    let undo = |key: &str, when: &str| {
        let run = json!({"action": "undo"});
        json!({"key": key, "after": [], "compensation": {"run": run, "when": when}})
    };
    let steps = json!([undo("a", "completed"), undo("b", "started")]);
    Undoing { plan: plan(json!({"workflow": "w", "version": "1.0.0", "steps": steps})), without }
}

impl Undoing {
    fn claim(&self, state: &mut State, which: Which) -> Option<()> {
        let row = state.row(which)?;
        let begins = match which {
            Which::Step(_) => W::Running,
            Which::Undo(_) => W::Compensating,
        };
        if row.state != S::Pending || state.workflow != begins {
            return None;
        }
        let session = SessionId::of(1);
        let row = on_board(which, row, |board, id| board.claim(id, session, "h".into(), 1).is_ok())?;
        state.put(which, row);
        state.jobs.insert((which, row.attempt));
        Some(())
    }

    fn answer(&self, state: &mut State, (which, attempt): (Which, u32), says: Says) -> Option<()> {
        if !state.jobs.remove(&(which, attempt)) {
            return None;
        }
        let Some(row) = state.row(which) else { return Some(()) };
        let step = step_of(which, row);
        let failure = Failure { message: "no".into(), trace: None };
        let outcome = match says {
            Says::Done => Outcome::Complete { response: None },
            Says::Again => Outcome::Retry { after: None, failure: None },
            Says::Fails => Outcome::Fail { failure, notify: false },
        };
        let named = if self.without == Without::Attempt { step.attempt } else { attempt };
        let (log, delivery, session) = (Vec::new(), None, SessionId::of(1));
        let report = Report { session, step: step.id, attempt: named, outcome, log, delivery };
        let row = match worker::decide(&step, None, &report, Timestamp(0)) {
            Answer::Applied(effects) => on_board(which, row, |board, _| {
                effects.into_iter().all(|effect| board.apply(effect).is_ok())
            })?,
            Answer::Late if self.without == Without::State && says == Says::Done => {
                Row { state: S::Completed, ..row }
            }
            Answer::Late => {
                state.was_late = true;
                return Some(());
            }
        };
        state.stranger |= attempt != row.attempt;
        state.put(which, row);
        self.ended(state, which);
        Some(())
    }

    /// What the end of a step means for the whole.
    fn ended(&self, state: &mut State, which: Which) {
        let Some(row) = state.row(which).filter(|row| row.state.is_terminal()) else { return };
        match which {
            Which::Step(_) if row.state != S::Completed && state.workflow == W::Running => {
                state.moves(W::Failed);
            }
            Which::Step(_) if !state.is_live() && state.workflow == W::Running => {
                state.moves(W::Succeeded);
            }
            Which::Step(_) => {}
            Which::Undo(n) => {
                let to = if row.state == S::Completed { C::Succeeded } else { C::Failed };
                state.undone[n] += u8::from(to == C::Succeeded);
                self.line(state, n, to);
            }
        }
        self.go_on(state);
    }

    fn line(&self, state: &mut State, def: usize, to: C) {
        let unfenced = matches!(self.without, Without::Line | Without::State);
        for line in state.plan.iter_mut().flatten().filter(|line| line.def == def) {
            if unfenced || undoing::next(line.state, to).is_ok() {
                line.state = to;
            }
        }
    }

    /// One after the other, until one runs, cannot be undone, or nothing is left.
    fn go_on(&self, state: &mut State) {
        let Some(lines) = state.plan.as_ref().filter(|_| state.workflow == W::Compensating) else { return };
        if lines.iter().any(|line| line.state == C::Running) {
            return;
        }
        let failed = lines.iter().any(|line| line.state == C::Failed);
        let first = lines.iter().find(|line| line.state == C::Pending).map(|line| line.def);
        match first {
            _ if failed => {
                state.moves(W::CompensationFailed);
            }
            None => {
                state.moves(W::Compensated);
            }
            Some(def) => {
                self.line(state, def, C::Running);
                let lines = state.plan.iter_mut().flatten();
                lines.filter(|line| line.def == def).for_each(|line| {
                    // A new run of the step that undoes it; answers of the one before are of an attempt that is gone.
                    let attempt = line.row.map_or(0, |row| row.attempt);
                    line.row = Some(Row { attempt, ..NEW });
                });
            }
        }
    }

    fn decide(&self, state: &mut State, mind: Mind) -> Option<()> {
        let decision = match mind {
            Mind::Compensate => Decision::Compensate { scope: CompensationScope::Full },
            Mind::Cancel => Decision::Cancel { on_cancel: None },
            Mind::Retry => Decision::RetryCompensation,
            Mind::SkipOne => Decision::SkipCompensation { all: false },
            Mind::SkipAll => Decision::SkipCompensation { all: true },
        };
        let (mut progress, _) = Progress::start(&self.plan.graph);
        let mut broken = BTreeSet::new();
        for (n, row) in state.steps.iter().enumerate() {
            match row.state {
                S::Completed => drop(progress.pass(&self.plan.graph, n as u32, Passed::On)),
                _ => progress.begin(n as u32),
            }
            if row.state.is_failed() {
                broken.insert(n as u32);
            }
        }
        let (cut, plan, workflow) = (BTreeSet::new(), &self.plan, state.workflow);
        let view = View {
            plan,
            state: workflow,
            is_resolved: false,
            progress: &progress,
            broken: &broken,
            cut: &cut,
        };
        let verdict = resolution::judge(&view, &decision).ok()?;
        let minds = state.minds.iter().position(|one| *one == mind)?;
        state.minds.remove(minds);
        self.carry_out(state, verdict)
    }

    fn carry_out(&self, state: &mut State, verdict: Verdict) -> Option<()> {
        match verdict {
            Verdict::Undo { .. } => {
                state.moves(W::Compensating).then_some(())?;
                state.call_off_what_waits();
            }
            Verdict::Cancel => {
                state.moves(W::Cancelled).then_some(())?;
                state.take_all_back();
            }
            Verdict::RetryUndo => {
                state.moves(W::Compensating).then_some(())?;
                self.each_line(state, C::Pending, |line| line == C::Failed);
            }
            Verdict::SkipUndo { all } => {
                state.moves(W::Compensating).then_some(())?;
                self.each_line(state, C::Skipped, |line| line == C::Failed || all && line == C::Pending);
            }
            Verdict::Restart { .. } | Verdict::Resolve => return None,
        }
        self.go_on(state);
        Some(())
    }

    /// Without its fence every line is begun again, not only the one that failed.
    fn each_line(&self, state: &mut State, to: C, is_meant: impl Fn(C) -> bool) {
        let all = self.without == Without::Line && to == C::Pending;
        let lines = state.plan.iter().flatten().filter(|line| all || is_meant(line.state));
        let defs: Vec<usize> = lines.map(|line| line.def).collect();
        defs.into_iter().for_each(|def| self.line(state, def, to));
    }

    fn make_plan(&self, state: &mut State) -> Option<()> {
        let still = !state.is_live() || self.without == Without::Wait;
        if state.workflow != W::Compensating || state.plan.is_some() || !still {
            return None;
        }
        let done = |(n, row): (usize, &Row)| Done {
            def: n as u32,
            step: StepId::of(1 + n as u64),
            state: row.state,
            was_started: row.attempt > 0,
            ended_at: Some(Timestamp(i64::from(row.ended))),
            items: None,
        };
        let done: Vec<Done> = state.steps.iter().enumerate().map(done).collect();
        let order = compensation::order(&self.plan, &CompensationScope::Full, &done);
        let line = |one: &&Done| Line { def: one.def as usize, state: C::Pending, row: None };
        state.plan = Some(order.iter().map(line).collect());
        self.go_on(state);
        Some(())
    }
}

impl Model for Undoing {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            workflow: W::Running,
            steps: [NEW; STEPS],
            waited: false,
            plan: None,
            jobs: BTreeSet::new(),
            ends: 0,
            losses: 1,
            minds: vec![Mind::Compensate, Mind::Cancel, Mind::Retry, Mind::SkipOne, Mind::SkipAll],
            undone: [0; STEPS],
            taken: [None; STEPS],
            was_late: false,
            stranger: false,
            last: None,
        }]
    }

    fn actions(&self, state: &State, acts: &mut Vec<Act>) {
        for n in 0..STEPS {
            for which in [Which::Step(n), Which::Undo(n)] {
                let row = state.row(which).map(|row| row.state);
                if row == Some(S::Pending) {
                    acts.push(Act::Claim(which));
                }
                if row == Some(S::Running) && state.losses > 0 {
                    acts.push(Act::Lose(which));
                }
            }
        }
        for (which, attempt) in &state.jobs {
            acts.extend(
                [Says::Done, Says::Again, Says::Fails].map(|says| Act::Answer(*which, *attempt, says)),
            );
        }
        acts.extend(state.minds.iter().map(|mind| Act::Decide(*mind)));
        if state.workflow == W::Compensating && state.plan.is_none() {
            acts.extend([Act::WaitOver, Act::MakePlan]);
        }
    }

    fn next_state(&self, last: &State, act: Act) -> Option<State> {
        let mut state = last.clone();
        match act {
            Act::Claim(which) => self.claim(&mut state, which)?,
            Act::Answer(which, attempt, says) => self.answer(&mut state, (which, attempt), says)?,
            Act::Lose(which) => {
                let row = state.row(which)?;
                let effect = recover::decide(&step_of(which, row), None)?;
                let row = on_board(which, row, |board, _| board.apply(effect).is_ok())?;
                state.losses -= 1;
                state.put(which, row);
                // What came back while it is undone does not begin again.
                if state.workflow == W::Compensating && matches!(which, Which::Step(_)) {
                    state.take_back(which);
                }
                self.ended(&mut state, which);
            }
            Act::Decide(mind) => self.decide(&mut state, mind)?,
            Act::WaitOver if state.is_live() && !state.waited => {
                state.waited = true;
                state.take_all_back();
            }
            Act::WaitOver => return None,
            Act::MakePlan => self.make_plan(&mut state)?,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

#[test]
fn what_was_done_is_undone_once_whatever_comes_between() {
    let states = holds(world(Without::Nothing));
    assert!(states > 1_000, "only {states} states were looked at");
}

#[test]
fn without_the_attempt_a_stranger_answers_for_a_step() {
    breaks(world(Without::Attempt), STRANGER);
}

#[test]
fn without_its_state_what_was_taken_back_completes_and_is_undone_twice() {
    breaks(world(Without::State), TAKEN);
    breaks(world(Without::State), TWICE);
}

#[test]
fn without_waiting_something_that_was_done_is_forgotten() {
    breaks(world(Without::Wait), STILL);
    breaks(world(Without::Wait), LEFT);
}

#[test]
fn without_its_line_something_is_undone_twice() {
    breaks(world(Without::Line), TWICE);
}
