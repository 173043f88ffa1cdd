//! How paths part and meet again.

use super::page::Pattern;
use super::play::Play;
use serde_json::json;

const OFF: &str = "K not_on_active_branch";

pub async fn sequence(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    assert_eq!(play.flow(), "running: reserve R", "the second waits");
    play.done("reserve").await;
    assert_eq!(play.flow(), "running: reserve C, charge R");
    play.done("charge").await;
    assert_eq!(play.flow(), "succeeded: reserve C, charge C");
}

pub async fn parallel_split(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({})).await;
    assert_eq!(play.in_hand(), "check");
    play.done("check").await;
    assert_eq!(play.in_hand(), "bill pack", "at the same time");
    play.done("bill").await;
    play.done("pack").await;
    assert_eq!(play.flow(), "succeeded: check C, pack C, bill C");
}

pub async fn synchronization(pattern: &Pattern) {
    for (first, second) in [("stock", "credit"), ("credit", "stock")] {
        let mut play = Play::begin(pattern, json!({})).await;
        assert_eq!(play.in_hand(), "credit stock");
        play.done(first).await;
        assert_eq!(play.in_hand(), second, "one of the two is not enough");
        play.done(second).await;
        assert_eq!(play.in_hand(), "decide");
        play.done("decide").await;
        assert_eq!(play.flow(), "succeeded: stock C, credit C, decide C");
    }
}

pub async fn exclusive_choice(pattern: &Pattern) {
    for (weight, taken, flow) in [
        (40, "truck", format!("succeeded: route C, truck C, post {OFF}")),
        (2, "post", format!("succeeded: route C, truck {OFF}, post C")),
    ] {
        let mut play = Play::begin(pattern, json!({"weight": weight})).await;
        assert_eq!(play.in_hand(), taken);
        play.done(taken).await;
        assert_eq!(play.flow(), flow);
    }
}

pub async fn simple_merge(pattern: &Pattern) {
    for (way, taken) in [("freight", "truck"), ("parcel", "post")] {
        let mut play = Play::begin(pattern, json!({"way": way})).await;
        assert_eq!(play.in_hand(), taken);
        play.done(taken).await;
        assert_eq!(play.in_hand(), "confirm", "nobody waits for the other way");
        play.done("confirm").await;
        assert!(play.flow().starts_with("succeeded: "), "{}", play.flow());
    }
}

pub async fn multi_choice(pattern: &Pattern) {
    for (by, taken) in [
        (json!(["mail"]), "mail"),
        (json!(["call", "mail"]), "call mail"),
        (json!(["mail", "text", "call"]), "call mail text"),
    ] {
        let mut play = Play::begin(pattern, json!({"by": by})).await;
        assert_eq!(play.in_hand(), taken);
        for key in taken.split(' ') {
            play.done(key).await;
        }
        let state = |key: &str| if taken.contains(key) { "C" } else { OFF };
        let ways = ["mail", "text", "call"].map(|key| format!("{key} {}", state(key)));
        assert_eq!(play.flow(), format!("succeeded: tell C, {}", ways.join(", ")));
    }
}

pub async fn structured_synchronizing_merge(pattern: &Pattern) {
    let mut play = Play::begin(pattern, json!({"by": ["mail", "call"]})).await;
    assert_eq!(play.in_hand(), "call mail");
    play.done("call").await;
    assert_eq!(play.in_hand(), "mail", "it waits for the second that was taken");
    play.done("mail").await;
    assert_eq!(play.in_hand(), "note", "and not for the one that was not");
    play.done("note").await;
    assert_eq!(play.flow(), format!("succeeded: tell C, mail C, text {OFF}, call C, note C"));
}

pub async fn local_synchronizing_merge(pattern: &Pattern) {
    let mut all = Play::begin(pattern, json!({"ways": ["print", "bind", "scan"]})).await;
    for (key, then) in
        [("scan", "bind print"), ("print", "bind"), ("bind", "pack"), ("pack", "send"), ("send", "")]
    {
        all.done(key).await;
        assert_eq!(all.in_hand(), then, "after {key}");
    }
    assert_eq!(all.flow(), "succeeded: pick C, print C, bind C, scan C, pack C, send C");

    let mut one = Play::begin(pattern, json!({"ways": ["bind", "scan"]})).await;
    one.done("bind").await;
    assert_eq!(one.in_hand(), "pack scan", "the first merge waits for `bind` alone");
    one.done("pack").await;
    assert_eq!(one.in_hand(), "scan", "the second still waits");
    one.done("scan").await;
    assert_eq!(one.in_hand(), "send");

    let mut past = Play::begin(pattern, json!({"ways": ["scan"]})).await;
    past.done("scan").await;
    assert_eq!(past.in_hand(), "send");
    past.done("send").await;
    assert_eq!(
        past.flow(),
        format!("succeeded: pick C, print {OFF}, bind {OFF}, scan C, pack {OFF}, send C"),
        "a merge that no way leads to is passed by"
    );
}
