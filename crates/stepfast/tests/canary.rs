//! Canaries (S33): a secret of every kind is planted in a real server that logs all it can, and looked for in whatever comes out of it.
#![allow(clippy::unwrap_used)]

mod common;
mod outside;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use common::{Home, Server, first_line, text, until};
use outside::{Heard, Outside};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::time::{interval, timeout};

const PATIENCE: Duration = Duration::from_secs(30);

/// What a workflow is given in secret.
const INPUT: &str = "CANARY-input-3f9a1c7e5d";
/// The bytes that are signed with, by a channel, a subscription and whoever triggers.
const CHANNEL: &str = "CANARY-channel-secret-b81f";
const SUBSCRIPTION: &str = "CANARY-subscription-secret-09ce";
const TRIGGER: &str = "CANARY-trigger-secret-5b1e7d";
/// The way into a chat.
const CHAT: &str = "CANARY-chat-address-77ab";
/// What seals all of them: 32 bytes.
const SEAL: &str = "CANARY-seal-key-0123456789abcdef";

const CARDS: &str = r#"
workflow: cards
version: 1.0.0
secrets: [input.card.number]
steps:
  - { key: say, action: echo, arguments: { card: "${input.card.number}" } }
  - { key: each, action: echo, each: "[input.card]" }
  - { key: refuse, action: fail, arguments: { message: "${input.card.number}" }, retry: { attempts: 1 } }
"#;

fn asks(workflow: &str, auth: &str) -> String {
    format!(
        "workflow: {workflow}\nversion: 1.0.0\nsteps:\n  - {{ key: ask, action: echo, pause_after: {{ trigger: boss, auth: {auth} }} }}\n"
    )
}

fn signing(bytes: &str) -> String {
    format!("whsec_{}", BASE64_STANDARD.encode(bytes))
}

/// A secret as it may be written: plain, in hex, and inside of base64 wherever it begins there.
fn forms(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut all = vec![secret.to_string(), hex.to_uppercase(), hex];
    for shift in 0..3 {
        let bytes = [&vec![0; shift][..], secret.as_bytes()].concat();
        // Only the letters that hold nothing but the secret.
        let (from, to) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
        all.extend([&BASE64_STANDARD, &BASE64_URL_SAFE].map(|way| way.encode(&bytes)[from..to].to_string()));
    }
    all
}

#[test]
fn whatever_a_secret_is_written_as_it_is_found() {
    for before in ["", "a", "ab", "abc"] {
        let text = format!("{before}{INPUT} and more");
        let hex: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
        for shown in [text.clone(), hex, BASE64_STANDARD.encode(&text), BASE64_URL_SAFE.encode(&text)] {
            assert!(forms(INPUT).iter().any(|form| shown.contains(form)), "{shown}");
        }
    }
    assert!(!forms(INPUT).iter().any(|form| BASE64_STANDARD.encode(TRIGGER).contains(form)));
}

/// A server with a secret of every kind, asked by its administrator.
struct Scene {
    home: Home,
    server: Server,
    /// Whoever is told by it.
    outside: Outside,
    http: Client,
    key: String,
    log: PathBuf,
    /// What came out of it, by where.
    shown: BTreeMap<String, String>,
    /// Secrets that nobody chose.
    made: Vec<String>,
}

impl Scene {
    fn open() -> Scene {
        let (home, outside) = (Home::new(), Outside::glad());
        let (seal, place) = (BASE64_STANDARD.encode(SEAL), &outside.place);
        let config = format!(
            "[secrets]\nkeys = [\"k1:{seal}\"]\n[triggers.signed]\nsecrets = [\"{TRIGGER}\"]\n[actions.http]\nallow = [\"{place}\"]\n"
        );
        std::fs::write(home.dir.path().join("stepfast.toml"), config).unwrap();
        let made = &home.json(&["keys", "create", "--name", "boss", "--role", "admin", "--json"])[0];
        let key = made["key"].as_str().unwrap().to_string();
        let log = home.dir.path().join("log");
        let mut command = home.command(&["serve", "--port", "0"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", outside.url(""));
        command.env("RUST_LOG", "trace").stdout(Stdio::piped());
        let mut child = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
        let url = first_line(child.stdout.take().unwrap()).trim().replace("listening on ", "");
        let (server, http) = (Server { child, url }, common::client());
        let secret = key.rsplit_once('_').unwrap().1.to_string();
        Scene { home, server, outside, http, key, log, shown: BTreeMap::new(), made: vec![secret] }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.server.url)).bearer_auth(&self.key)
    }

    /// What it answers must be a success; that may show a secret, once.
    async fn posted(&self, path: &str, body: Value) -> Value {
        let answer = self.request(Method::POST, path).json(&body).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    async fn define(&self, yaml: String) {
        let request =
            self.request(Method::POST, "/v1/definitions").header("content-type", "application/yaml");
        let answer = request.body(yaml).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }

    /// A refusal is kept: it shows nothing of what was sent.
    async fn refused(&mut self, path: &str, body: Value, bearer: &str) {
        let request = self.http.post(format!("{}{path}", self.server.url)).bearer_auth(bearer);
        let answer = request.json(&body).send().await.unwrap();
        assert!(answer.status().is_client_error(), "{path}: {}", answer.status());
        let place = format!("refused {} {path}", self.shown.len());
        self.shown.insert(place, answer.text().await.unwrap());
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let answer = self.request(Method::GET, path).header("accept", "text/html,*/*").send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    /// What a browser is given.
    async fn signed_in(&self) -> String {
        let browser = Client::builder().tls_certs_only([]).redirect(Policy::none()).build().unwrap();
        let request = browser.post(format!("{}/sign-in", self.server.url)).body(format!("key={}", self.key));
        let entered =
            request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap();
        let cookie = entered.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap();
        cookie.split_once('=').unwrap().1.into()
    }

    async fn started(&self, workflow: &str, input: Value, state: &str) -> String {
        let body = json!({"workflow": workflow, "input": input});
        let id = self.posted("/v1/workflows", body).await["id"].as_str().unwrap().to_string();
        let reached = async {
            let mut again = interval(Duration::from_millis(10));
            loop {
                again.tick().await;
                let shown = self.request(Method::GET, &format!("/v1/workflows/{id}")).send().await.unwrap();
                if shown.json::<Value>().await.unwrap()["state"] == state {
                    break;
                }
            }
        };
        timeout(PATIENCE, reached).await.unwrap_or_else(|_| panic!("{workflow} was never {state}"));
        id
    }
}

fn id(of: &Value) -> String {
    of["id"].as_str().unwrap().into()
}

/// What stands in the addresses of pages and answers, by the part of the path that names it.
type Names = Vec<(&'static str, String)>;

/// Where a subscription, a webhook and a chat are told.
const SUBSCRIBER: &str = "/subscriber";
const HOOK: &str = "/hook";

fn room() -> String {
    format!("/{CHAT}")
}

/// Whoever is told of what happens from now on.
async fn listeners(scene: &Scene) -> Names {
    let [subscriber, hook, room] = [SUBSCRIBER, HOOK, &room()].map(|path| scene.outside.url(path));
    let secret = signing(SUBSCRIPTION);
    let subscription = json!({"name": "s", "url": subscriber, "types": ["*"], "secret": secret});
    let subscription = id(&scene.posted("/v1/subscriptions", subscription).await);
    scene.posted(&format!("/v1/subscriptions/{subscription}/test"), json!({})).await;
    for body in [
        json!({"name": "ops", "kind": "webhook", "url": hook, "secrets": [signing(CHANNEL)]}),
        json!({"name": "room", "kind": "chat", "url": room}),
    ] {
        scene.posted("/v1/channels", body.clone()).await;
        scene.posted(&format!("/v1/channels/{}/test", body["name"].as_str().unwrap()), json!({})).await;
    }
    vec![
        ("/v1/subscriptions/{id}", subscription),
        ("/v1/channels/{name}", "ops".into()),
        ("/v1/channels/{name}", "room".into()),
    ]
}

/// Whatever else a page or an answer can be about.
async fn around(scene: &Scene) -> Names {
    let ghost = json!({"steps": [{"action": "ghost", "message_group": "g", "mode": "block_on_error"}]});
    let step = id(&scene.posted("/v1/steps", ghost).await["steps"][0]);
    scene.posted("/v1/pools", json!({"name": "card", "concurrency": 1})).await;
    scene.posted("/v1/executions/begin", json!({"namespace": "n", "key": "k"})).await;
    let flow = scene.posted("/v1/flows", json!({"type": "t", "key": "1", "steps": ["a"]})).await;
    let bulk = json!({"what": "steps", "filter": {"action": "nothing"}, "verb": "skip", "why": "x"});
    let bulk = id(&scene.posted("/v1/bulk", bulk).await);
    let rule = scene.request(Method::PUT, "/v1/stuck/rules/step-waiting").json(&json!({"older_than": "0s"}));
    assert!(rule.send().await.unwrap().status().is_success());
    scene.posted("/v1/stuck/detect", json!({})).await;
    let alerts: Value = serde_json::from_str(&scene.get("/v1/alerts").await.1).unwrap();
    vec![
        ("/v1/steps/{id}", step.clone()),
        ("/step-dispatcher/steps/{id}", step),
        ("/v1/flows/{id}", id(&flow["flow"])),
        ("/flows/{id}", id(&flow["flow"])),
        ("/v1/bulk/{id}", bulk.clone()),
        ("/bulk/{id}", bulk),
        ("/v1/alerts/{id}", alerts["alerts"][0]["id"].to_string()),
        ("/alerts/{id}", alerts["alerts"][0]["id"].to_string()),
        ("/v1/pools/{name}", "card".into()),
        ("/v1/message-groups/{name}", "g".into()),
        ("/message-groups/{name}", "g".into()),
        ("/v1/stuck/rules/{name}", "step-waiting".into()),
        ("/assets/{name}", "page.js".into()),
        ("/docs/errors/{code}", "late".into()),
    ]
}

/// Workflows that were given a secret, wait for one, and were sent one.
async fn workflows(scene: &mut Scene) -> Names {
    for yaml in [CARDS.into(), asks("asks", "token"), asks("signed", "hmac")] {
        scene.define(yaml).await;
    }
    let cards = scene.started("cards", json!({"card": {"number": INPUT}}), "failed").await;
    let waits = scene.started("asks", json!({}), "paused").await;
    let signed = scene.started("signed", json!({}), "paused").await;
    let token = scene.posted(&format!("/v1/workflows/{waits}/triggers/boss/token"), json!({})).await;
    let token = token["token"].as_str().unwrap().to_string();
    // What nobody takes is not repeated either.
    scene.refused(&format!("/trigger/{signed}/boss"), json!({}), &token).await;
    scene.refused(&format!("/trigger/{signed}/boss"), json!({}), TRIGGER).await;
    let strange = json!({"workflow": "cards", "input": {"card": {"number": INPUT}}, "strange": 1});
    let key = scene.key.clone();
    scene.refused("/v1/workflows", strange, &key).await;
    scene.refused("/v1/keys/x/revoke", json!({}), &format!("{key}0")).await;
    scene.made.push(token);
    let shown: Value = serde_json::from_str(&scene.get(&format!("/v1/workflows/{cards}")).await.1).unwrap();
    let steps = shown["steps"].as_array().unwrap();
    assert_eq!(shown["input"]["card"]["number"], "[secret]", "{shown}");
    let mut names: Names = steps
        .iter()
        .filter_map(|step| step["step_id"].as_str())
        .flat_map(|step| ["/v1/steps/{id}", "/step-dispatcher/steps/{id}"].map(|at| (at, step.to_string())))
        .collect();
    for workflow in [&cards, &waits, &signed] {
        names.extend(["/v1/workflows/{id}", "/workflows/{id}"].map(|at| (at, workflow.clone())));
    }
    names.push(("/waiting/{workflow_id}", waits));
    names
}

/// The addresses of a route: one for each thing that it can be about.
fn addresses(path: &str, names: &Names) -> Vec<String> {
    let path = path
        .replace("{workflow}", "cards")
        .replace("{version}", "1.0.0")
        .replace("{trigger_key}", "boss")
        .replace("/steps/{key}/items", "/steps/each/items")
        .replace("{namespace}", "n")
        .replace("{key}", "k")
        .replace("/diff", "/diff?to=1.0.0")
        // They would go on for ever; what they say is in the history of the workflow.
        .replace("/v1/events", "/v1/events?after=nowhere")
        .replace("/step-dispatcher/live", "/step-dispatcher/live?what=ever");
    let named = |(at, name): &(&str, String)| {
        let (start, _) = at.split_once('{')?;
        let rest = path.strip_prefix(at)?;
        Some(format!("{start}{name}{rest}"))
    };
    if path.contains('{') { names.iter().filter_map(named).collect() } else { vec![path] }
}

/// Every GET that there is.
async fn everything(scene: &mut Scene, names: &Names) {
    let all = server::routes();
    for route in all.iter().filter(|route| route.method == Method::GET) {
        if route.path.starts_with("/approve/") {
            // Whoever opens it has the token in hand, and the form sends it back.
            continue;
        }
        let addresses = addresses(route.path, names);
        assert!(!addresses.is_empty(), "say what {} can be about", route.path);
        for address in addresses {
            let (status, text) = scene.get(&address).await;
            let is_stream = address.contains("?after=nowhere") || address.contains("?what=ever");
            // An item list is of one workflow alone, and this server has no router.
            let is_elsewhere = address.contains("/items") || address == "/v1/router";
            assert!(
                status == 200 || is_stream || is_elsewhere && status == 404,
                "{address}: {status} {text}"
            );
            scene.shown.insert(address, text);
        }
    }
}

/// A copy of the database, as text.
fn copied(home: &Home) -> String {
    let database = home.database();
    if !database.starts_with("postgres") {
        let copy = home.dir.path().join("copy.db");
        home.ok(&["backup", copy.to_str().unwrap()]);
        return text(&std::fs::read(copy).unwrap());
    }
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let places =
        installed.map(|version| version.path().join("bin/pg_dump")).chain([PathBuf::from("pg_dump")]);
    let mut tried = places.filter_map(|dump| Command::new(dump).arg(&database).output().ok());
    let dumped = tried.find(|output| output.status.success()).expect("pg_dump makes a copy");
    text(&dumped.stdout)
}

/// What came, without where to: the address of a chat is known to whoever answers there.
fn said(heard: &Heard) -> String {
    format!("{:?}\n{}", heard.headers, text(&heard.body))
}

/// Each of those who are told has heard of the workflow that failed over what is secret.
fn hear(outside: &Outside) {
    let room = room();
    let words =
        [(SUBSCRIBER, "stepfast.workflow.failed"), (HOOK, "stepfast.workflow.failed"), (&*room, "cards")];
    for (path, word) in words {
        until(&format!("{path} hears of {word}"), || {
            outside.heard_at(path).iter().any(|one| said(one).contains(word))
        });
    }
    until("a span says why an attempt failed", || {
        let why = outside.spans().into_iter().filter_map(|span| span.status);
        why.into_iter().any(|status| status.message.contains("[secret]"))
    });
}

#[tokio::test]
async fn s33_no_canary_is_in_any_log_answer_page_error_or_copy() {
    let mut scene = Scene::open();
    let mut names = listeners(&scene).await;
    names.extend(workflows(&mut scene).await);
    names.extend(around(&scene).await);
    let token = scene.signed_in().await;
    scene.made.push(token);
    everything(&mut scene, &names).await;
    assert!(scene.shown["/metrics"].contains("stepfast"));
    assert!(scene.shown.values().any(|text| text.contains("[secret]")), "what is covered is shown as such");
    hear(&scene.outside);
    let Scene { home, server, outside, log, mut shown, mut made, .. } = scene;
    let answers = shown.len();
    shown.insert("a copy of the database".into(), copied(&home));
    assert!(shown["a copy of the database"].contains("sealed:v1:k1:"), "it holds what stands for them");
    server.stop();
    let heard = outside.heard();
    let sealed = heard.iter().find(|one| said(one).contains("sealed:v1:"));
    assert!(
        sealed.is_none(),
        "what stands for a secret is of use to nobody outside: {}",
        said(sealed.unwrap())
    );
    shown.extend(heard.iter().enumerate().map(|(n, one)| (format!("heard {n} {}", one.path), said(one))));
    shown.insert("the log".into(), text(&std::fs::read(log).unwrap()));
    assert!(shown["the log"].contains("TRACE"), "it says all it can");
    made.extend([INPUT, CHANNEL, SUBSCRIPTION, TRIGGER, CHAT, SEAL].map(String::from));
    assert_eq!(made.len(), 9, "a key, a pause, a browser, and what was planted");
    for secret in &made {
        for form in forms(secret) {
            let found = shown.iter().find(|(_, text)| text.contains(&form));
            let place = found.map(|(place, text)| (place, text.lines().find(|line| line.contains(&form))));
            assert!(place.is_none(), "{form} is in {place:?}");
        }
    }
    println!(
        "{} canaries in {answers} answers, {} calls, {} bytes of log and a copy: none",
        made.len(),
        heard.len(),
        shown["the log"].len()
    );
}
