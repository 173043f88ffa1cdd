//! Of what people are shown so much of and no more, it is what they look for.

use super::{OpenMode, connect, migrate};
use crate::sql::Sql;
use crate::{Browse, params};
use model::{NodeId, StepId, Timestamp, limits};
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

#[test]
fn a_node_that_lives_on_is_read_however_often_others_began_and_ended() {
    let sql = migrated();
    let text = "insert into nodes (id, host, pid, version, machine, started_at, seen_at, ended_at) values ($1, 'h', 1, '1', 'm', $2, $3, $4)";
    let node = |n: u64, started: i64, seen: i64, ended: Option<i64>| {
        Sql::execute(&sql, text, params![NodeId::of(n), started, seen, ended.map(Timestamp)]).unwrap();
    };
    node(1, 1, 9_999, None);
    // Killed, and nobody has said so of it yet.
    (2..60).for_each(|n| node(n, n as i64, n as i64, None));
    (60..200).for_each(|n| node(n, n as i64, n as i64, Some(n as i64)));
    let nodes = Browse::new(Box::new(sql), String::new()).nodes().unwrap();
    let told: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
    let expected = (159..200).rev().chain((1..60).rev());
    assert_eq!(told, expected.map(|n| NodeId::of(n as u64)).collect::<Vec<_>>());
}
