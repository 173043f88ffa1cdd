//! What somebody sees who sits at a terminal: colours where they are wanted, tables that fit, looks that are drawn again.
#![allow(clippy::unwrap_used)]

mod common;

use common::Home;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::process::{Child, Command};

const COLUMNS: u16 = 72;

/// A command on a terminal of its own, and the screen of that.
fn seated(mut command: Command) -> (Child, File) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let size = Winsize { ws_row: 30, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&screen, size).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap().into_string().unwrap();
    let seat = File::options().read(true).write(true).open(name).unwrap();
    command.stdin(seat.try_clone().unwrap()).stdout(seat.try_clone().unwrap()).stderr(seat);
    command.env("TERM", "xterm-256color");
    let child = command.spawn().unwrap();
    (child, File::from(screen))
}

/// All that was on the screen until it ended, for somebody who has not asked for no colours.
fn seen(mut command: Command) -> String {
    command.env_remove("NO_COLOR");
    ended(command)
}

fn ended(command: Command) -> String {
    let (mut child, mut screen) = seated(command);
    let mut bytes = Vec::new();
    // The end of the other side is an error on Linux.
    let _ = screen.read_to_end(&mut bytes);
    assert!(child.wait().unwrap().success());
    common::text(&bytes)
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| {
        all + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').get(1..).unwrap_or_default()
    })
}

fn with_steps() -> Home {
    let home = Home::new();
    let long = "a-key-that-is-as-long-as-keys-may-be-in-earnest";
    home.ok(&["steps", "create", "--action", "fail", "--step-key", long, "--max-attempts", "1"]);
    home.ok(&["steps", "create", "--action", "ghost", "--step-key", "short"]);
    home.ok(&["dispatch", "--once"]);
    home
}

#[test]
fn a_table_fits_the_terminal_and_states_have_colours() {
    let home = with_steps();
    let screen = seen(home.command(&["steps", "list", "--all"]));
    assert!(screen.contains("\u{1b}["), "there are colours: {screen:?}");
    let plain = without_colours(&screen);
    let widest = plain.lines().map(|line| line.trim_end().chars().count()).max();
    assert!(widest <= Some(usize::from(COLUMNS)), "{widest:?}: {plain}");
    let id = home.json(&["steps", "list", "--all", "--json"])[0]["id"].as_str().unwrap().to_string();
    assert!(plain.contains(&id), "an id stays whole: {plain}");
}

#[test]
fn nobody_gets_colours_who_does_not_want_them() {
    let home = with_steps();
    for args in [&["steps", "list", "--all"][..], &["status"], &["help"], &["steps", "--help"]] {
        let mut command = home.command(args);
        command.env("NO_COLOR", "1");
        let screen = ended(command);
        assert!(!screen.contains('\u{1b}'), "{args:?}: {screen}");
        assert!(!home.ok(args).contains('\u{1b}'), "{args:?} in a pipe");
    }
    assert!(seen(home.command(&["help"])).contains('\u{1b}'), "on a terminal the help has them");
}

#[test]
fn a_look_is_drawn_again_in_its_place() {
    let home = with_steps();
    let (mut child, mut screen) = seated(home.command(&["status", "--watch=1"]));
    let (mut all, mut some) = (String::new(), [0u8; 4_096]);
    while all.matches("\u{1b}[H").count() < 2 || !all.ends_with("\u{1b}[J") {
        let n = screen.read(&mut some).unwrap();
        all.push_str(&common::text(&some[..n]));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let first = all.split("\u{1b}[H").nth(1).unwrap();
    for part in ["dispatching", "restart", "1 failed", "1 pending"] {
        assert!(without_colours(first).contains(part), "{part} in {first:?}");
    }
}

#[test]
fn what_is_said_beside_a_look_stands_below_it_and_lines_end_at_the_edge() {
    let home = with_steps();
    let (mut child, mut screen) = seated(home.command(&["steps", "list", "--limit", "1", "--watch=1"]));
    let (mut all, mut some) = (String::new(), [0u8; 4_096]);
    while all.matches("\u{1b}[H").count() < 2 || !all.ends_with("\u{1b}[J") {
        let n = screen.read(&mut some).unwrap();
        all.push_str(&common::text(&some[..n]));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(all.starts_with("\u{1b}[H"), "nothing is said past the look: {all:?}");
    for look in all.split("\u{1b}[H").skip(1) {
        let look = without_colours(look);
        let noted = look.lines().position(|line| line.starts_with("there are more; see --limit or --all"));
        assert!(noted > Some(1), "below the head and the row: {look:?}");
        assert!(look.lines().all(|line| line.chars().count() <= usize::from(COLUMNS)), "{look:?}");
    }
}

#[test]
fn a_watch_outlives_a_server_that_is_started_anew() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    let (url, port) = (server.url.clone(), server.url.rsplit(':').next().unwrap().to_string());
    let mut command = home.command(&["steps", "list", "--json", "--watch=1", "--server", &url]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let lines = |from| std::io::BufRead::lines(std::io::BufReader::new(from)).map(Result::unwrap);
    let mut rows = lines(Box::new(child.stdout.take().unwrap()) as Box<dyn Read>);
    let mut notes = lines(Box::new(child.stderr.take().unwrap()));
    home.ok(&["steps", "create", "--action", "ghost", "--step-key", "before", "--server", &url]);
    assert!(rows.next().unwrap().contains("before"));
    server.kill();
    assert!(notes.next().unwrap().starts_with("stepfast: "));
    let server = common::Server::spawn(home.command(&["serve", "--port", &port, "--workers", "0"]));
    home.ok(&["steps", "create", "--action", "ghost", "--step-key", "after", "--server", &url]);
    assert!(rows.any(|row| row.contains("after")));
    child.kill().unwrap();
    child.wait().unwrap();
    server.stop();
}

#[test]
fn a_watch_of_what_was_never_there_ends() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = format!("http://{closed}");
    let told = Home::new().fails(4, &["list", "--watch", "--server", &nobody]);
    assert!(told.contains(&nobody), "{told}");
}

#[test]
fn in_a_pipe_a_look_is_printed_when_it_changed() {
    let home = with_steps();
    let mut command = home.command(&["steps", "list", "--all", "--json", "--watch=1"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut next = || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let first = [next(), next()];
    assert!(first.iter().any(|row| row["state"] == "failed"), "{first:?}");
    home.ok(&["steps", "create", "--action", "ghost", "--step-key", "new"]);
    let second = [next(), next(), next()];
    assert!(second.iter().any(|row| row["step_key"] == "new"), "{second:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn shells_get_completions() {
    let home = Home::new();
    // Neither of these is on every machine: each offers commands, verbs of a command and options in its own words.
    for (shell, parts) in [
        ("zsh", ["#compdef stepfast", "'message-groups:", "'skip-head:", "'--idempotency-key="]),
        (
            "fish",
            ["complete -c stepfast", "-a \"message-groups\"", "-a \"skip-head\"", "-l idempotency-key "],
        ),
    ] {
        let script = home.ok(&["completions", shell]);
        parts.iter().for_each(|part| assert!(script.contains(part), "{part} for {shell}"));
    }
    home.fails(2, &["completions", "basic"]);
}

#[test]
fn bash_completes_what_is_begun() {
    let home = Home::new();
    let script = home.dir.path().join("completions.bash");
    std::fs::write(&script, home.ok(&["completions", "bash"])).unwrap();
    let completed = |words: &[&str]| {
        let (begun, before) = (words[words.len() - 1], words[words.len() - 2]);
        let ask = format!(
            ". \"$0\" && complete -p stepfast && COMP_WORDS=({}) && COMP_CWORD={} && _stepfast stepfast {begun} {before} && printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len() - 1
        );
        let ran = Command::new("bash").args(["-c", &ask]).arg(&script).output().unwrap();
        assert!(ran.status.success(), "{}", common::text(&ran.stderr));
        let told = common::text(&ran.stdout);
        assert!(told.starts_with("complete ") && told.contains(" -F _stepfast stepfast"), "{told}");
        told.lines().skip(1).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["stepfast", "message-gr"]), ["message-groups"]);
    assert_eq!(completed(&["stepfast", "steps", "at"]), ["attempts"]);
    assert_eq!(completed(&["stepfast", "steps", "create", "--idem"]), ["--idempotency-key"]);
}

#[test]
fn whoever_has_seen_enough_of_a_script_may_close_the_pipe() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let mut command = home.command(&["completions", shell]);
        let mut child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{shell}: {}", common::text(&ended.stderr));
    }
}

#[test]
fn exit_codes_are_what_the_help_says() {
    let home = Home::new();
    let help = home.ok(&["--help"]);
    for code in ["0  done", "1  the answer is no", "2  wrong usage", "3  refused", "4  the database"] {
        assert!(help.contains(code), "{code} in {help}");
    }
    home.ok(&["migrate"]);
    home.fails(1, &["definitions", "nobody"]);
    home.fails(2, &["steps", "shwo"]);
    home.fails(3, &["steps", "show", "42"]);
    home.fails(4, &["list", "--server", "http://127.0.0.1:9"]);
}
