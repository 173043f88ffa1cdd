//! Of what people are shown so much of and no more, it is what they look for.

use super::{OpenMode, connect, migrate};
use crate::sql::Sql;
use crate::{Browse, params};
use model::{StepId, Timestamp, limits};
use rusqlite::Connection;

fn migrated() -> Connection {
    let mut connection = connect::open(":memory:".as_ref(), OpenMode::Writer).unwrap();
    migrate::migrate(&mut connection, Timestamp(0)).unwrap();
    connection
}

#[test]
fn of_many_moves_of_a_step_the_last_are_read() {
    let sql = migrated();
    let (step, more) = (StepId::of(7), 5);
    for at in 0..limits::PAGE_ROWS_MAX as i64 + more {
        let text = "insert into events (at, entity, entity_id, to_state, attempt) values ($1, 'step', $2, 'pending', 1)";
        Sql::execute(&sql, text, params![at, step]).unwrap();
    }
    let moves = Browse::new(Box::new(sql), String::new()).history(step).unwrap();
    let at: Vec<i64> = moves.iter().map(|(at, _)| at.0).collect();
    assert_eq!(at, (more..limits::PAGE_ROWS_MAX as i64 + more).collect::<Vec<_>>(), "oldest first");
}
