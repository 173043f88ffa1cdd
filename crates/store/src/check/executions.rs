//! What is done once: one record per key that says one thing, held by one owner, with a history that leads to it.

use super::{GRACE, Report, Scene};
use crate::{Result, params};
use model::limits;

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    records(scene, report)?;
    requests(scene, report)?;
    histories(scene, report)?;
    orphans(scene, report)
}

/// What the constraints of the table say too, for those of SQLite are not read by a connection that only reads.
fn records(scene: &Scene, report: &mut Report) -> Result<()> {
    let text = "select namespace, key, state, lease_ends_at is not null, answer is not null, error is not null, attempt,
                       failed_attempts, max_attempts, octet_length(input_hash), created_at <= updated_at,
                       updated_at <= keep_until,
                       coalesce(octet_length(namespace), 0), coalesce(octet_length(key), 0),
                       coalesce(octet_length(answer), 0), coalesce(octet_length(error), 0)
                  from executions order by namespace, key";
    scene.each(text, |row| {
        let entity = format!("execution {}:{}", row.text(0)?, row.text(1)?);
        let state = row.text(2)?.to_string();
        let has: (bool, bool, bool) = (row.get(3)?, row.get(4)?, row.get(5)?);
        let (attempt, failed, max): (i64, i64, i64) = (row.get(6)?, row.get(7)?, row.get(8)?);
        let says = match state.as_str() {
            "in_progress" => has == (true, false, false),
            "done" => has == (false, true, false),
            "failed" => has == (false, false, true),
            _ => false,
        };
        let mut wrong = |is_wrong: bool, problem: String| {
            if is_wrong {
                report.add("I12", &entity, problem);
            }
        };
        wrong(!says, format!("it is {state} and has not exactly what belongs to that"));
        wrong(row.get::<i64>(9)? != 32, "its input hash is none".into());
        wrong(
            failed > max || failed > attempt || failed < 0,
            format!("it failed {failed} times in {attempt} attempts, of at most {max}"),
        );
        wrong(state == "failed" && failed == 0, "it is failed and never failed".into());
        wrong(!row.get::<bool>(10)?, "it was changed before it was made".into());
        wrong(!row.get::<bool>(11)?, "it was not kept when it was written".into());
        let (name, key): (usize, usize) = (row.get(12)?, row.get(13)?);
        let (answer, error): (usize, usize) = (row.get(14)?, row.get(15)?);
        if name.max(key) > limits::NAME_BYTES_MAX || answer.max(error) > limits::PAYLOAD_BYTES_MAX {
            report.add("I37", &entity, "its name, answer or error is longer than may be");
        }
        Ok(())
    })
}

/// What is kept of a request is an answer, and no lease is longer than a lease may be.
fn requests(scene: &Scene, report: &mut Report) -> Result<()> {
    let text = "select namespace, key from executions
                 where namespace like 'http %' and state = 'done' and answer not like '{\"status\":%' order by namespace, key";
    scene.each(text, |row| {
        let entity = format!("execution {}:{}", row.text(0)?, row.text(1)?);
        report.add("I39", entity, "a request was answered, and what is kept is no answer");
        Ok(())
    })?;
    let text = "select namespace, key from executions where state = 'in_progress' and lease_ends_at > $1
                 order by namespace, key";
    scene.sql().each(text, params![scene.now + limits::EXECUTION_LEASE_MAX + GRACE], &mut |row| {
        let entity = format!("execution {}:{}", row.text(0)?, row.text(1)?);
        report.add("I12", entity, "its lease ends later than any lease may");
        Ok(())
    })
}

/// Every attempt has a beginning; the last event is that of the record.
fn histories(scene: &Scene, report: &mut Report) -> Result<()> {
    let text = "select e.namespace, e.key, e.attempt, e.state,
            (select count(*) from execution_events v where v.namespace = e.namespace and v.key = e.key
                and v.event in ('begun', 'taken_over')),
            (select count(*) from execution_events v where v.namespace = e.namespace and v.key = e.key
                and v.event = 'failed'),
            (select count(*) from execution_events v where v.namespace = e.namespace and v.key = e.key
                and v.attempt = e.attempt and v.owner = e.owner and v.event = e.state),
            (select count(*) from execution_events v where v.namespace = e.namespace and v.key = e.key
                and v.attempt = e.attempt and v.owner = e.owner and v.event in ('begun', 'taken_over')),
            (select count(*) from execution_events v where v.namespace = e.namespace and v.key = e.key
                and v.event = 'done'),
            e.failed_attempts
        from executions e order by e.namespace, e.key";
    scene.each(text, |row| {
        let entity = format!("execution {}:{}", row.text(0)?, row.text(1)?);
        let (attempt, ended): (i64, bool) = (row.get(2)?, row.text(3)? != "in_progress");
        let counts = |i: usize| row.get::<i64>(i);
        let is_done = i64::from(row.text(3)? == "done");
        let mut wrong = |is_wrong: bool, problem: &str| {
            if is_wrong {
                report.add("I12", &entity, problem);
            }
        };
        wrong(counts(4)? != attempt, "its history has not one beginning for each attempt");
        wrong(counts(5)? != counts(9)?, "its history has not the failures it counts");
        wrong(counts(7)? != 1, "the last attempt is not on record as begun by its owner");
        wrong(ended && counts(6)? != 1, "its end is not on record, or that of another owner");
        wrong(counts(8)? != is_done, "its history says otherwise whether it was done");
        Ok(())
    })
}

fn orphans(scene: &Scene, report: &mut Report) -> Result<()> {
    let text = "select distinct v.namespace, v.key from execution_events v
                 where not exists (select 1 from executions e where e.namespace = v.namespace and e.key = v.key)
                 order by v.namespace, v.key";
    scene.each(text, |row| {
        let entity = format!("execution {}:{}", row.text(0)?, row.text(1)?);
        report.add("I38", entity, "its history is there and its record is gone");
        Ok(())
    })
}
