//! What channels take, when, and what they read of it.

use super::*;
use model::Sealed;
use serde_json::{Value, json};

fn channel(kind: ChannelKind) -> Channel {
    Channel { per_minute: 2, ..Channel::new("ops", kind, "https://example.com/hook") }
}

fn notice(kind: &str, severity: Severity) -> Notice {
    Notice {
        kind: kind.into(),
        audience: Audience::Admin,
        severity,
        entity_type: "workflow".into(),
        entity_id: "w1".into(),
        user: Some("ada".into()),
        labels: [("team".to_string(), "a".to_string())].into(),
        title: "order failed".into(),
        text: "a < b & c".into(),
        key: "k".into(),
        at: Timestamp(0),
        data: json!({"step": "pay"}),
    }
}

/// Sends in seconds, when the same was told, and what follows at 100 s.
const VERDICTS: &str = "
    -          -    send
    10,20      -    send
    41         -    send
    41,60      -    gather
    40,60      -    send
    41,60,99   -    gather
    -          99   quiet
    41,60      70   quiet
    -          69   send";

#[test]
fn a_notice_is_sent_gathered_or_told_already() {
    let channel = Channel { quiet: Duration::from_secs(31), ..channel(ChannelKind::Webhook) };
    let seconds = |text: &str| text.parse::<i64>().ok().map(|n| Timestamp(n * 1_000_000));
    for line in VERDICTS.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let sends: Vec<Timestamp> = words[0].split(',').filter_map(seconds).collect();
        let view = View { channel: &channel, sends: &sends, told_at: seconds(words[1]) };
        let told = format!("{:?}", judge(&view, Timestamp(100_000_000))).to_lowercase();
        assert_eq!(told, words[2], "{line}");
    }
    let sends = [Timestamp(41_000_000), Timestamp(60_000_000)];
    assert_eq!(opens_at(&sends, 2, Timestamp(100_000_000)), Some(Timestamp(101_000_000)));
    assert_eq!(opens_at(&sends, 3, Timestamp(100_000_000)), None);
}

/// Users whose notices were more than a channel takes were never told by name.
#[test]
fn what_is_for_a_user_waits_and_is_never_gathered() {
    let channel = Channel { audience: Audience::User, ..channel(ChannelKind::Webhook) };
    let at = |seconds: i64| Timestamp(seconds * 1_000_000);
    let mut sends = Vec::new();
    for expected in ["send", "send", "160", "160", "220", "220", "280"] {
        let view = View { channel: &channel, sends: &sends, told_at: None };
        let (word, sent_at) = match judge(&view, at(100)) {
            Verdict::Send => ("send".to_string(), at(100)),
            Verdict::Delay(until) => ((until.0 / 1_000_000).to_string(), until),
            other => panic!("{other:?}"),
        };
        assert_eq!(word, expected);
        sends.push(sent_at);
    }
    let told = View { channel: &channel, sends: &sends, told_at: Some(at(280)) };
    assert_eq!(judge(&told, at(101)), Verdict::Quiet, "one that waits is not told twice");
}

#[test]
fn a_channel_takes_what_it_asks_for() {
    let plain = channel(ChannelKind::Webhook);
    let of = |change: &dyn Fn(&mut Channel)| {
        let mut channel = plain.clone();
        change(&mut channel);
        refusal(&channel, &notice("workflow.failed", Severity::Medium)).unwrap_or_else(|| "taken".into())
    };
    assert_eq!(of(&|_| {}), "taken");
    assert_eq!(of(&|c| c.active = false), "it is switched off");
    assert_eq!(of(&|c| c.audience = Audience::User), "it is for the audience `user`");
    assert_eq!(of(&|c| c.min_severity = Severity::Medium), "taken");
    assert_eq!(of(&|c| c.min_severity = Severity::High), "it takes nothing below `high`");
    assert_eq!(of(&|c| c.kinds = vec!["step.failed".into(), "workflow.*".into()]), "taken");
    assert_eq!(of(&|c| c.kinds = vec!["step.failed".into()]), "it takes only step.failed");
    assert_eq!(of(&|c| c.labels = [("team".to_string(), "a".to_string())].into()), "taken");
    assert_eq!(
        of(&|c| c.labels = [("team".to_string(), "b".to_string())].into()),
        "it takes only what has its labels"
    );
    let only = Channel { kinds: vec!["step.failed".into()], ..plain.clone() };
    assert!(takes(&only, &notice(TEST, Severity::Low)) && takes(&only, &notice(GATHERED, Severity::Low)));
    assert!(may_take(&only, Audience::Admin, "step.failed", Severity::Low));
    assert!(!may_take(&only, Audience::Admin, "workflow.failed", Severity::Low));
}

#[test]
fn what_is_too_much_is_counted_and_told_as_one() {
    let mut waiting = None;
    for n in 0..20 {
        let kind = if n % 2 == 0 { "step.failed".into() } else { format!("kind.{n:02}") };
        waiting = Some(gather(waiting, &notice(&kind, Severity::Low), Timestamp(n)));
    }
    waiting = Some(gather(waiting, &notice("step.failed", Severity::High), Timestamp(99)));
    for n in 0..10 {
        waiting = Some(gather(waiting, &notice(&format!("more.{n}"), Severity::Low), Timestamp(99)));
    }
    let waiting = waiting.unwrap();
    assert_eq!((waiting.n, waiting.since, waiting.severity), (31, Timestamp(0), Severity::High));
    assert_eq!((waiting.kinds["step.failed"], waiting.kinds["other"]), (11, 5));
    assert_eq!(waiting.kinds.values().sum::<u64>(), 31, "none is lost");
    let more = gather(None, &notice("yet.another", Severity::Critical), Timestamp(-3));
    let both = together(Some(waiting.clone()), more.clone());
    assert_eq!((both.n, both.since, both.severity), (32, Timestamp(-3), Severity::Critical));
    assert_eq!((both.kinds["other"], both.kinds.values().sum::<u64>()), (6, 32));
    assert_eq!(together(None, more.clone()), more);
    let told = summary(&channel(ChannelKind::Chat), &waiting, Timestamp(7));
    assert_eq!((told.title.as_str(), told.severity), ("and 31 more notices", Severity::High));
    assert!(
        told.text.contains("11 × step.failed") && told.text.contains("sent 2 within a minute"),
        "{}",
        told.text
    );
    assert!(takes(&channel(ChannelKind::Chat), &told));
}

#[test]
fn a_webhook_is_told_all_as_a_cloud_event() {
    let body = letter(&channel(ChannelKind::Webhook), &notice("workflow.failed", Severity::High), "n1");
    let read: Value = serde_json::from_str(&body.body).unwrap();
    assert_eq!(body.content_type, "application/cloudevents+json");
    assert_eq!(
        read,
        json!({"specversion": "1.0", "id": "n1", "source": "/v1/workflows/w1", "subject": "w1",
               "type": "stepfast.workflow.failed", "time": "1970-01-01T00:00:00.000000Z",
               "datacontenttype": "application/json",
               "data": {"severity": "high", "entity": {"type": "workflow", "id": "w1"}, "user": "ada",
                        "labels": {"team": "a"}, "title": "order failed", "text": "a < b & c", "key": "k",
                        "details": {"step": "pay"}}})
    );
}

#[test]
fn a_user_is_told_one_sentence_and_no_more() {
    let told = Notice { audience: Audience::User, ..notice("workflow.failed", Severity::High) };
    let channel = Channel { audience: Audience::User, ..channel(ChannelKind::Webhook) };
    let read: Value = serde_json::from_str(&letter(&channel, &told, "n1").body).unwrap();
    assert_eq!(
        read["data"],
        json!({"type": "workflow.failed", "user": "ada", "entity": {"type": "workflow", "id": "w1"},
               "sentence": "a < b & c", "at": "1970-01-01T00:00:00.000000Z"})
    );
    assert!(!read.to_string().contains("order failed") && !read.to_string().contains("pay"));
    let chat = Channel { kind: ChannelKind::Chat, ..channel };
    let read: Value = serde_json::from_str(&letter(&chat, &told, "n1").body).unwrap();
    assert_eq!(read["text"], "a &lt; b &amp; c");
    assert_eq!(read["blocks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_chat_is_told_in_text_and_blocks() {
    let body = letter(&channel(ChannelKind::Chat), &notice("workflow.failed", Severity::High), "n1");
    let read: Value = serde_json::from_str(&body.body).unwrap();
    assert_eq!(body.content_type, "application/json");
    assert_eq!(read["text"], "[high] order failed\na &lt; b &amp; c");
    assert_eq!(
        read["blocks"],
        json!([
            {"type": "header", "text": {"type": "plain_text", "text": "order failed"}},
            {"type": "section", "text": {"type": "mrkdwn", "text": "a &lt; b &amp; c"}},
            {"type": "context", "elements": [
                {"type": "mrkdwn", "text": "high · workflow w1"},
                {"type": "mrkdwn", "text": "workflow.failed · 1970-01-01T00:00:00.000000Z"},
            ]},
        ])
    );
}

#[test]
fn what_is_sealed_is_told_to_nobody() {
    let sealed = Sealed::written("k1", model::StepId::of(7).0, "AbC");
    let told = Notice {
        title: format!("t {sealed}"),
        text: format!("x {sealed}"),
        data: json!({"d": sealed}),
        ..notice("step.failed", Severity::Low)
    };
    for kind in [ChannelKind::Webhook, ChannelKind::Chat] {
        let body = letter(&channel(kind), &told, "n1").body;
        assert!(body.contains("[secret]") && !Sealed::is_in(&body), "{body}");
    }
}

#[test]
fn what_is_too_long_is_cut() {
    let long = Notice {
        title: "ä".repeat(1_000),
        text: "x".repeat(100_000),
        key: "k".repeat(1_000),
        data: json!("d".repeat(100_000)),
        ..notice("step.failed", Severity::Low)
    };
    let cut = bounded(long.clone());
    assert_eq!((cut.title.chars().count(), cut.text.len()), (limits::NOTICE_TITLE_CHARS_MAX, 2_802));
    assert!(cut.title.ends_with('…') && cut.key.len() == 64 && cut.data.to_string().len() < 100);
    assert_eq!(bounded(long).key, cut.key, "the same key stays the same");
    assert_eq!(bounded(notice("a", Severity::Low)), notice("a", Severity::Low));
}

#[test]
fn every_fault_of_a_channel_is_told_with_what_to_write() {
    assert_eq!(faults(&channel(ChannelKind::Webhook)), []);
    let bad = Channel {
        name: "a b".into(),
        url: "ftp://x".into(),
        kinds: vec!["a b".into(), "step.*".into()],
        labels: [(String::new(), "x".to_string())].into(),
        per_minute: 0,
        quiet: Duration::from_secs(31 * 86_400),
        ..channel(ChannelKind::Webhook)
    };
    let told: Vec<String> = faults(&bad).iter().map(|fault| fault.field.clone()).collect();
    assert_eq!(told, ["name", "url", "kinds[0]", "labels", "per_minute", "quiet"]);
    let chat = Channel { url: "https://example.com/x?token=1".into(), ..channel(ChannelKind::Chat) };
    let told = faults(&chat).iter().map(ToString::to_string).collect::<String>();
    assert!(told.contains("goes on behind its path") && !told.contains("token"), "{told}");
}
