//! A few new steps and their count, in one statement that is a transaction of its own.
//!
//! Why    where many callers create a step each, most commits hold nothing else. Begin, verify, two writes and commit are five messages, and
//!        cost more than the rows. Here the server itself refuses what was decided under a lease that is gone, so one message does.

use super::form::{Columns, Form};
use super::many::{COPY_FROM, transposed};
use super::parts::ADD_TO_PART;
use crate::statements::INSERT_STEP;
use crate::writes::{Values, Write};
use crate::{Batch, Result};
use std::collections::HashMap;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
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
    counts: Columns,
    /// By the columns of a step that have a value.
    statements: HashMap<u64, Kept>,
}

struct Kept {
    steps: Form,
    counts: Form,
    statement: Statement,
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
        let steps = Columns::of(INSERT_STEP, client.prepare(INSERT_STEP).await?.params());
        let counts = Columns::of(ADD_TO_PART, client.prepare(ADD_TO_PART).await?.params());
        Ok(Adder { steps, counts, statements: HashMap::new() })
    }

    pub async fn add(
        &mut self,
        client: &Client,
        batch: &Batch,
        stamps: [&[u8]; 2],
        added: &Added<'_>,
    ) -> std::result::Result<(), Error> {
        let (steps, counts) = (transposed(added.steps), transposed(added.counts));
        let kept = self.kept(client, Form::of(&steps), Form::of(&counts).whole()).await?;
        let node = batch.lease.node.bytes().as_slice();
        let [stamp, last] = stamps;
        let held = batch.lease.groups.iter().map(|(group, epoch)| (group.as_str(), epoch.cast_signed()));
        let (groups, epochs): (Vec<&str>, Vec<i64>) = held.unzip();
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&node, &stamp, &last, &groups, &epochs];
        params.extend(kept.steps.params(&steps).chain(kept.counts.params(&counts)));
        client.query_one(&kept.statement, &params).await.map(|_| ())
    }

    /// The statement for rows of this form. What once differed is an array from then on, so each sort of step soon has its own for good.
    async fn kept(
        &mut self,
        client: &Client,
        steps: Form,
        counts: Form,
    ) -> std::result::Result<&Kept, Error> {
        let is_known = self.statements.contains_key(&steps.used);
        let mut steps = if is_known || self.statements.len() < SORTS_MAX { steps } else { steps.whole() };
        let mut counts = counts;
        if let Some(kept) = self.statements.get(&steps.used) {
            (steps, counts) = (steps.and(kept.steps), counts.and(kept.counts));
        }
        if self.statements.get(&steps.used).is_none_or(|kept| (kept.steps, kept.counts) != (steps, counts)) {
            let statement = client.prepare(&self.text(steps, counts)).await?;
            self.statements.insert(steps.used, Kept { steps, counts, statement });
        }
        Ok(&self.statements[&steps.used])
    }

    fn text(&self, steps: Form, counts: Form) -> String {
        let made = self.steps.insert(INSERT_STEP, steps, BEFORE);
        let counted = self.counts.insert(ADD_TO_PART, counts, BEFORE + self.steps.width(steps));
        FENCED.replace("{made}", &made).replace("{counted}", &counted)
    }
}

/// Whether the server refused it because a lease is gone.
pub fn is_lost(error: &Error) -> bool {
    error.code() == Some(&SqlState::DIVISION_BY_ZERO)
}
