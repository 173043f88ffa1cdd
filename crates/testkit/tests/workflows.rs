//! Workflows end to end: real store, real turn, simulated time.

#[path = "workflows/branches.rs"]
mod branches;
#[path = "workflows/fan_out.rs"]
mod fan_out;
#[path = "workflows/holds.rs"]
mod holds;
#[path = "workflows/keys.rs"]
mod keys;
#[path = "workflows/linear.rs"]
mod linear;
#[path = "workflows/nested.rs"]
mod nested;
#[path = "workflows/pause_times.rs"]
mod pause_times;
#[path = "workflows/pauses.rs"]
mod pauses;
#[path = "workflows/times.rs"]
mod times;
