//! The claim log: every pair names a step, at most one pair speaks for it, and none contradicts its row.

use super::Report;
use crate::sql::{Row, Sql};
use crate::{Result, params, rows};
use model::{SessionId, State, Step, StepId, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;

/// A claim that is newer than the step's own row.
pub struct Claim {
    /// None once the parent has run and waits for its children.
    pub session: Option<SessionId>,
    pub host: Option<Arc<str>>,
    pub attempt: u32,
    pub tick: Option<i64>,
    pub at: Timestamp,
}

/// Steps the log speaks for: what sessions have in hand, and parents of the last seconds.
#[derive(Default)]
pub struct Claims {
    by_step: HashMap<StepId, Claim>,
}

/// The part of a step's row that a claim must agree with.
struct Holder {
    state: State,
    attempt: u32,
    parked: bool,
    session: Option<SessionId>,
}

/// A row of the log.
struct Logged {
    number: i64,
    /// What is there in place of an id is an error only for a step that exists.
    session: Result<SessionId>,
    host: Option<Arc<str>>,
    tick: Option<i64>,
    at: Timestamp,
    parked: bool,
    /// Its session is not on record.
    stray: bool,
    /// None when it cannot be read.
    pairs: Option<Vec<(StepId, u32)>>,
}

impl Claims {
    pub fn load(sql: &dyn Sql, report: &mut Report) -> Result<Claims> {
        let mut claims = Claims::default();
        let text =
            "select c.id, c.session_id, c.tick_id, c.claimed_at, c.pairs, s.host, s.id is null, c.parked
                      from claims c left join sessions s on s.id = c.session_id order by c.id";
        for mut logged in sql.rows(text, params![], read_logged)? {
            let entity = format!("claim {}", logged.number);
            if logged.stray {
                report.add("S3", &entity, "its session is not on record");
            }
            let Some(pairs) = logged.pairs.take() else {
                report.add("S3", &entity, "its pairs cannot be read");
                continue;
            };
            for (step, attempt) in pairs {
                claims.note(sql, report, &logged, step, attempt)?;
            }
        }
        Ok(claims)
    }

    fn note(
        &mut self,
        sql: &dyn Sql,
        report: &mut Report,
        logged: &Logged,
        step: StepId,
        attempt: u32,
    ) -> Result<()> {
        let entity = || format!("step {step}");
        let Some(holder) = holder(sql, step)? else {
            report.add(
                "S3",
                format!("claim {}", logged.number),
                format!("it names step {step}, which does not exist"),
            );
            return Ok(());
        };
        let session = Some(logged.session.clone()?).filter(|_| !logged.parked);
        let held = holder.state.is_in_flight() && !holder.parked;
        if attempt == holder.attempt && held && holder.session != session {
            let other = named(session);
            report.add("I1", entity(), format!("attempt {attempt} is held by its row and by {other}"));
        }
        if attempt <= holder.attempt {
            // Its row was written since; the log keeps the pair until all of its kind are done.
            return Ok(());
        }
        if attempt != holder.attempt + 1 || holder.state != State::Pending {
            let (state, at) = (holder.state, holder.attempt);
            report.add(
                "I1",
                entity(),
                format!("attempt {attempt} is claimed while its row is {state} at attempt {at}"),
            );
            return Ok(());
        }
        let (host, tick, at) = (logged.host.clone(), logged.tick, logged.at);
        let claim = Claim { session, host, attempt, tick, at };
        if let Some(other) = self.by_step.insert(step, claim)
            && (session.is_some() || other.session.is_none())
        {
            let (one, two) = (named(other.session), named(session));
            report.add("I1", entity(), format!("attempt {attempt} is claimed by {one} and by {two}"));
        }
        Ok(())
    }

    pub fn of(&self, step: StepId) -> Option<&Claim> {
        self.by_step.get(&step)
    }
    pub fn iter(&self) -> impl Iterator<Item = (StepId, &Claim)> {
        self.by_step.iter().map(|(id, claim)| (*id, claim))
    }
    /// A step's state, and whether it waits for children, as everyone sees it.
    pub fn standing(&self, step: StepId, state: State, parked: bool) -> (State, bool) {
        self.of(step).map_or((state, parked), |claim| (State::Running, claim.session.is_none()))
    }
    pub fn attempt(&self, step: StepId, row: u32) -> u32 {
        self.of(step).map_or(row, |claim| claim.attempt)
    }
    /// A step as everyone sees it.
    pub fn now(&self, row: Step) -> Step {
        let Some(claim) = self.of(row.id) else { return row };
        Step {
            state: State::Running,
            reason: None,
            throttled: false,
            wake_at: None,
            attempt: claim.attempt,
            session: claim.session,
            parked: claim.session.is_none(),
            host: claim.host.clone(),
            tick: claim.tick,
            dispatched_at: Some(claim.at),
            started_at: Some(claim.at),
            ..row
        }
    }
}

fn named(session: Option<SessionId>) -> String {
    session.map_or("its own children".into(), |id| format!("session {id}"))
}

fn read_logged(row: &Row) -> Result<Logged> {
    Ok(Logged {
        number: row.get(0)?,
        session: row.get(1).map(SessionId::from_bytes),
        host: rows::optional_shared(row, 5)?,
        tick: row.get(2)?,
        at: Timestamp(row.get(3)?),
        parked: row.get(7)?,
        stray: row.get(6)?,
        pairs: rows::pairs(row.text(4)?),
    })
}

fn holder(sql: &dyn Sql, step: StepId) -> Result<Option<Holder>> {
    let text = "select state, attempt, parked, session_id from steps where id = $1";
    sql.first(text, params![step], |row| {
        Ok(Holder {
            state: row.text(0)?.parse().unwrap_or(State::NotRunnable),
            attempt: row.get(1)?,
            parked: row.get(2)?,
            session: row.get::<Option<[u8; 16]>>(3)?.map(SessionId::from_bytes),
        })
    })
}
