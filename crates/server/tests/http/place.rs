//! A whole server on a database of its own, asked without a socket.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode};
use engine::{Config, Engine, EngineThread, Keyring, SealKey};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stepfast_server::{self as server, Site};
use store::postgres::Scratch;
use store::sqlite::Holder;
use store::{Clock, Database, SystemClock};
use tempfile::TempDir;
use tokio::time::{interval, timeout};
use tower::ServiceExt;
use worker::{Claim, Outcome, Registry, Runner, RunnerConfig};

/// Nothing that a test waits for takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Place {
    pub engine: Engine,
    pub router: Router,
    pub dir: TempDir,
    database: Database,
    _scratch: Option<Scratch>,
    thread: EngineThread,
    runners: Vec<Runner>,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
    /// A problem of this status, with its code.
    pub fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.headers["content-type"], "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        problem
    }
    pub fn ok(&self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.text());
        self.json()
    }
}

impl Place {
    pub fn open() -> Place {
        Place::at(Arc::new(SystemClock::default()))
    }

    /// By a clock of the test.
    pub fn at(clock: Arc<dyn Clock>) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let scratch = std::env::var("STEPFAST_TEST_POSTGRES").ok().map(|server| scratch(&server));
        let database = match &scratch {
            Some(scratch) => Database::Postgres(scratch.url.clone()),
            None => Database::Sqlite(dir.path().join("steps.db")),
        };
        let holder = Holder { pid: std::process::id(), host: "here".into(), url: None, doing: "test".into() };
        let store = database.open(Some(clock.clone()), holder).unwrap();
        let secrets = Keyring::of(vec![SealKey::new("k1", [7; 32])]);
        let config = Config { host: "here".into(), full_history: true, secrets, ..Config::default() };
        let (engine, thread) = Engine::start(store, config).unwrap();
        let site = Site {
            engine: engine.clone(),
            database: database.clone(),
            clock,
            version: "1.2.3",
            host: "here".into(),
            require_key: false,
            processing: None,
            routing: None,
            triggers: Vec::new(),
            network: server::Network::default(),
        };
        let router = server::router(site);
        Place { engine, router, dir, database, _scratch: scratch, thread, runners: Vec::new() }
    }

    pub fn site(&self) -> Site {
        Site {
            engine: self.engine.clone(),
            database: self.database.clone(),
            clock: Arc::new(SystemClock::default()),
            version: "1.2.3",
            host: "here".into(),
            require_key: false,
            processing: None,
            routing: None,
            triggers: Vec::new(),
            network: server::Network::default(),
        }
    }

    /// The file, where the database is one.
    pub fn file(&self) -> PathBuf {
        self.dir.path().join("steps.db")
    }

    /// A worker on the host `worker1` with the built-in actions and what the test adds.
    pub async fn work(&mut self, add: impl FnOnce(&mut Registry)) {
        let mut registry = Registry::default();
        worker::register_builtin(&mut registry);
        add(&mut registry);
        let queues = vec!["default".into(), "priority".into()];
        let config =
            RunnerConfig { host: "worker1".into(), queues, concurrency: 16, ..RunnerConfig::default() };
        self.runners.push(Runner::start(self.engine.clone(), registry, config).await.unwrap());
    }

    /// Also over a real connection, for as long as the test runs.
    pub async fn listen(&mut self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(server::serve(listener, self.site(), std::future::pending()));
        url
    }

    /// From this machine, unless the request says where from.
    pub async fn send(&self, mut request: Request<Body>) -> Answer {
        if request.extensions().get::<ConnectInfo<SocketAddr>>().is_none() {
            request.extensions_mut().insert(peer("127.0.0.1:40000"));
        }
        ask(&self.router, request).await
    }

    /// A new key of this role, and its id.
    pub async fn key(&self, role: &str) -> (String, String) {
        let made = self.post("/v1/keys", format!(r#"{{"name": "the {role}", "role": "{role}"}}"#)).await.ok();
        let text = |field: &str| made[field].as_str().unwrap().to_string();
        (text("key"), text("id"))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).header("host", "localhost:7837").body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        let request =
            Request::post(path).header("host", "localhost:7837").header("content-type", "application/json");
        self.send(request.body(body.into()).unwrap()).await
    }

    /// Create steps from the JSON of a list, and name them.
    pub async fn create(&self, steps: &str) -> Vec<String> {
        let answer = self.post("/v1/steps", format!("{{\"steps\": {steps}}}")).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
        let created = answer.json();
        created["steps"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap().to_string()).collect()
    }

    /// Store a definition that is written as YAML.
    pub async fn define(&self, yaml: impl Into<Body>) -> Answer {
        self.define_with("", yaml).await
    }

    /// The same, with parameters.
    pub async fn define_with(&self, query: &str, yaml: impl Into<Body>) -> Answer {
        let request = Request::post(format!("/v1/definitions{query}"))
            .header("host", "localhost:7837")
            .header("content-type", "application/yaml");
        self.send(request.body(yaml.into()).unwrap()).await
    }

    /// Start a workflow, and name it.
    pub async fn start(&self, workflow: &str, input: Value) -> String {
        let body = serde_json::json!({"workflow": workflow, "input": input});
        let answer = self.post("/v1/workflows", body.to_string()).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_string()
    }

    pub async fn until_workflow(&self, id: &str, state: &str) -> Value {
        self.until(&format!("/v1/workflows/{id}"), |workflow| workflow["state"] == state).await
    }

    pub async fn step(&self, id: &str) -> Value {
        self.get(&format!("/v1/steps/{id}")).await.ok()
    }

    /// Ask until the answer is as expected.
    pub async fn until(&self, path: &str, expected: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let asked = timeout(PATIENCE, async {
            let mut again = interval(Duration::from_millis(5));
            loop {
                again.tick().await;
                last = self.get(path).await.ok();
                if expected(&last) {
                    break;
                }
            }
        });
        assert!(asked.await.is_ok(), "{path} never answered as expected; at last {last}");
        last
    }

    pub async fn until_state(&self, id: &str, state: &str) -> Value {
        self.until(&format!("/v1/steps/{id}"), |step| step["state"] == state).await
    }

    pub async fn close(self) {
        for runner in self.runners {
            runner.stop(Duration::ZERO).await;
        }
        self.engine.stop().await.unwrap();
        let thread = self.thread;
        tokio::task::spawn_blocking(move || thread.join()).await.unwrap();
    }
}

/// Where a request comes from.
pub fn peer(address: &str) -> ConnectInfo<SocketAddr> {
    ConnectInfo(address.parse().unwrap())
}

/// Every answer is held to the document, and to what keeps a browser strict.
pub async fn ask(router: &Router, request: Request<Body>) -> Answer {
    let (method, path) = (request.method().clone(), request.uri().path().to_string());
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, 64 << 20).await.unwrap();
    let answer = Answer { status: parts.status, headers: parts.headers, bytes };
    crate::document::hold(&method, &path, &answer);
    crate::guard::hold(&method, &path, &answer);
    answer
}

fn scratch(server: &str) -> Scratch {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let n = MADE.fetch_add(1, Ordering::Relaxed);
    Scratch::new(server, &format!("http_{}_{n}", std::process::id())).unwrap()
}

/// A job that runs until its worker stops.
pub async fn endless(_: Claim) -> Outcome {
    std::future::pending().await
}
