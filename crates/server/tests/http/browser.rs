//! A real browser that is told what to do, over two pipes; so one of them opens many pages, in any width and theme.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// Nothing that is asked of a browser takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the browser is; without one these tests cannot say anything.
pub fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path)
        .flat_map(|dir| ["chromium", "chromium-browser"].map(|name| dir.join(name)));
    let found = places.into_iter().find(|file| file.is_file());
    found.expect("Chromium is not installed; run `cargo xtask test`, which installs it")
}

pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    asked: u64,
    /// What the browser complained about since the page was opened.
    complaints: Vec<String>,
    _dir: TempDir,
}

impl Browser {
    pub fn start() -> Browser {
        let dir = tempfile::tempdir().unwrap();
        let pipes = ["to", "from"].map(|name| dir.path().join(name));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        let child = spawn(dir.path(), &pipes);
        let to = File::options().write(true).open(&pipes[0]).unwrap();
        let from = listen(File::open(&pipes[1]).unwrap());
        let (session, complaints) = (String::new(), Vec::new());
        let mut browser = Browser { child, to, from, session, asked: 0, complaints, _dir: dir };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.ask("Target.attachToTarget", attach)["sessionId"].as_str().unwrap().into();
        for domain in ["Page", "Runtime", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// As wide as that, light or dark.
    pub fn look(&mut self, width: u32, theme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let theme = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.ask("Emulation.setEmulatedMedia", theme);
    }

    /// Run before anything of every page that is opened from now on.
    pub fn before_each(&mut self, script: &str) {
        self.ask("Page.addScriptToEvaluateOnNewDocument", json!({"source": script}));
    }

    pub fn open(&mut self, url: &str) {
        self.complaints.clear();
        let gone = self.ask("Page.navigate", json!({"url": url}));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        self.until_loaded();
    }

    /// Until the page that was asked for is there with its scripts.
    pub fn until_loaded(&mut self) {
        while self.hear()["method"] != "Page.loadEventFired" {}
    }

    /// What an expression is on the page, or comes to.
    pub fn eval(&mut self, script: &str) -> Value {
        let asked = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// Until it holds on the page, whichever page that is by then.
    pub fn until(&mut self, condition: &str) {
        let wait = format!(
            "new Promise((done, fail) => {{ let left = 600; const look = () => {{
               let holds = false; try {{ holds = document.readyState === 'complete' && ({condition}); }} catch {{}}
               if (holds) done(true); else if (left-- === 0) fail(new Error(document.body.innerHTML)); else setTimeout(look, 50); }}; look(); }})"
        );
        let asked = json!({"expression": wait, "awaitPromise": true, "returnByValue": true});
        loop {
            let answer = self.ask_for("Runtime.evaluate", &asked);
            // A page that is read anew meanwhile takes the question with it.
            if answer["error"]["message"].as_str().is_some_and(|told| told.contains("context"))
                || answer["error"]["code"] == -32_000
            {
                continue;
            }
            assert!(
                answer["error"].is_null() && answer["result"]["exceptionDetails"].is_null(),
                "{condition}: {answer:#}"
            );
            return;
        }
    }

    /// What the browser refused and which scripts failed.
    pub fn complaints(&mut self) -> Vec<String> {
        // Whatever was complained about before is heard before the answer.
        self.eval("0");
        self.complaints.clone()
    }

    /// The whole page as a picture, where somebody wants to look at it.
    pub fn picture(&mut self, file: &Path) {
        let asked = json!({"format": "png", "captureBeyondViewport": true});
        let taken = self.ask("Page.captureScreenshot", asked);
        std::fs::write(file, STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()).unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask_for(method, &params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn ask_for(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        let mut order = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            order["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{order}\0").as_bytes()).unwrap();
        loop {
            let told = self.hear();
            if told["id"] == id {
                return told;
            }
        }
    }

    fn hear(&mut self) -> Value {
        let told = self.from.recv_timeout(PATIENCE).expect("the browser does not answer");
        let said = &told["params"];
        match told["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(said["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") if said["type"] == "error" => {
                self.complaints.push(said["args"].to_string())
            }
            Some("Log.entryAdded") if said["entry"]["level"] == "error" => {
                self.complaints.push(said["entry"].to_string())
            }
            // Whatever was planted speaks by a dialogue.
            Some("Page.javascriptDialogOpening") => panic!("something planted runs: {told}"),
            _ => {}
        }
        told
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The shell gives the browser the pipes it listens to and answers on.
fn spawn(dir: &Path, pipes: &[PathBuf; 2]) -> Child {
    Command::new("sh")
        .args(["-c", "exec \"$0\" \"$@\" 3<\"$TO\" 4>\"$FROM\""])
        .arg(chromium())
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
        ])
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .env("TO", &pipes[0])
        .env("FROM", &pipes[1])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn listen(from: File) -> Receiver<Value> {
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        let told = BufReader::new(from).split(0).map_while(Result::ok);
        for message in told {
            let Ok(message) = serde_json::from_slice(&message) else { return };
            if tell.send(message).is_err() {
                return;
            }
        }
    });
    heard
}
