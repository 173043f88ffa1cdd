//! One statement for many rows: as arrays, or as a copy where rows come by the hundred.
//!
//! Why    arrays are one message and need no answer before the next statement is sent. A copy waits for the server to say that
//!        it listens, but then each row costs it less; from some number of new steps on, that is worth the wait.

use super::batched::batched;
use crate::Result;
use crate::sql::Param;
use crate::statements::INSERT_STEP;
use crate::writes::Values;
use std::pin::pin;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Statement};

/// Fewer rows go as arrays. With 1,000 rows a copy was some 30 % faster; for how few it still is, is not measured.
pub const COPY_FROM: usize = 500;

pub struct Many {
    arrays: Statement,
    copy: Option<Copy>,
}

struct Copy {
    statement: Statement,
    types: Vec<Type>,
}

impl Many {
    pub async fn prepare(client: &Client, text: &'static str) -> Result<Many> {
        let one = client.prepare(text).await?;
        let arrays = client.prepare(&batched(text, one.params())).await?;
        let copy = match copied(text) {
            None => None,
            Some(copied) => {
                Some(Copy { statement: client.prepare(&copied).await?, types: one.params().to_vec() })
            }
        };
        Ok(Many { arrays, copy })
    }

    /// How many rows were written. The statement is on its way once this was polled.
    pub async fn put(&self, client: &Client, rows: &[Values<'_>]) -> std::result::Result<u64, Error> {
        match &self.copy {
            Some(copy) if rows.len() >= COPY_FROM => copy.put(client, rows).await,
            _ => {
                let columns = transposed(rows);
                let params: Vec<&(dyn ToSql + Sync)> =
                    columns.iter().map(|c| c as &(dyn ToSql + Sync)).collect();
                client.execute(&self.arrays, &params).await
            }
        }
    }
}

impl Copy {
    async fn put(&self, client: &Client, rows: &[Values<'_>]) -> std::result::Result<u64, Error> {
        let mut writer = pin!(BinaryCopyInWriter::new(client.copy_in(&self.statement).await?, &self.types));
        for row in rows {
            writer.as_mut().write_raw(row).await?;
        }
        writer.finish().await
    }
}

pub fn transposed<'a>(rows: &[Values<'a>]) -> Vec<Vec<Param<'a>>> {
    let width = rows.first().map_or(0, Vec::len);
    (0..width).map(|i| rows.iter().map(|row| row[i].clone()).collect()).collect()
}

/// The statement as a copy of its columns, if rows of it come by the hundred.
fn copied(text: &str) -> Option<String> {
    if text != INSERT_STEP {
        return None;
    }
    let (_, rest) = text.split_once("insert into ")?;
    let (columns, _) = rest.split_once("values")?;
    Some(format!("copy {} from stdin binary", columns.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy takes values in the order of the columns, so a statement has to name its parameters in order.
    #[test]
    fn a_step_is_copied_by_the_columns_of_its_insert() {
        let text = copied(INSERT_STEP).unwrap();
        assert!(text.starts_with("copy steps (id, dispatch_group,"), "{text}");
        assert!(text.ends_with("trace) from stdin binary"), "{text}");
        let (_, values) = INSERT_STEP.split_once("values (").unwrap();
        let named = values.trim_end().trim_end_matches(')').split(',').map(str::trim);
        let columns = text.matches(',').count() + 1;
        assert!(named.eq((1..=columns).map(|n| format!("${n}"))));
        assert_eq!(copied("insert into ticks (id) values ($1)"), None);
    }
}
