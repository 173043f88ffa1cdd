//! Nodes, routers and brokers that die under load: nothing is lost, and no customer sees two deliveries at once or out of order.

use crate::common::Server;
use crate::receiver::{Heard, Receiver};
use crate::scene::{SECRET, Scene, create_once};
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use transport::conformance::activemq::ActiveMqServer;

pub const CUSTOMERS: usize = 20;
/// More by `STEPFAST_KILLS`.
const KILLS: usize = 3;

fn kills() -> usize {
    std::env::var("STEPFAST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS)
}

/// As `until`, with patience: a router that found nobody there comes back to a message after half a minute.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..15_000 {
        if is_so() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("it never came to be that {what}");
}

/// Deliveries take a moment, so that a kill meets some of them.
fn receiver() -> Receiver {
    Receiver::new(|_, _| {
        std::thread::park_timeout(Duration::from_millis(3));
        (200, String::new())
    })
}

pub fn load(scene: &Scene, server: &Server, from: usize, n: usize) {
    let letters: Vec<_> = (from..from + n)
        .flat_map(|i| (0..CUSTOMERS).map(move |c| (i, c)))
        .map(|(i, c)| scene.ordered(&format!("c{c}-{i}"), &format!("c{c}"), i))
        .collect();
    // The database may be on its way back.
    let key = format!("load-{from}");
    until("the steps are made", || create_once(server, &letters, &key) == 201);
}

/// What a database that dies is restarted with, where a test has one of its own: `STEPFAST_TEST_RESTART`.
fn restart_database() {
    if let Ok(command) = std::env::var("STEPFAST_TEST_RESTART") {
        let done = Command::new("sh").args(["-c", &command]).stdout(Stdio::null()).status().unwrap();
        assert!(done.success(), "{command} ended with {done}");
    }
}

/// The history of each customer, as the receiver saw it.
pub fn judge(heard: &[Heard], n: usize) {
    let mut lines: BTreeMap<&str, Vec<&Heard>> = BTreeMap::new();
    heard.iter().for_each(|one| lines.entry(&one.path).or_default().push(one));
    assert_eq!(lines.len(), CUSTOMERS, "every customer was served");
    for (customer, mut line) in lines {
        line.sort_by_key(|one| one.began);
        let numbers: Vec<usize> = line.iter().map(|one| one.body.parse().unwrap()).collect();
        assert!(numbers.is_sorted(), "{customer} was served out of order: {numbers:?}");
        let mut distinct = numbers.clone();
        distinct.dedup();
        assert_eq!(distinct, (0..n).collect::<Vec<_>>(), "{customer} was served everything");
        for two in line.windows(2) {
            assert!(two[0].ended < two[1].began, "{customer} saw two at once: {two:?}");
        }
    }
}

/// Everybody is served further: a step that is lost with its node again and again would be stopped.
fn until_all_go_on(scene: &Scene) {
    let served = || {
        let mut last: BTreeMap<String, usize> = BTreeMap::new();
        for heard in scene.receiver.heard() {
            last.insert(heard.path, heard.body.parse().unwrap());
        }
        last
    };
    let before = served();
    until("everybody is served further", || {
        let now = served();
        now.len() == CUSTOMERS && now.iter().all(|(who, last)| before.get(who).is_none_or(|was| last > was))
    });
}

pub fn all_done(scene: &Scene, n: usize) -> bool {
    let mut done = 0;
    for heard in scene.receiver.heard() {
        done += usize::from(heard.body == (n - 1).to_string());
    }
    done >= CUSTOMERS
}

pub fn port_of(server: &Server) -> String {
    server.url.rsplit(':').next().unwrap().into()
}

#[test]
fn with_the_embedded_queue_a_node_may_die_at_any_time() {
    let scene = Scene::new(receiver(), "");
    let mut server = scene.serve();
    let port = port_of(&server);
    for round in 0..kills() {
        load(&scene, &server, round * 10, 10);
        until_all_go_on(&scene);
        restart_database();
        until_all_go_on(&scene);
        server.kill();
        server = scene.serve_on(&port);
    }
    let n = kills() * 10;
    until("everything is delivered", || all_done(&scene, n));
    judge(&scene.receiver.heard(), n);
    scene.home.ok(&["check"]);
    server.stop();
}

/// A process that dies with the test.
pub struct RouterProcess(Child);

impl RouterProcess {
    pub fn start(queue: &str, server: &str) -> RouterProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stepfast"));
        command.args(["router", "--queue-url", queue, "--target", server]).env("RUST_LOG", "off");
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        RouterProcess(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for RouterProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn with_a_broker_node_router_and_broker_may_die_at_any_time() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let broker = runtime.block_on(ActiveMqServer::start());
    let queue = broker.url("steps", "");
    let scheduler = format!("queue-type = \"ACTIVEMQ\"\nqueue-url = \"{queue}\"\n");
    let scene = Scene::new(receiver(), &scheduler);
    assert!(SECRET.len() >= 32);
    let mut server = scene.serve();
    let (port, url) = (port_of(&server), server.url.clone());
    let mut router = RouterProcess::start(&queue, &url);
    let rounds = kills() * 3;
    for round in 0..rounds {
        load(&scene, &server, round * 5, 5);
        until_all_go_on(&scene);
        match round % 3 {
            0 => {
                drop(router);
                router = RouterProcess::start(&queue, &url);
            }
            1 => {
                broker.kill();
                runtime.block_on(broker.up());
            }
            _ => {
                server.kill();
                server = scene.serve_on(&port);
            }
        }
    }
    until("everything is delivered", || all_done(&scene, rounds * 5));
    judge(&scene.receiver.heard(), rounds * 5);
    scene.home.ok(&["check"]);
    drop(router);
    server.stop();
}
