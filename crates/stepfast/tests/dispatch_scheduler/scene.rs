//! A home with a dispatch scheduler in its configuration.

use crate::common::{Home, Server, client, get, post, until};
use crate::receiver::Receiver;
use serde_json::{Value, json};

pub const SECRET: &str = "a secret that all nodes share, 32 bytes and more";

pub struct Scene {
    pub home: Home,
    pub receiver: Receiver,
}

impl Scene {
    pub fn new(receiver: Receiver, scheduler: &str) -> Scene {
        let scene = Scene { home: Home::new(), receiver };
        scene.configure(SECRET, scheduler);
        scene
    }

    /// What holds from the next start on.
    pub fn configure(&self, secret: &str, scheduler: &str) {
        let place = &self.receiver.place;
        let text = format!(
            "[actions.http]\nallow = [\"{place}\"]\n[dispatch-scheduler]\ntoken-secret = \"{secret}\"\n{scheduler}"
        );
        std::fs::write(self.home.dir.path().join("stepfast.toml"), text).unwrap();
    }

    pub fn serve(&self) -> Server {
        self.serve_on("0")
    }

    pub fn serve_on(&self, port: &str) -> Server {
        let mut command = self.home.command(&["serve", "--port", port]);
        command.env("RUST_LOG", "off");
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        Server::spawn(command)
    }

    pub fn letter(&self, key: &str, path: &str, n: usize) -> Value {
        json!({"step_key": key, "action": "deliver", "retry_delay_ms": 10,
               "arguments": {"url": format!("http://{}/{path}", self.receiver.place), "body": n}})
    }

    /// To be delivered in order.
    pub fn ordered(&self, key: &str, group: &str, n: usize) -> Value {
        let mut letter = self.letter(key, group, n);
        letter["message_group"] = group.into();
        letter["mode"] = "block_on_error".into();
        letter
    }

    pub fn status(&self, server: &Server, key: &str) -> String {
        let (_, page) = get(&format!("{}/v1/steps?step_key={key}", server.url));
        page["steps"][0]["status"].as_str().unwrap_or_default().into()
    }

    pub fn until_status(&self, server: &Server, key: &str, status: &str) {
        until(&format!("{key} is {status}"), || self.status(server, key) == status);
    }
}

pub fn create(server: &Server, steps: &[Value]) {
    let (status, answer) = post(&format!("{}/v1/steps", server.url), &json!({ "steps": steps }));
    assert_eq!(status, 201, "{answer}");
}

/// The same again under the same key is made once.
pub fn create_once(server: &Server, steps: &[Value], key: &str) -> u16 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = client().post(format!("{}/v1/steps", server.url)).header("Idempotency-Key", key);
    runtime.block_on(async {
        request.json(&json!({ "steps": steps })).send().await.map_or(0, |answer| answer.status().as_u16())
    })
}
