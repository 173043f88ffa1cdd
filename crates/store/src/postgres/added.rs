//! A few new steps and their count, in one statement that is a transaction of its own.
//!
//! Why    where many callers create a step each, most commits hold nothing else. Begin, verify, two writes and commit are five messages, and
//!        cost more than the rows. Here the server itself refuses what was decided under a lease that is gone, so one message does.

use super::batched::batched_behind;
use super::many::{COPY_FROM, transposed};
use super::parts::ADD_TO_PART;
use crate::sql::Param;
use crate::statements::INSERT_STEP;
use crate::writes::{Values, Write};
use crate::{Batch, Result};
use std::collections::HashMap;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Statement};

/// It fails by a division where a lease is not ours. Whoever takes a group over waits until it has ended.
const FENCED: &str = "with before as (delete from commit_stamps where stamp = $3), mine as (insert into commit_stamps values ($2)),
    ours as (select 1 from dispatch_groups g join unnest($4::text[], $5::bigint[]) as l(name, epoch) on g.dispatch_group = l.name and g.epoch = l.epoch
              where g.owner_id = $1 for share of g),
    made as ({made}), counted as ({counted})
    select 1 / (count(*) = cardinality($4::text[]))::int from ours";

/// Parameters before those of the rows.
const BEFORE: usize = 5;

/// Sorts of steps whose statements are kept; any other goes with all columns.
const SORTS_MAX: usize = 16;

/// The statements of a connection.
pub struct Adder {
    steps: Columns,
    counts: Vec<Type>,
    /// By the columns that have a value in any row.
    statements: HashMap<u64, Statement>,
}

/// What is left out of a new row is null.
struct Columns {
    names: Vec<&'static str>,
    types: Vec<Type>,
}

/// The new steps and the counts of a batch that has nothing else to write.
pub struct Added<'a> {
    steps: &'a [Values<'a>],
    counts: &'a [Values<'a>],
}

impl<'a> Added<'a> {
    pub fn of(batch: &Batch, writes: &'a [Write<'a>]) -> Option<Added<'a>> {
        let plain = !batch.lease.groups.is_empty()
            && batch.dispatching.is_empty()
            && batch.audit.is_empty()
            && batch.renew.is_none();
        match writes {
            [steps, counts]
                if plain
                    && steps.sql == INSERT_STEP
                    && counts.sql == ADD_TO_PART
                    && steps.rows.len() < COPY_FROM =>
            {
                Some(Added { steps: &steps.rows, counts: &counts.rows })
            }
            _ => None,
        }
    }
}

impl Adder {
    pub async fn prepare(client: &Client) -> Result<Adder> {
        let types = client.prepare(INSERT_STEP).await?.params().to_vec();
        let counts = client.prepare(ADD_TO_PART).await?.params().to_vec();
        Ok(Adder { steps: Columns { names: columns(), types }, counts, statements: HashMap::new() })
    }

    pub async fn add(
        &mut self,
        client: &Client,
        batch: &Batch,
        stamps: [&[u8]; 2],
        added: &Added<'_>,
    ) -> std::result::Result<(), Error> {
        let steps = transposed(added.steps);
        let mut used = used(&steps);
        if self.statements.len() >= SORTS_MAX && !self.statements.contains_key(&used) {
            used = u64::MAX;
        }
        if !self.statements.contains_key(&used) {
            self.statements.insert(used, client.prepare(&self.text(used)).await?);
        }
        let node = batch.lease.node.bytes().as_slice();
        let [stamp, last] = stamps;
        let held = batch.lease.groups.iter().map(|(group, epoch)| (group.as_str(), epoch.cast_signed()));
        let (groups, epochs): (Vec<&str>, Vec<i64>) = held.unzip();
        let counts = transposed(added.counts);
        let steps = steps.iter().enumerate().filter(|(i, _)| is_used(used, *i)).map(|(_, column)| column);
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&node, &stamp, &last, &groups, &epochs];
        params.extend(steps.chain(&counts).map(|column| column as &(dyn ToSql + Sync)));
        client.query_one(&self.statements[&used], &params).await.map(|_| ())
    }

    fn text(&self, used: u64) -> String {
        let of = |i: &usize| is_used(used, *i);
        let kept: Vec<usize> = (0..self.steps.names.len()).filter(of).collect();
        let names: Vec<&str> = kept.iter().map(|i| self.steps.names[*i]).collect();
        let types = kept.iter().map(|i| self.steps.types[*i].name()).enumerate();
        let arrays: Vec<String> = types.map(|(n, t)| format!("${}::{t}[]", BEFORE + n + 1)).collect();
        let made =
            format!("insert into steps ({}) select * from unnest({})", names.join(", "), arrays.join(", "));
        let counted = batched_behind(ADD_TO_PART, &self.counts, BEFORE + kept.len());
        FENCED.replace("{made}", &made).replace("{counted}", &counted)
    }
}

/// Which columns have a value in any row.
fn used(columns: &[Vec<Param>]) -> u64 {
    let has_any = |column: &[Param]| column.iter().any(|value| !matches!(value, Param::Null));
    columns.iter().enumerate().map(|(i, column)| u64::from(has_any(column)) << i).sum()
}

fn is_used(used: u64, column: usize) -> bool {
    used >> column & 1 == 1
}

/// The columns of a new step, in the order of its parameters.
fn columns() -> Vec<&'static str> {
    let (_, rest) = INSERT_STEP.split_once('(').expect("an insert names its columns");
    let (columns, _) = rest.split_once(')').expect("an insert names its columns");
    columns.split(',').map(str::trim).collect()
}

/// Whether the server refused it because a lease is gone.
pub fn is_lost(error: &Error) -> bool {
    error.code() == Some(&SqlState::DIVISION_BY_ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_any_value_is_left_out() {
        let names = columns();
        assert_eq!((names[0], names.len()), ("id", 49), "{names:?}");
        let rows =
            [vec![Param::Int(1), Param::Null, Param::Null], vec![Param::Null, Param::Null, Param::Int(2)]];
        let used = used(&transposed(&rows));
        assert_eq!(used, 0b101);
        let types = vec![Type::INT8; 49];
        let adder = Adder {
            steps: Columns { names, types },
            counts: vec![Type::INT8; 9],
            statements: HashMap::new(),
        };
        let text = adder.text(used);
        assert!(
            text.contains("insert into steps (id, queue) select * from unnest($6::int8[], $7::int8[])"),
            "{text}"
        );
        assert!(text.contains("from unnest($8::int8[]"), "{text}");
    }
}
