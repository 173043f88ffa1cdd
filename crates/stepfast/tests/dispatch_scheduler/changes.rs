//! Configurations that change while steps are queued: nothing waits until it is taken for lost.

use crate::common::{Home, Server, get};
use crate::kills::{RouterProcess, port_of, until};
use crate::receiver::Receiver;
use crate::scene::{SECRET, Scene, create};
use tokio::runtime::Runtime;
use transport::conformance::activemq::ActiveMqServer;
use transport::conformance::ministack::MiniStack;

const SHUT: &str = "[router.pools.DISPATCH-POOL]\nconcurrency = 2\nstatus = \"SUSPENDED\"\n";

fn broker(kind: &str, url: &str) -> String {
    format!("queue-type = \"{kind}\"\nqueue-url = \"{url}\"\n")
}

/// A letter, and two of a line: all that can be is queued.
fn queue_some(scene: &Scene, server: &Server, name: &str) {
    let line = |n: usize| scene.ordered(&format!("{name}-{n}"), name, n);
    create(server, &[scene.letter(name, "alone", 0), line(1), line(2)]);
    scene.until_status(server, name, "QUEUED");
    scene.until_status(server, &format!("{name}-1"), "QUEUED");
}

fn until_done(scene: &Scene, server: &Server, name: &str) {
    for key in [name.to_string(), format!("{name}-1"), format!("{name}-2")] {
        until(&format!("{key} is delivered"), || scene.status(server, &key) == "COMPLETED");
    }
    let heard = scene.receiver.heard();
    let line: Vec<&str> = heard.iter().filter(|one| one.path.ends_with(name)).map(|one| &*one.body).collect();
    assert_eq!(line, ["1", "2"], "{name}: once, and in order");
}

/// Issue 5: what was queued in the embedded queue, or in another broker, waited a quarter of an hour when that was changed.
#[test]
fn what_is_queued_goes_over_another_queue_when_the_configuration_says_so() {
    let runtime = Runtime::new().unwrap();
    let (activemq, ministack) =
        runtime.block_on(async { (ActiveMqServer::start().await, MiniStack::start().await) });
    let (first, second) = (activemq.url("steps", ""), ministack.make_queue("steps.fifo"));
    let scene = Scene::new(Receiver::glad(), SHUT);
    let server = scene.serve();
    queue_some(&scene, &server, "embedded");
    server.stop();
    scene.configure(SECRET, &broker("ACTIVEMQ", &first));
    let server = scene.serve();
    let router = RouterProcess::start(&first, &server.url);
    until_done(&scene, &server, "embedded");
    drop(router);
    queue_some(&scene, &server, "activemq");
    server.stop();
    scene.configure(SECRET, &broker("SQS", &second));
    let server = scene.serve();
    let router = RouterProcess::start(&second, &server.url);
    until_done(&scene, &server, "activemq");
    drop(router);
    queue_some(&scene, &server, "sqs");
    server.stop();
    scene.configure(SECRET, "");
    let server = scene.serve();
    until_done(&scene, &server, "sqs");
    scene.home.ok(&["check"]);
    server.stop();
}

/// Issue 5: the router dropped what was answered with 401, and with the right secret there was nothing left to deliver.
#[test]
fn a_message_whose_token_is_not_believed_gets_through_once_the_secret_is_right() {
    let activemq = Runtime::new().unwrap().block_on(ActiveMqServer::start());
    let queue = activemq.url("steps", "");
    let scheduler = broker("ACTIVEMQ", &queue);
    let scene = Scene::new(Receiver::glad(), &scheduler);
    let server = scene.serve();
    let (port, url) = (port_of(&server), server.url.clone());
    create(&server, &[scene.letter("a", "a", 1)]);
    scene.until_status(&server, "a", "QUEUED");
    let database: store::Database = scene.home.database().parse().unwrap();
    let browse = database.browse().unwrap();
    until("it is published", || browse.unpublished().unwrap().0 == 0);
    server.stop();
    scene.configure("another secret than the nodes share, as long", &scheduler);
    let server = scene.serve_on(&port);
    let args = ["router", "--queue-url", &queue, "--target", &url, "--bind", "127.0.0.1:0"];
    let elsewhere = Home::new();
    let router = Server::spawn(elsewhere.command(&args));
    let shown = || get(&format!("{}/v1/router", router.url)).1;
    let warned = || shown()["warnings"].to_string();
    until("the router says so", || warned().contains("CRITICAL") && warned().contains("token-secret"));
    assert_eq!(shown()["counters"]["dropped"], 0);
    assert_eq!(scene.status(&server, "a"), "QUEUED");
    server.stop();
    scene.configure(SECRET, &scheduler);
    let server = scene.serve_on(&port);
    until("it is delivered", || scene.status(&server, "a") == "COMPLETED");
    let attempts: Vec<u32> = scene.receiver.heard().iter().map(|heard| heard.attempt).collect();
    assert_eq!(attempts, [1], "by the message that was kept");
    router.stop();
    server.stop();
}
