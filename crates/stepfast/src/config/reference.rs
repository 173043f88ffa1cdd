//! `docs/configuration.md` against the code: every key is on the page, nothing else is, and its default is the one that holds.

use super::*;

const PAGE: &str = include_str!("../../../../docs/configuration.md");
/// Keys whose own keys are a page of their own, and the page.
const ELSEWHERE: [(&str, &str, &[&str]); 3] = [
    ("dispatch-scheduler", include_str!("../../../../docs/dispatch-scheduler.md"), &dispatch_scheduler::KEYS),
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

/// Every key that a file may have, by its path.
fn known() -> Vec<String> {
    let below = |noun: &str, keys: &[&str]| -> Vec<String> {
        keys.iter().map(|key| format!("{noun}.{key}")).collect()
    };
    let nouns: [(&str, &[&str]); 10] = [
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
        // Where something is left out, the rest alone means nothing.
        for block in blocks.filter(|block| !block.contains('…')) {
            tried += 1;
            if let Err(refused) = load(block) {
                faults.push(format!("{}: {refused:#}\n{block}", page.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried >= 8, "{tried} files were read");
}
