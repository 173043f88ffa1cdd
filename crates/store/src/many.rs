//! Rows of many ids in few reads.
//!
//! Why    a read for each is a journey to the database for each. The ids are written as so many parameters, of two lengths
//!        only: so there are two texts to prepare, and no database takes a guess at how many there are.

use crate::Result;
use crate::sql::{Param, Row, Sql};

const AT_ONCE: usize = 64;

/// The rows of a statement that asks for `{ids}`, in the order of each part.
pub fn rows<I: Copy, T>(
    sql: &dyn Sql,
    text: &str,
    ids: &[I],
    read: impl Fn(&Row) -> Result<T>,
) -> Result<Vec<T>>
where
    Param<'static>: From<I>,
{
    let mut found = Vec::with_capacity(ids.len());
    for part in ids.chunks(AT_ONCE) {
        let n = if part.len() == 1 { 1 } else { AT_ONCE };
        let places: Vec<String> = (1..=n).map(|place| format!("${place}")).collect();
        // What is missing of a full part is the last one again.
        let values: Vec<Param> = (0..n).map(|at| part[at.min(part.len() - 1)].into()).collect();
        found.extend(sql.rows(&text.replace("{ids}", &places.join(", ")), &values, &read)?);
    }
    Ok(found)
}
