//! `docs/configuration.md`: its table is made from the settings and the flags, and holds every key that the code takes, no other, and the
//! defaults that hold.

use super::settings::{SETTINGS, Setting};
use super::*;

const PAGE: &str = include_str!("../../../../docs/configuration.md");
const SCHEDULER: &str = include_str!("../../../../docs/dispatch-scheduler.md");
/// Keys whose own keys stand on another page, and the page.
const ELSEWHERE: [(&str, &str, &[&str]); 5] = [
    ("dispatch-scheduler", SCHEDULER, &dispatch_scheduler::KEYS),
    ("router", SCHEDULER, &dispatch_scheduler::ROUTER_KEYS),
    ("router.pools.NAME", SCHEDULER, &dispatch_scheduler::POOL_KEYS),
    ("stuck.rule", include_str!("../../../../docs/stuck.md"), &stuck::RULE_KEYS),
    ("notify.channel", include_str!("../../../../docs/notifications.md"), &notify::KEYS),
];

/// The rows of the table: keys, and the default.
fn rows() -> Vec<(Vec<String>, String)> {
    let lines = PAGE.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let keys = cells[1].split(", ").map(|key| key.trim_matches(['`', '[', ']']).to_string());
        (keys.filter(|key| !key.is_empty()).collect(), cells[4].to_string())
    })
    .collect()
}

/// The table, with the variables of flags from the flags themselves.
fn table() -> String {
    let whole = crate::cli::command();
    let quoted = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let row = |one: &Setting| {
        let mut verb = "serve";
        let mut variables: Vec<String> = Vec::new();
        for flag in one.flags {
            let (before, long) = flag.split_at(flag.find("--").expect("a flag"));
            // A verb holds for the rest of its row.
            verb = Some(before.trim()).filter(|word| !word.is_empty()).unwrap_or(verb);
            let long = long.split_whitespace().next().expect("a flag");
            let arg = argument(&whole, verb, long).unwrap_or_else(|| panic!("{flag} cannot be typed"));
            variables.extend(variable(arg).map(|name| format!("`{name}`")));
        }
        variables.extend(Some(one.variables.to_string()).filter(|more| !more.is_empty()));
        let cells = [&quoted(one.keys), &variables.join(", "), &quoted(one.flags), one.default, one.means];
        let cells = cells.map(|cell| if cell.is_empty() { String::new() } else { format!("{cell} ") });
        format!("| {}|\n", cells.join("| "))
    };
    SETTINGS.iter().map(row).collect()
}

#[test]
fn the_table_of_the_page_is_made_from_the_settings() {
    let (head, rest) = PAGE.split_once("|---|---|---|---|---|\n").expect("a table");
    let (_, behind) = rest.split_once("\n\n").expect("something behind the table");
    let page = format!("{head}|---|---|---|---|---|\n{}\n{behind}", table());
    if std::env::var("STEPFAST_BLESS").is_ok_and(|value| value == "1") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        std::fs::write(path, &page).unwrap();
        return;
    }
    assert!(
        PAGE == page,
        "docs/configuration.md is not what the settings say; STEPFAST_BLESS=1 writes it anew"
    );
}

/// Every key that a file may have, by its path.
fn known() -> Vec<String> {
    let below = |noun: &str, keys: &[&str]| -> Vec<String> {
        keys.iter().map(|key| format!("{noun}.{key}")).collect()
    };
    let nouns: [(&str, &[&str]); 12] = [
        ("dispatch", &DISPATCH_KEYS),
        ("pools.NAME", &POOL_KEYS),
        ("actions.http", &actions::ACTION_KEYS),
        ("actions.exec", &actions::ACTION_KEYS),
        ("signing.NAME", &signing::KEYS),
        ("triggers.DEFINITION", &triggers::KEYS),
        ("secrets", &secrets::KEYS),
        ("worker", &worker::KEYS),
        ("stuck", &stuck::KEYS),
        ("traces", &traces::KEYS),
        ("server", &network::SERVER_KEYS),
        ("tls", &network::TLS_KEYS),
    ];
    let heads = ["pools", "actions", "signing", "triggers", "notify", "router"];
    let nested = |key: &&str| nouns.iter().any(|(noun, _)| noun == key) || heads.contains(key);
    let plain = KEYS.iter().filter(|key| !nested(key) && **key != "dispatch-scheduler");
    let mut all: Vec<String> = plain.map(ToString::to_string).collect();
    all.extend(nouns.iter().flat_map(|(noun, keys)| below(noun, keys)));
    all.extend(["notify.channel", "dispatch-scheduler.*", "router.*"].map(String::from));
    all
}

fn load(text: &str) -> Result<Settings> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stepfast.toml");
    std::fs::write(&path, text).unwrap();
    Settings::load(&Common { db: None, server: None, key: None, config: Some(path), json: false })
}

#[test]
fn every_key_is_on_the_page_and_the_page_has_no_other() {
    let on_page: Vec<String> = rows().into_iter().flat_map(|(keys, _)| keys).collect();
    // A queue of a worker is written as the key itself.
    let on_page: Vec<String> =
        on_page.iter().map(|key| key.replace("worker.queues.NAME", "worker.queues")).collect();
    let known = known();
    let missing: Vec<&String> = known.iter().filter(|key| !on_page.contains(key)).collect();
    assert!(missing.is_empty(), "docs/configuration.md does not name {missing:?}");
    let strange: Vec<&String> = on_page.iter().filter(|key| !known.contains(key)).collect();
    assert!(strange.is_empty(), "docs/configuration.md names {strange:?}, which no file may have");
}

#[test]
fn keys_that_stand_elsewhere_are_there() {
    for (noun, page, keys) in ELSEWHERE {
        let told = |key: &str| page.contains(&format!("`{key}`")) || page.contains(&format!("{key} = "));
        let missing: Vec<&&str> = keys.iter().filter(|key| !told(key)).collect();
        assert!(missing.is_empty(), "[{noun}]: its page does not name {missing:?}");
    }
}

/// All that follows from a file, with what a worker makes of it.
fn holds(text: &str) -> Result<String> {
    let settings = load(text)?;
    let asked = crate::cli::Worker { concurrency: None, queues: vec![], limited: vec![], prefetch: None };
    let runner = settings.worker.runner(&asked).map_err(crate::Refused)?;
    let settings = Settings { worker: Worker::default(), ..settings };
    Ok(format!("{settings:?} {} {}", runner.concurrency, runner.prefetch))
}

/// To write a default makes no difference; to write anything else would.
#[test]
fn what_the_page_calls_the_default_is_the_default() {
    let usual = holds("").unwrap();
    let mut tried = 0;
    for (keys, default) in rows() {
        let values: Vec<&str> = default.split(", ").collect();
        // What is named by the user has no default of its own.
        let fixed = |key: &&String| !key.contains("NAME") && !key.contains("DEFINITION");
        for (key, value) in keys.iter().filter(fixed).zip(values) {
            let Some(value) = written(value) else { continue };
            let same = holds(&format!("{key} = {value}"));
            assert_eq!(same.map_err(|e| format!("{key}: {e:#}")).unwrap(), usual, "{key} = {value}");
            tried += 1;
        }
    }
    assert!(tried >= 15, "{tried} defaults were tried");
}

/// A default as a file has it, if the page gives one.
fn written(value: &str) -> Option<String> {
    let text = value.trim().trim_matches('`');
    let is_word = value.trim().starts_with('`') && !text.contains('…');
    match text {
        "true" | "false" => Some(text.into()),
        _ if text.chars().all(|c| c.is_ascii_digit()) && !text.is_empty() => Some(text.into()),
        _ if is_word => Some(format!("\"{text}\"")),
        _ => None,
    }
}

/// What a page shows of a file can be written into one.
#[test]
fn every_file_on_a_page_is_taken() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folders = [docs.clone(), docs.join("operations")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let pages = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some());
    let (mut faults, mut tried) = (Vec::new(), 0);
    for page in pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let text = std::fs::read_to_string(&page).unwrap();
        let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        for block in blocks {
            tried += 1;
            if let Err(refused) = load(block) {
                faults.push(format!("{}: {refused:#}\n{block}", page.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried >= 14, "{tried} files were read");
}

/// What stands in backquotes in a column of the table, row by row.
fn column(n: usize) -> Vec<Vec<String>> {
    let lines = PAGE.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells = lines.take_while(|line| line.starts_with('|')).filter_map(|line| line.split('|').nth(n));
    cells.map(|cell| cell.split('`').skip(1).step_by(2).map(String::from).collect()).collect()
}

/// Every argument of a command and of those below it.
fn arguments(command: &clap::Command) -> Vec<&clap::Arg> {
    let below = command.get_subcommands().flat_map(arguments);
    command.get_arguments().chain(below).collect()
}

/// An argument by its long name, of this verb before any other.
fn argument<'c>(whole: &'c clap::Command, verb: &str, long: &str) -> Option<&'c clap::Arg> {
    let own = whole.find_subcommand(verb).into_iter().flat_map(clap::Command::get_arguments);
    let name = long.trim_start_matches("--");
    own.chain(arguments(whole)).find(|arg| arg.get_long() == Some(name))
}

fn variable(arg: &clap::Arg) -> Option<String> {
    arg.get_env().map(|name| name.to_string_lossy().into_owned())
}

#[test]
fn every_flag_on_the_page_can_be_typed_and_its_variable_stands_beside_it() {
    let (whole, mut tried) = (crate::cli::command(), 0);
    for (variables, flags) in column(2).into_iter().zip(column(3)) {
        let mut verb = "serve".to_string();
        for flag in &flags {
            let words: Vec<&str> = flag.split_whitespace().collect();
            let at = words.iter().position(|word| word.starts_with("--")).expect("a flag");
            // A verb holds for the rest of its row.
            verb = words[..at].first().map_or(verb, ToString::to_string);
            let arg = argument(&whole, &verb, words[at]).unwrap_or_else(|| panic!("{flag} cannot be typed"));
            let beside = variable(arg).is_none_or(|name| variables.contains(&name));
            assert!(beside, "{flag}: {:?} is not beside it", variable(arg));
            tried += 1;
        }
    }
    assert!(tried >= 12, "{tried} flags were tried");
}

#[test]
fn every_flag_of_a_server_and_every_flag_with_a_variable_is_on_the_page() {
    let whole = crate::cli::command();
    let flags: Vec<String> = column(3).into_iter().flatten().collect();
    let serve = whole.find_subcommand("serve").unwrap().get_arguments();
    let with_variable = arguments(&whole).into_iter().filter(|arg| arg.get_env().is_some());
    for arg in serve.chain(with_variable).filter(|arg| !arg.is_global_set() || arg.get_env().is_some()) {
        let Some(long) = arg.get_long().filter(|long| !matches!(*long, "help" | "version")) else { continue };
        let shown = flags.iter().any(|flag| flag.split_whitespace().any(|word| word == format!("--{long}")));
        assert!(shown, "docs/configuration.md does not have --{long}");
    }
}

/// The names of variables in the code that reads them: whole, or how they begin.
fn variables_in_code() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let below = std::fs::read_dir(source.join("config")).unwrap().map(|entry| entry.unwrap().path());
    let told = |path: &std::path::PathBuf| path.ends_with("reference.rs") || path.ends_with("settings.rs");
    let files = below.filter(|path| !told(path)).chain([source.join("config.rs")]);
    let mut names: Vec<String> = arguments(&crate::cli::command()).into_iter().filter_map(variable).collect();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_uppercase() && c != '_'));
        let is_name =
            |word: &&str| word.starts_with("STEPFAST_") || word.starts_with("OTEL_") || *word == "PORT";
        names.extend(words.filter(is_name).map(String::from));
    }
    names
}

#[test]
fn every_variable_is_on_the_page_and_the_page_has_no_other() {
    let (page, code): (Vec<String>, _) = (column(2).into_iter().flatten().collect(), variables_in_code());
    let begins = |whole: &str, start: &str| start.ends_with('_') && whole.starts_with(start);
    for name in &code {
        let shown = page.iter().any(|shown| shown == name || begins(shown, name));
        assert!(shown, "docs/configuration.md does not have {name}");
    }
    // The log is read by the library that writes it.
    for shown in page.iter().filter(|shown| *shown != "RUST_LOG") {
        let known = code.iter().any(|name| name == shown || begins(shown, name));
        assert!(known, "docs/configuration.md has {shown}, which nothing reads");
    }
    assert!(page.len() >= 18, "{page:?}");
}
