//! The timeline of a workflow that was tried again, polled, paused and undone.

use crate::place::Place;
use crate::showcase::PLANTED;
use serde_json::json;
use std::time::Duration;
use stepfast_server::answers::{self, Lane, Span};
use store::{Clock, SystemClock};
use worker::{Claim, Failure, Outcome, Registry};

const JOURNEY: &str = "
workflow: journey
version: 1.0.0
steps:
  - { key: book, action: second, retry: { attempts: 3, delay: 1ms }, compensation: { action: noop } }
  - { key: part, branch: { choose: \"has(input.walks) ? 'foot' : 'train'\", branches: { train: [arrive], foot: [walk] }, converge: ask } }
  - { key: arrive, poll: { action: arrives, interval: 10ms } }
  - { key: walk, action: noop }
  - { key: ask, action: echo, pause_after: { trigger: approve } }
  - { key: pay, action: fail, retry: { attempts: 1 } }
";

/// It fails the first time.
async fn second(claim: Claim) -> Outcome {
    let failure = Some(Failure { message: PLANTED.into(), trace: None });
    match claim.attempt {
        1 => Outcome::Retry { after: Some(Duration::from_millis(1)), failure },
        _ => Outcome::Complete { response: None },
    }
}

/// It is there when it is asked for the second time.
async fn arrives(claim: Claim) -> Outcome {
    match claim.poll.map(|poll| poll.number) {
        Some(1) => Outcome::Continue { data: Some(json!(PLANTED).to_string()), after: None },
        _ => Outcome::Complete { response: None },
    }
}

pub fn register(registry: &mut Registry) {
    registry.raw("second", second);
    registry.raw("arrives", arrives);
}

/// A workflow that all of it happened to.
pub async fn journey(place: &Place) -> String {
    place.define(JOURNEY).await.ok();
    let start = json!({"workflow": "journey", "input": {}, "labels": {"team": PLANTED}});
    let made = place.post("/v1/workflows", start.to_string()).await.ok();
    let id = made["id"].as_str().unwrap().to_string();
    place.until_workflow(&id, "paused").await;
    place.post(&format!("/v1/workflows/{id}/triggers/approve"), "{}").await.ok();
    place.until_workflow(&id, "failed").await;
    place.post(&format!("/v1/workflows/{id}/compensate"), r#"{"why": "not today"}"#).await.ok();
    place.until_workflow(&id, "compensated").await;
    id
}

/// What is on a lane but the waits, which are as long as the machine takes.
fn told(lane: &Lane) -> String {
    let bars = lane.bars.iter().filter(|bar| bar.span != Span::Waits);
    let bars: Vec<String> = bars.map(|bar| format!("{:?} {}", bar.span, bar.words)).collect();
    format!("{}: {}", lane.name, bars.join(", "))
}

#[tokio::test]
async fn tries_polls_pauses_and_what_was_undone_stand_in_their_lanes() {
    let mut place = Place::open();
    place.work(register).await;
    let id = journey(&place).await;
    let (browse, now) = (place.site().database.browse().unwrap(), SystemClock::default().now());
    let timeline = answers::timeline(&browse, id.parse().unwrap(), now).unwrap().unwrap();
    let lanes: Vec<String> = timeline.lanes.iter().map(told).collect();
    assert_eq!(
        lanes,
        [
            "book: Run(Completed) completed, Attempt attempt 1 retried",
            "part: Run(Completed) completed",
            "arrive: Run(Completed) completed, Poll poll 1 continue, Poll poll 2 complete",
            "ask: Run(Completed) completed, Pause waited for approve, resumed",
            "pay: Run(Failed) failed, Attempt attempt 1 failed",
            "undo book: Undoing undo by noop succeeded",
        ]
    );
    let all = || timeline.lanes.iter().flat_map(|lane| &lane.bars);
    assert!(all().all(|bar| bar.to.is_some_and(|to| bar.from <= to)), "all of it is over: {timeline:?}");
    assert!(all().all(|bar| timeline.from <= bar.from && bar.to <= Some(timeline.to)), "{timeline:?}");
    let page = place.get(&format!("/workflows/{id}")).await;
    for part in ["class=\"poll\"", "class=\"pause\"", "class=\"undo\"", "class=\"failed\"", ">undo book<"] {
        assert!(page.text().contains(part), "{part} is not in {}", page.text());
    }
    place.close().await;
}
