//! What the steps before a step answered: those of its block and kind at the index before its own.
//!
//! Why    an index begins when the one before it has ended, so what a running step reads here does not change any more.

use crate::sql::Sql;
use crate::{Result, params};
use model::{StepId, limits};

/// Answers may be large, so they are read in pieces.
const ROWS_AT_ONCE: usize = 20;

/// Indexes have no gaps.
const BEFORE: &str =
    "select block_id, kind, block_index - 1 from steps where id = $1 and block_id is not null";
const ANSWERS: &str = "select id, response from steps
    where block_id = $1 and block_index = $2 and kind = $3 and state = 'completed' and id > $4
    order by id limit $5";

/// The answers of those that completed, as JSON, oldest first; none if they are too many or too large to be told at once.
pub fn previous(sql: &dyn Sql, step: StepId) -> Result<Option<Vec<String>>> {
    let before =
        sql.first(BEFORE, params![step], |row| Ok((row.get(0)?, row.get::<String>(1)?, row.get(2)?)))?;
    let mut answers = Vec::new();
    let Some::<([u8; 16], String, u32)>((block, kind, index)) = before else { return Ok(Some(answers)) };
    let (mut after, mut bytes) = ([0; 16], 0);
    loop {
        let values = params![&block, index, kind.as_str(), &after, ROWS_AT_ONCE];
        let page =
            sql.rows(ANSWERS, values, |row| Ok((row.get::<[u8; 16]>(0)?, row.get::<Option<String>>(1)?)))?;
        let is_last = page.len() < ROWS_AT_ONCE;
        for (id, answer) in page {
            let answer = answer.unwrap_or_else(|| "null".into());
            bytes += answer.len();
            answers.push(answer);
            after = id;
        }
        if answers.len() > limits::PREVIOUS_STEPS_MAX || bytes > limits::PREVIOUS_BYTES_MAX {
            return Ok(None);
        }
        if is_last {
            return Ok(Some(answers));
        }
    }
}
