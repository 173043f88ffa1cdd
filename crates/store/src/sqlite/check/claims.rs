//! The claim log: every pair names a step, at most one pair speaks for it, and none contradicts its row.

use super::Report;
use crate::Result;
use crate::sqlite::rows;
use model::{SessionId, State, Step, StepId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};
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

impl Claims {
    pub fn load(connection: &Connection, report: &mut Report) -> Result<Claims> {
        let mut claims = Claims::default();
        let mut statement = connection.prepare(
            "select c.id, c.session_id, c.tick_id, c.claimed_at, c.pairs, s.host, s.id is null, c.parked
               from claims c left join sessions s on s.id = c.session_id order by c.id",
        )?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let number: i64 = row.get(0)?;
            if row.get(6)? {
                report.add("S3", format!("claim {number}"), "its session is not on record");
            }
            let Some(pairs) = pairs(&row.get::<_, String>(4)?) else {
                report.add("S3", format!("claim {number}"), "its pairs cannot be read");
                continue;
            };
            for (step, attempt) in pairs {
                claims.note(connection, report, number, row, step, attempt)?;
            }
        }
        Ok(claims)
    }

    fn note(
        &mut self,
        connection: &Connection,
        report: &mut Report,
        number: i64,
        row: &Row,
        step: StepId,
        attempt: u32,
    ) -> Result<()> {
        let entity = || format!("step {step}");
        let Some(holder) = holder(connection, step)? else {
            report.add(
                "S3",
                format!("claim {number}"),
                format!("it names step {step}, which does not exist"),
            );
            return Ok(());
        };
        let session = (!row.get::<_, bool>(7)?).then_some(SessionId::from_bytes(row.get(1)?));
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
        let claim = Claim {
            session,
            host: row.get::<_, Option<String>>(5)?.map(|host| rows::name(&host)),
            attempt,
            tick: row.get(2)?,
            at: Timestamp(row.get(3)?),
        };
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

fn pairs(text: &str) -> Option<Vec<(StepId, u32)>> {
    let words: Vec<String> = serde_json::from_str(text).ok()?;
    let pair = |word: &String| {
        let (id, attempt) = word.split_once(':')?;
        Some((id.parse().ok()?, attempt.parse().ok()?))
    };
    words.iter().map(pair).collect()
}

fn holder(connection: &Connection, step: StepId) -> Result<Option<Holder>> {
    let mut statement =
        connection.prepare_cached("select state, attempt, parked, session_id from steps where id = ?1")?;
    let read = |row: &Row| {
        Ok(Holder {
            state: row.get::<_, String>(0)?.parse().unwrap_or(State::NotRunnable),
            attempt: row.get(1)?,
            parked: row.get(2)?,
            session: row.get::<_, Option<[u8; 16]>>(3)?.map(SessionId::from_bytes),
        })
    };
    Ok(statement.query_row([step.bytes()], read).optional()?)
}
