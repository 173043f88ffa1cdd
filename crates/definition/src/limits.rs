//! How large a definition may be, related to each other and to the bounds of the engine at compile time.

use model::limits::{NAME_BYTES_MAX, STEPS_PER_CREATE_MAX};

/// Bytes of a definition file.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// Values and keys of a file, aliases counted as what they stand for.
pub const NODES_MAX: usize = 200_000;
/// Bytes of text in a file, aliases counted as what they stand for.
pub const TEXT_BYTES_MAX: usize = 2 * FILE_BYTES_MAX;
/// Levels of lists and mappings inside each other.
pub const DEPTH_MAX: usize = 64;
/// Steps of one definition.
pub const STEPS_MAX: usize = 10_000;
/// Who follows whom, counted.
pub const EDGES_MAX: usize = 50_000;
/// Names of one `after` or `requires`.
pub const NAMES_MAX: usize = 10_000;
/// Branches that one step may choose from.
pub const BRANCHES_MAX: usize = 1_000;
/// Branches that one step may stand behind before they meet.
pub const CHOICES_MAX: usize = 64;
pub const LABELS_MAX: usize = 64;
pub const SECRETS_MAX: usize = 100;
/// Bytes of a description, and of what people read while a step is done or when the whole ends early.
pub const DESCRIPTION_BYTES_MAX: usize = 16 << 10;
pub const MESSAGE_BYTES_MAX: usize = 1_000;
/// Bytes of an address to which something is told.
pub const ADDRESS_BYTES_MAX: usize = 2_000;
/// Faults that are told at once.
pub const FAULTS_MAX: usize = 100;
/// Characters of a line that are shown with a fault.
pub const SHOWN_CHARS_MAX: usize = 120;
/// Steps of which a picture is drawn; beyond it they are listed, because the layout takes too long.
pub const DRAWN_STEPS_MAX: usize = 150;
/// Edges of such a picture, for the same reason.
pub const DRAWN_EDGES_MAX: usize = 400;

const _: () = assert!(STEPS_MAX <= STEPS_PER_CREATE_MAX);
const _: () = assert!(STEPS_MAX < NODES_MAX / 4, "the largest graph can be written down");
const _: () = assert!(NAMES_MAX <= EDGES_MAX);
const _: () = assert!(MESSAGE_BYTES_MAX > NAME_BYTES_MAX, "a message may name a step");
const _: () = assert!(DRAWN_STEPS_MAX <= DRAWN_EDGES_MAX);
