//! Every block of every page is run, read or compiled by a test, or stands in a short list with the reason why not.

use crate::pages::{Block, every_block, proof, read, root};
use crate::{ALONE, SERVED, WORKERS, common};
use std::collections::BTreeSet;
use std::process::Command;

/// Page (all that begin so, where it ends with a star), language, and the test that has it.
const CLAIMS: [(&str, &str, &str); 18] = [
    ("docs/*", "toml", "stepfast::bin/stepfast config::reference::every_file_on_a_page_is_taken"),
    ("docs/*", "json", "stepfast::guides claims::every_json_is_json"),
    ("docs/*", "sql", "stepfast::postgres the_sql_of_the_documents_runs_as_it_stands"),
    ("docs/*", "rust", "stepfast::guides claims::all_rust_is_compiled"),
    ("docs/*", "rust,no_run", "stepfast::guides claims::all_rust_is_compiled"),
    ("README.md", "rust", "stepfast::guides claims::all_rust_is_compiled"),
    ("docs/*", "console", "stepfast::guides claims::what_is_typed_names_what_there_is"),
    ("README.md", "console", "stepfast::guides claims::what_is_typed_names_what_there_is"),
    (
        "docs/reference/cli.md",
        "console",
        "stepfast::bin/stepfast cli::examples::tests::every_example_can_be_typed",
    ),
    (
        "docs/workflows-api.md",
        "sh",
        "stepfast-server::http workflows_document::every_line_of_the_document_works",
    ),
    ("docs/definitions.md", "yaml", "stepfast-definition::definitions page::its_examples_have_no_fault"),
    ("docs/definitions.md", "", "stepfast::guides a_fault_is_told_as_the_page_shows"),
    (
        "docs/operations/metrics.md",
        "yaml",
        "stepfast::deploy prometheus_takes_the_rules_and_the_configuration",
    ),
    ("docs/expressions.md", "", "stepfast-expr::page every_example_answers_what_the_page_says"),
    ("docs/expressions.md", "templates", "stepfast-expr::page every_template_becomes_what_the_page_says"),
    (
        "docs/webhooks.md",
        "python",
        "stepfast::deliver a_receiver_verifies_what_it_is_sent_as_the_document_shows",
    ),
    ("docs/notifications.md", "python", "stepfast::notify channels_are_tested_and_listed_without_a_server"),
    ("docs/transports.md", "text", "stepfast::guides claims::every_address_of_a_queue_is_taken"),
];

/// Whole workflows, wherever they are shown.
const WORKFLOWS: &str = "stepfast-definition::definitions page::the_workflows_of_every_page_have_no_fault";

/// Page, how the block begins, and why nobody runs it. The list only gets shorter.
const EXCUSED: [(&str, &str, &str); 3] = [
    ("README.md", "cargo run --release -- demo", "the demo does not end, and the suite would run itself"),
    (
        "docs/router.md",
        "POST /api/dispatch/process",
        "it shows what goes over the wire, and is nothing to type",
    ),
    ("docs/transports.md", "aws sqs create-queue", "it needs an account of AWS"),
];

pub fn is_excused(block: &Block) -> bool {
    EXCUSED.iter().any(|(page, start, _)| block.page == *page && block.text.starts_with(start))
}

fn fits(pattern: &str, page: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == page, |start| page.starts_with(start))
}

/// The test that has a block; the claim for the page itself goes before that for many.
fn claimed(block: &Block) -> Option<&'static str> {
    if block.language == "yaml" && block.text.starts_with("workflow:") {
        return Some(WORKFLOWS);
    }
    let mut guides = ALONE.iter().chain(&SERVED).chain(&WORKERS);
    if block.language == "sh" && guides.any(|(page, _)| *page == block.page) {
        return Some("stepfast::guides guides_that_speak_to_a_server_run_as_they_stand");
    }
    let fitting =
        CLAIMS.iter().filter(|(page, language, _)| fits(page, &block.page) && *language == block.language);
    fitting.max_by_key(|(page, ..)| !page.ends_with('*')).map(|(.., test)| *test)
}

#[test]
fn every_block_is_tested_or_excused() {
    let all = every_block();
    let place = |block: &Block| format!("{}:{} (`{}`)", block.page, block.line, block.language);
    let bare: Vec<String> =
        all.iter().filter(|block| !is_excused(block) && claimed(block).is_none()).map(place).collect();
    assert!(bare.is_empty(), "no test has these; claim them in tests/guides/claims.rs:\n{}", bare.join("\n"));
    let tests: BTreeSet<&str> = all.iter().filter_map(claimed).collect();
    let missing: Vec<&&str> = tests.iter().filter(|test| !proof::is_there(test)).collect();
    assert!(missing.is_empty(), "there are no such tests: {missing:?}");
    for (page, start, _) in EXCUSED {
        let found = all.iter().filter(|block| block.page == page && block.text.starts_with(start)).count();
        assert_eq!(found, 1, "{page}: what is excused is not there any more: {start}");
    }
    println!("{} blocks, {} tests, {} excused", all.len(), tests.len(), EXCUSED.len());
}

#[test]
fn every_json_is_json() {
    for block in every_block().iter().filter(|block| block.language == "json") {
        let parsed = serde_json::from_str::<serde_json::Value>(&block.text);
        assert!(parsed.is_ok(), "{}:{}: {parsed:?}", block.page, block.line);
    }
}

/// The doc tests take a page as a whole, and leave out what says `ignore`.
#[test]
fn all_rust_is_compiled() {
    let library = read(&root().join("crates/stepfast/src/lib.rs"));
    for block in every_block().iter().filter(|block| block.language.starts_with("rust")) {
        let taken = library.contains(&format!("#[doc = include_str!(\"../../../{}\")]", block.page));
        assert!(taken, "{} is no doc test of crates/stepfast/src/lib.rs", block.page);
        assert!(!block.language.contains("ignore"), "{}:{} is not compiled", block.page, block.line);
    }
}

/// Each file of ours in a line to type is there, and so is each of our commands.
#[test]
fn what_is_typed_names_what_there_is() {
    let mut tried = 0;
    for block in every_block().iter().filter(|block| block.language == "console") {
        let at = |line: &str| format!("{}:{}: {line}", block.page, block.line);
        if block.page == "docs/reference/cli.md" {
            continue;
        }
        for line in block.text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            for file in words.iter().filter(|word| word.starts_with("deploy/") || word.starts_with("crates/"))
            {
                let there = root().join(file.trim_end_matches(".*"));
                let any = [there.clone(), there.with_extension("service"), there.with_extension("timer")];
                assert!(any.iter().any(|path| path.exists()), "{}", at(line));
            }
            let typed = words.iter().rposition(|word| *word == "stepfast").and_then(|at| words.get(at + 1));
            if let Some(verb) = typed.filter(|verb| verb.chars().all(|c| c.is_ascii_lowercase())) {
                let mut help = Command::new(env!("CARGO_BIN_EXE_stepfast"));
                let known = help.args([verb, "--help"]).output().unwrap();
                assert!(known.status.success(), "{}: {}", at(line), common::text(&known.stderr));
                tried += 1;
            }
        }
    }
    assert!(tried >= 5, "{tried} commands were tried");
}

#[tokio::test]
async fn every_address_of_a_queue_is_taken() {
    let shown = crate::pages::shown("docs/transports.md", "text");
    assert_eq!(shown.lines().count(), 4);
    for url in shown.lines() {
        let taken = match url.starts_with("stomp") {
            true => transport::activemq::ActiveMq::new(url).map(drop),
            false => transport_sqs::Sqs::new(url).await.map(drop),
        };
        assert!(taken.is_ok(), "{url}: {taken:?}");
    }
}
