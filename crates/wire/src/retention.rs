//! What archive and purge took away.

use serde::{Deserialize, Serialize};

/// One page of it; the same request goes on behind it while there is `more`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetainedView {
    /// Whole trees, of which the other figures are part.
    pub trees: usize,
    pub steps: usize,
    pub blocks: usize,
    pub ticks: usize,
    /// With their steps, which are among the trees.
    #[serde(default)]
    pub workflows: usize,
    #[serde(default)]
    pub flows: usize,
    pub more: bool,
}
