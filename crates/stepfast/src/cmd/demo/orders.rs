//! The stream of the demo: an order every now and then, as a tree of steps and as a workflow.

use super::scene::POOL;
use anyhow::Result;
use engine::{Engine, StartWorkflow};
use model::NewStep;
use serde_json::json;
use serde_json::value::to_raw_value;
use std::time::Duration;
use store::{Clock, SystemClock};

/// Between two orders.
const EVERY: Duration = Duration::from_millis(700);

pub async fn orders(engine: Engine) {
    for n in 1u64.. {
        if engine.create(vec![order(n)]).await.is_err() || run_of(&engine, n).await.is_err() {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// One in ten fails, and one in ten waits for five minutes.
async fn run_of(engine: &Engine, n: u64) -> Result<()> {
    let skus = ["tea", "cup", "pot", "milk"];
    let items = skus.iter().cycle().skip(n as usize % 4).take(1 + n as usize % 5);
    let items: Vec<_> = items.map(|sku| json!({"sku": sku, "quantity": 1 + n % 3})).collect();
    let priority = if n.is_multiple_of(3) { "high" } else { "standard" };
    let mut input = json!({"id": n, "priority": priority, "items": items});
    match n % 10 {
        3 => input["card"] = "declined".into(),
        7 => {
            let later = SystemClock::default().now() + Duration::from_secs(300);
            input["not_before"] = server::convert::instant(later).into();
        }
        _ => {}
    }
    let mut start = StartWorkflow::of("order-fulfilment").with(&input)?;
    start.labels.insert("order".into(), n.to_string());
    engine.start_workflow(start).await?;
    Ok(())
}

/// Parallel steps, and sometimes a failure with its resolver.
fn order(n: u64) -> NewStep {
    let child = |key: &str, action: &str, index: u32, arguments: serde_json::Value| NewStep {
        step_key: Some(key.into()),
        index: Some(index),
        arguments: to_raw_value(&arguments).ok(),
        relatable_type: Some("order".into()),
        relatable_id: Some(n.to_string()),
        retry_delay_ms: Some(2_000),
        ..NewStep::of(action)
    };
    let charge = match n % 7 {
        0 => child("charge-card", "fail", 2, json!({"message": "card declined"})),
        3 => child("charge-card", "fail", 2, json!({"message": "payment gateway timed out", "retry": true})),
        _ => child("charge-card", "sleep", 2, json!({"ms": 400 + n * 37 % 900})),
    };
    let charge = NewStep { pool: Some(POOL.into()), ..charge };
    let tell = NewStep {
        kind: Some("resolve-exception".into()),
        ..child("tell-customer", "echo", 1, json!({"order": n}))
    };
    NewStep {
        step_key: Some(format!("order-{n}")),
        label: Some(format!("Order {n}")),
        arguments: to_raw_value(&json!({"order": n})).ok(),
        relatable_type: Some("order".into()),
        relatable_id: Some(n.to_string()),
        priority: n.is_multiple_of(5).then(|| "high".into()),
        children: vec![
            child("reserve-stock", "sleep", 1, json!({"ms": 300 + n * 91 % 700})),
            child("check-address", "echo", 1, json!({"order": n})),
            charge,
            child("ship", "sleep", 3, json!({"ms": 900 + n * 53 % 1500})),
            tell,
        ],
        ..NewStep::of("echo")
    }
}
