//! Every limit of the router, in one place and related to each other.

use std::time::Duration;

pub const DEFAULT_POOL_CODE: &str = "DISPATCH-POOL";
pub const DEFAULT_POOL_CONCURRENCY: u32 = 20;
pub const CONCURRENCY: u32 = 10;

/// Messages a pool holds, waiting and called together.
pub const CAPACITY_PER_SLOT: usize = 20;
pub const CAPACITY_MIN: usize = 50;
/// One message group has at most this part of a pool's capacity, so that a long line leaves room for others.
pub const LINE_SHARE: usize = 4;
const _: () = assert!(CAPACITY_MIN / LINE_SHARE > 0);

pub const MEDIATION_TIMEOUT: Duration = Duration::from_secs(15 * 60);
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// How long the body of a refusal may take, for the message in it.
pub const REFUSAL_WAIT: Duration = Duration::from_secs(1);
pub const TARGET_BYTES_MAX: usize = 8 << 10;

/// How long the broker may let a call of `receive` wait for a message.
pub const POLL_WAIT: Duration = Duration::from_secs(20);
/// A poll that has not ended by then never will.
pub const POLL_STALL: Duration = Duration::from_secs(60);
/// How often in a row a poll is begun anew before that is called critical.
pub const POLL_RESTARTS_MAX: u32 = 10;
const _: () = assert!(POLL_WAIT.as_secs() < POLL_STALL.as_secs());
/// How long the consumer looks away when every pool is full, unless one has room sooner.
pub const FULL_REST: Duration = Duration::from_secs(2);

/// How long a message waits at the head of its pool for the rate to let it go.
pub const TOKEN_WAIT_MAX: Duration = Duration::from_secs(30);

/// Messages are hidden anew at least so often.
pub const KEEP_INTERVAL_MAX: Duration = Duration::from_secs(55);
/// For how long, on a transport that has no time of its own.
pub const KEEP_SPAN: Duration = Duration::from_secs(60);
const _: () = assert!(KEEP_INTERVAL_MAX.as_secs() < KEEP_SPAN.as_secs());
/// Calls to the broker that hide messages, at once.
pub const KEEP_AT_ONCE: usize = 16;

/// One acknowledgement or deferral, and how often an acknowledgement is tried.
pub const SETTLE_TIMEOUT: Duration = Duration::from_secs(25);
pub const SETTLE_TRIES: u32 = 3;
/// Before the second and each further try.
pub const SETTLE_PAUSE: Duration = Duration::from_millis(500);
/// How long a transport may take to say goodbye.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Deliveries of one message that are known at once; further ones take the place of the eldest.
pub const RECEIPTS_MAX: usize = 8;
/// Groups that wait behind a deferred message of theirs.
pub const HOLDS_MAX: usize = 10_000;
/// Messages of which it is known how often they were put off.
pub const PUT_OFF_MAX: usize = 10_000;
pub const PUT_OFF_IDLE_MAX: Duration = Duration::from_secs(3600);
/// How often a message comes again whose token is not believed: for some 17 minutes, as long as its step waits for it. One that
/// somebody made up must not come for ever.
pub const DISBELIEVED_MAX: u32 = 20;
/// Messages that were called but could not be acknowledged.
pub const UNCONFIRMED_MAX: usize = 1_000;
pub const UNKNOWN_CODES_MAX: usize = 1_000;

pub const BREAKERS_MAX: usize = 10_000;
pub const WARNINGS_MAX: usize = 1_000;
pub const WARNING_CHARS_MAX: usize = 300;
pub const IN_FLIGHT_SHOWN_MAX: usize = 100;
