//! What is read at one moment agrees, whatever is written meanwhile.

use model::State;
use rules::operator::Verb;
use serde_json::json;
use stepfast_testkit::Stage;
use store::StoreError;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

/// On PostgreSQL a page could show a state beside a history that told of the next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_is_cancelled_while_it_is_read_is_read_as_it_was() {
    let stage = Stage::new().await;
    stage.create(json!([{"action": "nobody", "step_key": "a"}])).await;
    let (browse, id) = (stage.browse(), stage.by_key("a").step.id);
    let read = || -> Result<(Option<State>, usize), StoreError> {
        Ok((browse.step(id)?.map(|row| row.step.state), browse.history(id)?.len()))
    };
    let (before, after) = browse
        .at_one_moment(|| {
            let before = read()?;
            let cancelled =
                block_in_place(|| Handle::current().block_on(stage.operate(id, Some(Verb::Cancel))));
            assert_eq!(cancelled, Ok(State::Cancelled));
            Ok((before, read()?))
        })
        .unwrap();
    assert_eq!(after, before);
    let (state, events) = read().unwrap();
    assert_eq!(state, Some(State::Cancelled));
    assert!(events > before.1, "{events} of {}", before.1);
}
