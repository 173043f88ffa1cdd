//! Every bound of the engine in one place, related to each other at compile time.

use std::time::Duration;

/// Bytes of arguments, response or error text of one step.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// How deep a JSON value is nested that rules or people read; readers that are asked for no more give up at 128.
pub const JSON_LEVELS_MAX: usize = 100;
/// Bytes of what one run of a step says on the way, and the runs of a step whose words are kept.
pub const LOG_BYTES_MAX: usize = 64 << 10;
/// A line counts as so many bytes more than its text.
pub const LOG_LINE_BYTES: usize = 64;
pub const LOG_RUNS_MAX: u32 = 4;
/// Bytes of a target's answer that are kept with a delivery.
pub const DELIVERY_BODY_BYTES_MAX: usize = 64 << 10;
/// Attempts of one step that are kept on record, counted from the last.
pub const ATTEMPTS_KEPT: u32 = 1_000;
/// Bytes of a name: action, queue, label, key, relatable.
pub const NAME_BYTES_MAX: usize = 255;
/// Levels of blocks inside blocks.
pub const NESTING_MAX: u32 = 64;
/// Items of one fan-out.
pub const ITEMS_MAX: usize = 1_000_000;
/// Items of a fan-out that one turn makes.
pub const ITEMS_PAGE: usize = 1_000;
/// Workflows inside workflows.
pub const WORKFLOW_NESTING_MAX: u32 = 64;
/// Secret values of one workflow: each run is searched for all that it was given.
pub const SECRET_VALUES_MAX: usize = 1_000;
/// Subscriptions; every node holds them in memory. Kinds of events that one names, and bytes of its address.
pub const SUBSCRIPTIONS_MAX: usize = 100;
pub const SUBSCRIPTION_TYPES_MAX: usize = 64;
pub const SUBSCRIPTION_URL_BYTES_MAX: usize = 2_048;
/// Channels of notices; every node holds them in memory. What one is sent in a minute, unless it says otherwise, and what it may say.
pub const CHANNELS_MAX: usize = 100;
pub const NOTICES_PER_MINUTE_DEFAULT: u32 = 30;
pub const NOTICES_PER_MINUTE_MAX: u32 = 600;
/// How long a notice is on record: for so long the same key is known to have been told.
pub const NOTICE_KEEP: Duration = Duration::from_secs(30 * 24 * 3600);
/// Letters of the title and of the text of a notice, and bytes of its data; the rest is left out.
pub const NOTICE_TITLE_CHARS_MAX: usize = 150;
pub const NOTICE_TEXT_CHARS_MAX: usize = 2_800;
pub const NOTICE_DATA_BYTES_MAX: usize = 16 << 10;
/// Kinds of notices that a summary names; the rest is counted together.
pub const NOTICE_KINDS_GATHERED_MAX: usize = 16;
/// Keys of one channel that a node remembers; the others it looks up.
pub const NOTICE_KEYS_KNOWN_MAX: usize = 10_000;
/// Labels of one workflow.
pub const LABELS_MAX: usize = 64;
/// Workflows and definitions remembered between turns; more are read again when they are needed.
pub const CACHED_WORKFLOWS_MAX: usize = 50_000;
pub const CACHED_DEFINITIONS_MAX: usize = 1_000;
/// Workflows that wait for others with the same key and are known in memory, for one key.
pub const WAITING_WORKFLOWS_MAX: usize = 1_000;
/// Rounds in which steps of workflows follow each other in one turn.
pub const WORKFLOW_ROUNDS_MAX: usize = 1_000;
/// How long a pause waits for its trigger, unless it says otherwise.
pub const PAUSE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(7 * 24 * 3600);
/// How often a pause is reminded of before it fails, unless it says otherwise, and what it may say.
pub const REMINDERS_DEFAULT: u32 = 3;
pub const REMINDERS_MAX: u32 = 100;
/// Payloads of one workflow that came before their pauses.
pub const EARLY_TRIGGERS_MAX: usize = 16;
/// When whoever sent one more is to come again; as long as our own deliveries wait where nothing is said.
pub const EARLY_TRIGGER_AGAIN: Duration = Duration::from_secs(30);
/// Payloads of one workflow that were not accepted and are kept, counted from the last.
pub const TRIGGERS_KEPT: u64 = 1_000;
/// Bytes of the id that a sender gives a message.
pub const WEBHOOK_ID_BYTES_MAX: usize = 200;
/// How far the time of a signed message may be from now.
pub const TRIGGER_REPLAY_WINDOW: Duration = Duration::from_secs(300);
/// Steps of one create call, its nested children included.
pub const STEPS_PER_CREATE_MAX: usize = 10_000;
/// Highest index inside a block.
pub const INDEX_MAX: u32 = 1_000_000;
/// Children moved by a cascade in one turn.
pub const SWEEP_PAGE: usize = 1_000;
/// Steps handed to sessions in one turn.
pub const PICKS_PER_TURN_MAX: usize = 500;
/// Steps that requests of one turn concern, as a rule; the rest is decided while that turn syncs.
pub const STEPS_PER_TURN: usize = 500;
/// Moves that follow from them in one turn; the rest of a cascade is decided while this turn syncs.
pub const MOVES_PER_TURN: usize = 4_000;
/// Requests taken into one turn.
pub const REQUESTS_PER_TURN_MAX: usize = 4_096;
/// Blocks, steps and lines of each of which a node remembers since when it could go on, for its figures; beyond it they are forgotten.
pub const READY_REMEMBERED_MAX: usize = 100_000;
/// Ready steps read ahead for one queue and action of a dispatch group.
pub const WINDOW_PAGE: usize = 500;
/// Ready steps held in memory; beyond it they stay on disk, marked ready.
pub const WINDOW_STEPS_MAX: usize = 20_000;
/// Steps and blocks remembered between turns; more are read again when they are needed.
pub const CACHED_STEPS_MAX: usize = 100_000;
pub const CACHED_BLOCKS_MAX: usize = 100_000;
/// Rounds of rules over one turn before the rest is left to the next turn.
pub const SETTLE_ROUNDS_MAX: usize = 4 * NESTING_MAX as usize;
/// Dispatch groups.
pub const GROUPS_MAX: usize = 64;
/// Attempts that may be lost with their worker before a step is stopped.
pub const LOST_ATTEMPTS_MAX: u32 = 2;
/// Executions of a step including the first, unless it says otherwise.
pub const ATTEMPTS_DEFAULT: u32 = 3;
/// Highest number of executions one step may ask for.
pub const ATTEMPTS_MAX: u32 = 1_000;
/// How often a step's work may be found not to hold before the step fails.
pub const DENIALS_MAX: u32 = 2;
/// Longest wait a step or a retry may ask for.
pub const WAIT_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
/// The shortest wait between two polls of a step.
pub const POLL_INTERVAL_MIN: Duration = Duration::from_millis(10);
/// The wait between two polls, how long they go on, and by how much the wait may grow, unless a step says otherwise.
pub const POLL_INTERVAL_DEFAULT: Duration = Duration::from_secs(300);
pub const POLL_DURATION_DEFAULT: Duration = Duration::from_secs(86_400);
pub const POLL_GROWTH_DEFAULT: u32 = 60;
/// Highest number of polls one step may ask for.
pub const POLLS_MAX: u32 = 1_000_000;
/// Polls of one step that are kept on record, counted from the last: unless it says otherwise, and the most it may say.
pub const POLLS_KEPT_DEFAULT: u32 = 20;
pub const POLLS_KEPT_MAX: u32 = 1_000;
/// Bytes of what one poll tells the next, and of that what stays on record.
pub const POLL_DATA_BYTES_MAX: usize = 64 << 10;
pub const POLL_RECORD_BYTES_MAX: usize = 4 << 10;
/// How long the last poll of a step may wait for a worker before the step's time is over without it.
pub const POLL_LAST_WAIT: Duration = Duration::from_secs(60);
/// A poll that is due for so long and not begun, though somebody could, is put back by `polls recover`.
pub const POLL_STALE: Duration = Duration::from_secs(3_600);
/// How long a worker session may be silent before its steps are taken back.
pub const SESSION_LEASE: Duration = Duration::from_secs(15);
/// How long a node may be silent before its dispatch groups are taken over.
pub const GROUP_LEASE: Duration = Duration::from_secs(15);
/// How often leases are renewed while nothing else is written.
pub const RENEW_EVERY: Duration = Duration::from_secs(6);
/// How long a node may stand still between two statements of a transaction that writes: others wait for what it has locked.
pub const STANDSTILL_MAX: Duration = Duration::from_secs(5);
/// How far the clocks of two nodes may be apart, both following the same server.
pub const CLOCK_SKEW_MAX: Duration = Duration::from_secs(1);
/// How far ahead due times are held in memory.
pub const TIMER_HORIZON: Duration = Duration::from_secs(60);
/// A dispatch group that neither ends a step nor is idle for this long is told.
pub const NO_PROGRESS: Duration = Duration::from_secs(600);
/// A claim older than this is written into the step's own row.
pub const CLAIM_LOG_AGE: Duration = Duration::from_millis(100);
/// A parent that waits for its children longer than this gets its own row; also when more than this many wait.
pub const PARK_LOG_AGE: Duration = Duration::from_secs(5);
pub const PARK_LOG_MAX: usize = 50_000;
/// Rows of one page for people.
pub const PAGE_ROWS_MAX: usize = 1_000;
/// Queues or actions one session may name.
pub const SESSION_NAMES_MAX: usize = 1_000;
/// Open capacity one session may state.
pub const SESSION_CAPACITY_MAX: usize = 10_000;
/// What `tracestate` may say; the standard asks for as much.
pub const TRACE_STATE_BYTES_MAX: usize = 512;
/// Bytes of the word that goes with a job's progress.
pub const PROGRESS_BYTES_MAX: usize = 200;
/// Steps before a step whose answers it may ask for at once, and bytes of these answers.
pub const PREVIOUS_STEPS_MAX: usize = 1_000;
pub const PREVIOUS_BYTES_MAX: usize = 8 << 20;
/// Pools; every node holds them in memory.
pub const POOLS_MAX: usize = 1_000;
/// Highest number of steps of one pool that run at once: they are counted whenever one of them starts.
pub const POOL_CONCURRENCY_MAX: u32 = 10_000;
/// Highest number of starts in the span of a rate, or at once.
pub const POOL_STARTS_MAX: u32 = 1_000_000;
/// Ready steps of one pool read ahead for one queue of a dispatch group: a full pool must not fill the memory.
pub const POOL_WINDOW: usize = 100;
/// The same for steps of blocks, whose children may need different pools.
pub const POOL_WINDOW_IN_BLOCKS: usize = 2_000;
/// Due steps of full pools that are remembered; the rest stays on disk.
pub const POOL_LATE_MAX: usize = 100_000;
/// How long a node that got no slot of a pool waits before it asks again, if nobody wakes it.
pub const POOL_ASK_AGAIN: Duration = Duration::from_millis(100);
/// How long a slot is kept free for a node that asked in vain and did not come back.
pub const POOL_KEPT_FOR: Duration = Duration::from_secs(1);
/// Steps in hand that wait for their turn in a message group; the rest of each line stays on disk.
pub const LINE_STEPS_MAX: usize = 50_000;
/// Message groups in hand; the rest is found again when there is room.
pub const LINES_MAX: usize = 20_000;
/// Steps of a message group that one call cancels.
pub const GROUP_STEPS_PER_CALL: usize = 10_000;
/// Steps of one message group read at once, and message groups looked for at once.
pub const LINE_PAGE: usize = 32;
pub const LINES_PAGE: usize = 500;
/// API keys that are not revoked; every node holds them in memory.
pub const KEYS_MAX: usize = 1_000;
/// Bytes of a key's name; it stands in the audit with the key's id behind it.
pub const KEY_NAME_BYTES_MAX: usize = 100;
/// Queues that one key may be limited to.
pub const KEY_SCOPE_MAX: usize = 100;
/// Longest life of a key that ends by itself.
pub const KEY_DAYS_MAX: u32 = 3_650;
/// How long a node goes by the keys it has read: a revoked key is refused everywhere within this, and a read.
pub const KEYS_READ_EVERY: Duration = Duration::from_millis(500);
/// How often the use of a key is written down.
pub const KEY_USE_EVERY: Duration = Duration::from_secs(60);
/// Connections at once, of this machine and of all others each, unless the configuration says otherwise, and what it may say.
pub const CONNECTIONS_DEFAULT: usize = 1_024;
pub const CONNECTIONS_MAX: usize = 100_000;
/// How long the first request of a connection may take to say what it wants, and the agreement on TLS before it.
pub const HEAD_WITHIN: Duration = Duration::from_secs(10);
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// How often the certificate of the server is read again, to be renewed.
pub const CERTIFICATE_READ_EVERY: Duration = Duration::from_secs(60);
/// How long the body of a request may take.
pub const BODY_WITHIN: Duration = Duration::from_secs(30);
/// How long a connection is kept for another request; clients give theirs up earlier, so that none is cut off while it asks.
pub const CONNECTION_IDLE: Duration = Duration::from_secs(120);
/// Wrong keys, tokens and signatures of one address that are looked at in a minute, and addresses and keys that are counted at once.
pub const WRONG_KEYS_PER_MINUTE: u32 = 20;
pub const CALLERS_COUNTED_MAX: usize = 10_000;
/// Addresses of which the audit tells within a minute that they showed something wrong.
pub const REFUSALS_PER_MINUTE: usize = 100;
/// Calls of one key in the span of its rate, or at once.
pub const KEY_CALLS_MAX: u32 = 1_000_000;
/// How long a browser may be silent before it has to sign in again, and how long it stays signed in at most.
pub const BROWSER_IDLE: Duration = Duration::from_secs(12 * 3600);
pub const BROWSER_SIGNED_IN_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Browsers that are signed in with one key, and with all of them; the oldest have to sign in again.
pub const BROWSERS_OF_A_KEY_MAX: usize = 20;
pub const BROWSERS_MAX: usize = 1_000;
/// How long a caller of an execution may be silent, unless it says otherwise, and what it may say.
pub const EXECUTION_LEASE_DEFAULT: Duration = Duration::from_secs(60);
pub const EXECUTION_LEASE_MIN: Duration = Duration::from_secs(1);
pub const EXECUTION_LEASE_MAX: Duration = Duration::from_secs(24 * 3600);
/// How long the answer of an execution is kept, unless its caller says otherwise, and what it may say.
pub const EXECUTION_KEEP_DEFAULT: Duration = Duration::from_secs(90 * 24 * 3600);
pub const EXECUTION_KEEP_MIN: Duration = Duration::from_secs(1);
pub const EXECUTION_KEEP_MAX: Duration = Duration::from_secs(3_660 * 24 * 3600);
/// Orders about executions that share one commit.
pub const EXECUTIONS_PER_COMMIT: usize = 256;
/// Executions forgotten in one commit.
pub const EXECUTIONS_FORGOTTEN_PAGE: usize = 1_000;
/// Steps of one tracked flow, also those that were not declared.
pub const FLOW_STEPS_MAX: usize = 200;
/// Bytes of what is said about a flow or a step of it, and of the arguments of an action for it.
pub const FLOW_MESSAGE_BYTES_MAX: usize = 4 << 10;
pub const FLOW_ARGUMENTS_BYTES_MAX: usize = 64 << 10;
/// How long a flow may take before somebody should look, unless it says otherwise, and the least it may say.
pub const FLOW_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30 * 60);
pub const FLOW_TIMEOUT_MIN: Duration = Duration::from_secs(1);
/// Lines of the history of one flow that are kept, counted from the last.
pub const FLOW_EVENTS_KEPT: u64 = 1_000;
/// Steps that an account of progress lists; the rest is counted.
pub const PROGRESS_STEPS_MAX: usize = 1_000;
/// Rows of one page of what is half done, and candidates that are looked at for it.
pub const HALF_DONE_PAGE_MAX: usize = 200;
pub const HALF_DONE_LOOKED_AT: usize = 1_000;
/// Flows that are looked at for one page of a list.
pub const FLOWS_LOOKED_AT: usize = 4_000;
/// Rows of the audit that are looked at for one page of it.
pub const AUDIT_LOOKED_AT: usize = 4_000;
/// Bytes of what the audit is asked for: whoever, a verb, a thing.
pub const AUDIT_ASKED_BYTES_MAX: usize = 1_000;
/// Rules about what is stuck; every look goes through them all.
pub const STUCK_RULES_MAX: usize = 500;
/// Things that one rule may tell of in one look, and those that it does unless it says otherwise.
pub const STUCK_FINDINGS_MAX: u32 = 1_000;
pub const STUCK_FINDINGS_DEFAULT: u32 = 100;
/// Rows that one look reads of each index at most: it must not cost more when more is stuck.
pub const STUCK_PAGE: usize = 1_000;
/// Rows of each index that one look passes over at most, most of which wait by design; the next look goes on behind them.
pub const STUCK_SCAN: usize = 10_000;
/// What a block costs of that: it is asked for its steps by itself.
pub const STUCK_BLOCK_COST: usize = 20;
/// Searches that go on in the next look; beyond them all begin anew.
pub const STUCK_ROUNDS_MAX: usize = 5_000;
/// How long a node has the look to itself; one that takes longer may be followed by another node's.
pub const STUCK_LOOK_LEASE: Duration = Duration::from_secs(60);
/// Between two questions of a node that waits for another's look.
pub const STUCK_LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Rows of what is live that one figure counts; where there are more, this is told.
pub const COUNTED_MAX: usize = 100_000;
/// Open alerts; beyond them nothing is told anew, for nobody would read it.
pub const ALERTS_OPEN_MAX: usize = 10_000;
/// How often it is looked for what is stuck, unless the configuration says otherwise, and what it may say.
pub const STUCK_EVERY_DEFAULT: Duration = Duration::from_secs(15 * 60);
pub const STUCK_EVERY_MIN: Duration = Duration::from_secs(10);
/// What is older than this and has ended is not told as stuck any more.
pub const STUCK_LOOK_BACK: Duration = Duration::from_secs(7 * 24 * 3600);
/// How often a look is taken while answers of actions that report stuck things are awaited.
pub const STUCK_ANSWER_EVERY: Duration = Duration::from_secs(5);
/// Ages that a rule may name.
pub const STUCK_AGE_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
/// How often a grave alert is told again, unless its rule says otherwise.
pub const REMIND_EVERY_DEFAULT: Duration = Duration::from_secs(4 * 3600);
pub const REMIND_EVERY_MIN: Duration = Duration::from_secs(60);
/// Remedies that are tried before a person is asked, and what a rule may say.
pub const REMEDY_ATTEMPTS_DEFAULT: u32 = 3;
pub const REMEDY_ATTEMPTS_MAX: u32 = 20;
/// Rows of a list over history that are looked through for one page of what somebody asked for.
pub const LOOKED_THROUGH_MAX: usize = 20_000;
/// How long the minutes of a node are kept, for charts.
pub const MINUTES_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Minutes that are read for a chart, of all nodes.
pub const MINUTES_READ_MAX: usize = 20_000;
/// How long closed alerts and what happened to alerts are kept.
pub const ALERTS_KEPT: Duration = Duration::from_secs(90 * 24 * 3600);
/// Bytes of a status sentence, a note on an alert or the message of a reported thing.
pub const ALERT_TEXT_BYTES_MAX: usize = 2_000;
/// Closed alerts that the figures are made of, the newest.
pub const ALERT_FIGURES_ROWS: usize = 10_000;
/// What a bulk operation counts before it begins; more are done all the same.
pub const BULK_COUNT_MAX: usize = 100_000;
/// More than these are not touched at once before somebody has said how many they are.
pub const BULK_UNCONFIRMED_MAX: usize = 1_000;
/// Operations of a bulk operation that are on their way at once, and done before its progress is on record.
pub const BULK_BATCH: usize = 64;
/// The longest rest between two batches.
pub const BULK_REST_MAX: Duration = Duration::from_secs(60);
/// How fast one may be asked to go. The slowest does one in the longest rest.
pub const BULK_PER_SECOND_MIN: f64 = 1.0 / 60.0;
pub const BULK_PER_SECOND_MAX: f64 = 10_000.0;

const _: () = assert!(BULK_PER_SECOND_MIN * BULK_REST_MAX.as_secs() as f64 >= 1.0);
const _: () = assert!(BULK_BATCH <= PAGE_ROWS_MAX && BULK_UNCONFIRMED_MAX < BULK_COUNT_MAX);
const _: () = assert!(PAUSE_TIMEOUT_DEFAULT.as_secs() <= WAIT_MAX.as_secs());
const _: () = assert!(REMINDERS_DEFAULT <= REMINDERS_MAX);
const _: () = assert!((EARLY_TRIGGERS_MAX as u64) < TRIGGERS_KEPT, "what waits is not forgotten");
const _: () = assert!(FLOW_STEPS_MAX <= PROGRESS_STEPS_MAX, "every step of a flow is listed");
const _: () = assert!(FLOW_TIMEOUT_DEFAULT.as_secs() <= WAIT_MAX.as_secs());
const _: () = assert!(FLOW_ARGUMENTS_BYTES_MAX <= PAYLOAD_BYTES_MAX, "an action for a flow is a step");
const _: () = assert!(HALF_DONE_PAGE_MAX <= HALF_DONE_LOOKED_AT);
const _: () = assert!(PAGE_ROWS_MAX < FLOWS_LOOKED_AT);
const _: () = assert!(PAGE_ROWS_MAX < AUDIT_LOOKED_AT);
const _: () =
    assert!(NAME_BYTES_MAX * 2 < AUDIT_ASKED_BYTES_MAX, "a thing is told by what it is, its name and its id");
const _: () = assert!(SUBSCRIPTIONS_MAX <= PAGE_ROWS_MAX, "one page holds them all");
const _: () = assert!(CHANNELS_MAX <= PAGE_ROWS_MAX, "one page holds them all");
const _: () = assert!(NOTICES_PER_MINUTE_DEFAULT <= NOTICES_PER_MINUTE_MAX);
const _: () = assert!(SWEEP_PAGE <= STEPS_PER_CREATE_MAX);
const _: () = assert!(ITEMS_PAGE <= STEPS_PER_CREATE_MAX && ITEMS_PAGE <= CACHED_STEPS_MAX);
const _: () = assert!(RENEW_EVERY.as_secs() * 2 < GROUP_LEASE.as_secs(), "one renewal may fail");
const _: () = assert!(RENEW_EVERY.as_secs() * 2 < SESSION_LEASE.as_secs());
const _: () = assert!(
    RENEW_EVERY.as_secs() + STANDSTILL_MAX.as_secs() < GROUP_LEASE.as_secs(),
    "a node that waits for another's lock keeps its own leases"
);
const _: () = assert!(ATTEMPTS_MAX <= ATTEMPTS_KEPT, "without a wait, no attempt is forgotten");
const _: () = assert!(POLL_INTERVAL_DEFAULT.as_secs() * POLL_GROWTH_DEFAULT as u64 <= WAIT_MAX.as_secs());
const _: () = assert!(POLLS_KEPT_DEFAULT <= POLLS_KEPT_MAX);
const _: () =
    assert!(POLL_RECORD_BYTES_MAX <= POLL_DATA_BYTES_MAX && POLL_DATA_BYTES_MAX <= PAYLOAD_BYTES_MAX);
const _: () = assert!(WINDOW_PAGE <= WINDOW_STEPS_MAX);
const _: () = assert!(POOL_WINDOW <= WINDOW_PAGE);
const _: () = assert!(POOL_ASK_AGAIN.as_millis() * 2 < POOL_KEPT_FOR.as_millis(), "who waits keeps its turn");
const _: () = assert!(PARK_LOG_MAX <= CACHED_STEPS_MAX / 2, "what only the log knows is kept in hand");
const _: () =
    assert!(SETTLE_ROUNDS_MAX > 2 * NESTING_MAX as usize, "a cascade down and up the deepest tree fits");
const _: () = assert!(KEYS_READ_EVERY.as_millis() < 1_000, "a revoked key is refused within a second");
const _: () = assert!(KEY_NAME_BYTES_MAX + 50 <= NAME_BYTES_MAX, "a name with its id is a name");
const _: () =
    assert!(STUCK_FINDINGS_DEFAULT <= STUCK_FINDINGS_MAX && STUCK_FINDINGS_MAX as usize <= ALERTS_OPEN_MAX);
const _: () = assert!(STUCK_EVERY_MIN.as_secs() <= STUCK_EVERY_DEFAULT.as_secs());
const _: () = assert!(STUCK_FINDINGS_MAX as usize <= STUCK_PAGE && STUCK_PAGE <= STUCK_SCAN);
const _: () = assert!(STUCK_LOOK_AGAIN.as_millis() < STUCK_LOOK_LEASE.as_millis());
const _: () = assert!(CONNECTIONS_DEFAULT <= CONNECTIONS_MAX);
const _: () =
    assert!(KEY_USE_EVERY.as_secs() < BROWSER_IDLE.as_secs(), "a use is on record before it counts as none");
const _: () = assert!(BROWSER_IDLE.as_secs() < BROWSER_SIGNED_IN_MAX.as_secs());
const _: () = assert!(BROWSERS_OF_A_KEY_MAX <= BROWSERS_MAX && KEYS_MAX <= CALLERS_COUNTED_MAX);
