//! The same over Amazon SQS, as a server of its protocol has it.

use crate::common::until;
use crate::kills::{CUSTOMERS, RouterProcess, all_done, judge, load};
use crate::receiver::Receiver;
use crate::scene::Scene;
use transport::conformance::ministack::MiniStack;

const ORDERS: usize = 5;

#[test]
fn orders_go_in_order_over_sqs() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let broker = runtime.block_on(MiniStack::start());
    let queue = broker.make_queue("steps.fifo");
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
