//! One look for what is stuck, on a connection beside the turns: it reads and judges, and writes nothing.

use super::{DetectOrder, Detected, Detection, Remedies, Scope};
use crate::Stopwatch;
use model::{
    Alert, Finding, NodeId, Remedy, State, StuckClock, StuckPolicy, StuckRule, Timestamp, Watched, limits,
};
use rules::stuck::{
    Course, Next, Observed, finding, is_own_to_remind, judge, next, observe, observe_own, overlaid,
    parse_reported,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;
use store::sql::Sql;
use store::stuck::{self, Rounds, Scene, Wanted};
use store::{AlertFilter, Browse, Result, StuckAsk, alerts};

const DAY: Duration = Duration::from_secs(24 * 3600);

type Key = (String, String, String);

/// A thing that is stuck, by the rule that found it.
pub struct Seen {
    pub rule: StuckRule,
    pub finding: Finding,
    pub alert: Option<Alert>,
    /// A step that is to set it right has not ended.
    pub remedy_open: bool,
}

impl Seen {
    /// It is being undone, or was: nothing is retried over that.
    fn is_undone(&self) -> bool {
        let state = self.finding.state.as_deref().unwrap_or_default();
        matches!(state, "compensating" | "compensated" | "cancelled")
    }
}

/// An answer of an action that was asked.
pub struct Heard {
    pub ask: StuckAsk,
    pub fault: Option<String>,
}

/// What a look saw.
pub struct Look {
    pub at: Timestamp,
    pub seen: Vec<Seen>,
    /// Alerts of things that have left their state, and how that was seen.
    pub left: Vec<(Alert, String)>,
    /// What nodes told of themselves and nobody has acknowledged for long.
    pub to_remind: Vec<Alert>,
    /// Rules whose action is to be asked now, and the question before.
    pub to_ask: Vec<(StuckRule, Option<StuckAsk>)>,
    pub heard: Vec<Heard>,
    /// Answers that are awaited: when they were asked for.
    pub awaited: Vec<Timestamp>,
    pub faults: Vec<String>,
    /// Remedies of the last day: when, and to what.
    remedies: Vec<(Timestamp, String, String)>,
    /// What somebody said while it runs.
    auto: bool,
    /// Where the searches go on, if there were any; and of which version the right to look was.
    pub rounds: Option<Rounds>,
    pub version: u64,
    pub took: Duration,
}

/// Look as a node that has taken the right to; none if another node has it.
pub fn look_as(node: NodeId, browse: &Browse, scope: Scope, now: Timestamp) -> Result<Option<Look>> {
    let row = browse.stuck_look()?;
    if row.node != Some(node) {
        return Ok(None);
    }
    let seen = look(browse, scope, row.rounds, now)?;
    Ok(Some(Look { version: row.version, ..seen }))
}

/// Look for all that is stuck, from where the searches go on, or only at what actions have answered.
pub fn look(browse: &Browse, scope: Scope, mut rounds: Rounds, now: Timestamp) -> Result<Look> {
    let watch = Stopwatch::start();
    let rules = overlaid(browse.stuck_rules()?.into_iter().map(|stored| stored.rule).collect());
    let open = browse.alerts(&AlertFilter { limit: limits::ALERTS_OPEN_MAX, ..AlertFilter::open() })?;
    let mut eye = Eye::new(browse, rules, open, now)?;
    eye.hear_answers(scope)?;
    if scope == Scope::All {
        eye.look_again()?;
        eye.look_around(&mut rounds)?;
    }
    let Eye { mut look, .. } = eye;
    look.rounds = (scope == Scope::All).then_some(rounds);
    look.remedies = browse.remedies(now - DAY)?;
    look.auto = browse.stuck_auto()?;
    look.took = watch.elapsed();
    Ok(look)
}

struct Eye<'a> {
    browse: &'a Browse,
    rules: BTreeMap<String, StuckRule>,
    open: Vec<Alert>,
    scene: Scene,
    look: Look,
    /// What was looked at for its open alert: the finder need not tell it again, also under the id of what took its place.
    known: HashSet<(String, String)>,
    now: Timestamp,
}

impl<'a> Eye<'a> {
    fn new(browse: &'a Browse, rules: Vec<StuckRule>, open: Vec<Alert>, now: Timestamp) -> Result<Eye<'a>> {
        let told = open.iter().map(|alert| (alert.entity.clone(), alert.entity_id.clone())).collect();
        let scene = Scene { around: browse.circumstances(now)?, told, now };
        let look = Look {
            at: now,
            seen: Vec::new(),
            left: Vec::new(),
            to_remind: Vec::new(),
            to_ask: Vec::new(),
            heard: Vec::new(),
            awaited: Vec::new(),
            faults: Vec::new(),
            remedies: Vec::new(),
            auto: true,
            rounds: None,
            version: 0,
            took: Duration::ZERO,
        };
        let rules = rules.into_iter().map(|rule| (rule.name.clone(), rule)).collect();
        Ok(Eye { browse, rules, open, scene, look, known: HashSet::new(), now })
    }

    /// What has an open alert is looked at by itself, so that nothing is closed because a page was full.
    fn look_again(&mut self) -> Result<()> {
        for alert in std::mem::take(&mut self.open) {
            let Some(name) = alert.rule.clone() else {
                self.look_at_own(alert)?;
                continue;
            };
            let rule = self.rules.get(&name).filter(|rule| rule.enabled);
            let Some(rule) = rule.cloned() else {
                self.left(alert, "its rule is switched off".into());
                continue;
            };
            let Some(entity) = rule.entity else { continue };
            let candidate = self.browse.candidate(entity, &alert.entity_id, &self.scene)?;
            self.known.insert((alert.reason.clone(), alert.entity_id.clone()));
            if let Some(instead) = candidate.as_ref().and_then(|one| one.acts_on.clone()) {
                self.known.insert((alert.reason.clone(), instead));
            }
            match (observe(&rule, alert.attempts, candidate.as_ref(), self.now), candidate) {
                (Observed::Still(since), Some(candidate)) => {
                    let finding = finding(&rule, &candidate, since, self.now);
                    self.see(&rule, finding, Some(alert))?;
                }
                (Observed::Left(how), _) => self.left(alert, how),
                _ => {}
            }
        }
        Ok(())
    }

    /// What a node told of itself.
    fn look_at_own(&mut self, alert: Alert) -> Result<()> {
        let step = match alert.entity == Watched::Step.word() {
            true => self.browse.candidate(Watched::Step, &alert.entity_id, &self.scene)?,
            false => None,
        };
        match observe_own(&alert, step.as_ref()) {
            Observed::Left(how) => self.left(alert, how),
            _ if is_own_to_remind(&alert, self.now) => self.look.to_remind.push(alert),
            _ => {}
        }
        Ok(())
    }

    fn left(&mut self, alert: Alert, how: String) {
        if alert.closes_itself() {
            self.look.left.push((alert, how));
        }
    }

    fn see(&mut self, rule: &StuckRule, finding: Finding, alert: Option<Alert>) -> Result<()> {
        let remedy_open = self.is_remedy_open(rule, &finding)?;
        self.look.seen.push(Seen { rule: rule.clone(), finding, alert, remedy_open });
        Ok(())
    }

    /// Remedies for what is not ours are steps, and may wait for their worker.
    fn is_remedy_open(&self, rule: &StuckRule, finding: &Finding) -> Result<bool> {
        let acts = matches!(rule.remedy, Remedy::Retry | Remedy::Cancel);
        if !acts || !matches!(rule.entity, None | Some(Watched::Flow)) {
            return Ok(false);
        }
        let (entity, id, reason) = finding.key();
        let Some(step) = self.browse.remedy_step(&entity, &id, &reason)? else { return Ok(false) };
        Ok(self.browse.step(step)?.is_some_and(|row| !row.step.state.is_terminal()))
    }

    /// Rules over the same things share one search.
    fn look_around(&mut self, rounds: &mut Rounds) -> Result<()> {
        let mut sorts: BTreeMap<(Watched, BTreeSet<String>, StuckClock), Vec<StuckRule>> = BTreeMap::new();
        for rule in self.rules.values().filter(|rule| rule.enabled) {
            let Some(entity) = rule.entity else { continue };
            let states = rule.states.iter().cloned().collect();
            sorts.entry((entity, states, rule.clock)).or_default().push(rule.clone());
        }
        for ((entity, states, clock), rules) in sorts {
            let youngest = rules.iter().map(|rule| rule.older_than).min().unwrap_or_default();
            let wanted = Wanted { entity, states, before: self.now - youngest, clock };
            let candidates = self.browse.candidates(&wanted, &self.scene, rounds)?;
            for rule in rules {
                self.judge_all(&rule, &candidates)?;
            }
        }
        Ok(())
    }

    /// A person has resolved it as it is; it is told again when it has moved and is stuck anew.
    fn is_settled(&self, finding: &Finding) -> Result<bool> {
        let (entity, id, reason) = finding.key();
        Ok(self.browse.resolved_at(&entity, &id, &reason)?.is_some_and(|at| at >= finding.since))
    }

    fn judge_all(&mut self, rule: &StuckRule, candidates: &[rules::stuck::Candidate]) -> Result<()> {
        let room = limits::ALERTS_OPEN_MAX.saturating_sub(self.scene.told.len());
        let mut left = room.min(rule.max as usize);
        for candidate in candidates {
            if left == 0 {
                break;
            }
            let Ok(since) = judge(rule, candidate, self.now) else { continue };
            if !self.known.insert((rule.reason().into(), candidate.id.clone())) {
                continue;
            }
            let finding = finding(rule, candidate, since, self.now);
            if self.is_settled(&finding)? {
                continue;
            }
            self.see(rule, finding, None)?;
            left -= 1;
        }
        Ok(())
    }

    /// What actions report, and which are to be asked.
    fn hear_answers(&mut self, scope: Scope) -> Result<()> {
        let asks: HashMap<String, StuckAsk> =
            self.browse.stuck_asks()?.into_iter().map(|ask| (ask.rule.clone(), ask)).collect();
        let asking: Vec<StuckRule> =
            self.rules.values().filter(|rule| rule.enabled && rule.detect.is_some()).cloned().collect();
        for rule in asking {
            let every = rule.detect_every.unwrap_or(limits::STUCK_EVERY_DEFAULT);
            match asks.get(&rule.name) {
                Some(ask) if ask.heard_at.is_none() => self.hear(&rule, ask)?,
                Some(ask) if self.now.since(ask.asked_at) < every => {}
                ask if scope == Scope::All => self.look.to_ask.push((rule, ask.cloned())),
                _ => {}
            }
        }
        Ok(())
    }

    fn hear(&mut self, rule: &StuckRule, ask: &StuckAsk) -> Result<()> {
        let row = self.browse.step(ask.step)?;
        let fault = match row.as_ref().map(|row| row.step.state) {
            Some(state) if !state.is_terminal() => {
                self.look.awaited.push(ask.asked_at);
                return Ok(());
            }
            Some(State::Completed) => {
                let answer = row.as_ref().and_then(|row| row.detail.response.as_deref());
                match parse_reported(rule, answer, self.now) {
                    Ok(found) => {
                        self.reported(rule, found)?;
                        None
                    }
                    Err(fault) => Some(format!("the answer is not understood: {fault}")),
                }
            }
            Some(state) => Some(format!("the step that asks {}", state.said())),
            None => Some("the step that asks is gone".into()),
        };
        self.look.faults.extend(fault.iter().map(|fault| format!("rule {}: {fault}", rule.name)));
        self.look.heard.push(Heard { ask: ask.clone(), fault });
        Ok(())
    }

    /// What is reported is stuck, and what was and is not any more has left its state.
    fn reported(&mut self, rule: &StuckRule, found: Vec<Finding>) -> Result<()> {
        let mut open: HashMap<Key, Alert> = self
            .open
            .extract_if(.., |alert| alert.rule.as_deref() == Some(&rule.name))
            .map(|alert| (alert.key(), alert))
            .collect();
        for finding in found {
            let alert = open.remove(&finding.key());
            if alert.is_none() && self.is_settled(&finding)? {
                continue;
            }
            self.see(rule, finding, alert)?;
        }
        open.into_values().for_each(|alert| self.left(alert, "it is not reported any more".into()));
        Ok(())
    }
}

impl Look {
    /// Remedies and the switch may have changed since it was looked.
    pub fn look_again(&mut self, sql: &dyn Sql) -> Result<()> {
        self.remedies = alerts::remedies(sql, self.at - DAY)?;
        self.auto = stuck::auto(sql)?;
        Ok(())
    }

    /// What follows from each thing, given the remedies so far; `spent` counts those of this look.
    pub fn next_of(&self, seen: &Seen, policy: StuckPolicy, order: DetectOrder, spent: u32) -> Vec<Next> {
        let hour = self.at - Duration::from_secs(3_600);
        let in_hour = self.remedies.iter().filter(|(at, ..)| *at > hour).count() as u32 + spent;
        let is_it = |(_, entity, id): &&(Timestamp, String, String)| {
            *entity == seen.finding.entity && *id == seen.finding.entity_id
        };
        next(&Course {
            rule: &seen.rule,
            alert: seen.alert.as_ref(),
            policy: StuckPolicy { auto: policy.auto && self.auto, ..policy },
            may_remedy: order.remedies == Remedies::Apply,
            in_hour,
            of_entity: self.remedies.iter().filter(is_it).count() as u32,
            undone: seen.is_undone(),
            remedy_open: seen.remedy_open,
            has_user: seen.finding.user.is_some(),
            now: self.at,
        })
    }

    /// What would be done.
    pub fn preview(&self, policy: StuckPolicy, order: DetectOrder) -> Detection {
        let mut detection = Detection { dry_run: true, ..self.begun() };
        let mut spent = 0;
        for seen in &self.seen {
            let all = self.next_of(seen, policy, order, spent);
            spent += all.iter().filter(|next| matches!(next, Next::Remedy(_))).count() as u32;
            detection.add(seen, &all);
        }
        for (alert, how) in &self.left {
            detection.closed.push((alert.entity.clone(), alert.entity_id.clone(), how.clone()));
        }
        detection.asked = self.to_ask.iter().map(|(rule, _)| rule.name.clone()).collect();
        detection
    }

    /// Nothing done yet.
    pub fn begun(&self) -> Detection {
        Detection {
            faults: self.faults.clone(),
            database_us: u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            ..Detection::default()
        }
    }
}

impl Detection {
    /// What was done about one thing, or would be.
    pub fn add(&mut self, seen: &Seen, all: &[Next]) {
        let word = |next: &Next| match next {
            Next::Open => "opened".to_string(),
            Next::Renew => "renewed".into(),
            Next::TellAdmin => "admin told".into(),
            Next::Remind => "admin told again".into(),
            Next::TellUser => "user told".into(),
            Next::Remedy(remedy) => remedy.to_string(),
            Next::Escalate(why) => format!("escalated: {why}"),
            Next::Held(why) => format!("held: {why}"),
        };
        self.opened += all.iter().filter(|next| **next == Next::Open).count();
        self.remedies += all.iter().filter(|next| matches!(next, Next::Remedy(_))).count();
        self.escalated += all.iter().filter(|next| matches!(next, Next::Escalate(_))).count();
        let finding = &seen.finding;
        self.found.push(Detected {
            alert: seen.alert.as_ref().map(|alert| alert.id),
            rule: finding.rule.clone(),
            entity: finding.entity.clone(),
            entity_id: finding.entity_id.clone(),
            reason: finding.reason.clone(),
            severity: seen.rule.severity,
            user: finding.user.clone(),
            since: finding.since,
            message: finding.message.clone(),
            done: all.iter().map(word).collect(),
        });
    }
}
