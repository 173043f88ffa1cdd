//! What stands on the stage of the demo from the first second on: one of everything that people ask about.
//!
//! Why    a page that is empty shows nothing. Each of these is real work in a real state, made by the calls that anybody has.

use crate::Local;
use anyhow::Result;
use engine::{Applied, Ask, Begin, ChannelOrder, DetectOrder, Engine, Saying, StartFlow, StartWorkflow};
use engine::{StuckConfig, WorkflowOperation, WorkflowVerb};
use model::{Channel, ChannelKind, FlowName, NewFlowStep, NewKey, NewStep, Pool, StuckRule};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use store::{Clock, SystemClock};

/// What is stored, by the name of its file.
const DEFINITIONS: [(&str, &str); 7] = [
    ("order-fulfilment.yaml", include_str!("../../../../../examples/workflows/order-fulfilment.yaml")),
    ("shipping.yaml", include_str!("../../../../../examples/workflows/nested/shipping.yaml")),
    ("checkout.yaml", include_str!("../../../../../examples/workflows/nested/checkout.yaml")),
    ("purchase-1.0.0.yaml", include_str!("../../../../../examples/demo/purchase-1.0.0.yaml")),
    ("purchase.yaml", include_str!("../../../../../examples/demo/purchase.yaml")),
    ("transfer.yaml", include_str!("../../../../../examples/demo/transfer.yaml")),
    ("journey.yaml", include_str!("../../../../../examples/demo/journey.yaml")),
];
const BY: &str = "demo";
/// In earnest it is an hour before a look calls something stuck; nobody looks around for so long.
const SOON: Duration = Duration::from_secs(3);
/// Nobody offers this one.
const UNKNOWN: &str = "sms.send";

/// The pool that the sample orders share.
pub const POOL: &str = "card-gateway";

/// Rules under which the scene is stuck within seconds. A retry would set it right behind the back of whoever looks.
pub fn stuck(usual: &StuckConfig) -> StuckConfig {
    let own = |rule: StuckRule| match rule.name.as_str() {
        "message-group-blocked" => Some(StuckRule { older_than: SOON, ..rule }),
        "step-waiting" => {
            let (name, action) = ("no-worker-for-sms".into(), Some(UNKNOWN.into()));
            Some(StuckRule { name, action, older_than: SOON, ..rule })
        }
        _ => None,
    };
    let own: Vec<StuckRule> = rules::stuck::defaults().into_iter().filter_map(own).collect();
    let named = |rule: &StuckRule| own.iter().any(|mine| mine.name == rule.name);
    let rules = usual.rules.iter().filter(|rule| !named(rule)).cloned().chain(own.clone()).collect();
    StuckConfig { rules, every: Some(model::limits::STUCK_EVERY_MIN), ..usual.clone() }
}

/// Store the definitions, and put everything on the stage unless it stands there already.
pub async fn set(local: &Local, url: &str, receiver: SocketAddr) -> Result<()> {
    // It is elsewhere with every start.
    let channel = Channel::new("ops", ChannelKind::Webhook, &format!("http://{receiver}/notices"));
    local.engine.put_channel(ChannelOrder { channel, secrets: None }, None, BY.into()).await?;
    let mut is_new = true;
    for (name, text) in DEFINITIONS {
        is_new &= local.apply_text(text, name).await? == Applied::Created;
    }
    if is_new {
        let engine = &local.engine;
        engine.put_pool(Pool { concurrency: Some(2), ..Pool::new(POOL) }, BY.into()).await?;
        workflows(engine).await?;
        steps(engine).await?;
        executions(engine).await?;
        flows(engine).await?;
        many(engine, url).await?;
        let key =
            NewKey { name: "read only".into(), role: "viewer".into(), scope: vec![], expires_days: Some(30) };
        engine.add_key(key, BY.into()).await?;
    }
    Ok(())
}

async fn start(engine: &Engine, workflow: &str, input: Value) -> Result<model::WorkflowId> {
    Ok(engine.start_workflow(StartWorkflow::of(workflow).with(&input)?).await?.id)
}

/// One that waits for an approval, one that polls, one that is undone, one inside another, one that failed, one that somebody holds.
async fn workflows(engine: &Engine) -> Result<()> {
    start(engine, "purchase", json!({"what": "a ladder", "amount": 120})).await?;
    start(engine, "purchase", json!({"what": "a lift", "amount": 48_000})).await?;
    start(engine, "transfer", json!({"cents": 99_000})).await?;
    start(engine, "journey", json!({})).await?;
    start(engine, "checkout", json!({"id": 7})).await?;
    let tea = json!([{"sku": "tea", "quantity": 1}]);
    start(engine, "order-fulfilment", json!({"id": 0, "items": tea, "card": "declined"})).await?;
    let later = SystemClock::default().now() + Duration::from_secs(3_600);
    let later = server::convert::instant(later);
    let held = start(engine, "order-fulfilment", json!({"id": 0, "items": tea, "not_before": later})).await?;
    let pause = WorkflowOperation {
        workflow: held,
        verb: WorkflowVerb::Pause,
        by: BY.into(),
        why: "the warehouse is closed".into(),
        dry_run: false,
        expected: None,
        force: None,
    };
    engine.operate_workflow(pause).await?;
    Ok(())
}

/// A message group that is blocked by what failed at its front, and a step that no worker can do.
async fn steps(engine: &Engine) -> Result<()> {
    let call = |n: u32, action: &str, arguments: Value| {
        let step = NewStep {
            step_key: Some(format!("customer-7-letter-{n}")),
            message_group: Some("customer-7".into()),
            mode: Some("block_on_error".into()),
            max_attempts: Some(1),
            ..NewStep::of(action)
        };
        step.with(&arguments)
    };
    let line = vec![
        call(1, "echo", json!({"letter": "welcome"}))?,
        call(2, "fail", json!({"message": "no such address: 1 Hihg Street"}))?,
        call(3, "echo", json!({"letter": "invoice"}))?,
        call(4, "echo", json!({"letter": "reminder"}))?,
    ];
    engine.create(line).await?;
    let text = NewStep { step_key: Some("text-customer-7".into()), ..NewStep::of(UNKNOWN) };
    engine.create(vec![text.with(&json!({"to": "+1 555 0100"}))?]).await?;
    Ok(())
}

/// Letters of a campaign that was called off, all at once.
async fn many(engine: &Engine, url: &str) -> Result<()> {
    const ACTION: &str = "campaign.letter";
    engine.create(vec![NewStep::of(ACTION); 3]).await?;
    let order = json!({"what": "steps", "filter": {"action": ACTION}, "verb": "cancel", "why": "the campaign was called off", "by": BY});
    let client = reqwest::Client::builder().tls_certs_only([]).build()?;
    client.post(format!("{url}/v1/bulk")).json(&order).send().await?.error_for_status()?;
    Ok(())
}

/// Done, failed and still going on, each under its key.
async fn executions(engine: &Engine) -> Result<()> {
    let all = engine.executions();
    let ask = |key: &str| Ask::new("payments.charge", key).input(&json!({"cents": 990}));
    if let Begin::Run(begun) = all.begin(&ask("order-1")).await? {
        all.complete(&begun.held, json!({"receipt": "r-1"}).to_string()).await?;
    }
    if let Begin::Run(begun) = all.begin(&ask("order-2")).await? {
        all.fail(&begun.held, "the card was declined".into()).await?;
    }
    all.begin(&ask("order-3").lease(Duration::from_secs(600))).await?;
    Ok(())
}

/// Work that runs elsewhere: one half done, and one that could not go on.
async fn flows(engine: &Engine) -> Result<()> {
    for (payment, fails) in [("123", false), ("124", true)] {
        let (kind, entity_type) = ("payment_processing".into(), "payment".into());
        let name = FlowName { kind, key: String::new(), entity_type, entity_id: payment.into() };
        let step = |name: &str| NewFlowStep { name: name.into(), optional: name == "email" };
        let start = StartFlow {
            user: Some("ann".into()),
            steps: ["wallet_debit", "wallet_credit", "email"].map(step).to_vec(),
            message: Some("Payment received, crediting your wallet".into()),
            ..StartFlow::new(name, BY)
        };
        let flow = engine.flows().start(start).await?.flow.id;
        let said = |message: Option<&str>| Saying { flow, message: message.map(String::from), by: BY.into() };
        engine.flows().complete(said(None), "wallet_debit").await?;
        if fails {
            engine.flows().fail(said(Some("the bank is away")), "wallet_credit").await?;
        }
    }
    Ok(())
}

/// Look for what is stuck as soon as something is; after that the engine looks by itself.
pub async fn look(engine: &Engine) {
    tokio::time::sleep(SOON + Duration::from_secs(1)).await;
    if let Err(problem) = engine.detect(DetectOrder::default()).await {
        crate::cmd::note(format_args!("the demo could not look for what is stuck: {problem}"));
    }
}
