//! What is done about pauses whose time has come.

use super::super::node::{Node, Turn};
use super::Entry;
use super::pauses::pass_on;
use super::timers::shown;
use model::{Count, PauseState, Timestamp, limits};
use rules::workflow::pause::{self, Due};
use rules::workflow::progress::Next;
use rules::workflow::resolution;
use store::Result;

/// Who goes on with what stands for a payload.
const ITSELF: &str = "stepfast";

impl Node {
    /// Those of a workflow in hand whose time has come; the steps whose turn has come because of it.
    pub(super) fn pauses_due(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let plan = entry.plan.clone();
        let waiting = entry.pauses.waiting.iter();
        let due: Vec<(u32, Due)> = waiting
            .filter_map(|(def, pause)| Some((*def, pause::on_due(plan.pause(*def)?, pause, now))))
            .filter(|(_, due)| *due != Due::NotYet)
            .collect();
        let mut next = Vec::new();
        for (def, due) in due {
            next.extend(self.pause_due(turn, entry, (def, due), now)?);
        }
        Ok(next)
    }

    fn pause_due(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (def, due): (u32, Due),
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        if !entry.pauses.waiting.contains_key(&def) {
            // One before it in this turn ended the whole.
            return Ok(Vec::new());
        }
        match due {
            Due::NotYet => Ok(Vec::new()),
            Due::Resume => Ok(self.resume_by_itself(entry, def, now)),
            Due::AutoApprove(value) => {
                self.tell_timed_out(entry, def, "auto_approve", now);
                let trigger = entry.pauses.waiting.get(&def).and_then(|pause| pause.trigger.clone());
                let sent = (&*trigger.unwrap_or_default(), value.to_string(), "nobody came in time".into());
                let next = self.accept_from_within(entry, def, ITSELF, sent, now)?;
                let key = entry.plan.name(def);
                self.workflows.tell(&entry.workflow, now, "workflow.auto_resumed", Some(&key), None);
                Ok(next)
            }
            Due::Remind(until) => {
                self.wait_again(entry, def, until);
                self.tell_timed_out(entry, def, "remind", now);
                self.notify_again(turn, entry, def, now)?;
                Ok(Vec::new())
            }
            Due::Extend(until) => {
                self.wait_again(entry, def, until);
                self.tell_timed_out(entry, def, "extend", now);
                Ok(Vec::new())
            }
            Due::Fail => {
                self.fail_pause(entry, def, now)?;
                Ok(Vec::new())
            }
        }
    }

    /// Its date has come, or somebody did not want to wait for it.
    pub(super) fn resume_by_itself(&mut self, entry: &mut Entry, def: u32, now: Timestamp) -> Vec<Next> {
        self.end_pause(entry, def, (PauseState::Resumed, None), now);
        let key = entry.plan.name(def);
        self.workflows.tell(&entry.workflow, now, "workflow.auto_resumed", Some(&key), None);
        pass_on(entry, def)
    }

    fn wait_again(&mut self, entry: &mut Entry, def: u32, until: Timestamp) {
        self.change_pause(entry, def, |pause| {
            pause.timeout_at = Some(until);
            pause.reminders += 1;
        });
    }

    fn tell_timed_out(&mut self, entry: &Entry, def: u32, policy: &str, now: Timestamp) {
        let Some(pause) = entry.pauses.waiting.get(&def) else { return };
        let data = serde_json::json!({
            "trigger": pause.trigger, "policy": policy, "reminders": pause.reminders, "timeout_at": pause.timeout_at,
        });
        let (key, data) = (entry.plan.name(def), Some(data.to_string()));
        self.workflows.tell(&entry.workflow, now, "trigger.timed_out", Some(&key), data);
    }

    fn fail_pause(&mut self, entry: &mut Entry, def: u32, now: Timestamp) -> Result<()> {
        self.tell_timed_out(entry, def, "fail", now);
        let Some(pause) = entry.pauses.waiting.get(&def).cloned() else { return Ok(()) };
        self.end_pause(entry, def, (PauseState::TimedOut, None), now);
        // Done again, the step asks again.
        entry.broken.insert(def, pause.step);
        if !entry.is_under_way() {
            return Ok(());
        }
        let asked = entry.plan.pause(def).and_then(|pause| pause.timeout);
        let span = shown(Some(asked.unwrap_or(limits::PAUSE_TIMEOUT_DEFAULT)));
        let again = match pause.reminders {
            0 => String::new(),
            n => format!(", and {} as long", Count(n, "more time")),
        };
        let message = format!("nobody sent {} within {span}{again}", pause.awaits());
        let retries = entry.workflow.aftermath.as_ref().map_or(0, |after| after.auto_retries);
        let follow = resolution::on_failure(&entry.plan.definition.on_failure, retries, pause.step, now);
        self.fail_workflow(entry, message, follow, now)
    }
}
