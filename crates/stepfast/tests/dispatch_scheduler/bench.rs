//! `bench publish` over real brokers: what is published is received, begun and recorded, and the figures are told as JSON.

use crate::common::Home;
use serde_json::Value;
use tokio::runtime::Runtime;
use transport::conformance::activemq::ActiveMqServer;
use transport::conformance::ministack::MiniStack;

fn measured(transport: &str) -> Value {
    let home = Home::new();
    let mut command = home.command(&["bench", "publish", "--n", "60", "--transport", transport, "--json"]);
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn judge(figures: &Value, transport: &str) {
    let shown = [&figures["workload"], &figures["store"], &figures["transport"], &figures["n"]];
    let store = if std::env::var("STEPFAST_TEST_POSTGRES").is_ok() { "postgres" } else { "sqlite" };
    assert_eq!(shown.map(Value::to_string).join(" "), format!("\"publish\" \"{store}\" \"{transport}\" 60"));
    assert!(figures["steps_per_s"].as_f64().unwrap() > 0.0, "{figures}");
}

#[test]
fn steps_over_the_embedded_queue_are_measured() {
    judge(&measured("embedded"), "embedded");
}

#[test]
fn steps_over_activemq_are_measured() {
    let broker = Runtime::new().unwrap().block_on(ActiveMqServer::start());
    judge(&measured(&broker.url("bench", "")), "activemq");
}

#[test]
fn steps_over_sqs_are_measured() {
    let broker = Runtime::new().unwrap().block_on(MiniStack::start());
    judge(&measured(&broker.make_queue("bench.fifo")), "sqs");
}

#[test]
fn a_broker_that_is_not_there_is_told_and_not_waited_for() {
    let home = Home::new();
    let told = home.fails(3, &["bench", "publish", "--n", "1", "--transport", "kafka://h/q"]);
    assert!(told.contains("it begins with stomp://"), "{told}");
}
