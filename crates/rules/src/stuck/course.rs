//! Decides what follows from a thing that is stuck: who is told, what is tried, and when a person is asked instead.
//!
//! Finds   a finding, the open alert about it if there is one, the rule, and how many remedies there were of late.
//! Emits   what to do, in order.
//! Why     remedies run without anybody looking. So each is bounded thrice (an hour, a thing, a wait between two), stops at a switch, and
//!         one that did not help is not repeated for ever: a person is asked. Severity says who is told, never what is done.

use model::{Alert, Remedy, Severity, StuckPolicy, StuckRule, Timestamp};
use std::time::Duration;

pub struct Course<'a> {
    pub rule: &'a StuckRule,
    /// The open alert about it.
    pub alert: Option<&'a Alert>,
    pub policy: StuckPolicy,
    /// Remedies that this look may apply at all.
    pub may_remedy: bool,
    /// Remedies of all rules in the last hour, and of this thing in the last day.
    pub in_hour: u32,
    pub of_entity: u32,
    /// It is being undone, was undone or is called off: nothing is retried over that.
    pub undone: bool,
    /// A remedy is carried out by a step, and that has not ended.
    pub remedy_open: bool,
    /// For whom the work is done is known.
    pub has_user: bool,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// There is no open alert: it is told for the first time.
    Open,
    /// The same again: how often, and when it was last seen.
    Renew,
    TellAdmin,
    /// Nobody has acknowledged it; the administrator is told again.
    Remind,
    TellUser,
    Remedy(Remedy),
    /// A person decides from now on.
    Escalate(&'static str),
    /// A remedy would be due; why it is not applied now.
    Held(&'static str),
}

pub fn next(course: &Course) -> Vec<Next> {
    let mut all = vec![if course.alert.is_none() { Next::Open } else { Next::Renew }];
    all.extend(told(course));
    if course.has_user
        && course.rule.status.is_some()
        && course.alert.is_none_or(|a| a.user_notified_at.is_none())
    {
        all.push(Next::TellUser);
    }
    let asks = course.rule.severity == Severity::Critical && course.alert.is_none_or(|a| !has_a_person(a));
    all.extend(asks.then_some(Next::Escalate("it is critical")));
    let is_asked = asks || course.alert.is_some_and(|a| a.escalated_at.is_some());
    all.extend(remedied(course).filter(|next| !(is_asked && matches!(next, Next::Escalate(_)))));
    all
}

/// Low is for the log alone, medium is told once, high and critical until somebody acknowledges.
fn told(course: &Course) -> Option<Next> {
    let severity = course.rule.severity;
    let Some(alert) = course.alert else {
        return (severity > Severity::Low).then_some(Next::TellAdmin);
    };
    match alert.admin_notified_at {
        None if severity > Severity::Low => Some(Next::TellAdmin),
        _ => is_to_remind(alert, (severity, course.rule.remind_every), course.now).then_some(Next::Remind),
    }
}

/// High and critical alerts that nobody has in hand are told again after a while.
pub fn is_to_remind(alert: &Alert, (severity, every): (Severity, Duration), now: Timestamp) -> bool {
    let waits = severity >= Severity::High && alert.acknowledged_at.is_none() && alert.reviewed_at.is_none();
    waits && alert.admin_notified_at.is_some_and(|at| now.since(at) >= every)
}

fn has_a_person(alert: &Alert) -> bool {
    alert.escalated_at.is_some() || alert.reviewed_at.is_some()
}

fn remedied(course: &Course) -> Option<Next> {
    let (rule, alert) = (course.rule, course.alert);
    // Whatever a person has in hand stays theirs; what is critical is told to one at once, and tried all the same.
    let escalates = rule.severity != Severity::Critical;
    if alert.is_some_and(|a| a.reviewed_at.is_some() || escalates && a.escalated_at.is_some()) {
        return None;
    }
    match rule.remedy {
        Remedy::Notify => return None,
        Remedy::Escalate => return Some(Next::Escalate("its rule asks for a person")),
        Remedy::Retry | Remedy::Cancel => {}
    }
    if course.undone {
        return Some(Next::Held("it is undone or called off"));
    }
    if !rule.is_auto() {
        return Some(Next::Held("its rule leaves the remedy to a person"));
    }
    if !course.policy.auto {
        return Some(Next::Held("remedies are switched off"));
    }
    if !course.may_remedy {
        return Some(Next::Held("this look applies no remedies"));
    }
    let tried = alert.map_or(0, |a| a.attempts);
    if alert.and_then(|a| a.last_remedy_at).is_some_and(|at| course.now.since(at) < course.policy.cooling_off)
    {
        return Some(Next::Held("the last remedy was a short while ago"));
    }
    if course.remedy_open {
        return Some(Next::Held("the last remedy has not ended"));
    }
    if tried >= rule.attempts {
        return Some(Next::Escalate("remedies did not help"));
    }
    if course.of_entity >= course.policy.per_entity_per_day {
        return Some(Next::Escalate("it had as many remedies as a day allows"));
    }
    if course.in_hour >= course.policy.per_hour {
        return Some(Next::Held("as many remedies as an hour allows were applied"));
    }
    Some(Next::Remedy(rule.remedy))
}
