//! What follows from a look for what is stuck: alerts with the version that was seen, what is told of them, and remedies.

use super::node::{Node, Turn};
use crate::stuck::{self as words, DetectOrder, Detection, Look, Seen};
use model::{Alert, AlertEvent, AlertMoment, OBSERVED, StuckRule, Timestamp, limits};
use rules::stuck::Next;
use std::collections::HashSet;
use std::time::Duration;
use store::{AlertWrite, AskWrite, Result, StuckAsk, alerts};

/// Answers are expected for so long after they were asked for; then they are found by the usual looks.
const ANSWERS_EXPECTED: Duration = Duration::from_secs(600);

impl Node {
    pub(super) fn follow_look(
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
            if self.is_unchanged(&alert)? {
                self.close_alert(turn, &alert, &how, now)?;
                detection.closed.push((alert.entity, alert.entity_id, how));
            }
        }
        for alert in std::mem::take(&mut look.to_remind) {
            self.remind(turn, alert, now)?;
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

    /// Nobody has changed the alert since it was looked at.
    fn is_unchanged(&self, alert: &Alert) -> Result<bool> {
        let is = alerts::find(self.store.reader(), alert.id)?;
        Ok(is.is_some_and(|is| is.is_open() && is.version == alert.version))
    }

    /// Nobody has acknowledged what a node told of itself.
    fn remind(&mut self, turn: &mut Turn, alert: Alert, now: Timestamp) -> Result<()> {
        if !self.is_unchanged(&alert)? {
            return Ok(());
        }
        let alert = Alert { admin_notified_at: Some(now), updated_at: now, ..alert };
        let notice = words::reminded(&alert, now);
        note(turn, &alert, (AlertMoment::AdminNotified, "stepfast"), &notice.text, now);
        self.tell(turn, notice, now)?;
        turn.alerts.push(AlertWrite::Mark(Box::new(alert)));
        Ok(())
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
                let applied = self.remedy(turn, seen, *remedy, now)?;
                let step = applied.as_ref().ok().copied().flatten();
                let text = step.map_or(remedy.to_string(), |step| format!("{remedy} by step {step}"));
                note(turn, alert, (AlertMoment::Remedy, &seen.rule.operator()), &text, now);
                turn.alert_events.last_mut().expect("it was just noted").step = step;
                if let Err(why) = applied {
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
        let auto_resolved = alert.attempts > 0 && alert.escalated_at.is_none();
        let (id, version, by) = (alert.id, alert.version, OBSERVED.into());
        turn.alerts.push(AlertWrite::Close { id, version, by, auto_resolved });
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
            let ask = StuckAsk { heard_at: Some(now), fault: heard.fault, ..heard.ask };
            turn.stuck_asks.push(AskWrite::Heard(ask));
        }
        let mut awaited = look.awaited.iter().any(|asked| now.since(*asked) < ANSWERS_EXPECTED);
        for (rule, before) in std::mem::take(&mut look.to_ask) {
            match self.ask_for_stuck(turn, &rule, now)? {
                Ok(step) => {
                    let ask = StuckAsk {
                        rule: rule.name.clone(),
                        step,
                        asked_at: now,
                        heard_at: None,
                        fault: None,
                    };
                    turn.stuck_asks.push(AskWrite::Asked { ask, before: before.map(|ask| ask.step) });
                    detection.asked.push(rule.name);
                    awaited = true;
                }
                Err(fault) => detection.faults.push(format!("rule {}: {fault}", rule.name)),
            }
        }
        self.stuck.hear_at(awaited.then(|| now + limits::STUCK_ANSWER_EVERY));
        Ok(())
    }
}

/// Something happened to an alert.
fn note(turn: &mut Turn, alert: &Alert, (moment, who): (AlertMoment, &str), text: &str, at: Timestamp) {
    let Alert { entity, entity_id, reason, .. } = alert.clone();
    let (who, text) = (who.to_string(), text.to_string());
    turn.alert_events.push(AlertEvent { entity, entity_id, reason, at, moment, who, text, step: None });
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
        reopened_at: None,
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
