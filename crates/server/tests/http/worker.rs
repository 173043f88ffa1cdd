//! The worker protocol as a worker in another process speaks it.

use crate::place::{Answer, Place, ask, peer};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stepfast_server as server;
use worker::{Context, Link, Registry, Remote, Runner, RunnerConfig, retry_after, skip};

async fn call(place: &Place, call: &str, body: Value) -> Answer {
    place.post(&format!("/v1/worker/{call}"), body.to_string()).await
}

/// A session for `work`, and what it is given.
async fn claim(place: &Place, session: Option<&Value>, received: u64) -> Value {
    let body = json!({"session": session, "actions": ["work"], "capacity": 2, "received": received, "wait_ms": 5000});
    call(place, "claim", body).await.ok()
}

async fn report(place: &Place, session: &Value, items: Value) -> Value {
    call(place, "report", json!({"session": session, "reports": items})).await.ok()["answers"].clone()
}

#[tokio::test]
async fn a_worker_claims_runs_and_reports() {
    let place = Place::open();
    let ids = place.create(r#"[{"action": "work", "arguments": {"n": 7}}]"#).await;
    let page = claim(&place, None, 0).await;
    assert_eq!((&page["number"], &page["lease_ms"]), (&json!(1), &json!(15000)));
    let given = &page["claims"][0];
    assert_eq!(
        (&given["step"], &given["attempt"], &given["arguments"]["n"]),
        (&json!(ids[0]), &json!(1), &json!(7))
    );
    let item = json!([{"step": ids[0], "attempt": 1, "outcome": "complete", "response": {"n": 14}, "log": ["hello"]}]);
    assert_eq!(report(&place, &page["session"], item.clone()).await, json!([{"answer": "applied"}]));
    let step = place.step(&ids[0]).await;
    assert_eq!((&step["state"], &step["response"]["n"]), (&json!("completed"), &json!(14)));
    assert_eq!((&step["log"][0]["text"], &step["log"][0]["attempt"]), (&json!("hello"), &json!(1)));
    let late = report(&place, &page["session"], item).await;
    assert_eq!(late[0]["answer"], "late");
    assert!(late[0]["detail"].as_str().unwrap().contains("on record"));
    place.close().await;
}

/// Whatever a worker calls for an attempt can be seen below it: in the caller's trace, or in one of the step's own.
#[tokio::test]
async fn a_worker_is_told_the_span_of_its_attempt() {
    let place = Place::open();
    let [trace, above] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
    let request = Request::post("/v1/steps")
        .header("host", "localhost:7837")
        .header("content-type", "application/json")
        .header("traceparent", format!("00-{trace}-{above}-01"))
        .header("tracestate", "vendor=7");
    let made = place.send(request.body(r#"{"steps": [{"action": "work"}]}"#.into()).unwrap()).await.ok();
    let id: model::StepId = made["steps"][0]["id"].as_str().unwrap().parse().unwrap();
    let page = claim(&place, None, 0).await;
    let span = |attempt| format!("00-{trace}-{:016x}-01", model::attempt_span(id, attempt));
    let given = &page["claims"][0];
    assert_eq!(
        (&given["traceparent"], &given["tracestate"]),
        (&json!(span(1)), &json!("vendor=7")),
        "{given}"
    );
    let item = json!([{"step": id.to_string(), "attempt": 1, "outcome": "retry", "after_ms": 0}]);
    report(&place, &page["session"], item).await;
    let again = claim(&place, Some(&page["session"]), page["number"].as_u64().unwrap()).await;
    assert_eq!(again["claims"][0]["traceparent"], json!(span(2)), "{again}");
    place.create(r#"[{"action": "work"}]"#).await;
    let own = claim(&place, Some(&page["session"]), again["number"].as_u64().unwrap()).await;
    let own = own["claims"][0]["traceparent"].as_str().unwrap();
    assert!(own.starts_with("00-") && !own.contains(trace), "{own}");
    place.close().await;
}

#[tokio::test]
async fn a_worker_is_given_what_is_secret_and_nobody_else() {
    let place = Place::open();
    let yaml =
        "workflow: pay\nversion: 1.0.0\nsecrets: [input.card]\nsteps:\n  - { key: pay, action: work }\n";
    place.define(yaml).await.ok();
    let id = place.start("pay", json!({"card": "4111222233334444", "n": 1})).await;
    let page = claim(&place, None, 0).await;
    let given = &page["claims"][0];
    assert_eq!(given["arguments"], json!({"card": "4111222233334444", "n": 1}));
    let told = "not with 4111222233334444";
    let item =
        json!([{"step": given["step"], "attempt": 1, "outcome": "fail", "message": told, "log": [told]}]);
    assert_eq!(report(&place, &page["session"], item).await, json!([{"answer": "applied"}]));
    let shown = place.until_workflow(&id, "failed").await;
    assert_eq!(shown["message"], "step `pay` failed: not with [secret]");
    let step = place.step(given["step"].as_str().unwrap()).await;
    assert_eq!(
        (&step["error_message"], &step["log"][0]["text"]),
        (&json!("not with [secret]"), &json!("not with [secret]"))
    );
    place.close().await;
}

#[tokio::test]
async fn every_outcome_can_be_reported_and_each_item_is_answered_on_its_own() {
    let place = Place::open();
    let outcomes = json!([
        {"outcome": "retry", "after_ms": 60000, "message": "busy"},
        {"outcome": "throttle", "after_ms": 60000},
        {"outcome": "skip", "why": "empty"},
        {"outcome": "stop", "why": "closed"},
        {"outcome": "end", "why": "enough"},
        {"outcome": "fail", "message": "no", "trace": "there", "notify": false},
        {"outcome": "resolved", "why": "mended"},
        {"outcome": "look_again", "at": "verify 1", "response": 3, "after_ms": 60000},
        {"outcome": "complete", "children": [{"action": "nobody"}]},
        {"outcome": "done"},
        {"outcome": "throttle"},
        {"outcome": "complete", "respons": 1},
    ]);
    let outcomes = outcomes.as_array().unwrap();
    let steps: Vec<Value> = outcomes.iter().map(|_| json!({"action": "work"})).collect();
    place.create(&json!(steps).to_string()).await;
    let body = json!({"actions": ["work"], "capacity": 100, "wait_ms": 5000});
    let page = call(&place, "claim", body).await.ok();
    let claims = page["claims"].as_array().unwrap();
    assert_eq!(claims.len(), outcomes.len());
    let items: Vec<Value> = claims
        .iter()
        .zip(outcomes)
        .map(|(claim, outcome)| {
            let mut item = outcome.clone();
            item["step"] = claim["step"].clone();
            item["attempt"] = claim["attempt"].clone();
            item
        })
        .collect();
    let answers = report(&place, &page["session"], json!(items)).await;
    let mut states = Vec::new();
    for (claim, answer) in claims.iter().zip(answers.as_array().unwrap()) {
        let step = place.step(claim["step"].as_str().unwrap()).await;
        states.push(format!("{} {}", answer["answer"].as_str().unwrap(), step["state"].as_str().unwrap()));
    }
    let expected = [
        "applied pending",
        "applied pending",
        "applied skipped",
        "applied stopped",
        "applied skipped",
        "applied failed",
        "applied completed",
        "applied pending",
        "applied running",
        "refused running",
        "refused running",
        "refused running",
    ];
    assert_eq!(states, expected);
    assert!(answers[9]["detail"].as_str().unwrap().starts_with("`done` is not an outcome; write complete"));
    assert_eq!(answers[10]["detail"], "`throttle` needs `after_ms`");
    assert!(answers[11]["detail"].as_str().unwrap().contains("unknown field `respons`"));
    place.close().await;
}

#[tokio::test]
async fn an_answer_that_was_lost_on_the_way_comes_again() {
    let place = Place::open();
    place.create(r#"[{"action": "work"}]"#).await;
    let first = claim(&place, None, 0).await;
    let again = claim(&place, Some(&first["session"]), 0).await;
    assert_eq!(again["claims"], first["claims"]);
    let beaten =
        call(&place, "heartbeat", json!({"session": first["session"], "received": 0, "held": []})).await.ok();
    assert_eq!(beaten["lost"], json!([]));
    let id = first["claims"][0]["step"].as_str().unwrap();
    assert_eq!(place.step(id).await["lost_attempts"], 0, "what did not arrive is not lost");
    place.close().await;
}

#[tokio::test]
async fn a_heartbeat_tells_what_is_lost_and_loses_what_it_does_not_name() {
    let place = Place::open();
    let ids = place.create(r#"[{"action": "work"}, {"action": "work"}]"#).await;
    let mut page = claim(&place, None, 0).await;
    let mut claims = page["claims"].as_array().unwrap().clone();
    while claims.len() < 2 {
        page = claim(&place, Some(&page["session"]), page["number"].as_u64().unwrap()).await;
        claims.extend(page["claims"].as_array().unwrap().clone());
    }
    let cancel =
        place.post(&format!("/v1/steps/{}/cancel", ids[0]), json!({"why": "test"}).to_string()).await;
    assert!(cancel.status.is_success(), "{}", cancel.text());
    let named = json!([{"step": ids[0], "attempt": 1}]);
    let body = json!({"session": page["session"], "received": page["number"], "held": named});
    assert_eq!(call(&place, "heartbeat", body).await.ok()["lost"], named);
    let step = place.step(&ids[1]).await;
    assert_eq!(step["lost_attempts"], 1, "{step}");
    place.close().await;
}

#[tokio::test]
async fn who_leaves_gives_back_at_no_cost() {
    let place = Place::open();
    let ids = place.create(r#"[{"action": "work"}]"#).await;
    let page = claim(&place, None, 0).await;
    call(&place, "leave", json!({"session": page["session"], "give_back": true})).await.ok();
    let step = place.step(&ids[0]).await;
    assert_eq!((&step["state"], &step["lost_attempts"]), (&json!("pending"), &json!(0)));
    let gone = call(&place, "heartbeat", json!({"session": page["session"], "held": []})).await;
    gone.refused(409, "no_session");
    place.close().await;
}

/// Who waited for work while its session ended was told that the engine is stopping.
#[tokio::test]
async fn who_waits_when_its_session_ends_is_told_that_it_is_over() {
    let place = Place::open();
    let waiting = call(&place, "claim", json!({"actions": ["work"], "wait_ms": 10_000}));
    let ending = async {
        let first = |nodes: &Value| nodes["nodes"][0]["sessions"][0]["id"].clone();
        let nodes = place.until("/v1/nodes", |nodes| first(nodes).is_string()).await;
        call(&place, "leave", json!({"session": first(&nodes), "give_back": true})).await.ok();
    };
    let (told, ()) = tokio::join!(waiting, ending);
    told.refused(409, "no_session");
    place.close().await;
}

#[tokio::test]
async fn a_worker_that_says_nonsense_is_told_what_to_say() {
    let place = Place::open();
    let refused = |answer: Answer| answer.refused(422, "invalid_request")["faults"][0]["field"].clone();
    assert_eq!(refused(call(&place, "claim", json!({})).await), "actions");
    assert_eq!(refused(call(&place, "claim", json!({"actions": [""]})).await), "actions");
    assert_eq!(refused(call(&place, "claim", json!({"session": "me", "actions": ["a"]})).await), "session");
    let body =
        json!({"session": "0199c0de-0000-7000-8000-000000000001", "held": [{"step": "x", "attempt": 1}]});
    call(&place, "heartbeat", body).await.refused(409, "no_session");
    let many: Vec<Value> = (0..1_001).map(|_| json!({})).collect();
    let body = json!({"session": "0199c0de-0000-7000-8000-000000000001", "reports": many});
    assert_eq!(refused(call(&place, "report", body).await), "reports");
    place.close().await;
}

/// As a worker that shows this key.
async fn keyed(router: &Router, key: &str, call: &str, body: Value) -> Answer {
    let request = Request::post(format!("/v1/worker/{call}"))
        .header("host", "localhost:7837")
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {key}"))
        .extension(peer("127.0.0.1:40000"));
    ask(router, request.body(Body::from(body.to_string())).unwrap()).await
}

/// A key for one queue could beat, report and leave for the sessions of others.
#[tokio::test]
async fn a_key_with_a_scope_speaks_only_for_sessions_of_its_queues() {
    let place = Place::open();
    let body = r#"{"name": "x", "role": "worker", "scope": ["priority"]}"#;
    let key = place.post("/v1/keys", body).await.ok()["key"].as_str().unwrap().to_string();
    let made = place
        .create(r#"[{"action": "work"}, {"action": "work", "queue": "priority", "priority": "high"}]"#)
        .await;
    let offer = json!({"queues": ["default"], "actions": ["work"], "wait_ms": 5000});
    let others = call(&place, "claim", offer).await.ok();
    assert_eq!(others["claims"][0]["step"], made[0].as_str());
    let (theirs, held) = (&others["session"], json!([{"step": made[0], "attempt": 1}]));
    let done = |step: &str| json!([{"step": step, "attempt": 1, "outcome": "complete"}]);
    let calls = [
        ("claim", json!({"session": theirs, "received": 1})),
        ("heartbeat", json!({"session": theirs, "received": 1, "held": []})),
        ("report", json!({"session": theirs, "reports": done(&made[0])})),
        ("leave", json!({"session": theirs})),
        ("previous", json!({"session": theirs, "step": made[0], "attempt": 1})),
        ("leave", json!({"session": theirs, "give_back": true})),
    ];
    // Also by a server that has not seen the session.
    let elsewhere = server::router(place.site());
    for ((call, body), router) in calls.iter().flat_map(|c| [(c, &place.router), (c, &elsewhere)]) {
        let refused = keyed(router, &key, call, body.clone()).await.refused(403, "forbidden");
        let fault = &refused["faults"][0];
        assert_eq!(fault["field"], "session", "{call}");
        assert_eq!(fault["problem"], "queue `default` is outside of the scope of this key");
    }
    let beat = json!({"session": theirs, "received": 1, "held": held});
    assert_eq!(call(&place, "heartbeat", beat).await.ok()["lost"], json!([]));
    assert_eq!(place.step(&made[0]).await["state"], "running");
    let mine = keyed(&place.router, &key, "claim", json!({"actions": ["work"], "wait_ms": 5000})).await.ok();
    assert_eq!(mine["claims"][0]["step"], made[1].as_str());
    let session = &mine["session"];
    for router in [&place.router, &elsewhere] {
        let held = json!([{"step": made[1], "attempt": 1}]);
        let beat = json!({"session": session, "received": 1, "held": held});
        assert_eq!(keyed(router, &key, "heartbeat", beat).await.ok()["lost"], json!([]));
    }
    let report = json!({"session": session, "reports": done(&made[1])});
    let reported = keyed(&elsewhere, &key, "report", report).await.ok();
    assert_eq!(reported["answers"][0]["answer"], "applied");
    keyed(&elsewhere, &key, "leave", json!({"session": session, "give_back": true})).await.ok();
    place.close().await;
}

/// In process and over HTTP alike: the second run of the job gets what the first one did.
#[tokio::test]
async fn what_a_job_does_once_is_done_once_however_often_it_runs() {
    let mut place = Place::open();
    for far in [false, true] {
        let done = Arc::new(AtomicUsize::new(0));
        let mine = done.clone();
        let action = if far { "far" } else { "near" };
        let mut jobs = Registry::new();
        jobs.job(action, move |context: Context, ()| {
            let done = mine.clone();
            async move {
                let receipt: usize = context
                    .once("payment-7", || async { Ok(100 + done.fetch_add(1, Ordering::Relaxed)) })
                    .await?;
                // One that answers nothing is done once as well.
                let silent = || async {
                    done.fetch_add(10, Ordering::Relaxed);
                    Ok(())
                };
                context.once("silent", silent).await?;
                if context.attempt() == 1 {
                    return Err(retry_after(Duration::ZERO));
                }
                Ok(receipt)
            }
        });
        let runner = match far {
            false => Runner::start(place.engine.clone(), jobs, RunnerConfig::default()).await.unwrap(),
            true => {
                let url = place.listen().await;
                Runner::start(Remote::new(&url, None).unwrap(), jobs, RunnerConfig::default()).await.unwrap()
            }
        };
        let ids = place.create(&format!("[{{\"action\": \"{action}\"}}]")).await;
        let step = place.until_state(&ids[0], "completed").await;
        assert_eq!((&step["attempt"], &step["response"]), (&json!(2), &json!(100)));
        assert_eq!(done.load(Ordering::Relaxed), 11);
        let shown = place.get(&format!("/v1/executions/{action}/payment-7")).await.ok();
        assert_eq!(
            (&shown["execution"]["state"], &shown["execution"]["attempt"]),
            (&json!("done"), &json!(1))
        );
        runner.stop(Duration::from_secs(5)).await;
    }
    place.close().await;
}

/// In process and over HTTP alike: people see the last word while the job runs, and none when it has ended.
#[tokio::test]
async fn how_far_a_job_is_can_be_seen_while_it_runs() {
    let mut place = Place::open();
    let url = place.listen().await;
    for (action, link) in
        [("near", Link::from(place.engine.clone())), ("far", Remote::new(&url, None).unwrap().into())]
    {
        let (go, gone) = tokio::sync::watch::channel(false);
        let mut jobs = Registry::new();
        jobs.job(action, move |context: Context, ()| {
            let mut gone = gone.clone();
            async move {
                context.progress(1, 8);
                context.progress_in(3, 8, "files");
                gone.wait_for(|go| *go).await?;
                Ok(())
            }
        });
        let runner = Runner::start(link, jobs, RunnerConfig::default()).await.unwrap();
        let ids = place.create(&format!("[{{\"action\": \"{action}\"}}]")).await;
        let step = place.until(&format!("/v1/steps/{}", ids[0]), |step| !step["progress"].is_null()).await;
        assert_eq!(step["progress"], json!({"done": 3, "of": 8, "word": "files"}));
        let page = place.get(&format!("/step-dispatcher/steps/{}", ids[0])).await;
        assert!(page.text().contains("3 of 8 files (37 %)"), "{}", page.text());
        go.send(true).unwrap();
        let step = place.until_state(&ids[0], "completed").await;
        assert_eq!(step["progress"], Value::Null, "what has ended is not on its way");
        runner.stop(Duration::from_secs(5)).await;
    }
    place.close().await;
}

/// In process and over HTTP alike: a step is told what those before it answered, and nothing of what did not complete.
#[tokio::test]
async fn a_job_builds_on_what_the_steps_before_it_answered() {
    let mut place = Place::open();
    let url = place.listen().await;
    for (queue, link) in
        [("default", Link::from(place.engine.clone())), ("priority", Remote::new(&url, None).unwrap().into())]
    {
        let mut jobs = Registry::new();
        jobs.job("double", |_, n: u32| async move { Ok(2 * n) });
        jobs.job("skips", |_, ()| async { Err::<(), _>(skip("not needed")) });
        jobs.job("quiet", |_, ()| async { Ok(()) });
        jobs.job("tells", |context: Context, ()| async move { context.previous::<Option<u32>>().await });
        let config = RunnerConfig { queues: vec![queue.into()], ..RunnerConfig::default() };
        let runner = Runner::start(link, jobs, config).await.unwrap();
        let step = |action: &str, index: u32, arguments: Value| json!({"action": action, "queue": queue, "index": index, "arguments": arguments});
        let children = [
            step("tells", 1, json!({})),
            step("double", 2, json!(4)),
            step("skips", 2, json!({})),
            step("quiet", 2, json!({})),
            step("double", 2, json!(5)),
            step("tells", 3, json!({})),
        ];
        let tree = json!([{"action": "tells", "queue": queue, "children": children}]);
        let ids = place.create(&tree.to_string()).await;
        let parent = place.until_state(&ids[0], "completed").await;
        assert_eq!(parent["response"], json!([]), "nothing comes before a step of its own");
        let page =
            place.get(&format!("/v1/steps?block_id={}", parent["child_block_id"].as_str().unwrap())).await;
        let told = |index: u32| {
            let steps = page.ok()["steps"].as_array().unwrap().clone();
            steps.into_iter().find(|step| step["index"] == index).unwrap()["response"].clone()
        };
        assert_eq!((told(1), told(3)), (json!([]), json!([8, null, 10])));
        runner.stop(Duration::from_secs(5)).await;
    }
    place.close().await;
}

#[tokio::test]
async fn what_came_before_is_told_to_who_holds_the_step_alone() {
    let place = Place::open();
    let ids = place.create(r#"[{"action": "work"}, {"action": "other"}]"#).await;
    let page = claim(&place, None, 0).await;
    let previous = async |step: &str, attempt: u32| {
        call(&place, "previous", json!({"session": page["session"], "step": step, "attempt": attempt})).await
    };
    assert_eq!(previous(&ids[0], 1).await.ok(), json!({"answers": []}));
    for (step, attempt) in [(&ids[0], 2), (&ids[1], 0), (&ids[1], 1)] {
        let told = previous(step, attempt).await.refused(409, "refused");
        assert!(told["detail"].as_str().unwrap().starts_with("the session does not hold attempt"), "{told}");
    }
    previous("x", 1).await.refused(422, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn a_job_is_told_which_workflow_it_is_done_for() {
    let mut place = Place::open();
    place.define("workflow: told\nversion: 1.0.0\nsteps:\n  - { key: only, action: work }\n").await.ok();
    let id = place.start("told", json!({})).await;
    let page = claim(&place, None, 0).await;
    let expected = json!({"id": id, "workflow": "told", "version": "1.0.0", "step_key": "only", "run": 1});
    assert_eq!(page["claims"][0]["workflow"], expected);
    call(&place, "leave", json!({"session": page["session"]})).await.ok();

    let (say, said) = tokio::sync::oneshot::channel();
    let say = std::sync::Mutex::new(Some(say));
    let mut jobs = Registry::new();
    jobs.job("work", move |context: Context, _: Value| {
        let of = context.workflow().map(|of| format!("{} {} {}", of.id, of.definition, of.step_key));
        let say = say.lock().ok().and_then(|mut say| say.take());
        async move {
            if let Some(say) = say {
                say.send(of).expect("somebody listens");
            }
            Ok(())
        }
    });
    let url = place.listen().await;
    let remote = Remote::new(&url, None).expect("an address");
    let runner = Runner::start(remote, jobs, RunnerConfig::default()).await.expect("a worker");
    assert_eq!(said.await.expect("the job ran"), Some(format!("{id} told only")));
    runner.stop(Duration::from_secs(5)).await;
    place.close().await;
}

#[tokio::test]
async fn a_poll_tells_its_number_and_what_the_one_before_said() {
    let place = Place::open();
    let wait =
        "workflow: wait\nversion: 1.0.0\nsteps:\n  - { key: a, poll: { action: work, interval: 10ms } }\n";
    place.define(wait).await.ok();
    let id = place.start("wait", json!({})).await;
    let (mut session, mut number) = (Value::Null, Value::Null);
    let outcomes = [
        json!({"outcome": "continue", "response": {"seen": 1}}),
        json!({"outcome": "continue", "after_ms": 20}),
        json!({"outcome": "abort", "why": "gone"}),
    ];
    let mut told = Vec::new();
    for outcome in outcomes {
        let mut body = json!({"actions": ["work"], "capacity": 1, "wait_ms": 5000});
        if session.is_string() {
            (body["session"], body["received"]) = (session.clone(), number.clone());
        }
        let page = call(&place, "claim", body).await.ok();
        (session, number) = (page["session"].clone(), page["number"].clone());
        let claim = &page["claims"][0];
        told.push(claim["poll"].clone());
        let mut item = outcome;
        (item["step"], item["attempt"]) = (claim["step"].clone(), claim["attempt"].clone());
        assert_eq!(report(&place, &session, json!([item])).await, json!([{"answer": "applied"}]));
    }
    assert_eq!(
        told,
        [json!({"number": 1}), json!({"number": 2, "previous": {"seen": 1}}), json!({"number": 3})]
    );
    let shown = place.get(&format!("/v1/workflows/{id}")).await.ok();
    assert_eq!((&shown["state"], &shown["steps"][0]["reason"]), (&json!("failed"), &json!("poll_aborted")));
    assert_eq!(shown["steps"][0]["polls"]["last"][1]["next_interval_ms"], json!(20));
    place.close().await;
}
