//! A pause and all that may end it: triggers early, late and twice, its time, a person, and the end of the whole.
//!
//! Two nodes think about the same rows and write what they thought when they come to it. Whoever reads what another has changed
//! meanwhile must not write; that, and that what is over stays over, are the fences.

mod rows;

use super::{breaks, holds, plan};
use crate::workflow::machine;
use crate::workflow::pause::{self, Due, Fit, Standing};
use crate::workflow::{Answers, Data, Plan};
use model::definition::PauseDef;
use model::{Pause, PauseState as P, StepId, Timestamp, TriggerAnswer, WorkflowId, WorkflowState as W};
use rows::{Ask, PauseRow, Rows, Sent, State, Thought};
use serde_json::{Value, json};
use stateright::{Model, Property};

/// Seconds after which nothing is looked at any more, and after which a pause is over.
const HORIZON: i64 = 5;
const TIMEOUT_MS: u64 = 2_000;

/// What keeps two who act at once apart; one of them is taken away to see that it matters.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Without {
    Nothing,
    /// Every write names the version it saw.
    Version,
    /// The time of a pause comes only while it waits.
    StateAtTime,
    /// What is sent counts only for a pause that waits.
    StateAtTrigger,
}

#[derive(Clone, PartialEq, Debug)]
enum Act {
    Think(usize, Ask),
    Write(usize),
    Tick,
}

struct Pausing {
    plan: Plan,
    without: Without,
    good: Fit,
    bad: Fit,
}

fn pausing(pause: Value, without: Without) -> Pausing {
    let steps = json!([{"key": "ask", "pause_after": pause}]);
    let plan = plan(json!({"workflow": "w", "version": "1.0.0", "steps": steps}));
    let answers = Answers::of("{}".into());
    let fit = |ok: bool| match plan.pause(0).and_then(|pause| pause.trigger.as_ref()) {
        Some(_) => pause::fits(&plan, 0, &json!({"ok": ok}), &Data::new(&plan, &answers)),
        None => Fit::No("it listens to no one".into()),
    };
    let (good, bad) = (fit(true), fit(false));
    Pausing { plan, without, good, bad }
}

fn asks(on_timeout: &str) -> Value {
    let mut pause = json!({"trigger": "boss", "timeout": TIMEOUT_MS, "on_timeout": on_timeout, "resume_when": "payload.ok"});
    match on_timeout {
        "remind" => pause["reminders"] = json!(1),
        "auto_approve" => pause["default"] = json!({"ok": true}),
        _ => {}
    }
    pause
}

impl Pausing {
    fn def(&self) -> &PauseDef {
        self.plan.pause(0).expect("it has one")
    }

    fn row(&self, row: PauseRow, state: P) -> Pause {
        Pause {
            workflow: WorkflowId::from_bytes([1; 16]),
            def: 0,
            run: 1,
            step: StepId::of(1),
            step_key: "ask".into(),
            trigger: self.def().trigger.as_deref().map(Into::into),
            token: None,
            registered_at: Timestamp(0),
            timeout_at: row.timeout_at,
            resume_at: row.resume_at,
            reminders: row.reminders,
            state,
            ended_at: None,
            consumed: None,
            version: 0,
        }
    }

    fn think(&self, rows: &Rows, ask: Ask, now: Timestamp) -> Option<Thought> {
        let mut thought =
            Thought { ask, saw: rows.clone(), rows: rows.clone(), goes_on: false, accepts: false };
        let did = match ask {
            Ask::StepEnds => self.step_ends(&mut thought, now),
            Ask::Send(sent) => self.sent(&mut thought, sent),
            Ask::Look => self.look(&mut thought, now),
            Ask::Cancel => self.ends(&mut thought, P::Cancelled, W::Cancelled),
            Ask::Force => self.forced(&mut thought),
            Ask::Finish => self.finished(&mut thought),
        };
        did.filter(|()| thought.rows != *rows).map(|()| thought)
    }

    fn step_ends(&self, thought: &mut Thought, now: Timestamp) -> Option<()> {
        let rows = &mut thought.rows;
        if rows.pause.is_some() || rows.workflow != W::Running {
            return None;
        }
        let pause::Times { timeout_at, resume_at } = pause::enter(self.def(), now);
        rows.pause = Some(PauseRow { state: P::Waiting, timeout_at, resume_at, reminders: 0 });
        rows.workflow = moved(rows.workflow, W::Paused)?;
        let fits = |sent: &Sent| *self.fit(*sent) == Fit::Yes;
        if std::mem::take(&mut rows.early).iter().any(fits) {
            thought.accepts = true;
            self.resumes(thought)?;
        }
        Some(())
    }

    fn fit(&self, sent: Sent) -> &Fit {
        match sent {
            Sent::Good => &self.good,
            Sent::Bad => &self.bad,
        }
    }

    fn sent(&self, thought: &mut Thought, sent: Sent) -> Option<()> {
        let rows = &thought.rows;
        let waits = rows.pause.map(|row| self.row(row, P::Waiting));
        let standing = match (rows.pause, &waits) {
            (Some(row), Some(pause))
                if row.state == P::Waiting || self.without == Without::StateAtTrigger =>
            {
                Standing::Waiting(pause)
            }
            (Some(row), _) => Standing::Over(row.state),
            (None, _) if rows.workflow == W::Running => Standing::Ahead,
            (None, _) => Standing::PassedBy,
        };
        let fit = match standing {
            Standing::Ahead => pause::has_shape(&self.plan, 0, &Value::Null),
            _ => self.fit(sent).clone(),
        };
        match pause::on_trigger(standing, fit, rows.early.len()) {
            TriggerAnswer::Accepted => {
                thought.accepts = true;
                self.resumes(thought)
            }
            TriggerAnswer::Early => {
                thought.rows.early.push(sent);
                Some(())
            }
            _ => None,
        }
    }

    fn look(&self, thought: &mut Thought, now: Timestamp) -> Option<()> {
        let row = thought.rows.pause?;
        let state = if self.without == Without::StateAtTime { P::Waiting } else { row.state };
        match pause::on_due(self.def(), &self.row(row, state), now) {
            Due::NotYet => None,
            Due::Resume => self.resumes(thought),
            Due::AutoApprove(_) => {
                thought.accepts = true;
                self.resumes(thought)
            }
            Due::Remind(until) | Due::Extend(until) => {
                let (timeout_at, reminders) = (Some(until), row.reminders + 1);
                thought.rows.pause = Some(PauseRow { timeout_at, reminders, ..row });
                Some(())
            }
            Due::Fail => self.ends(thought, P::TimedOut, W::Failed),
        }
    }

    fn forced(&self, thought: &mut Thought) -> Option<()> {
        let waits = thought.rows.workflow == W::Paused && thought.rows.pause?.state == P::Waiting;
        if waits { self.resumes(thought) } else { None }
    }

    fn finished(&self, thought: &mut Thought) -> Option<()> {
        let gone_on = thought.rows.pause?.state == P::Resumed && thought.rows.workflow == W::Running;
        thought.rows.workflow = moved(thought.rows.workflow, W::Succeeded).filter(|_| gone_on)?;
        Some(())
    }

    fn resumes(&self, thought: &mut Thought) -> Option<()> {
        thought.goes_on = true;
        self.ends(thought, P::Resumed, W::Running)
    }

    /// The pause, if there is one that waits, and the workflow are over or go on; the machines have the word.
    fn ends(&self, thought: &mut Thought, pause: P, workflow: W) -> Option<()> {
        let unfenced = matches!(self.without, Without::StateAtTime | Without::StateAtTrigger);
        let rows = &mut thought.rows;
        match &mut rows.pause {
            Some(row) if unfenced || pause::next(row.state, pause).is_ok() => row.state = pause,
            Some(_) if pause == P::Cancelled => {}
            Some(_) => return None,
            None => {}
        }
        rows.workflow = match moved(rows.workflow, workflow) {
            Some(to) => to,
            None if unfenced => workflow,
            None => return None,
        };
        Some(())
    }
}

fn moved(from: W, to: W) -> Option<W> {
    machine::next(from, to).is_ok().then_some(to)
}

impl Model for Pausing {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        let rows = Rows { workflow: W::Running, pause: None, early: Vec::new(), version: 0 };
        let (nodes, now, went_on, accepted, first_end) = ([None, None], 0, 0, 0, None);
        // One that waits for a date listens to no one.
        let (good, bad) = if self.def().trigger.is_some() { (2, 1) } else { (0, 0) };
        vec![State { now, rows, nodes, good, bad, cancels: 1, forces: 1, went_on, accepted, first_end }]
    }

    fn actions(&self, state: &State, acts: &mut Vec<Act>) {
        for (node, thought) in state.nodes.iter().enumerate() {
            if thought.is_some() {
                acts.push(Act::Write(node));
                continue;
            }
            acts.extend([Ask::StepEnds, Ask::Look, Ask::Finish].map(|ask| Act::Think(node, ask)));
            let left = [
                (Ask::Send(Sent::Good), state.good),
                (Ask::Send(Sent::Bad), state.bad),
                (Ask::Cancel, state.cancels),
                (Ask::Force, state.forces),
            ];
            acts.extend(left.into_iter().filter(|(_, n)| *n > 0).map(|(ask, _)| Act::Think(node, ask)));
        }
        if state.now < HORIZON {
            acts.push(Act::Tick);
        }
    }

    fn next_state(&self, last: &State, act: Act) -> Option<State> {
        let mut state = last.clone();
        match act {
            Act::Tick => state.now += 1,
            Act::Think(node, ask) => {
                state.nodes[node] = Some(self.think(&state.rows, ask, Timestamp(state.now * 1_000_000))?);
            }
            Act::Write(node) => {
                let thought = state.nodes[node].take()?;
                let saw_this = thought.saw.version == state.rows.version;
                if saw_this || self.without == Without::Version {
                    let left = |ask| match ask {
                        Ask::Send(Sent::Good) => state.good,
                        Ask::Send(Sent::Bad) => state.bad,
                        Ask::Cancel => state.cancels,
                        Ask::Force => state.forces,
                        Ask::StepEnds | Ask::Look | Ask::Finish => 1,
                    };
                    if left(thought.ask) > 0 {
                        state.write(thought);
                    }
                }
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONCE, |_, state: &State| state.went_on <= 1),
            Property::always(ONE, |_, state: &State| state.accepted <= 1),
            Property::always(STAYS, |_, state: &State| {
                state.first_end.is_none() || state.pause() == state.first_end
            }),
            Property::always(NOBODY, |_, state: &State| {
                let is_over = matches!(state.rows.workflow, W::Cancelled | W::Succeeded | W::Failed);
                !(is_over && state.pause() == Some(P::Waiting))
            }),
            Property::always(EARLY, |_, state: &State| {
                state.rows.pause.is_none() || state.rows.early.is_empty()
            }),
            Property::always(AS_TOLD, |_, state: &State| {
                let gone_on = state.pause() == Some(P::Resumed);
                gone_on == (state.went_on > 0) && (state.accepted == 0 || gone_on)
            }),
            Property::eventually(ENDS, |_, state: &State| {
                state.pause().is_some_and(|state| state != P::Waiting) || state.rows.workflow == W::Cancelled
            }),
            Property::sometimes("it goes on", |_, state: &State| state.rows.workflow == W::Succeeded),
            Property::sometimes("it is cancelled while it waits", |_, state: &State| {
                state.pause() == Some(P::Cancelled)
            }),
        ]
    }
}

const ONCE: &str = "a pause goes on at most once";
const ONE: &str = "at most one of what was sent is accepted";
const STAYS: &str = "how a pause ended stays so";
const NOBODY: &str = "what is over waits for nobody";
const EARLY: &str = "nothing that came early is left behind";
const AS_TOLD: &str = "what was accepted let it go on";
const ENDS: &str = "no pause waits for ever";

#[test]
fn a_pause_ends_once_whoever_comes_in_whichever_order() {
    for on_timeout in ["fail", "remind", "auto_approve", "extend"] {
        let states = holds(pausing(asks(on_timeout), Without::Nothing));
        assert!(states > 1_000, "{on_timeout}: only {states} states were looked at");
    }
}

#[test]
fn a_pause_that_waits_for_a_date_ends_once() {
    let states = holds(pausing(json!({"resume_after": TIMEOUT_MS}), Without::Nothing));
    assert!(states > 100, "only {states} states were looked at");
}

#[test]
fn without_the_version_a_pause_goes_on_twice_and_what_came_early_is_lost() {
    let world = || pausing(asks("auto_approve"), Without::Version);
    for property in [ONCE, ONE, STAYS, EARLY] {
        breaks(world(), property);
    }
}

#[test]
fn without_its_state_the_time_of_a_pause_comes_when_it_is_over() {
    breaks(pausing(asks("fail"), Without::StateAtTime), STAYS);
    breaks(pausing(asks("auto_approve"), Without::StateAtTime), ONCE);
}

#[test]
fn without_its_state_what_is_sent_late_lets_it_go_on_again() {
    breaks(pausing(asks("fail"), Without::StateAtTrigger), ONCE);
    breaks(pausing(asks("fail"), Without::StateAtTrigger), STAYS);
}
