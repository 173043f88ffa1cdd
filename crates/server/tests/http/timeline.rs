//! The timeline of a workflow that was tried again, polled, paused and undone.

use crate::place::{Place, endless};
use crate::showcase::PLANTED;
use serde_json::json;
use std::time::Duration;
use stepfast_server::answers::{self, Lane, LaneKind, Span};
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

const HELD: &str = "
workflow: held
version: 1.0.0
steps:
  - { key: go, action: endless }
";
const HELD_BY_FAILURE: &str = "
workflow: broken
version: 1.0.0
steps:
  - { key: pay, action: fail, retry: { attempts: 1 }, on_failure: pause_workflow }
  - { key: last, action: noop }
";

/// What the first lane says, and whether each bar of it is over.
fn first(place: &Place, id: &str) -> (String, Vec<bool>) {
    let (browse, now) = (place.site().database.browse().unwrap(), SystemClock::default().now());
    let timeline = answers::timeline(&browse, id.parse().unwrap(), now).unwrap().unwrap();
    (told(&timeline.lanes[0]), timeline.lanes[0].bars.iter().map(|bar| bar.to.is_some()).collect())
}

#[tokio::test]
async fn a_workflow_that_a_person_or_a_failure_held_shows_when_and_why() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    place.define(HELD).await.ok();
    place.define(HELD_BY_FAILURE).await.ok();
    let id = place.start("held", json!({})).await;
    let at = format!("/v1/workflows/{id}");
    place.until(&at, |shown| shown["steps"][0]["state"] == "running").await;
    place.post(&format!("{at}/pause"), r#"{"why": "look <b>first</b>"}"#).await.ok();
    let lane = "held as a whole: Held held: look <b>first</b>";
    assert_eq!(first(&place, &id), (lane.into(), vec![false]), "it goes on");
    place.post(&format!("{at}/resume"), r#"{"why": "seen"}"#).await.ok();
    assert_eq!(first(&place, &id), (lane.into(), vec![true]));
    place.post(&format!("{at}/pause"), r#"{"why": "again"}"#).await.ok();
    place.post(&format!("{at}/cancel"), r#"{"why": "no"}"#).await.ok();
    assert_eq!(first(&place, &id), (format!("{lane}, Held held: again"), vec![true, true]));
    let page = place.get(&format!("/workflows/{id}")).await;
    assert!(page.text().contains("held: look &lt;b&gt;first&lt;/b&gt;"), "{}", page.text());
    let id = place.start("broken", json!({})).await;
    place.until_workflow(&id, "paused").await;
    let (lane, is_over) = first(&place, &id);
    assert!(lane.starts_with("held as a whole: Held held: ") && lane.contains("`pay`"), "{lane}");
    assert_eq!(is_over, [false]);
    place.close().await;
}

/// A long way on which 120 steps were tried again and 60 were undone, for the last one failed.
fn long_way() -> String {
    let step = |n: usize| {
        let action = if n < 120 { "second, retry: { attempts: 3, delay: 1ms }" } else { "noop" };
        let undo = if (100..160).contains(&n) { ", compensation: { action: noop }" } else { "" };
        format!("  - {{ key: s{n}, action: {action}{undo} }}\n")
    };
    let steps: String = (0..220).map(step).collect();
    format!(
        "workflow: long\nversion: 1.0.0\non_failure: auto_compensate\nsteps:\n{steps}  - {{ key: pay, action: fail, retry: {{ attempts: 1 }} }}\n"
    )
}

#[tokio::test]
async fn of_a_long_way_what_failed_and_what_was_undone_is_drawn_and_the_rest_is_told() {
    let mut place = Place::open();
    place.work(register).await;
    place.define(long_way()).await.ok();
    let id = place.start("long", json!({})).await;
    place.until_workflow(&id, "compensated").await;
    let (browse, now) = (place.site().database.browse().unwrap(), SystemClock::default().now());
    let timeline = answers::timeline(&browse, id.parse().unwrap(), now).unwrap().unwrap();
    let names: Vec<&str> = timeline.lanes.iter().map(|lane| lane.name.as_str()).collect();
    assert_eq!(names.len(), 200);
    assert_eq!((names[0], names[138], names[139]), ("s0", "s138", "pay"), "as it went");
    assert!(names[140..].iter().all(|name| name.starts_with("undo s")), "{names:?}");
    assert_eq!(timeline.left_out.lanes, [(LaneKind::Other, 81)].into());
    let tried = |lane: &&Lane| lane.bars.iter().any(|bar| bar.span == Span::Attempt);
    let tried: Vec<&str> = timeline.lanes.iter().filter(tried).map(|lane| lane.name.as_str()).collect();
    assert_eq!((tried.len(), tried[98], tried[99]), (100, "s98", "pay"), "what failed is looked up first");
    assert_eq!(timeline.left_out.tries, 21);
    let page = place.get(&format!("/workflows/{id}")).await;
    for words in [
        "81 more are not drawn: 81 of the rest.",
        "Attempts and polls of 21 steps are not drawn; their own pages list them.",
    ] {
        assert!(page.text().contains(words), "{words}");
    }
    place.close().await;
}
