//! What somebody is told, in the commit of what it tells of.

use super::node::{Node, Turn};
use model::{Notice, Timestamp};
use store::Result;
use tracing::info;

impl Node {
    pub(super) fn tell(&mut self, _turn: &mut Turn, notice: Notice, _now: Timestamp) -> Result<()> {
        let Notice { kind, audience, severity, title, text, key, .. } = notice;
        info!(%kind, %audience, %severity, %title, %key, "{text}");
        Ok(())
    }
}
