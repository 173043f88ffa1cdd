//! Flows that were finished long ago; what failed and was left so stays until somebody decides.

use super::{Act, BEFORE_ALL, Mark, Page, TREES_PER_PAGE};
use crate::Result;

impl Page<'_> {
    /// Where it stopped before the end, if it did.
    pub(super) fn flows(&mut self, after: Option<Mark>) -> Result<Option<Mark>> {
        let text = "select id from flows where finished_at is not null and finished_at < $3 and id > $1 order by id limit $2";
        let values = [Mark::or(after, BEFORE_ALL), TREES_PER_PAGE.into(), self.before.into()];
        let ids: Vec<[u8; 16]> = self.sql.rows(text, &values, |row| row.get(0))?;
        self.out.flows += ids.len();
        if self.act == Act::Write {
            for (table, column) in [("flow_events", "flow_id"), ("flow_steps", "flow_id"), ("flows", "id")] {
                self.all(&format!("delete from {table} where {{among}}"), column, &ids)?;
            }
        }
        Ok(ids.last().filter(|_| ids.len() == TREES_PER_PAGE).map(|last| Mark::Id(*last)))
    }
}
