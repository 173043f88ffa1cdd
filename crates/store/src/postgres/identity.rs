//! Which database this is, so that one that was put back from a dump is not taken for the one it was made of.
//!
//! Why    a dump has every row and no number of the server: where the numbers differ from those on record, the rows came from
//!        elsewhere. A standby that is promoted, and a server that is restored byte by byte, keep all of them; there it is the
//!        nodes that remember (`mark`), or people.

use crate::settings::{put_setting, setting};
use crate::sql::{Access, Sql};
use crate::{Result, params, restored};
use model::Timestamp;

const NAME: &str = "identity";

/// The server, the database in it, and the table: `system=… database=… table=…`.
fn here(sql: &dyn Sql) -> Result<String> {
    let may_ask = "select has_function_privilege('pg_control_system()', 'execute')";
    let system: Option<String> = match sql.value::<bool>(may_ask, params![])? {
        true => Some(sql.value("select system_identifier::text from pg_control_system()", params![])?),
        false => None,
    };
    let numbers = "select 'database=' || d.oid || ' table=' || 'stepfast.steps'::regclass::oid
                     from pg_database d where d.datname = current_database()";
    let numbers: String = sql.value(numbers, params![])?;
    Ok(system.map(|n| format!("system={n} ")).unwrap_or_default() + &numbers)
}

/// What both know is the same; what a role may ask can change.
fn is_same(known: &str, here: &str) -> bool {
    let part = |text: &str, name: &str| {
        text.split(' ')
            .filter_map(|part| part.split_once('='))
            .find(|(n, _)| *n == name)
            .map(|(_, v)| v.to_string())
    };
    ["system", "database", "table"].iter().all(|name| match (part(known, name), part(here, name)) {
        (Some(known), Some(here)) => known == here,
        _ => true,
    })
}

/// Before anything is decided: rows that came from elsewhere are held.
pub fn look(sql: &dyn Sql, now: Timestamp) -> Result<()> {
    let here = here(sql)?;
    if setting(sql, NAME)?.as_ref() == Some(&here) {
        return Ok(());
    }
    sql.transaction(Access::Alone, |sql| {
        // Another node may have been first.
        let known = setting(sql, NAME)?;
        if known.is_some_and(|known| !is_same(&known, &here)) {
            let seen: Option<i64> = sql.value("select max(seen_at) from nodes", params![])?;
            restored::hold(sql, seen.map_or(now, Timestamp), now)?;
        }
        put_setting(sql, NAME, &here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_one_of_them_does_not_know_is_not_held_against_it() {
        let known = "system=1 database=2 table=3";
        assert!(is_same(known, known) && is_same(known, "database=2 table=3"));
        assert!(!is_same(known, "system=9 database=2 table=3"));
        assert!(!is_same(known, "database=9 table=3"));
        assert!(!is_same("database=2 table=3", "system=1 database=2 table=9"));
    }
}
