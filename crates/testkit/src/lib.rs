//! An engine on a stage: a real store and the real turn, with simulated time and a worker that a test plays by hand.

mod desk;
mod doubtful;
mod dump;
mod flow;
mod nodes;
mod raw;
mod receiver;
mod stage;

pub use desk::{from_step, undo_all, undo_then_from};
pub use doubtful::{Doubt, DoubtfulStore, Stored};
pub use dump::{everything, holds, keys};
pub use flow::stored;
pub use nodes::Nodes;
pub use raw::run;
pub use receiver::{Came, Receiver};
pub use stage::{Kept, SERVER, Stage, answer, outcome_of};
