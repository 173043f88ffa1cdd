//! How large an expression may be, and what it may cost.
//!
//! Why    definitions come from users, and one expression must not hold up the turn that decides for everybody: a million
//!        steps are some tens of milliseconds.

/// The text of one expression.
pub const SOURCE_BYTES_MAX: usize = 4 * 1024;
/// Brackets within brackets, and likewise operators within operators: `a + b + c` is two deep.
pub const NESTING_MAX: usize = 32;
/// Names, values, operators and calls.
pub const NODES_MAX: usize = 512;
/// Loops (`all`, `exists`, `exists_one`, `map`, `filter`) in the body of a loop. One behind the other is not nested.
pub const LOOPS_NESTED_MAX: usize = 2;
/// What a loop goes over.
pub const LOOP_ITEMS_MAX: usize = 10_000;
/// A node evaluated, an item looked at, 64 bytes of text read, or 8 of text in which something is looked for.
pub const STEPS_MAX: usize = 1_000_000;
/// Texts, lists and maps that are made on the way to the answer, all together.
pub const BUILT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The pattern of `matches`.
pub const PATTERN_BYTES_MAX: usize = 256;
/// The answer as JSON, of an expression or of a whole template.
pub const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// Below the 128 at which JSON is refused when it is read again, so that an answer can be put into something.
pub const ANSWER_DEPTH_MAX: usize = 120;
/// What is told of the values that an expression looked at.
pub const SUMMARY_BYTES_MAX: usize = 2 * 1024;
/// Expressions of one template.
pub const TEMPLATE_EXPRESSIONS_MAX: usize = 1_000;

/// Up to here an expression is read on the stack of the caller, which may be one of 2 MiB and partly used.
pub const SMALL_NESTING_MAX: usize = 3;
pub const SMALL_OPERATORS_MAX: usize = 12;
/// Beyond, on one that holds `NODES_MAX` operators in a row without optimisation.
pub const PARSER_STACK_BYTES: usize = 64 * 1024 * 1024;

const _: () = assert!(SMALL_OPERATORS_MAX < NODES_MAX && SMALL_NESTING_MAX < NESTING_MAX);
const _: () = assert!(LOOP_ITEMS_MAX < STEPS_MAX && ANSWER_BYTES_MAX < BUILT_BYTES_MAX);
const _: () = assert!(PATTERN_BYTES_MAX < SOURCE_BYTES_MAX && ANSWER_DEPTH_MAX < 128);
