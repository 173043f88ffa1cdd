//! Every row of the audit has the hash that it was written with, none is missing, and the last is the one that the head names.

use super::{Report, Scene};
use crate::audit::{BEGINS, COLUMNS, hash};
use crate::settings::setting;
use crate::sql::{Cell, Row};
use crate::{Result, params};

/// How far the rows were looked at.
struct Chain {
    /// The last row before the chain, and how many there are.
    begins: i64,
    before: i64,
    /// The last row that was looked at, and the hash it has.
    last: i64,
    hash: Vec<u8>,
}

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let begins = setting(scene.sql(), BEGINS)?;
    let numbers = begins.as_deref().and_then(|text| text.split_once(' '));
    let numbers = numbers.and_then(|(last, n)| Some((last.parse().ok()?, n.parse::<i64>().ok()?)));
    let Some((begins, n)) = numbers else {
        report.add("S8", "audit", "nothing says where the chain begins");
        return Ok(());
    };
    let mut chain = Chain { begins, before: 0, last: begins, hash: Vec::new() };
    let text = format!("select {COLUMNS}, hash from audit order by id");
    scene.each(&text, |row| chain.look(row, report))?;
    if chain.before != n {
        let problem = format!("{} rows are from before the chain, and there were {n}", chain.before);
        report.add("S8", "audit", problem);
    }
    let text = "select audit_id, hash from audit_head order by audit_id";
    let heads: Vec<(i64, Vec<u8>)> =
        scene.sql().rows(text, params![], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match heads.as_slice() {
        [(id, _)] if *id != chain.last => {
            report.add("S8", "audit", format!("the last row is {}, and it was {id}", chain.last));
        }
        [(id, hash)] if *hash != chain.hash => {
            report.add("S8", format!("audit {id}"), "the end of the chain names another hash");
        }
        [_] => {}
        heads => report.add("S8", "audit", format!("the chain has {} ends", heads.len())),
    }
    Ok(())
}

impl Chain {
    fn look(&mut self, row: &Row, report: &mut Report) -> Result<()> {
        let id: i64 = row.get(0)?;
        let width = COLUMNS.split(',').count();
        let stored = row.cell(width)?;
        if id <= self.begins {
            self.before += 1;
            if stored != Cell::Null {
                report.add("S8", format!("audit {id}"), "it is from before the chain, and has a hash");
            }
            return Ok(());
        }
        let cells = (0..width).map(|i| row.cell(i)).collect::<Result<Vec<Cell>>>()?;
        if id != self.last + 1 {
            let missing = format!("rows {} to {} are missing before it", self.last + 1, id - 1);
            report.add("S8", format!("audit {id}"), missing);
        } else if stored != Cell::Blob(&hash(&self.hash, cells)) {
            report.add("S8", format!("audit {id}"), "it, or the row before it, is not as it was written");
        }
        self.last = id;
        self.hash = row.get(width).unwrap_or_default();
        Ok(())
    }
}
