//! The documents as a book: every page is in the summary, every link leads somewhere, and what is listed is what there is.
#![allow(clippy::unwrap_used)]

mod pages;

use pages::{pages, proof, read, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where the part of the summary begins that is made from folders.
const RECORDS: &str = "# Records";
/// Folders that grow, one page at a time; they are listed by themselves.
const FOLDERS: [(&str, &str); 3] =
    [("machines", "State machines"), ("errors", "Errors"), ("decisions", "Decisions")];

fn title(page: &Path) -> String {
    let text = read(page);
    let head = text.lines().find_map(|line| line.strip_prefix("# "));
    head.unwrap_or_else(|| panic!("{} has no title", page.display())).to_string()
}

/// The lists of the folders that grow.
fn records() -> String {
    let docs = root().join("docs");
    let mut text = format!("{RECORDS}\n\n");
    for (folder, name) in FOLDERS {
        let (index, all) = (docs.join(folder).join("README.md"), pages(&docs.join(folder)));
        if all.is_empty() {
            continue;
        }
        let first = if index.exists() { format!("{folder}/README.md") } else { String::new() };
        text.push_str(&format!("- [{name}]({first})\n"));
        for page in all.iter().filter(|page| **page != index) {
            let file = page.strip_prefix(&docs).unwrap().display();
            text.push_str(&format!("  - [{}]({file})\n", title(page)));
        }
    }
    text
}

#[test]
fn every_page_is_in_the_summary() {
    let docs = root().join("docs");
    let path = docs.join("SUMMARY.md");
    let summary = read(&path);
    let written = summary.split(RECORDS).next().unwrap().to_string();
    if std::env::var("STEPFAST_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(&path, format!("{written}{}", records())).unwrap();
    }
    let summary = read(&path);
    let stands = format!("{written}{}", records()) == summary;
    assert!(stands, "the folders are not as docs/SUMMARY.md lists them; STEPFAST_BLESS=1 lists them anew");
    let named: BTreeSet<PathBuf> =
        links(&summary).into_iter().filter(|link| !link.is_empty()).map(|link| docs.join(link)).collect();
    let all: BTreeSet<PathBuf> = pages(&docs).into_iter().filter(|page| *page != path).collect();
    let missing: Vec<_> = all.difference(&named).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not name {missing:?}");
    let strange: Vec<_> = named.difference(&all).collect();
    assert!(strange.is_empty(), "docs/SUMMARY.md names {strange:?}, which are not there");
}

#[test]
fn the_book_is_made_of_the_documents() {
    let book: toml::Table = read(&root().join("book.toml")).parse().unwrap();
    assert_eq!(book["book"]["src"].as_str(), Some("docs"));
}

/// What a page links to, without what stands in code.
fn links(page: &str) -> Vec<String> {
    let text = prose(page);
    let parts = text.split("](").skip(1).filter_map(|part| part.split(')').next());
    parts.map(String::from).collect()
}

/// A page without its code, in blocks and in lines.
fn prose(page: &str) -> String {
    let mut text = String::new();
    for block in page.split("```").step_by(2) {
        for line in block.lines() {
            // What is in backquotes inside the words of a link is part of the words.
            let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("");
            text.push_str(&plain);
            text.push('\n');
        }
    }
    text
}

/// The anchor of a heading, as sites make it.
fn anchor(heading: &str) -> String {
    let words = heading.split("](").next().unwrap_or_default().trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(page: &str) -> Vec<String> {
    let outside = page.split("```").step_by(2).flat_map(str::lines);
    let heads = outside.filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#')));
    heads.fold(Vec::new(), |mut all: Vec<String>, head| {
        let before = all.iter().filter(|one| **one == head || one.starts_with(&format!("{head}-"))).count();
        all.push(if all.contains(&head) { format!("{head}-{before}") } else { head });
        all
    })
}

/// Where a reader of the book finds what is not part of it.
const REPOSITORY: &str = "https://github.com/stepfast/stepfast/blob/main/";

/// Whether a link of a page of the book leads out of it.
fn leaves(page: &Path, target: &Path) -> bool {
    let docs = root().join("docs");
    let is_within = |path: &Path| path.canonicalize().map_or(true, |path| path.starts_with(&docs));
    page.starts_with(&docs) && !is_within(target)
}

#[test]
fn what_is_linked_in_the_repository_is_there() {
    let manifest: toml::Table = read(&root().join("Cargo.toml")).parse().unwrap();
    let repository = manifest["workspace"]["package"]["repository"].as_str().unwrap();
    assert_eq!(format!("{repository}/blob/main/"), REPOSITORY);
    let mut tried = 0;
    for page in pages(&root().join("docs")) {
        for link in links(&read(&page)).iter().filter_map(|link| link.strip_prefix(REPOSITORY)) {
            assert!(root().join(link).exists(), "{}: {link} is not in the repository", page.display());
            tried += 1;
        }
    }
    assert!(tried >= 10, "{tried} links were looked at");
}

#[test]
fn every_link_leads_somewhere() {
    let root = root();
    let beside =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name));
    let mut faults = Vec::new();
    let mut tried = 0;
    for page in pages(&root.join("docs")).into_iter().chain(beside) {
        for link in links(&read(&page)).iter().filter(|link| !link.is_empty() && !link.contains(':')) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            tried += 1;
            if leaves(&page, &target) {
                faults.push(format!("{}: {link} is not in the book; write {REPOSITORY}…", page.display()));
            } else if !target.exists() {
                faults.push(format!("{}: {link} is not there", page.display()));
            } else if !place.is_empty() && !anchors(&read(&target)).iter().any(|one| one == place) {
                faults.push(format!("{}: {link} has no such heading", page.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried > 150, "{tried} links were looked at");
}

#[test]
fn anchors_and_links_are_read_as_sites_read_them() {
    assert_eq!(anchor(" What is `stuck`, and why?"), "what-is-stuck-and-why");
    assert_eq!(anchors("# A\n```\n# no\n```\n## B c\n## A\n"), ["a", "b-c", "a-1"]);
    assert_eq!(links("[a](b.md) `[x](y)` ![p](q.svg)\n```\n[no](no)\n```\n"), ["b.md", "q.svg"]);
}

#[test]
fn every_proof_of_the_security_checklist_is_a_test() {
    let page = read(&root().join("docs/operations/security-checklist.md"));
    let (mut ids, mut proofs, mut faults) = (Vec::new(), 0, Vec::new());
    for row in page.lines().filter(|line| line.starts_with("| S")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [id, holds, _, proved] = cells[..] else { panic!("{row} has {} cells", cells.len()) };
        assert!(!holds.is_empty() && proved.starts_with('`'), "{id} says nothing or proves nothing");
        ids.push(id.to_string());
        for one in proved.split('`').skip(1).step_by(2) {
            assert!(one.contains(' '), "{id}: {one} names no binary");
            if !proof::is_there(one) {
                faults.push(format!("{id}: there is no test `{one}`"));
            }
            proofs += 1;
        }
    }
    let wanted = (1..=50).flat_map(|n| {
        let more: &[&str] = match n {
            26 | 32 => &["", "a", "b"],
            _ => &[""],
        };
        more.iter().map(move |letter| format!("S{n}{letter}"))
    });
    assert_eq!(ids, wanted.collect::<Vec<_>>());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    println!("{} points, {proofs} proofs", ids.len());
    assert!(!proof::is_there("stepfast::book title"), "what is no test is none");
}

#[test]
fn every_crate_of_ours_forbids_unsafe() {
    let whole: toml::Table = read(&root().join("Cargo.toml")).parse().unwrap();
    assert_eq!(whole["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    for folder in crates.chain([root().join("xtask")]) {
        let manifest: toml::Table = read(&folder.join("Cargo.toml")).parse().unwrap();
        let follows =
            manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
        assert_eq!(follows, Some(true), "{} has rules of its own", folder.display());
    }
}
