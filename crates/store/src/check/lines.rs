//! Message groups: one at a time, in order, and none behind a failure that blocks it.

use super::{Report, Scene};
use crate::{Result, params, rows};
use model::{DispatchGroup, DispatchMode, Member, Name, StepId, Timestamp};
use rules::fifo;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A step that a worker has.
struct Flight {
    id: StepId,
    member: Member,
    attempt: u32,
    since: Option<Timestamp>,
}

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let mut flights: BTreeMap<Name, Vec<Flight>> = BTreeMap::new();
    for flight in in_flight(scene)? {
        flights.entry(flight.member.group.clone()).or_default().push(flight);
    }
    let blocked = blocked(scene, report)?;
    for (group, flights) in &flights {
        if let [first, second, ..] = flights.as_slice() {
            let problem = format!("steps {} and {} of it are in flight at once", first.id, second.id);
            report.add("I8", format!("message group {group}"), problem);
        }
        for flight in flights {
            if let Some(at) = blocked.get(group)
                && flight.member.mode == DispatchMode::BlockOnError
                && flight.attempt == 1
                && flight.since.is_some_and(|since| since > *at)
            {
                let problem = format!("it was started although its message group `{group}` was blocked");
                report.add("I10", format!("step {}", flight.id), problem);
            }
            passed_over(scene, flight, blocked.contains_key(group), report)?;
        }
    }
    homes(scene, report)
}

/// The step of each message group that a worker has.
pub fn holders(scene: &Scene) -> Result<HashMap<Name, StepId>> {
    Ok(in_flight(scene)?.into_iter().map(|flight| (flight.member.group, flight.id)).collect())
}

/// Steps in flight by their own row, and by the claim log.
fn in_flight(scene: &Scene) -> Result<Vec<Flight>> {
    let columns = "select id, message_group, mode, sequence, place, attempt, dispatched_at from steps";
    let read = |row: &crate::sql::Row| {
        let member = Member {
            group: rows::shared(row, 1)?,
            // The schema knows no other words.
            mode: row.text(2)?.parse().unwrap_or(DispatchMode::BlockOnError),
            sequence: row.get(3)?,
            place: StepId::from_bytes(row.get(4)?),
            joined: true,
        };
        let since = rows::time(row, 6)?;
        Ok(Flight { id: StepId::from_bytes(row.get(0)?), member, attempt: row.get(5)?, since })
    };
    let by_row = format!(
        "{columns} where mode is not null and parked = 0 and (state = 'dispatched' or state = 'running')"
    );
    let mut all = scene.sql().rows(&by_row, params![], read)?;
    let by_log = format!("{columns} where id = $1 and mode is not null");
    for (id, claim) in scene.claims.iter().filter(|(_, claim)| claim.session.is_some()) {
        if let Some(flight) = scene.sql().first(&by_log, params![id], read)? {
            all.push(Flight { attempt: claim.attempt, since: Some(claim.at), ..flight });
        }
    }
    Ok(all)
}

/// Whether a step that waited, and still waits, should have gone first.
fn passed_over(scene: &Scene, flight: &Flight, blocked: bool, report: &mut Report) -> Result<()> {
    let text = "select id, attempt, mode from steps
                 where message_group = $1 and state in ('pending', 'polling') and joined > 0 and id <> $2
                   and (attempt > 0 or (wake_at is null and block_id is null and created_at < $3
                        and (sequence < $4 or (sequence = $4 and place < $5))))
                 order by joined desc, sequence, place limit 10";
    let member = &flight.member;
    let since = flight.since.unwrap_or(Timestamp(i64::MIN));
    let values = params![&*member.group, flight.id, since, i64::from(member.sequence), member.place];
    let before = scene.sql().rows(text, values, |row| {
        let passes: bool = row.text(2)? != DispatchMode::BlockOnError.word();
        Ok((StepId::from_bytes(row.get(0)?), row.get::<u32>(1)?, passes))
    })?;
    let wronged = |(id, attempt, passes): &(StepId, u32, bool)| {
        let by_log = scene.claims.of(*id).is_some();
        !by_log && (*attempt > 0 || (flight.attempt == 1 && (*passes || !blocked)))
    };
    if let Some((id, _, _)) = before.iter().find(|one| wronged(one)) {
        let problem =
            format!("it runs although step {id} of its message group `{}` goes first", member.group);
        report.add("I9", format!("step {}", flight.id), problem);
    }
    Ok(())
}

/// Since when groups are blocked; whatever blocks one has failed.
fn blocked(scene: &Scene, report: &mut Report) -> Result<HashMap<Name, Timestamp>> {
    let mut blocked: HashMap<Name, Timestamp> = HashMap::new();
    let mut by = BTreeSet::new();
    let text = "select h.message_group, h.at, h.blocked_by, s.state, s.mode from message_groups h
                  left join steps s on s.id = h.blocked_by where length(h.blocked_by) = 16";
    scene.each(text, |row| {
        let (group, id) = (rows::shared(row, 0)?, StepId::from_bytes(row.get(2)?));
        let at = blocked.entry(group.clone()).or_insert(Timestamp(row.get(1)?));
        *at = Timestamp(row.get::<i64>(1)?.min(at.0));
        by.insert(id);
        let state: Option<String> = row.get(3)?;
        if !matches!(state.as_deref(), Some("failed" | "stopped" | "timed_out")) {
            let state = state.as_deref().unwrap_or("not on record");
            report.add(
                "I10",
                format!("message group {group}"),
                format!("step {id} blocks it, and is {state}"),
            );
        }
        Ok(())
    })?;
    let text = "select id, message_group from steps
                 where mode = 'block_on_error' and block_cleared_at is null and state in ('failed', 'stopped', 'timed_out')
                   and (reason is null or reason <> 'parent_failed')";
    scene.each(text, |row| {
        let (id, group) = (StepId::from_bytes(row.get(0)?), row.text(1)?);
        if !by.contains(&id) {
            let problem = format!("it failed, and does not block its message group `{group}`");
            report.add("I10", format!("step {id}"), problem);
        }
        Ok(())
    })?;
    Ok(blocked)
}

/// Every line lives in one dispatch group, the one that follows from its name.
fn homes(scene: &Scene, report: &mut Report) -> Result<()> {
    let groups = "select dispatch_group from dispatch_groups order by ordinal";
    let groups = scene.sql().rows(groups, params![], |row| Ok(DispatchGroup(rows::shared(row, 0)?)))?;
    if groups.is_empty() {
        return Ok(());
    }
    let text = "select id, message_group, dispatch_group from steps
                 where mode is not null and state in ('pending', 'dispatched', 'running', 'polling')";
    scene.each(text, |row| {
        let (group, home) = (row.text(1)?, row.text(2)?);
        let right = fifo::home(group, &groups);
        if right.as_str() != home {
            let problem = format!("it lives in `{home}`, and its message group `{group}` in `{right}`");
            report.add("I9", format!("step {}", StepId::from_bytes(row.get(0)?)), problem);
        }
        Ok(())
    })
}
