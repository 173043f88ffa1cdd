//! Steps made in a transaction of the caller, beside nodes that work on the same database.

mod running;

use engine::{Config, EngineError};
use model::{Fault, NewStep, StepId, limits};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use stepfast_testkit::Nodes;
use store::postgres::tokio_postgres::{Client, GenericClient};
use store::postgres::{EnqueueError, enqueue_in, enqueue_many_in};

fn read(step: &Value) -> NewStep {
    serde_json::from_value(step.clone()).expect("a step as JSON")
}

/// A node nobody works for.
async fn one() -> Nodes {
    Nodes::start(vec![Config { queues: vec!["mail".into()], ..Nodes::config("One") }]).await
}

async fn number(client: &impl GenericClient, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.expect("a number").get(0)
}

/// A row of a step as text, but for what differs by design, and how long after its making it is due.
async fn row_of(client: &Client, id: StepId) -> (String, Option<i64>) {
    let text = "select (to_jsonb(s) - array['id', 'dispatch_group', 'created_at', 'wake_at', 'place'])::text, wake_at - created_at
                  from stepfast.steps s where id = $1";
    let row = client.query_one(text, &[&id.bytes().as_slice()]).await.expect("the step exists");
    (row.get(0), row.get(1))
}

async fn events_of(client: &Client, id: StepId) -> Vec<String> {
    let text = "select concat_ws(' ', e.entity, e.from_state, e.event, e.to_state, e.attempt, e.at = s.created_at)
                  from stepfast.events e join stepfast.steps s on s.id = e.entity_id where s.id = $1 order by seq";
    let rows = client.query(text, &[&id.bytes().as_slice()]).await.expect("a read");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn what_is_enqueued_is_what_a_node_makes() {
    let nodes = one().await;
    let client = nodes.client().await;
    let steps = [
        json!({"action": "ok"}),
        json!({"action": "ok", "priority": "high"}),
        json!({"action": "ok", "priority": "normal", "queue": "mail", "dispatch_group": "gamma"}),
        json!({"action": "ok", "queue": "one"}),
        json!({"action": "ok", "queue": "nowhere", "priority": "high"}),
        json!({"action": "ok", "queue": "nowhere", "max_attempts": 1000}),
        json!({"action": "naïve ✓", "label": "a 'label'\n", "step_key": "", "relatable_type": "order", "relatable_id": "7",
               "arguments": {"b": 1, "a": [1.50, null, "\u{0}"]}}),
        json!({"action": "ok", "arguments": null, "index": 7, "kind": "default", "success": "at_least:2", "children": []}),
        json!({"action": "ok", "arguments": "text", "delay_ms": 90_000, "retry_delay_ms": 10_000}),
        json!({"action": "ok", "delay_ms": 0, "retry_delay_ms": 7, "retry_factor": 1.5, "retry_max_delay_ms": u64::MAX}),
        json!({"action": "ok", "dispatch_after": 5, "retry_max_delay_ms": 3_600_001}),
        json!({"action": "ok", "delay_ms": limits::WAIT_MAX.as_millis() as u64}),
        json!({"action": "ok", "message_group": "käufer 1", "mode": "block_on_error", "sequence": -5}),
        json!({"action": "ok", "mode": "next_on_error", "delay_ms": 90_000}),
        json!({"action": "ok", "message_group": "customer-2", "mode": "immediate", "expires_at": 4_000_000_000_000_000_i64}),
        json!({"action": "ok", "message_group": "customer-2"}),
    ];
    for step in &steps {
        let made = nodes.create(0, json!([step])).await[0];
        let enqueued = enqueue_in(&client, &read(step)).await.expect("it is sound");
        assert_eq!(row_of(&client, enqueued).await, row_of(&client, made).await, "{step}");
        assert_eq!(events_of(&client, enqueued).await, events_of(&client, made).await, "{step}");
        assert_eq!(events_of(&client, made).await, ["step pending 0 t"]);
    }
    let due = json!({"action": "ok", "dispatch_after": 1_000_000 * number(&client, "select extract(epoch from now())::bigint + 900").await});
    let both = [
        nodes.create(0, json!([due])).await[0],
        enqueue_in(&client, &read(&due)).await.expect("it is sound"),
    ];
    let read = |id| nodes.browse().step(id).expect("a read").expect("the step exists").step.wake_at;
    assert_eq!(read(both[0]), read(both[1]));
    assert_eq!(read(both[0]).map(|at| at.0), due["dispatch_after"].as_i64());
}

#[tokio::test]
async fn plain_sql_makes_the_same_rows() {
    let nodes = one().await;
    let client = nodes.client().await;
    client.batch_execute("set search_path = ''").await.expect("a setting");
    let calls = [
        ("stepfast.enqueue('ok')", json!({"action": "ok"})),
        (
            "stepfast.enqueue('ok', '{\"a\": [1, 2]}', 'nowhere', 'high', 'beta', 'key', 'label', interval '90 s', null, 5,
                'order', '7', interval '7 ms', 1.5, interval '2 years')",
            json!({"action": "ok", "arguments": {"a": 1}, "queue": "nowhere", "priority": "high", "step_key": "key",
                   "label": "label", "delay_ms": 90_000, "max_attempts": 5, "relatable_type": "order", "relatable_id": "7",
                   "retry_delay_ms": 7, "retry_factor": 1.5, "retry_max_delay_ms": u64::MAX}),
        ),
        (
            "stepfast.enqueue('ok', dispatch_after => '-infinity', queue => 'mail', arguments => 'null')",
            json!({"action": "ok", "dispatch_after": 0, "queue": "mail"}),
        ),
        ("stepfast.enqueue_many('[{\"action\": \"ok\", \"delay_ms\": 90000}]')", json!({"action": "ok", "delay_ms": 90_000})),
    ];
    for (call, mut step) in calls {
        if step["arguments"].is_object() {
            step["arguments"] = serde_json::from_str("{\"a\": [1, 2]}").expect("JSON");
        }
        let text = step.to_string().replace("{\"a\":[1,2]}", "{\"a\": [1, 2]}");
        let made =
            nodes.engine(0).create(vec![serde_json::from_str(&text).expect("a step")]).await.expect("sound")
                [0]
            .id;
        let row = client.query_one(&format!("select uuid_send({call})"), &[]).await.expect(call);
        let id = StepId::from_bytes(row.get::<_, &[u8]>(0).try_into().expect("16 bytes"));
        assert_eq!(row_of(&client, id).await, row_of(&client, made).await, "{call}");
    }
}

#[tokio::test]
async fn ids_rise_and_groups_go_round_for_nodes_and_callers_alike() {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    nodes.until("each has half of the groups", |n| n.spread() == [5, 5]).await;
    let client = nodes.client().await;
    let ok = NewStep::of("nobody");
    let mut ids = Vec::new();
    for n in 0..6 {
        ids.extend(nodes.create(n % 2, json!([{"action": "nobody"}, {"action": "nobody"}])).await);
        ids.push(enqueue_in(&client, &ok).await.expect("it is sound"));
        ids.extend(enqueue_many_in(&client, &[ok.clone(), ok.clone()]).await.expect("they are sound"));
    }
    let enqueued: Vec<StepId> = ids.chunks(5).flat_map(|five| five[2..].to_vec()).collect();
    assert!(enqueued.is_sorted(), "{enqueued:?}");
    assert!(enqueued.iter().all(|id| id.0.get_version_num() == 7), "{enqueued:?}");
    let groups: BTreeMap<_, usize> = nodes.steps().into_iter().fold(BTreeMap::new(), |mut n, (group, _)| {
        *n.entry(group).or_default() += 1;
        n
    });
    assert_eq!(groups.into_values().collect::<Vec<_>>(), [3; 10]);
}

/// What a node says of the same request, and what the function says.
async fn refused(nodes: &Nodes, client: &Client, step: &NewStep) -> [Vec<Fault>; 2] {
    let EngineError::Invalid(by_node) =
        nodes.engine(0).create(vec![step.clone()]).await.expect_err("it is not sound")
    else {
        panic!("the node refuses it for itself")
    };
    match enqueue_in(client, step).await {
        Err(EnqueueError::Invalid(faults)) => [by_node, faults],
        other => panic!("{other:?} instead of {by_node:?}"),
    }
}

#[tokio::test]
async fn what_a_node_refuses_is_refused_in_the_same_words() {
    let nodes = one().await;
    let client = nodes.client().await;
    let long = "ä".repeat(128);
    let steps = [
        json!({"action": ""}),
        json!({"action": " \n\t"}),
        json!({"action": long, "step_key": long, "label": long, "queue": long, "relatable_type": long, "relatable_id": long}),
        json!({"action": "ok", "arguments": "x".repeat(limits::PAYLOAD_BYTES_MAX)}),
        json!({"action": "ok", "max_attempts": 0}),
        json!({"action": "ok", "max_attempts": 1001, "priority": "low", "dispatch_group": "nowhere", "retry_factor": 0.5}),
        json!({"action": "ok", "retry_factor": 100.5}),
        json!({"action": "ok", "delay_ms": 1, "dispatch_after": 1}),
        json!({"action": "ok", "delay_ms": limits::WAIT_MAX.as_millis() as u64 + 1}),
        json!({"action": "ok", "delay_ms": u64::MAX}),
        json!({"action": "ok", "dispatch_after": i64::MAX}),
        json!({"action": "ok", "index": 1_000_001}),
        json!({"action": "ok", "kind": "other"}),
        json!({"action": "ok", "success": "some"}),
        json!({"action": "a\u{0}b"}),
        json!({"action": "ok", "mode": "fifo", "message_group": ""}),
        json!({"action": "ok", "mode": "block_on_error", "message_group": "a", "dispatch_group": "alpha"}),
        json!({"action": "ok", "mode": "block_on_error", "dispatch_group": "nowhere", "expires_at": 5}),
        json!({"action": "ok", "message_group": long}),
    ];
    for step in &steps {
        let [by_node, faults] = refused(&nodes, &client, &read(step)).await;
        assert_eq!(faults, by_node, "{step}");
    }
    assert_eq!(number(&client, "select count(*) from stepfast.steps").await, 0);
}

#[tokio::test]
async fn what_only_a_node_can_make_is_refused_and_so_is_nonsense() {
    let nodes = one().await;
    let client = nodes.client().await;
    let tree = NewStep { children: vec![NewStep::of("ok")], ..NewStep::of("ok") };
    let resolver = NewStep { kind: Some("resolve-exception".into()), ..NewStep::of("ok") };
    let child = NewStep { parent_step_id: Some(StepId::of(1)), ..NewStep::of("ok") };
    let told = enqueue_many_in(&client, &[NewStep::of("ok"), tree, resolver, child])
        .await
        .expect_err("they are refused");
    let told = told.to_string();
    for field in ["steps[1].children: ", "steps[2].kind: ", "steps[3].parent_step_id: "] {
        assert!(told.contains(field) && told.contains("create trees with `POST /v1/steps`"), "{told}");
    }
    let many = vec![NewStep::of("ok"); limits::STEPS_PER_CREATE_MAX + 1];
    assert!(
        enqueue_many_in(&client, &many).await.expect_err("too many").to_string().contains("at most 10000")
    );
    let calls = [
        ("stepfast.enqueue('')", "action: is empty; name the action a worker runs, for example `echo`"),
        ("stepfast.enqueue(null)", "action: is empty; name the action a worker runs, for example `echo`"),
        ("stepfast.enqueue('ok', delay => '-1 s')", "delay: is negative; use zero or more"),
        (
            "stepfast.enqueue('ok', delay => '2 years')",
            "delay: is too far away; use at most 366 days from now",
        ),
        (
            "stepfast.enqueue('ok', dispatch_after => 'infinity')",
            "dispatch_after: is too far away; use at most 366 days from now",
        ),
        (
            "stepfast.enqueue('ok', delay => '1 s', dispatch_after => now())",
            "delay: says twice when the step is due; write `dispatch_after` or `delay`, not both",
        ),
        ("stepfast.enqueue_many('{}')", "steps: is not a list; write an array of steps"),
        ("stepfast.enqueue_many('[7]')", "steps[0]: is not a step; write an object with at least `action`"),
        ("stepfast.enqueue_many('[{\"action\": 7}]')", "steps[0].action: is not a text; write a string"),
        (
            "stepfast.enqueue_many('[{\"action\": \"a\", \"delay_ms\": -1}]')",
            "steps[0].delay_ms: is not a whole number of zero or more; write one",
        ),
        (
            "stepfast.enqueue_many('[{\"action\": \"a\"}, {\"actoin\": \"a\"}]')",
            "steps[1].actoin: is not a field of a step; leave it out",
        ),
    ];
    for (call, told) in calls {
        let error = client.query(&format!("select {call}"), &[]).await.expect_err(call);
        let error = error.as_db_error().expect("the server says so");
        assert_eq!((error.code().code(), error.message()), ("22023", told), "{call}");
    }
    assert_eq!(number(&client, "select count(*) from stepfast.steps").await, 0);
    let took = number(&client, "select is_called::int::bigint from stepfast.roots").await;
    assert_eq!(took, 0, "what is refused takes no place in the round");
}
