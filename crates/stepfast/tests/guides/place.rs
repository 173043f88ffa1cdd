//! Where the shell blocks of a page are run: an empty directory with the real binary, alone or beside a server.

use crate::common::{self, Server};
use crate::pages;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who is far away on the pages; here they all live in the test, and nothing leaves the machine.
const ELSEWHERE: [&str; 5] = [
    "https://api.example.com",
    "https://example.com",
    "https://hooks.slack.com",
    "https://pay.example",
    "https://bills.example",
];
/// Pages whose files of configuration the server has that the others are run against.
const CONFIGURED: [&str; 3] = ["docs/notifications.md", "docs/webhooks.md", "docs/pauses.md"];
/// A page that takes longer waits for something that does not come.
const LIMIT_SECONDS: &str = "120";

/// Answers every call with 200 and says that nothing is there yet.
fn receiver() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    place
}

fn answer(stream: std::net::TcpStream) {
    let mut reader = BufReader::new(&stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
        let head = line.to_ascii_lowercase();
        length = head.strip_prefix("content-length:").map_or(length, |n| n.trim().parse().unwrap());
        line.clear();
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let said = r#"{"id":7,"status":"waiting"}"#;
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length";
    let _ = write!(&stream, "{head}: {}\r\n\r\n{said}", said.len());
}

/// A directory of its own for each page; below it is what the server has, if there is one.
pub struct Place {
    dir: tempfile::TempDir,
    receiver: String,
    server: Option<Server>,
}

impl Place {
    /// For a page that starts whatever it needs.
    pub fn alone() -> Place {
        Place { dir: tempfile::tempdir().unwrap(), receiver: receiver(), server: None }
    }

    /// For pages that speak to a server which is there.
    pub fn served(args: &[&str]) -> Place {
        let mut place = Place::alone();
        let allowed = "[actions.http]\nallow = [\"127.0.0.1\"]\n".to_string();
        let files = CONFIGURED.iter().map(|page| place.here(&pages::shown(page, "toml")));
        let whole: String = std::iter::once(allowed).chain(files).collect();
        std::fs::write(place.config(), whole).unwrap();
        let mut command = common::command(&place.db(), &["serve", "--port", "0", "--config"]);
        command.arg(place.config()).args(args);
        place.server = Some(Server::spawn(command));
        place
    }

    fn db(&self) -> PathBuf {
        self.dir.path().join("steps.db")
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("served.toml")
    }

    /// With addresses that lead somewhere.
    fn here(&self, text: &str) -> String {
        let near = ELSEWHERE.iter().fold(text.to_string(), |text, far| text.replace(far, &self.receiver));
        match &self.server {
            Some(server) => near.replace("localhost:7837", server.url.trim_start_matches("http://")),
            // A page that starts a server itself finds its port where the quickstart does.
            None => near
                .replace("0.0.0.0:7837", "0.0.0.0:0")
                .replace("localhost:7837", "localhost:$(sed 's/.*://' serve.log)"),
        }
    }

    /// What a page says on standard output when all its shell blocks are run as one script; it must not fail. Its
    /// workflows lie beside it, each in a file of its name.
    pub fn run(&self, page: &str) -> String {
        let blocks = pages::blocks(page);
        let shell = blocks.iter().filter(|block| block.language == "sh" && !crate::claims::is_excused(block));
        let lines: String = shell.map(|block| self.here(&block.text)).collect();
        assert!(lines.contains("stepfast ") || lines.contains("curl "), "{page} shows nothing to type");
        let dir = tempfile::tempdir_in(self.dir.path()).unwrap();
        for block in blocks.iter().filter(|block| block.language == "yaml") {
            if let Some(name) = block.text.lines().next().and_then(|line| line.strip_prefix("workflow: ")) {
                std::fs::write(dir.path().join(format!("{name}.yaml")), self.here(&block.text)).unwrap();
            }
        }
        std::os::unix::fs::symlink(pages::root().join("examples"), dir.path().join("examples")).unwrap();
        // What the server refuses is a failure of the line.
        std::fs::write(dir.path().join(".curlrc"), "fail\nsilent\nshow-error\n").unwrap();
        let ran = self.shell(&lines, dir.path()).output().unwrap();
        let (said, told) = (common::text(&ran.stdout), common::text(&ran.stderr));
        assert!(ran.status.success(), "{page} ended with {}\n{said}\n{told}", ran.status);
        said
    }

    fn shell(&self, lines: &str, dir: &Path) -> Command {
        // Its server must not outlive a line that fails.
        let script = format!("trap 'kill ${{server:-}} 2>/dev/null || :' EXIT\n{lines}");
        let beside = Path::new(env!("CARGO_BIN_EXE_stepfast")).parent().unwrap();
        let path = format!("{}:{}", beside.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("timeout");
        shell.args([LIMIT_SECONDS, "sh", "-euc", &script]).env("PATH", path).env("HOME", dir);
        shell.env("CURL_HOME", dir).current_dir(dir);
        for name in
            ["STEPFAST_DB", "STEPFAST_SERVER", "STEPFAST_KEY", "STEPFAST_CONFIG", "STEPFAST_URL", "PORT"]
        {
            shell.env_remove(name);
        }
        if let Some(server) = &self.server {
            shell.env("STEPFAST_DB", format!("sqlite:{}", self.db().display()));
            shell.env("STEPFAST_URL", &server.url).env("STEPFAST_CONFIG", self.config());
        }
        shell
    }

    /// All is well afterwards. One of the pages has a job that takes ten minutes, and the server would wait for it.
    pub fn leave(self) {
        let checked = common::command(&self.db(), &["check"]).output().unwrap();
        assert!(checked.status.success(), "{}", common::text(&checked.stdout));
        self.server.unwrap().kill();
    }
}
