//! Steps of which only one is done at a time.

use super::page::Pattern;
use super::play::Play;
use serde_json::json;

pub async fn interleaved_parallel_routing(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({"patient": "ada"})).await;
    assert_eq!(play.flow(), "running: blood R, x-ray R", "`talk` does not even stand in line");
    let mut order = Vec::new();
    for _ in 0..3 {
        let key = play.in_hand();
        assert!(!key.contains(' '), "one at a time, and not: {key}");
        order.push(key.clone());
        play.done(&key).await;
    }
    let place = |key: &str| order.iter().position(|done| done == key).expect("it was done");
    assert!(place("blood") < place("talk"), "{order:?}");
    order.sort();
    assert_eq!(order, ["blood", "talk", "x-ray"], "each of them once");
    assert_eq!(play.in_hand(), "letter");
    play.done("letter").await;
    assert_eq!(play.flow(), "succeeded: blood C, x-ray C, talk C, letter C");
}

pub async fn interleaved_routing(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({"car": "red"})).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let key = play.in_hand();
        assert!(["brakes", "lights", "tyres"].contains(&&*key), "one at a time, and not: {key}");
        assert!(!seen.contains(&key), "`{key}` a second time");
        play.done(&key).await;
        seen.push(key);
    }
    assert_eq!(play.in_hand(), "report");
    play.done("report").await;
    assert_eq!(play.flow(), "succeeded: brakes C, lights C, tyres C, report C");
}

pub async fn critical_section(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({"pier": "east"})).await;
    assert_eq!(play.in_hand(), "load", "`unload` needs the same crane");
    let second = play.again(json!({"pier": "east"})).await;
    assert_eq!(play.in_hand(), "load", "and so does the other run");
    let elsewhere = play.again(json!({"pier": "west"})).await;
    assert_eq!(play.in_hand(), "load load", "another crane is another matter");
    // The oldest is the one of the first run.
    play.done("load").await;
    assert_eq!(play.in_hand(), "load sail unload", "what is no part of it goes on beside");
    play.done("unload").await;
    assert_eq!(play.in_hand(), "leave load load sail", "the crane is free for the other run");
    for key in ["sail", "leave"] {
        play.done(key).await;
    }
    assert_eq!(play.flow(), "succeeded: load C, sail C, unload C, leave C");
    for key in ["load", "load", "sail", "sail", "unload", "unload", "leave", "leave"] {
        play.done(key).await;
    }
    for id in [second, elsewhere] {
        assert_eq!(play.stage.flow(id), "succeeded: load C, sail C, unload C, leave C");
    }
}
