//! The history of every step, move by move: legal, fenced, without a gap, and ending where the row is.
//!
//! Why    the row says where a step is, the history says how it came there; if one were wrong, the other shows it. Steps
//!        and events are read side by side in the order of the step's id.

use super::{Report, Scene};
use crate::pages::{BEFORE_ALL, Key, Pages};
use crate::sql::{Param, Row, Sql};
use crate::{Result, rows};
use model::{Event, State, StepId, Timestamp};
use rules::machine;

/// What the row of a step says.
struct Now {
    id: StepId,
    state: State,
    attempt: u32,
    created_at: Timestamp,
    dispatch_group: model::Name,
}

struct Moved {
    step: StepId,
    seq: i64,
    at: Timestamp,
    from: Option<State>,
    event: Option<Event>,
    to: State,
    attempt: u32,
    /// A word that is none of ours.
    unknown: bool,
}

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let mut moves = Moves::of(scene.sql())?;
    let mut steps = steps(scene.sql());
    while let Some(row) = steps.next()? {
        let now = Now {
            state: scene.claims.standing(row.id, row.state, false).0,
            attempt: scene.claims.attempt(row.id, row.attempt),
            ..row
        };
        moves.skip_to(Some(now.id), report)?;
        let mut tale = Tale { now: &now, scene, last: None, claimed: None };
        while let Some(moved) = moves.next.take_if(|moved| moved.step == now.id) {
            if scene.history.is_some() {
                tale.go_on(moved, report);
            }
            moves.step()?;
        }
        if scene.history.is_some() {
            tale.end(report);
        }
    }
    moves.skip_to(None, report)
}

/// Every step, of the archive too, in the order of their ids.
fn steps(sql: &dyn Sql) -> Pages<'_, Now> {
    let text = "select id, state, attempt, created_at, dispatch_group from steps where id > $1
                union all select id, state, attempt, created_at, dispatch_group from steps_archive where id > $1
                order by 1 limit $2";
    let key = |now: &Now| -> Key { vec![now.id.into()] };
    Pages::new(sql, text, &[BEFORE_ALL], read_now, key)
}

/// Moves in the order of their steps, one ahead.
struct Moves<'a> {
    rows: Pages<'a, Moved>,
    next: Option<Moved>,
}

impl<'a> Moves<'a> {
    fn of(sql: &'a dyn Sql) -> Result<Moves<'a>> {
        let text = "select entity_id, seq, at, from_state, event, to_state, attempt from events
                     where entity = 'step' and (entity_id, seq) > ($1, $2) order by entity_id, seq limit $3";
        let key = |moved: &Moved| -> Key { vec![moved.step.into(), moved.seq.into()] };
        let first = [BEFORE_ALL, Param::Int(0)];
        let mut moves = Moves { rows: Pages::new(sql, text, &first, read_moved, key), next: None };
        moves.step()?;
        Ok(moves)
    }
    fn step(&mut self) -> Result<()> {
        self.next = self.rows.next()?;
        Ok(())
    }
    /// Moves before this step are of one that is gone.
    fn skip_to(&mut self, step: Option<StepId>, report: &mut Report) -> Result<()> {
        let mut told = None;
        while let Some(moved) = &self.next
            && step.is_none_or(|step| moved.step < step)
        {
            if told != Some(moved.step) {
                report.add("I38", format!("step {}", moved.step), "its history is on record, but it is gone");
            }
            told = Some(moved.step);
            self.step()?;
        }
        Ok(())
    }
}

fn read_now(row: &Row) -> Result<Now> {
    Ok(Now {
        id: StepId::from_bytes(row.get(0)?),
        // The schema knows no other words.
        state: row.text(1)?.parse().unwrap_or(State::NotRunnable),
        attempt: row.get(2)?,
        created_at: Timestamp(row.get(3)?),
        dispatch_group: rows::shared(row, 4)?,
    })
}

fn read_moved(row: &Row) -> Result<Moved> {
    let word = |i: usize| row.get::<Option<String>>(i);
    let (from, event, to) = (word(3)?, word(4)?, word(5)?.unwrap_or_default());
    let from_state = from.as_ref().and_then(|word| word.parse::<State>().ok());
    let known_event = event.as_ref().and_then(|word| word.parse::<Event>().ok());
    let to_state = to.parse::<State>().ok();
    let unknown = from.is_some() != from_state.is_some()
        || event.is_some() != known_event.is_some()
        || to_state.is_none();
    Ok(Moved {
        step: StepId::from_bytes(row.get(0)?),
        seq: row.get(1)?,
        at: Timestamp(row.get(2)?),
        from: from_state,
        event: known_event,
        to: to_state.unwrap_or(State::NotRunnable),
        attempt: row.get(6)?,
        unknown,
    })
}

/// One step's history so far.
struct Tale<'a> {
    now: &'a Now,
    scene: &'a Scene<'a>,
    last: Option<Moved>,
    /// The attempt that was dispatched last.
    claimed: Option<u32>,
}

impl Tale<'_> {
    /// It was made when every move was already kept.
    fn is_whole(&self) -> bool {
        self.scene.history.is_some_and(|since| self.now.created_at >= since)
    }

    fn go_on(&mut self, moved: Moved, report: &mut Report) {
        let entity = format!("step {}", self.now.id);
        if moved.unknown {
            report.add("S5", &entity, "its history holds a word that is not understood");
            self.last = Some(moved);
            return;
        }
        self.look_at_move(&moved, &entity, report);
        self.look_at_attempt(&moved, &entity, report);
        if self.last.as_ref().is_some_and(|last| moved.at < last.at) {
            report.add("I40", &entity, format!("its move to {} is told before the one it follows", moved.to));
        }
        if moved.event == Some(Event::Dispatched)
            && let Some(breaker) = self.scene.breakers.off_at(&self.now.dispatch_group, moved.at)
        {
            report.add("I28", &entity, format!("it was dispatched while the {breaker} was off"));
        }
        self.last = Some(moved);
    }

    fn look_at_move(&self, moved: &Moved, entity: &str, report: &mut Report) {
        let Moved { from, event, to, .. } = moved;
        let before = self.last.as_ref().map(|last| last.to);
        if let Some(before) = before.filter(|state| state.is_terminal())
            && (before == State::Superseded || *to != State::Superseded)
        {
            report.add("I3", entity, format!("it was {before} and went on to {to}"));
        }
        match (from, event) {
            (None, _) if self.last.is_some() => report.add("I5", entity, "it was made twice"),
            (None, None) if matches!(to, State::Pending | State::NotRunnable) => {}
            (None, _) => report.add("I4", entity, format!("it was made {to}")),
            (Some(from), None) => {
                report.add("I4", entity, format!("it went from {from} to {to} by no event"))
            }
            (Some(from), Some(event)) => {
                if machine::next(*from, *event) != Ok(*to) {
                    report.add("I4", entity, format!("`{event}` does not lead from {from} to {to}"));
                }
            }
        }
        let Some(from) = from else { return };
        match before {
            Some(before) if before != *from => {
                report.add("I5", entity, format!("it was {before}, and moved on from {from}"));
            }
            None if self.is_whole() => report.add("I5", entity, "its making is not told"),
            _ => {}
        }
    }

    fn look_at_attempt(&mut self, moved: &Moved, entity: &str, report: &mut Report) {
        if moved.event == Some(Event::Dispatched) {
            let before = self.last.as_ref().map_or(moved.attempt - moved.attempt.min(1), |last| last.attempt);
            if moved.attempt != before + 1 {
                report.add(
                    "I1",
                    entity,
                    format!("attempt {} was dispatched after attempt {before}", moved.attempt),
                );
            }
            self.claimed = Some(moved.attempt);
        } else if moved.from.is_some_and(State::is_in_flight)
            && let Some(claimed) = self.claimed
            && claimed != moved.attempt
        {
            let problem =
                format!("attempt {} moved it to {} while attempt {claimed} had it", moved.attempt, moved.to);
            report.add("I2", entity, problem);
        }
    }

    fn end(&self, report: &mut Report) {
        let entity = || format!("step {}", self.now.id);
        match &self.last {
            Some(last) if last.to != self.now.state => {
                report.add(
                    "I5",
                    entity(),
                    format!("its history ends at {}, its row is {}", last.to, self.now.state),
                );
            }
            Some(last) if last.attempt != self.now.attempt => {
                let (told, there) = (last.attempt, self.now.attempt);
                report.add(
                    "I5",
                    entity(),
                    format!("its history ends at attempt {told}, its row is at {there}"),
                );
            }
            None if self.is_whole() => report.add("I5", entity(), "it has no history"),
            _ => {}
        }
    }
}
