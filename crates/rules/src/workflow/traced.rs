//! How a workflow stands by the last runs of its steps: what is over, what ended badly, and what was cut off.
//!
//! Why    how far a workflow is is stored nowhere. Whoever goes on with one and whoever tells what can be done about it ask the same rows.

use super::plan::Plan;
use super::progress::Progress;
use super::{Answers, Data, End, passed_on};
use model::{PauseState, Reason, State};
use std::collections::BTreeSet;

/// The last run of a step, and how the pause behind it stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LastRun {
    pub def: u32,
    pub state: State,
    pub reason: Option<Reason>,
    pub pause: Option<PauseState>,
}

#[derive(Clone, Debug, Default)]
pub struct Traced {
    pub progress: Progress,
    /// Steps that ended badly, and because of which it is held.
    pub broken: BTreeSet<u32>,
    /// Steps that were cut off when the whole ended.
    pub cut: BTreeSet<u32>,
    /// Steps that are being done, also those that undo another.
    pub live: usize,
}

impl Traced {
    pub fn of(plan: &Plan, runs: impl IntoIterator<Item = LastRun>, answers: &Answers) -> Traced {
        let (progress, _) = Progress::start(&plan.graph);
        let mut traced = Traced { progress, ..Traced::default() };
        let data = Data::new(plan, answers);
        for run in runs {
            traced.put(plan, run, &data);
        }
        traced
    }

    fn put(&mut self, plan: &Plan, LastRun { def, state, reason, pause }: LastRun, data: &Data) {
        let is_live = !state.is_terminal();
        self.live += usize::from(is_live);
        // One that undoes another has no place in the order of the steps; one that is superseded has none any more.
        if plan.undoes(def).is_some() || state == State::Superseded {
            return;
        }
        if is_live {
            return self.progress.begin(def);
        }
        if reason == Some(Reason::TerminatedEarly) {
            self.cut.insert(def);
        }
        // A pause stands behind a step that completed, and has not gone on.
        if let (State::Completed, Some(pause)) = (state, pause.filter(|pause| *pause != PauseState::Resumed))
        {
            self.progress.begin(def);
            match pause {
                PauseState::TimedOut => drop(self.broken.insert(def)),
                PauseState::Cancelled => drop(self.cut.insert(def)),
                PauseState::Waiting | PauseState::Resumed => {}
            }
            return;
        }
        match passed_on(plan, def, End { state, reason, error: None }, data) {
            Some(passed) => drop(self.progress.pass(&plan.graph, def, passed)),
            None => {
                self.progress.begin(def);
                self.broken.insert(def);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Pinned;
    use serde_json::json;
    use std::sync::Arc;

    fn plan() -> Plan {
        let steps =
            json!([{"key": "a", "compensation": {"run": {"action": "undo.a"}}}, {"key": "b"}, {"key": "c"}]);
        let text = json!({"workflow": "w", "version": "1.0.0", "steps": steps});
        let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
        Plan::compile(serde_json::from_value(text).expect("a definition"), Arc::new(pinned))
            .expect("it is sound")
    }

    fn run(def: u32, state: State) -> LastRun {
        LastRun { def, state, reason: None, pause: None }
    }

    /// What is ahead, what is broken, what was cut off, and how much is being done.
    fn told(runs: &[LastRun]) -> String {
        let traced = Traced::of(&plan(), runs.iter().copied(), &Answers::default());
        let ahead: Vec<u32> = traced.progress.ahead().collect();
        format!("ahead {ahead:?} broken {:?} cut {:?} live {}", traced.broken, traced.cut, traced.live)
    }

    #[test]
    fn what_has_a_row_is_not_ahead_unless_another_takes_its_place() {
        assert_eq!(told(&[]), "ahead [0, 1, 2] broken {} cut {} live 0");
        assert_eq!(
            told(&[run(0, State::Completed), run(1, State::Running)]),
            "ahead [2] broken {} cut {} live 1"
        );
        assert_eq!(
            told(&[run(0, State::Completed), run(1, State::Superseded)]),
            "ahead [1, 2] broken {} cut {} live 0"
        );
        assert_eq!(
            told(&[run(0, State::Completed), run(3, State::Running)]),
            "ahead [1, 2] broken {} cut {} live 1",
            "what undoes a step is none of them"
        );
    }

    #[test]
    fn what_ended_badly_is_broken_and_what_was_cut_off_is_told() {
        assert_eq!(told(&[run(0, State::Failed)]), "ahead [1, 2] broken {0} cut {} live 0");
        let cut = LastRun { reason: Some(Reason::TerminatedEarly), ..run(0, State::Cancelled) };
        assert_eq!(told(&[cut]), "ahead [1, 2] broken {0} cut {0} live 0");
    }

    #[test]
    fn a_step_with_a_pause_behind_it_has_not_gone_on() {
        let paused = |pause| LastRun { pause: Some(pause), ..run(0, State::Completed) };
        assert_eq!(told(&[paused(PauseState::Waiting)]), "ahead [1, 2] broken {} cut {} live 0");
        assert_eq!(told(&[paused(PauseState::TimedOut)]), "ahead [1, 2] broken {0} cut {} live 0");
        assert_eq!(told(&[paused(PauseState::Cancelled)]), "ahead [1, 2] broken {} cut {0} live 0");
        let went_on = Traced::of(&plan(), [paused(PauseState::Resumed)], &Answers::default());
        assert_eq!(went_on.progress.due(&plan().graph).len(), 1, "the next may begin");
    }
}
