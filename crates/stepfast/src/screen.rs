//! Workflows on a terminal: their steps as a tree, live, or change by change.

mod changes;
mod columns;
mod fit;
mod length;
mod live;
mod paint;
mod shell;
mod timeline;
mod tree;

pub use changes::Changes;
pub use columns::clipped;
pub use fit::{table, width};
pub use length::{length, took};
pub use live::Live;
pub use paint::{Paint, harmless, plain};
pub use shell::quoted;
pub use timeline::timeline;
pub use tree::{Detail, Shown, lines};
