//! What is stuck, in turns: when to look for it, and what follows from a look, in one commit.
//!
//! Why    the look itself reads for as long as it needs, on a thread and a connection of its own; no turn waits for it. What it decides
//!        is written with the version of each alert that it saw, so that two nodes which look at once do nothing twice.

use super::node::{Node, Turn};
use crate::EngineError;
use crate::request::{Reply, Request};
use crate::stuck::{self as words, DetectOrder, Detection, Look, Remedies, Scope, Seen, look};
use model::{Alert, AlertEvent, AlertMoment, OBSERVED, StuckRule, Timestamp, limits};
use rules::stuck::Next;
use std::collections::HashSet;
use std::time::Duration;
use store::{AlertWrite, Result, StoreError, StuckAsk, alerts};
use tracing::{info, warn};

/// After a start, the first look waits so long at most: workers come back first.
const FIRST_LOOK: Duration = Duration::from_secs(60);
/// Answers are expected for so long after they were asked for; then they are found by the usual looks.
const ANSWERS_EXPECTED: Duration = Duration::from_secs(600);

/// Who looks, when, and who waits for it.
#[derive(Default)]
pub struct Stuck {
    next_at: Option<Timestamp>,
    /// When answers of actions are looked at.
    answers_at: Option<Timestamp>,
    looking: bool,
    waiting: Vec<(DetectOrder, Reply<Detection>)>,
}

impl Stuck {
    pub fn starting(every: Option<Duration>, now: Timestamp) -> Stuck {
        Stuck { next_at: every.map(|every| now + every.min(FIRST_LOOK)), ..Stuck::default() }
    }
    pub fn next_at(&self) -> Option<Timestamp> {
        let due = [self.next_at, self.answers_at].into_iter().flatten().min();
        due.filter(|_| !self.looking)
    }
    /// Whoever looked may have been dropped with the turn that it told.
    pub fn forget(&mut self) {
        self.looking = false;
        self.waiting.clear();
    }
}

impl Node {
    /// The leader looks by itself.
    pub(super) fn look_when_due(&mut self, now: Timestamp) {
        if !self.is_leader() {
            // A node that becomes the leader begins to count then.
            if let Some(every) = self.config.stuck.every {
                self.stuck.next_at = Some(now + every);
            }
            // Answers to what it asked for are heard by the leader.
            self.stuck.answers_at = None;
            return;
        }
        if self.stuck.next_at().is_none_or(|at| at > now) {
            return;
        }
        let whole = self.stuck.next_at.is_some_and(|at| at <= now);
        let scope = if whole { Scope::All } else { Scope::Answers };
        if whole {
            self.stuck.next_at = self.config.stuck.every.map(|every| now + every);
        }
        self.stuck.answers_at = None;
        // Where nobody wants looks by themselves, what was asked for is heard and no more.
        let remedies = if self.config.stuck.every.is_some() { Remedies::Apply } else { Remedies::Leave };
        self.begin_look(DetectOrder { remedies, scope }, None, now);
    }

    pub(super) fn detect(&mut self, order: DetectOrder, reply: Reply<Detection>, now: Timestamp) {
        if self.stuck.looking {
            self.stuck.waiting.push((order, reply));
        } else {
            self.begin_look(order, Some(reply), now);
        }
    }

    /// Look beside the turns; what was seen comes back as a request.
    fn begin_look(&mut self, order: DetectOrder, reply: Option<Reply<Detection>>, now: Timestamp) {
        self.stuck.looking = true;
        let (open, inbox) = (self.store.beside(), self.inbox());
        let work = move || {
            let seen = open().and_then(|browse| look(&browse, order.scope, now));
            // An engine that is gone has nothing to hear.
            let _ = inbox.send(Request::Looked { look: Box::new(seen), order, reply });
        };
        let thread = std::thread::Builder::new().name("stepfast-stuck".into());
        if let Err(problem) = thread.spawn(work) {
            self.stuck.looking = false;
            warn!(%problem, "no thread to look for what is stuck; trying again with the next look");
        }
    }

    pub(super) fn looked(
        &mut self,
        turn: &mut Turn,
        look: Result<Look>,
        (order, reply): (DetectOrder, Option<Reply<Detection>>),
        now: Timestamp,
    ) -> Result<()> {
        self.stuck.looking = false;
        if !self.stuck.waiting.is_empty() {
            let (order, reply) = self.stuck.waiting.remove(0);
            self.begin_look(order, Some(reply), now);
        }
        let look = match look {
            Ok(look) => look,
            Err(problem) => {
                warn!(%problem, "could not look for what is stuck; trying again with the next look");
                if let Some(reply) = reply {
                    turn.acts.refuse(reply, EngineError::Unavailable(problem));
                }
                return Ok(());
            }
        };
        let detection = self.follow_look(turn, look, order, now)?;
        detection.faults.iter().for_each(|fault| warn!("{fault}"));
        info!(
            found = detection.found.len(),
            opened = detection.opened,
            remedies = detection.remedies,
            escalated = detection.escalated,
            closed = detection.closed.len(),
            database_us = detection.database_us,
            "looked for what is stuck"
        );
        if let Some(reply) = reply {
            turn.acts.reply(reply, detection);
        }
        Ok(())
    }

    fn follow_look(
        &mut self,
        turn: &mut Turn,
        mut look: Look,
        order: DetectOrder,
        now: Timestamp,
    ) -> Result<Detection> {
        look.look_again(self.store.reader())?;
        let mut detection = look.begun();
        let mut told = HashSet::new();
        let (seen, left) = (std::mem::take(&mut look.seen), std::mem::take(&mut look.left));
        for (alert, how) in left {
            self.close_alert(turn, &alert, &how, now)?;
            detection.closed.push((alert.entity, alert.entity_id, how));
        }
        for one in seen {
            // Two rules may have one reason.
            if !told.insert(one.finding.key()) {
                continue;
            }
            let spent = detection.remedies as u32;
            let all = look.next_of(&one, self.config.stuck.policy, order, spent);
            if self.is_as_seen(&one, &all)? {
                detection.add(&one, &all);
                detection.failed += self.follow_one(turn, &one, &all, now)?;
            }
        }
        self.hear_and_ask(turn, &mut look, &mut detection, now)?;
        Ok(detection)
    }

    /// Where something is decided, nobody has changed the alert since it was looked at.
    fn is_as_seen(&self, seen: &Seen, all: &[Next]) -> Result<bool> {
        let decided = all.iter().any(|next| !matches!(next, Next::Renew | Next::Held(_)));
        if !decided {
            return Ok(true);
        }
        let (entity, id, reason) = seen.finding.key();
        let is = alerts::open_one(self.store.reader(), &entity, &id, &reason)?;
        Ok(is.map(|alert| (alert.id, alert.version))
            == seen.alert.as_ref().map(|alert| (alert.id, alert.version)))
    }

    /// Everything that follows from one thing that is stuck; how many remedies were refused.
    fn follow_one(&mut self, turn: &mut Turn, seen: &Seen, all: &[Next], now: Timestamp) -> Result<usize> {
        let mut alert =
            seen.alert.clone().map_or_else(|| fresh(seen, now), |alert| renewed(alert, seen, now));
        let (mut decided, mut failed) = (false, 0);
        for next in all {
            decided |= !matches!(next, Next::Renew | Next::Held(_));
            failed += self.follow_next(turn, seen, &mut alert, (next, now))?;
        }
        turn.alerts.push(match (&seen.alert, decided) {
            (None, _) => AlertWrite::New(Box::new(alert)),
            (Some(_), true) => AlertWrite::Mark(Box::new(alert)),
            (Some(_), false) => {
                AlertWrite::Renew { id: alert.id, message: alert.message, since: alert.since }
            }
        });
        Ok(failed)
    }

    fn follow_next(
        &mut self,
        turn: &mut Turn,
        seen: &Seen,
        alert: &mut Alert,
        (next, now): (&Next, Timestamp),
    ) -> Result<usize> {
        match next {
            Next::Renew | Next::Held(_) => {}
            Next::Open => {
                note(turn, alert, (AlertMoment::Opened, &seen.rule.operator()), &alert.message, now)
            }
            Next::TellAdmin | Next::Remind => {
                alert.admin_notified_at = Some(now);
                let notice = match next {
                    Next::Remind => words::reminded(alert, now),
                    _ => words::opened(alert, now),
                };
                note(turn, alert, (AlertMoment::AdminNotified, "stepfast"), &notice.text, now);
                self.tell(turn, notice, now)?;
            }
            Next::TellUser => {
                alert.user_notified_at = Some(now);
                let notice = words::user(alert, seen.rule.status.as_deref().unwrap_or_default(), now);
                note(turn, alert, (AlertMoment::UserNotified, "stepfast"), &notice.text, now);
                self.tell(turn, notice, now)?;
            }
            Next::Escalate(why) => self.escalate(turn, alert, why, now)?,
            Next::Remedy(remedy) => {
                alert.attempts += 1;
                alert.last_remedy_at = Some(now);
                alert.action_taken = Some(remedy.to_string());
                note(turn, alert, (AlertMoment::Remedy, &seen.rule.operator()), remedy.word(), now);
                if let Err(why) = self.remedy(turn, seen, *remedy, now)? {
                    alert.action_taken = Some(format!("{remedy} was refused"));
                    note(turn, alert, (AlertMoment::RemedyFailed, "stepfast"), &why, now);
                    self.escalate(turn, alert, "a remedy was refused", now)?;
                    return Ok(1);
                }
            }
        }
        Ok(0)
    }

    /// A person decides from now on.
    fn escalate(&mut self, turn: &mut Turn, alert: &mut Alert, why: &str, now: Timestamp) -> Result<()> {
        alert.escalated_at = Some(now);
        note(turn, alert, (AlertMoment::Escalated, "stepfast"), why, now);
        self.tell(turn, words::escalated(alert, why, now), now)
    }

    fn close_alert(&mut self, turn: &mut Turn, alert: &Alert, how: &str, now: Timestamp) -> Result<()> {
        let Alert { entity, entity_id, reason, .. } = alert.clone();
        let auto_resolved = alert.attempts > 0 && alert.escalated_at.is_none();
        turn.alerts.push(AlertWrite::Close { entity, entity_id, reason, by: OBSERVED.into(), auto_resolved });
        note(turn, alert, (AlertMoment::Closed, OBSERVED), how, now);
        match alert.admin_notified_at {
            Some(_) => self.tell(turn, words::closed(alert, how, now), now),
            None => Ok(()),
        }
    }

    /// Answers that were heard are on record as heard, and actions whose time has come are asked.
    fn hear_and_ask(
        &mut self,
        turn: &mut Turn,
        look: &mut Look,
        detection: &mut Detection,
        now: Timestamp,
    ) -> Result<()> {
        for heard in std::mem::take(&mut look.heard) {
            turn.stuck_asks.push(StuckAsk { heard_at: Some(now), fault: heard.fault, ..heard.ask });
        }
        let mut awaited = look.awaited.iter().any(|asked| now.since(*asked) < ANSWERS_EXPECTED);
        for rule in std::mem::take(&mut look.to_ask) {
            match self.ask_for_stuck(turn, &rule, now)? {
                Ok(step) => {
                    let ask = StuckAsk {
                        rule: rule.name.clone(),
                        step,
                        asked_at: now,
                        heard_at: None,
                        fault: None,
                    };
                    turn.stuck_asks.push(ask);
                    detection.asked.push(rule.name);
                    awaited = true;
                }
                Err(fault) => detection.faults.push(format!("rule {}: {fault}", rule.name)),
            }
        }
        self.stuck.answers_at = awaited.then(|| now + limits::STUCK_ANSWER_EVERY);
        Ok(())
    }
}

/// Something happened to an alert.
fn note(turn: &mut Turn, alert: &Alert, (moment, who): (AlertMoment, &str), text: &str, at: Timestamp) {
    let Alert { entity, entity_id, reason, .. } = alert.clone();
    let (who, text) = (who.to_string(), text.to_string());
    turn.alert_events.push(AlertEvent { entity, entity_id, reason, at, moment, who, text });
}

/// An alert about a thing that had none.
fn fresh(seen: &Seen, now: Timestamp) -> Alert {
    let (finding, rule): (_, &StuckRule) = (seen.finding.clone(), &seen.rule);
    Alert {
        id: 0,
        entity: finding.entity,
        entity_id: finding.entity_id,
        reason: finding.reason,
        severity: rule.severity,
        message: finding.message,
        opened_at: now,
        updated_at: now,
        closed_at: None,
        closed_by: None,
        rule: Some(rule.name.clone()),
        user: finding.user,
        labels: finding.labels,
        data: finding.data,
        since: finding.since,
        seen: 1,
        remedy: rule.remedy,
        auto_resolvable: rule.is_auto(),
        auto_resolved: false,
        attempts: 0,
        action_taken: None,
        last_remedy_at: None,
        status: rule.status.clone(),
        admin_notified_at: None,
        user_notified_at: None,
        escalated_at: None,
        acknowledged_at: None,
        acknowledged_by: None,
        assigned_to: None,
        reviewed_at: None,
        reviewed_by: None,
        resolution_notes: None,
        version: 0,
    }
}

/// The same, seen again; what took its place may have begun later.
fn renewed(alert: Alert, seen: &Seen, now: Timestamp) -> Alert {
    Alert {
        severity: seen.rule.severity,
        message: seen.finding.message.clone(),
        since: alert.since.min(seen.finding.since),
        updated_at: now,
        ..alert
    }
}

/// A look that could not be followed up is answered for.
pub fn refused(reply: Option<Reply<Detection>>, problem: &StoreError) {
    if let Some(reply) = reply {
        reply.send(Err(EngineError::Unavailable(problem.clone())));
    }
}
