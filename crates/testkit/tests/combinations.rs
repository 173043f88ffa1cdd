//! Every pair of the features that decide what becomes of a workflow: what they do to each other, or that they do nothing.
//!
//! Why    each of them works alone. What people meet is two of them at once, so each pair that the specification names is a test by
//!        that name, and each pair that it rules out is refused by the language or shown to change nothing.

#[path = "combinations/branching.rs"]
mod branching;
#[path = "combinations/compensation.rs"]
mod compensation;
#[path = "combinations/matrix.rs"]
mod matrix;
#[path = "combinations/pausing.rs"]
mod pausing;
#[path = "combinations/play.rs"]
mod play;
#[path = "combinations/polling.rs"]
mod polling;
#[path = "combinations/resolution.rs"]
mod resolution;
#[path = "combinations/retry_from.rs"]
mod retry_from;
