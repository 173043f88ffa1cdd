//! The same over Amazon SQS, as a server of its protocol has it.

use crate::common::{client, until};
use crate::kills::{CUSTOMERS, RouterProcess, all_done, judge, load};
use crate::receiver::Receiver;
use crate::scene::Scene;
use serde_json::json;
use transport::conformance::ministack::MiniStack;

const ORDERS: usize = 5;

async fn make_queue(server: &MiniStack) {
    let body = json!({"QueueName": "steps.fifo", "Attributes": {"FifoQueue": "true"}});
    let request = client()
        .post(server.endpoint())
        .header("x-amz-target", "AmazonSQS.CreateQueue")
        .header("content-type", "application/x-amz-json-1.0")
        .body(body.to_string());
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
}

#[test]
fn orders_go_in_order_over_sqs() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let broker = runtime.block_on(MiniStack::start());
    runtime.block_on(make_queue(&broker));
    let queue = format!("sqs+{}/000000000000/steps.fifo?region=us-east-1", broker.endpoint());
    let scheduler = format!("queue-type = \"SQS\"\nqueue-url = \"{queue}\"\n");
    let scene = Scene::new(Receiver::glad(), &scheduler);
    let server = scene.serve();
    let router = RouterProcess::start(&queue, &server.url);
    load(&scene, &server, 0, ORDERS);
    until("everything is delivered", || all_done(&scene, ORDERS));
    judge(&scene.receiver.heard(), ORDERS);
    assert_eq!(scene.receiver.heard().len(), ORDERS * CUSTOMERS, "and once");
    scene.home.ok(&["check"]);
    drop(router);
    server.stop();
}
