//! The embedded queue passes the suite of all transports, and takes nothing twice that it has.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use stepfast_transport::Transport;
use stepfast_transport::conformance::{self, Rig};
use stepfast_transport::embedded::EmbeddedQueue;

#[derive(Default)]
struct Embedded(Mutex<HashMap<String, EmbeddedQueue>>);

impl Embedded {
    fn queue(&self, name: &str) -> EmbeddedQueue {
        self.0.lock().unwrap()[name].clone()
    }
}

#[async_trait]
impl Rig for Embedded {
    async fn make_queue(&self, name: &str) {
        self.0.lock().unwrap().insert(name.into(), EmbeddedQueue::default());
    }
    async fn connect(&self, queue: &str) -> Arc<dyn Transport> {
        Arc::new(self.queue(queue).connect())
    }
    async fn put(&self, queue: &str, body: &str) {
        self.queue(queue).put(body.as_bytes());
    }
    async fn stop(&self) {
        self.0.lock().unwrap().values().for_each(|queue| queue.stop(true));
    }
    async fn start(&self) {
        self.0.lock().unwrap().values().for_each(|queue| queue.stop(false));
    }
}

#[tokio::test(start_paused = true)]
async fn conformance() {
    conformance::run(Arc::new(Embedded::default())).await;
}
