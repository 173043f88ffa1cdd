//! The matrix: which story shows which pair, as `docs/combinations.md` has it.

use super::{branching, compensation, pausing, polling, resolution, retry_from};

const FEATURES: [&str; 6] =
    ["failure resolution", "retry from step", "compensation", "branching", "polling", "pause trigger"];

/// What the specification says of a pair that it rules out.
const NOT: &str = "N/A";

/// One pair: the row and the column, what is said of it, and the test that shows it.
struct Cell {
    row: &'static str,
    column: &'static str,
    says: &'static str,
    test: &'static str,
}

macro_rules! cells {
    ($($row:literal $column:literal $says:expr => $test:ident = $story:path;)*) => {
        const CELLS: &[Cell] = &[$(Cell { row: $row, column: $column, says: $says, test: stringify!($test) }),*];
        $(
            #[tokio::test]
            async fn $test() {
                $story().await;
            }
        )*
    };
}

cells! {
    "failure resolution" "retry from step" "retry is one resolution option" => resolution_with_retry_from = resolution::retry_is_one_option;
    "failure resolution" "compensation" "compensate is one resolution option" => resolution_with_compensation = resolution::compensate_is_one_option;
    "failure resolution" "branching" NOT => resolution_without_branching = resolution::strategies_choose_no_branch;
    "failure resolution" "polling" NOT => resolution_without_polling = resolution::a_poll_that_goes_on_is_no_failure;
    "failure resolution" "pause trigger" NOT => resolution_without_pausing = resolution::a_pause_is_no_failure;
    "retry from step" "failure resolution" "triggered by resolution" => retry_from_with_resolution = retry_from::it_is_triggered_by_resolution;
    "retry from step" "compensation" "can compensate before retry" => retry_from_with_compensation = retry_from::it_can_compensate_first;
    "retry from step" "branching" "retry respects branch structure" => retry_from_with_branching = retry_from::it_respects_the_structure_of_branches;
    "retry from step" "polling" "can retry polling step" => retry_from_with_polling = retry_from::it_can_begin_at_a_poll;
    "retry from step" "pause trigger" "can retry to step before pause" => retry_from_with_pausing = retry_from::it_can_begin_before_a_pause;
    "compensation" "failure resolution" "triggered by resolution" => compensation_with_resolution = compensation::it_is_triggered_by_resolution;
    "compensation" "retry from step" "optional before retry" => compensation_with_retry_from = compensation::it_is_optional_before_a_retry;
    "compensation" "branching" "compensate active branch only" => compensation_with_branching = compensation::only_the_active_branch_is_undone;
    "compensation" "polling" "compensate polling step" => compensation_with_polling = compensation::a_poll_is_undone;
    "compensation" "pause trigger" NOT => compensation_without_pausing = compensation::a_pause_is_not_undone;
    "branching" "failure resolution" NOT => branching_without_resolution = branching::a_branch_resolves_no_failure;
    "branching" "retry from step" "retry respects branches" => branching_with_retry_from = branching::a_retry_from_a_way_that_was_not_taken_takes_none;
    "branching" "compensation" "compensate active branch" => branching_with_compensation = branching::the_way_that_was_taken_is_undone;
    "branching" "polling" "polling step in branch" => branching_with_polling = branching::a_poll_stands_on_a_branch;
    "branching" "pause trigger" "pause after branch" => branching_with_pausing = branching::a_pause_stands_behind_a_choice;
    "polling" "failure resolution" NOT => polling_without_resolution = polling::a_poll_resolves_no_failure;
    "polling" "retry from step" NOT => polling_without_retry_from = polling::a_poll_is_no_retry;
    "polling" "compensation" "can be compensated" => polling_with_compensation = polling::it_can_be_compensated;
    "polling" "branching" "can be in branch" => polling_with_branching = polling::it_can_stand_on_branches;
    "polling" "pause trigger" "pause after poll complete" => polling_with_pausing = polling::a_pause_follows_the_last_poll;
    "pause trigger" "failure resolution" NOT => pausing_without_resolution = pausing::a_pause_resolves_no_failure;
    "pause trigger" "retry from step" NOT => pausing_without_retry_from = pausing::a_trigger_retries_nothing;
    "pause trigger" "compensation" NOT => pausing_without_compensation = pausing::a_trigger_undoes_nothing;
    "pause trigger" "branching" "can pause after branch" => pausing_with_branching = pausing::branches_pause_by_themselves;
    "pause trigger" "polling" "can pause after poll" => pausing_with_polling = pausing::a_poll_without_an_answer_pauses_only_with_a_default;
}

#[test]
fn no_pair_is_missing_and_none_is_named_twice() {
    for row in FEATURES {
        for column in FEATURES {
            let found = CELLS.iter().filter(|cell| (cell.row, cell.column) == (row, column)).count();
            assert_eq!(found, usize::from(row != column), "{row} × {column}");
        }
    }
    let ruled_out = CELLS.iter().filter(|cell| cell.says == NOT).count();
    assert_eq!((CELLS.len(), ruled_out), (30, 10), "as many as the specification has");
}

/// The page has the matrix as it is tested.
#[test]
fn the_page_has_every_pair_with_its_test() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/combinations.md"));
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && line.contains('`')).collect();
    let expected: Vec<String> = CELLS
        .iter()
        .map(|Cell { row, column, says, test }| format!("| {row} | {column} | {says} | `{test}` |"))
        .collect();
    assert_eq!(lines, expected, "docs/combinations.md differs:\n{}", expected.join("\n"));
}
