//! Secret values: given to whoever runs a step, and to nothing that is stored.

use model::{Claim, Failure, LogLine, NewStep, Outcome, Report, State, Timestamp, WorkflowState};
use rules::settle::Mode;
use serde_json::{Value, json};
use stepfast_testkit::{Stage, everything, holds, keys};

/// What must be nowhere. It has signs that JSON escapes.
const CARD: &str = "CANARY-4111\"222\n3333 ü";
const PIN: u64 = 918_273_645;
const SOUGHT: [&str; 3] = ["CANARY-4111", "918273645", "hunter2-canary"];

const PAY: &str = "
workflow: pay
version: 1.0.0
input:
  schema:
    type: object
    properties:
      card: { type: object, properties: { number: { type: string, pattern: \"^CANARY\" } } }
      pin: { type: integer }
secrets: [input.card.number, input.pin, input.login]
steps:
  - key: charge
    action: echo
    arguments: { card: \"${input.card}\", pin: \"${input.pin}\", header: \"Bearer ${input.card.number}-x\", login: \"${input.login}\" }
  - { key: each, action: echo, when: has(input.pin), each: input.users, arguments: { who: \"${item}\", card: \"${input.card.number}\" } }
  - { key: tell, action: hold, arguments: { card: \"${outputs.charge.card.number}\", word: \"${outputs.charge.login.word}\", pin: \"${outputs.charge.pin}\" } }
";

fn input() -> Value {
    json!({"card": {"number": CARD, "name": "Ada"}, "pin": PIN, "users": ["a", "b"],
           "login": {"user": "ada", "word": "hunter2-canary"}})
}

fn arguments(claim: &Claim) -> Value {
    serde_json::from_str(&claim.arguments).expect("arguments are JSON")
}

fn report(stage: &Stage, claim: &Claim, outcome: Outcome) -> Report {
    let log = vec![LogLine { at: Timestamp(1), text: format!("said {CARD}") }];
    Report {
        session: stage.session.id,
        step: claim.step,
        attempt: claim.attempt,
        outcome,
        log,
        delivery: None,
    }
}

async fn nothing_is_told(stage: &Stage) {
    let all = everything(&stage.database()).await;
    assert!(holds(&all, model::SEALED), "it is the right database");
    for what in SOUGHT {
        assert!(!holds(&all, what), "{what} is in the database");
    }
}

/// One claim of `hold`, as its job gets it.
async fn held(stage: &mut Stage) -> Claim {
    for _ in 0..10 {
        stage.decide(Mode::FixedPoint).await;
        let mut claims = stage.handed();
        match claims.iter().position(|claim| &*claim.action == "hold") {
            Some(at) => return claims.remove(at),
            None => {
                for claim in claims {
                    let response = Some(claim.arguments.to_string());
                    let told = report(stage, &claim, Outcome::Complete { response });
                    stage.engine.report(vec![told]).await.expect("it is stored");
                }
            }
        }
    }
    panic!("nothing is held: {}", stage.states());
}

#[tokio::test]
async fn a_job_is_given_what_is_secret_and_nothing_of_it_is_stored() {
    let mut stage = Stage::new().await;
    stage.define(PAY).await;
    let id = stage.start("pay", input()).await;
    let claim = held(&mut stage).await;
    let given = json!({"card": CARD, "word": "hunter2-canary", "pin": PIN});
    assert_eq!(arguments(&claim), given, "also what a step answered");
    nothing_is_told(&stage).await;
    let failure = Failure { message: format!("no {CARD}"), trace: Some(format!("at {PIN}: {CARD:?}")) };
    let retry = Outcome::Retry { after: Some(std::time::Duration::ZERO), failure: Some(failure) };
    let told = report(&stage, &claim, retry);
    stage.engine.report(vec![told]).await.expect("it is stored");
    let claim = held(&mut stage).await;
    assert_eq!((claim.attempt, arguments(&claim)["card"].as_str()), (2, Some(CARD)));
    let child = NewStep::of("hold").with(&json!({"again": CARD})).expect("plain data");
    let children = Outcome::Children {
        response: Some(json!({"card": CARD}).to_string()),
        children: vec![child],
        success: model::Success::All,
    };
    let told = report(&stage, &claim, children);
    stage.engine.report(vec![told]).await.expect("it is stored");
    let claim = held(&mut stage).await;
    assert_eq!(arguments(&claim), json!({"again": CARD}), "also below the step itself");
    let told = report(&stage, &claim, Outcome::Stop { why: format!("enough of {CARD}") });
    stage.engine.report(vec![told]).await.expect("it is stored");
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    nothing_is_told(&stage).await;
}

#[tokio::test]
async fn what_comes_late_is_covered_too() {
    let mut stage = Stage::new().await;
    stage.define(PAY).await;
    stage.start("pay", input()).await;
    let claim = held(&mut stage).await;
    let failure = Failure { message: format!("no {CARD}"), trace: None };
    let told = report(&stage, &claim, Outcome::Fail { failure, notify: true });
    stage.crash().await;
    let answers = stage.engine.report(vec![told]).await.expect("it is stored");
    assert_eq!(answers, [engine::ReportAnswer::Late]);
    nothing_is_told(&stage).await;
}

/// A worker in another process keeps what it holds; the node that it comes back to has not handed it out itself.
#[tokio::test]
async fn what_was_handed_out_before_a_restart_is_covered_after_it() {
    let mut stage = Stage::new().await;
    stage
        .define("workflow: far\nversion: 1.0.0\nsecrets: [input.card]\nsteps:\n  - { key: a, action: far }\n")
        .await;
    let offer = model::SessionOffer {
        host: "far".into(),
        queues: vec!["default".into()],
        actions: vec!["far".into()],
        capacity: 1,
        remote: true,
    };
    let mut far = stage.engine.join(offer).await.expect("a session");
    let id = stage.start("far", json!({"card": CARD})).await;
    stage.decide(Mode::FixedPoint).await;
    let handed = far.work.try_recv().expect("work");
    let claim = &handed.claims[0];
    assert_eq!(arguments(claim), json!({"card": CARD}));
    stage.crash().await;
    let far = stage.engine.join_again(far.id, handed.number).await.expect("it is known");
    let response = Some(json!({"said": CARD}).to_string());
    let told = Report { session: far.id, ..report(&stage, claim, Outcome::Complete { response }) };
    let answers = stage.engine.report(vec![told]).await.expect("it is stored");
    assert_eq!(answers, [engine::ReportAnswer::Applied]);
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: a C");
    nothing_is_told(&stage).await;
}

#[tokio::test]
async fn what_is_handed_down_opens_below_and_stays_sealed_there() {
    let mut stage = Stage::new().await;
    stage
        .define(
            "
workflow: below
version: 1.0.0
input: { schema: { type: object, properties: { number: { type: string, pattern: \"^CANARY\" } } } }
secrets: [input.number, input.header]
steps:
  - { key: use, action: hold, arguments: { number: \"${input.number}\", header: \"${input.header}\" } }
",
        )
        .await;
    stage
        .define(
            "
workflow: above
version: 1.0.0
secrets: [input.card]
steps:
  - { key: sub, workflow: below, input: { number: \"${input.card}\", header: \"Bearer ${input.card}\" } }
",
        )
        .await;
    let id = stage.start("above", json!({"card": CARD})).await;
    let claim = held(&mut stage).await;
    assert_eq!(arguments(&claim), json!({"number": CARD, "header": format!("Bearer {CARD}")}));
    let response = Some(json!(CARD).to_string());
    let told = report(&stage, &claim, Outcome::Complete { response });
    stage.engine.report(vec![told]).await.expect("it is stored");
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: sub C");
    nothing_is_told(&stage).await;
    let refused = stage.start("above", json!({"card": "wrong-hunter2-canary"})).await;
    stage.settle().await;
    let message = stage.workflow(refused).message.expect("why");
    assert!(message.contains("does not suit `below`") && message.contains("[secret]"), "{message}");
    nothing_is_told(&stage).await;
}

#[tokio::test]
async fn what_was_sealed_for_another_workflow_is_not_opened() {
    let mut stage = Stage::new().await;
    stage.define(PAY).await;
    stage.define("workflow: other\nversion: 1.0.0\nsteps:\n  - { key: use, action: hold }\n").await;
    let first = stage.start("pay", input()).await;
    let stored: Value = serde_json::from_str(&stage.workflow(first).input).expect("JSON");
    let copied = stored["card"]["number"].clone();
    assert!(copied.as_str().is_some_and(|text| text.starts_with(model::SEALED)), "{copied}");
    stage.operate_workflow(first, engine::WorkflowVerb::Cancel).await.expect("it is cancelled");
    stage.start("other", json!({"card": copied})).await;
    let claim = held(&mut stage).await;
    assert_eq!(arguments(&claim), json!({"card": copied}));
}

#[tokio::test]
async fn without_the_key_the_step_fails_and_the_engine_lives_on() {
    let mut stage = Stage::new().await;
    stage.define(PAY).await;
    stage.define("workflow: plain\nversion: 1.0.0\nsteps:\n  - { key: a, action: echo }\n").await;
    let id = stage.start("pay", input()).await;
    stage.config.secrets = keys("k2");
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: charge F");
    let charge = stage.step(stage.step_of(id, "charge"));
    let message = charge.detail.error_message.expect("why");
    assert!(message.contains("sealed with the key `k1`, which is not configured here"), "{message}");
    let plain = stage.start("plain", json!({})).await;
    let sealed = stage.start("pay", input()).await;
    let claim = held(&mut stage).await;
    assert_eq!(arguments(&claim)["card"], CARD, "the new key seals and opens");
    assert_eq!(stage.workflow(plain).state, WorkflowState::Succeeded);
    assert_eq!(stage.step(stage.step_of(sealed, "tell")).step.state, State::Running);
}

#[tokio::test]
async fn without_any_key_nothing_secret_is_started() {
    let mut stage = Stage::new().await;
    stage.config.secrets = engine::Keyring::default();
    stage.crash().await;
    stage.define(PAY).await;
    let refused = stage.try_start("pay", input()).await.expect_err("nothing seals it").to_string();
    assert!(refused.contains("STEPFAST_SECRETS_KEYS") && refused.contains("[secrets]"), "{refused}");
    assert!(!refused.contains("CANARY"), "{refused}");
    let refused = stage.try_start("pay", json!({"card": {"number": "hunter2-canary"}})).await;
    let refused = refused.expect_err("the schema is looked at first").to_string();
    assert!(refused.contains("input.card.number") && !refused.contains("hunter2-canary"), "{refused}");
}

/// What a poll tells the next is given to it in clear, and stands nowhere.
#[tokio::test]
async fn a_poll_is_given_what_the_one_before_it_said() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: paid
version: 1.0.0
secrets: [input.card]
steps:
  - { key: paid, poll: { action: hold, arguments: { card: \"${input.card}\" }, interval: 60s } }
";
    stage.define(yaml).await;
    let id = stage.start("paid", json!({"card": CARD})).await;
    let claim = held(&mut stage).await;
    let said = json!({"seen": CARD, "n": 1}).to_string();
    let again = Outcome::Continue { data: Some(said), after: None };
    stage.engine.report(vec![report(&stage, &claim, again)]).await.expect("it is stored");
    nothing_is_told(&stage).await;
    stage.advance(std::time::Duration::from_secs(60)).await;
    let claim = held(&mut stage).await;
    let poll = claim.poll.clone().expect("it is a poll");
    let previous: Value =
        serde_json::from_str(poll.previous.as_deref().expect("the last one spoke")).expect("JSON");
    assert_eq!((poll.number, previous), (2, json!({"seen": CARD, "n": 1})));
    let outcome = Outcome::Complete { response: poll.previous.map(|text| text.to_string()) };
    stage.engine.report(vec![report(&stage, &claim, outcome)]).await.expect("it is stored");
    nothing_is_told(&stage).await;
    assert_eq!(stage.flow(id), "succeeded: paid C");
}

/// The same id with other bytes: what is sealed does not open, and says so; nothing wrong is handed out.
#[tokio::test]
async fn s34_a_wrong_key_of_the_right_name_opens_nothing() {
    let mut stage = Stage::new().await;
    stage.define(PAY).await;
    let id = stage.start("pay", input()).await;
    stage.config.secrets = engine::Keyring::of(vec![engine::SealKey::new("k1", [9; 32])]);
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: charge F");
    let message = stage.step(stage.step_of(id, "charge")).detail.error_message.expect("why");
    assert!(message.contains("`k1`") && !message.contains("CANARY"), "{message}");
    nothing_is_told(&stage).await;
}

/// Old, both, both with the new one first, new: workflows that are under way all the while miss nothing.
#[tokio::test]
async fn s34_keys_are_changed_while_workflows_run() {
    let key = |id: &str| engine::SealKey::new(id, [id.as_bytes()[1]; 32]);
    let rings = [vec!["k1"], vec!["k1", "k2"], vec!["k2", "k1"]];
    let mut stage = Stage::new().await;
    let yaml = "
workflow: long
version: 1.0.0
secrets: [input.card]
steps:
  - { key: a, wait: 1h }
  - { key: b, action: hold, arguments: { card: \"${input.card}\" } }
";
    let mut begun = Vec::new();
    for (round, ring) in rings.iter().enumerate() {
        stage.config.secrets = engine::Keyring::of(ring.iter().map(|id| key(id)).collect());
        stage.crash().await;
        if round == 0 {
            stage.define(yaml).await;
        }
        for n in 0..5 {
            let card = format!("CANARY-4111-{round}-{n}");
            let id = stage.start("long", json!({"card": card})).await;
            let stored: Value = serde_json::from_str(&stage.workflow(id).input).expect("JSON");
            let sealed = stored["card"].as_str().expect("a text").to_string();
            assert!(
                sealed.starts_with(&format!("{}{}:", model::SEALED, ring[0])),
                "the first seals: {sealed}"
            );
            begun.push(card);
        }
    }
    stage.advance(std::time::Duration::from_secs(3_600)).await;
    let mut given = Vec::new();
    for _ in 0..begun.len() {
        stage.decide(Mode::FixedPoint).await;
        for claim in stage.handed() {
            given.push(arguments(&claim)["card"].as_str().expect("a card").to_string());
            let told = report(&stage, &claim, Outcome::Complete { response: None });
            // What it says on the way is another's card.
            let told = Report { log: Vec::new(), ..told };
            stage.engine.report(vec![told]).await.expect("it is stored");
        }
    }
    given.sort();
    assert_eq!(given, begun, "each was given its own");
    nothing_is_told(&stage).await;
    // What only the old key seals is done; the new one alone goes on.
    stage.config.secrets = engine::Keyring::of(vec![key("k2")]);
    stage.crash().await;
    stage.start("long", json!({"card": CARD})).await;
    stage.advance(std::time::Duration::from_secs(3_600)).await;
    assert_eq!(arguments(&held(&mut stage).await)["card"], CARD);
}
