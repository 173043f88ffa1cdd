//! Workflows end to end: real store, real turn, simulated time.

#[path = "workflows/branches.rs"]
mod branches;
#[path = "workflows/compensation.rs"]
mod compensation;
#[path = "workflows/days.rs"]
mod days;
#[path = "workflows/fan_out.rs"]
mod fan_out;
#[path = "workflows/first_turn.rs"]
mod first_turn;
#[path = "workflows/holds.rs"]
mod holds;
#[path = "workflows/items_again.rs"]
mod items_again;
#[path = "workflows/items_ending.rs"]
mod items_ending;
#[path = "workflows/keys.rs"]
mod keys;
#[path = "workflows/linear.rs"]
mod linear;
#[path = "workflows/nested.rs"]
mod nested;
#[path = "workflows/pause_polls.rs"]
mod pause_polls;
#[path = "workflows/pause_times.rs"]
mod pause_times;
#[path = "workflows/pauses.rs"]
mod pauses;
#[path = "workflows/pauses_again.rs"]
mod pauses_again;
#[path = "workflows/polls.rs"]
mod polls;
#[path = "workflows/polls_held.rs"]
mod polls_held;
#[path = "workflows/resolution.rs"]
mod resolution;
#[path = "workflows/secrets.rs"]
mod secrets;
#[path = "workflows/taken_back.rs"]
mod taken_back;
#[path = "workflows/times.rs"]
mod times;
#[path = "workflows/transitions.rs"]
mod transitions;
