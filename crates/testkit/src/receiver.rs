//! A receiver of webhooks: a real socket that keeps what came and answers what it was told to.

use engine::{WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, WebhookSecrets};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Came {
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Came {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("it came as JSON")
    }
    pub fn kind(&self) -> String {
        self.json()["type"].as_str().expect("it has a kind").into()
    }
    /// Whether one of its signatures is that of the secret.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let secrets = WebhookSecrets::of(&[secret]).expect("a secret");
        let seconds = self.headers[WEBHOOK_TIMESTAMP].parse().expect("seconds");
        secrets.verify(
            &self.headers[WEBHOOK_ID],
            seconds,
            self.body.as_bytes(),
            &self.headers[WEBHOOK_SIGNATURE],
        )
    }
}

/// Answers with these in turn, and with the last one for ever.
#[derive(Clone)]
pub struct Receiver {
    pub place: String,
    came: Arc<Mutex<Vec<Came>>>,
}

impl Receiver {
    pub async fn answering(answers: &'static [&'static str]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let place = listener.local_addr().expect("it has an address").to_string();
        let receiver = Receiver { place, came: Arc::default() };
        let came = receiver.came.clone();
        tokio::spawn(async move {
            for n in 0.. {
                let Ok((mut stream, _)) = listener.accept().await else { return };
                let request = read(&mut stream).await;
                let answer = answers[n.min(answers.len() - 1)];
                let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                came.lock().expect("no test panics with it").push(request);
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        receiver
    }
    pub fn url(&self) -> String {
        format!("http://{}/hooks?k=1", self.place)
    }
    pub fn came(&self) -> Vec<Came> {
        self.came.lock().expect("no test panics with it").clone()
    }
    pub fn kinds(&self) -> Vec<String> {
        self.came().iter().map(Came::kind).collect()
    }
}

async fn read(stream: &mut TcpStream) -> Came {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        let n = stream.read(&mut piece).await.expect("it can be read");
        bytes.extend(&piece[..n]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let header = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_lowercase(), v.to_string()));
        let headers: HashMap<String, String> = head.lines().filter_map(header).collect();
        let length: usize = headers.get("content-length").map_or(0, |text| text.parse().expect("a length"));
        if body.len() >= length || n == 0 {
            return Came { headers, body: body.into() };
        }
    }
}
