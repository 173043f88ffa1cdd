//! Looks for anything that must not be: the invariants of `docs/invariants.md`, over one moment of the database.
//!
//! Why    a promise that nobody can look up is a hope. Each pass reads its rows once and in order, so that memory does
//!        not grow with them; what a pass finds is capped per invariant, for a thousand like findings tell no more.

mod audit;
mod blocks;
mod breakers;
mod claims;
mod executions;
mod facts;
mod flows;
mod history;
mod lines;
mod live;
mod notices;
mod outbox;
mod pauses;
mod pools;
mod signals;
mod tallies;
mod workflows;

use crate::sql::{Access, Row, Sql};
use crate::{Browse, Result, StoreError, params};
use breakers::Breakers;
use claims::Claims;
use model::Timestamp;
use serde::Serialize;
use std::collections::HashMap;
use std::time::Duration;

/// Findings listed for one invariant.
const FINDINGS_MAX: usize = 100;
/// What may lie behind for this long while a server is at work: a lease not renewed, a ready step not started.
const GRACE: Duration = Duration::from_secs(60);

/// When an invariant can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkable {
    Always,
    /// Only where every move was kept as an event.
    FullHistory,
    /// What it speaks of does not exist yet, or leaves no row.
    NotYet(&'static str),
}

use Checkable::{Always, FullHistory, NotYet};

const READ: Checkable =
    NotYet("what an expression read is told in decisions and not stored; tests look at it");
const DRAIN: Checkable = NotYet("the answer of `drain` is told and not stored; its own tests look at it");

/// Every invariant with its title. I1 to I40 are those of the reliability study; S1 to S8 are the store's own; F1 is that of flows.
pub const INVARIANTS: [(&str, &str, Checkable); 49] = [
    ("I1", "single holder", Always),
    ("I2", "fenced completion", FullHistory),
    ("I3", "an end is left only to be superseded", FullHistory),
    ("I4", "only legal moves", FullHistory),
    ("I5", "the history gives the row", FullHistory),
    ("I6", "no lost work", Always),
    ("I7", "every holder has a live lease", Always),
    ("I8", "one in flight per ordered message group", Always),
    ("I9", "order per message group", Always),
    ("I10", "block on error", Always),
    ("I11", "publishing agrees with the state", Always),
    ("I12", "completed effects are recorded once per key", Always),
    ("I13", "attempts are counted and bounded", Always),
    ("I14", "a completed parent has only concluded children", Always),
    ("I15", "an ended parent has no live child", Always),
    ("I16", "no stalled parent", Always),
    ("I17", "a tree is a tree", Always),
    ("I18", "superseded steps form chains", Always),
    ("I19", "superseded outputs are never read", READ),
    ("I20", "exactly the completed set is compensated", Always),
    ("I21", "compensation in exact reverse order", Always),
    ("I22", "nothing starts forward while compensating", Always),
    ("I23", "an ended workflow owns nothing live", Always),
    ("I24", "success is earned", Always),
    ("I25", "branch decisions", Always),
    ("I26", "automatic retries are bounded", Always),
    ("I27", "every exit from failed has one decision", Always),
    ("I28", "breaker off, nothing dispatched", Always),
    ("I29", "safe to restart tells the truth", DRAIN),
    ("I30", "due times stand on steps that wait", Always),
    ("I31", "one resume per pause", Always),
    ("I32", "polls are numbered and bounded", Always),
    ("I33", "one decider per dispatch group", Always),
    ("I34", "slots equal live holders", Always),
    ("I35", "definitions are pinned", Always),
    ("I36", "alerts are open once, on what is there, and closed by somebody", Always),
    ("I37", "size limits hold in the rows", Always),
    ("I38", "retention leaves no orphans", Always),
    ("I39", "idempotent intake", Always),
    ("I40", "times are ordered", Always),
    ("S1", "block summaries equal their steps", Always),
    ("S2", "tallies equal the steps", Always),
    ("S3", "the claim log speaks of steps that exist", Always),
    ("S4", "the database file is sound", Always),
    ("S5", "every row can be understood", Always),
    ("S6", "what nodes tell each other is dealt with", Always),
    ("S7", "what channels are told has its step", Always),
    ("S8", "the audit is an unbroken chain", Always),
    ("F1", "flows agree with their steps", Always),
];

/// One thing that must not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub invariant: &'static str,
    pub title: &'static str,
    /// What it is about, for example `step 0197…`.
    pub entity: String,
    pub problem: String,
}

/// The outcome of a check: what is wrong, what was looked at, and what could not be.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    pub findings: Vec<Finding>,
    /// Id and title of each invariant that was looked at, and how far when not wholly.
    pub looked_at: Vec<(&'static str, &'static str, Option<&'static str>)>,
    /// Id and title of each that was not, and why.
    pub left_out: Vec<(&'static str, &'static str, &'static str)>,
}

const PASSES: [fn(&Scene, &mut Report) -> Result<()>; 17] = [
    file,
    facts::check,
    blocks::check,
    live::check,
    tallies::check,
    breakers::check,
    signals::check,
    pools::check,
    lines::check,
    outbox::check,
    executions::check,
    workflows::check,
    pauses::check,
    notices::check,
    history::check,
    flows::check,
    audit::check,
];

impl Browse {
    /// Run every check over one moment of the database. `offline` says that no server has the file, so nobody decides for
    /// its groups. `progress` is told how many passes are done, and of how many.
    pub fn check(
        &self,
        now: Timestamp,
        offline: bool,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Checked> {
        self.sql().transaction(Access::Read, |sql| {
            let mut report = Report::default();
            let scene = Scene {
                browse: self,
                now,
                offline,
                claims: Claims::load(sql, &mut report)?,
                breakers: Breakers::load(sql, &mut report)?,
                history: history_since(sql)?,
            };
            for (done, pass) in PASSES.iter().enumerate() {
                progress(done, PASSES.len());
                match pass(&scene, &mut report) {
                    // What is damaged may not be readable; the damage is told, and the rest is looked at all the same.
                    Err(problem @ StoreError::Down(_)) if report.listed.contains_key("S4") => {
                        report.add("S4", self.place(), problem);
                    }
                    outcome => outcome?,
                }
            }
            progress(PASSES.len(), PASSES.len());
            Ok(report.close(scene.history.is_some()))
        })
    }
}

/// What every pass shares.
struct Scene<'a> {
    browse: &'a Browse,
    now: Timestamp,
    offline: bool,
    claims: Claims,
    breakers: Breakers,
    /// Since when every move is kept, if it is.
    history: Option<Timestamp>,
}

impl Scene<'_> {
    fn sql(&self) -> &dyn Sql {
        self.browse.sql()
    }
    /// Read rows one by one; nothing else may be asked meanwhile.
    fn each(&self, sql: &str, mut look: impl FnMut(&Row) -> Result<()>) -> Result<()> {
        self.sql().each(sql, params![], &mut look)
    }
}

#[derive(Default)]
struct Report {
    findings: Vec<Finding>,
    listed: HashMap<&'static str, usize>,
}

impl Report {
    fn add(&mut self, invariant: &'static str, entity: impl ToString, problem: impl ToString) {
        let listed = self.listed.entry(invariant).or_default();
        *listed += 1;
        if *listed <= FINDINGS_MAX {
            let title =
                INVARIANTS.iter().find(|(id, _, _)| *id == invariant).map_or("", |(_, title, _)| title);
            let (entity, problem) = (entity.to_string(), problem.to_string());
            self.findings.push(Finding { invariant, title, entity, problem });
        }
    }

    fn close(self, full_history: bool) -> Checked {
        let mut checked = Checked { findings: self.findings, ..Checked::default() };
        for (id, title, checkable) in INVARIANTS {
            match checkable {
                NotYet(why) => checked.left_out.push((id, title, why)),
                FullHistory if !full_history => {
                    checked.left_out.push((id, title, "not checkable at this history level"));
                }
                Always | FullHistory => {
                    let partly = (!full_history && matches!(id, "I1" | "I28" | "I40"))
                        .then_some("by rows alone; moves are not kept at this history level");
                    checked.looked_at.push((id, title, partly));
                }
            }
        }
        checked
    }
}

/// Since when every move is kept: from the first event on. It is not any more when the youngest step has no event, or a
/// step ended after the last one.
fn history_since(sql: &dyn Sql) -> Result<Option<Timestamp>> {
    let one = |text: &str| -> Result<Option<i64>> {
        Ok(sql.first(text, params![], |r| r.get::<Option<i64>>(0))?.flatten())
    };
    let Some(first) = one("select at from events order by seq limit 1")? else { return Ok(None) };
    let told = one(
        "select exists (select 1 from events where entity_id = s.id) from steps s order by id desc limit 1",
    )?;
    let ended = one("select max(completed_at) from steps")?;
    let is_kept = told != Some(0) && ended <= one("select max(at) from events")?;
    Ok(is_kept.then_some(Timestamp(first)))
}

fn file(scene: &Scene, report: &mut Report) -> Result<()> {
    scene.sql().sound(&mut |told| report.add("S4", scene.browse.place(), told))
}
