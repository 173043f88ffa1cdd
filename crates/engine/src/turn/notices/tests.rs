//! What a turn owes to channels.

use super::*;

fn of(name: &str, audience: Audience) -> Arc<Known> {
    let channel = Channel { audience, ..Channel::new(name, ChannelKind::Webhook, "https://example.com") };
    let (secrets, created_at, created_by) = (Vec::new(), Timestamp(0), String::new());
    let stored = record::Stored { channel, secrets, created_at, created_by, revision: 0 };
    known(stored, &Keyring::default(), &[DispatchGroup::new("alpha")])
}

/// Above 10,000 in one turn they were dropped with a line in the log.
#[test]
fn what_a_turn_owes_is_told_or_counted_to_the_last() {
    let all = vec![of("ops", Audience::Admin), of("people", Audience::User)];
    let mut notices = Notices { all, ..Notices::default() };
    let n = 10_050;
    for (key, audience) in (0..n).flat_map(|key| [(key, Audience::Admin), (key, Audience::User)]) {
        notices.owe(Notice {
            kind: "workflow.failed".into(),
            audience,
            severity: Severity::High,
            entity_type: "workflow".into(),
            entity_id: "w".into(),
            user: None,
            labels: BTreeMap::new(),
            title: "t".into(),
            text: "t".into(),
            key: format!("k{key}"),
            at: Timestamp(7),
            data: serde_json::Value::Null,
        });
    }
    let one_by_one = |name: &str| notices.owed.iter().filter(|(to, _)| to.channel.name == name).count();
    let most = limits::NOTICES_PER_MINUTE_MAX as usize;
    let beyond = notices.owing["ops"].beyond.as_ref().expect("it is a flood");
    assert_eq!((one_by_one("ops"), beyond.n), (most, (n - most) as u64));
    assert_eq!(beyond.kinds["workflow.failed"], beyond.n);
    assert_eq!((one_by_one("people"), notices.owing["people"].beyond.is_some()), (n, false));
}
