//! What is in `deploy/` is what the binary takes.
#![allow(clippy::unwrap_used)]

mod common;
mod pages;

use std::path::{Path, PathBuf};
use std::process::Command;

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(deploy(name)).unwrap()
}

const UNITS: [&str; 5] = [
    "stepfast.service",
    "stepfast-backup.service",
    "stepfast-backup.timer",
    "stepfast-purge.service",
    "stepfast-purge.timer",
];

#[test]
fn the_configuration_is_taken_as_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("steps.db");
    let mut command = common::command(&db, &["migrate", "--config"]);
    let ran = command.arg(deploy("stepfast.toml")).output().unwrap();
    assert!(ran.status.success(), "{}", common::text(&ran.stderr));
}

/// Each line that is commented out is one that may be written.
#[test]
fn what_is_commented_out_of_it_is_taken_too() {
    let text = read("stepfast.toml");
    let is_setting = |line: &str| line.contains(" = ") || line.starts_with('[');
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(inner) if is_setting(inner) && !inner.starts_with("db = ") => inner,
        Some(_) => "",
        None => line,
    });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("all.toml");
    // Keys of the top stand before the first table.
    std::fs::write(&file, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let mut command = common::command(&dir.path().join("steps.db"), &["migrate", "--config"]);
    command.env("STEPFAST_NOTIFY_OPS_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let ran = command.arg(&file).output().unwrap();
    assert!(ran.status.success(), "{}", common::text(&ran.stderr));
}

/// Services and timers as systemd reads them; it is held to where they will be installed, and here the binary is elsewhere.
#[test]
fn the_units_start_what_there_is_and_are_sound() {
    let unit = read("stepfast.service");
    for line in
        ["ExecStart=/usr/local/bin/stepfast serve", "Environment=STEPFAST_CONFIG=/etc/stepfast/stepfast.toml"]
    {
        assert!(unit.lines().any(|one| one == line), "{line} in {unit}");
    }
    let dir = tempfile::tempdir().unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.arg("verify");
    for name in UNITS {
        let file = dir.path().join(name);
        let unit = read(name).replace("/usr/local/bin/stepfast", env!("CARGO_BIN_EXE_stepfast"));
        std::fs::write(&file, unit).unwrap();
        verify.arg(&file);
    }
    let Ok(ran) = verify.output() else {
        eprintln!("systemd-analyze is not installed: the units were only read");
        return;
    };
    let told = common::text(&ran.stderr);
    // It also looks at units of the machine that these want.
    let own: Vec<&str> = told.lines().filter(|line| UNITS.iter().any(|name| line.contains(name))).collect();
    assert!(own.is_empty(), "{told}");
}

/// What a unit starts, line by line, as a shell reads it.
fn starts(unit: &str) -> Vec<String> {
    let text = read(unit);
    let lines = text.lines().filter_map(|line| line.strip_prefix("ExecStart="));
    lines.map(|line| line.replace("$$", "$").replace("%%", "%")).collect()
}

/// Runs what a unit starts, with its directories in an empty one.
fn started(unit: &str, home: &common::Home) {
    let backups = home.dir.path().join("backups");
    std::fs::create_dir_all(&backups).unwrap();
    for line in starts(unit) {
        let line = line
            .replace("/usr/local/bin/stepfast", env!("CARGO_BIN_EXE_stepfast"))
            // The reason is for the record, and what is only tried leaves none.
            .replace("--why \"stepfast-purge.timer\"", "--dry-run")
            .replace("/var/backups/stepfast", &backups.display().to_string());
        let mut shell = Command::new("sh");
        shell.args(["-euc", &line]).current_dir(home.dir.path());
        shell.env("STEPFAST_DB", home.database()).env_remove("STEPFAST_SERVER").env_remove("STEPFAST_KEY");
        let ran = shell.output().unwrap();
        assert!(ran.status.success(), "{line}: {}", common::text(&ran.stderr));
    }
}

#[test]
fn the_timers_copy_and_clear_away_beside_a_server() {
    let home = common::Home::new();
    let server = home.serve(&["--workers", "0"]);
    home.ok(&["steps", "create", "--action", "echo"]);
    started("stepfast-backup.service", &home);
    let copies: Vec<_> = std::fs::read_dir(home.dir.path().join("backups")).unwrap().collect();
    let copy = copies[0].as_ref().unwrap().path();
    assert_eq!((copies.len(), copy.extension().unwrap().to_str()), (1, Some("db")));
    let url = format!("sqlite:{}", copy.display());
    assert!(home.ok(&["steps", "list", "--all", "--db", &url]).contains("echo"));
    started("stepfast-purge.service", &home);
    for timer in UNITS.iter().filter(|name| name.ends_with(".timer")) {
        assert!(UNITS.contains(&timer.replace(".timer", ".service").as_str()), "{timer} starts nothing");
        assert!(read(timer).contains("\nOnCalendar=") && read(timer).contains("\nWantedBy=timers.target"));
    }
    server.stop();
}

#[test]
fn the_container_runs_what_the_binary_knows() {
    let text = read("Containerfile");
    let manifest = read("../Cargo.toml");
    let rust = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")).unwrap();
    let image = format!("rust:{}-slim", rust.trim_end_matches('"'));
    for part in
        [image.as_str(), "ENTRYPOINT [\"/usr/local/bin/stepfast\"]", "CMD [\"serve\"]", "USER stepfast"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let variables = text.lines().filter_map(|line| line.strip_prefix("ENV ")?.split('=').next());
    let help = Command::new(env!("CARGO_BIN_EXE_stepfast")).args(["serve", "--help"]).output().unwrap();
    for name in variables {
        assert!(common::text(&help.stdout).contains(name), "`{name}` is no variable of ours");
    }
}

/// The image asks itself how it is, with words that the binary knows.
#[test]
fn the_container_is_asked_how_it_is() {
    let text = read("Containerfile");
    let check = text.lines().find_map(|line| line.strip_prefix("HEALTHCHECK ")).unwrap();
    let words: Vec<String> = serde_json::from_str(check.split_once("CMD ").unwrap().1).unwrap();
    assert_eq!(words[0], "/usr/local/bin/stepfast");
    let home = common::Home::new();
    let server = home.serve(&["--workers", "0"]);
    let asked: Vec<&str> = words[1..]
        .iter()
        .map(|word| if word.starts_with("http") { server.url.as_str() } else { word })
        .collect();
    home.ok(&asked);
    server.stop();
    home.fails(4, &["status", "--server", "http://127.0.0.1:1"]);
}

fn promtool(args: &[&str], dir: &Path) {
    let ran = Command::new("promtool").args(args).current_dir(dir).output();
    let ran = ran.expect("promtool is there; `cargo xtask test` installs it");
    assert!(ran.status.success(), "{args:?}: {}{}", common::text(&ran.stdout), common::text(&ran.stderr));
}

/// The rules of `alerts.yml` hold when they should, and the configuration of the page loads them.
#[test]
fn prometheus_takes_the_rules_and_the_configuration() {
    promtool(&["check", "rules", "alerts.yml"], &deploy(""));
    promtool(&["test", "rules", "alerts.test.yml"], &deploy(""));
    let dir = tempfile::tempdir().unwrap();
    let shown = pages::shown("docs/operations/metrics.md", "yaml");
    let place = format!("{}/", dir.path().display());
    std::fs::write(dir.path().join("prometheus.yml"), shown.replace("/etc/prometheus/", &place)).unwrap();
    std::fs::write(dir.path().join("stepfast.key"), "sf_key").unwrap();
    std::fs::copy(deploy("alerts.yml"), dir.path().join("stepfast-alerts.yml")).unwrap();
    promtool(&["check", "config", "prometheus.yml"], dir.path());
}

/// The rows of the page, as the rules have them.
fn alert_rows() -> Vec<String> {
    let text = read("alerts.yml");
    let rules = text.split("- alert: ").skip(1);
    let part = |rule: &str, key: &str, end: &str| {
        let inner =
            rule.split_once(key).map(|(_, rest)| rest.split(end).next().unwrap_or_default().to_string());
        inner.unwrap_or_else(|| "at once".into())
    };
    rules
        .map(|rule| {
            let name = rule.lines().next().unwrap_or_default();
            let (when, span) = (part(rule, "expr: ", "\n"), part(rule, "for: ", "\n"));
            let (severity, means) = (part(rule, "severity: ", " }"), part(rule, "summary: \"", "\" }"));
            format!("| `{name}` | {severity} | `{when}` | {span} | {means} |")
        })
        .collect()
}

#[test]
fn the_page_of_metrics_has_every_alert_and_every_alert_asks_for_metrics_of_it() {
    let page = pages::read(&pages::root().join("docs/operations/metrics.md"));
    let (above, table) = page.split_once("## What to be woken for").unwrap();
    let shown: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(shown, alert_rows(), "docs/operations/metrics.md is not what deploy/alerts.yml says");
    let rules = read("alerts.yml");
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    for name in words.filter(|word| word.starts_with("stepfast_")) {
        let metric = name.trim_end_matches("_bucket");
        assert!(above.contains(&format!("| `{metric}")), "{name} is no metric of the page");
    }
}
