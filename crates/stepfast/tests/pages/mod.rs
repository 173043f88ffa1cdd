//! The pages of the documents, the blocks that they show, and the tests that they name.
#![allow(dead_code, clippy::unwrap_used)]

pub mod proof;

use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every page below a folder, in order.
pub fn pages(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => found.extend(pages(&path)),
            false if path.extension().is_some_and(|ending| ending == "md") => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

/// What stands between two fences.
pub struct Block {
    /// The page, from the root of the repository.
    pub page: String,
    pub line: usize,
    /// What the fence says; nothing where it says nothing.
    pub language: String,
    pub text: String,
}

/// The blocks of a page in order, with the indentation of their fences taken off.
pub fn blocks(page: &str) -> Vec<Block> {
    let text = read(&root().join(page));
    let (mut found, mut open): (Vec<Block>, Option<(usize, Block)>) = (Vec::new(), None);
    for (n, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                let (page, language) = (page.to_string(), language.trim().to_string());
                open = Some((indent, Block { page, line: n + 1, language, text: String::new() }));
            }
            (Some(_), Some(_)) => found.extend(open.take().map(|(_, block)| block)),
            (Some((indent, block)), None) => {
                block.text.push_str(line.get(*indent..).unwrap_or_default());
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{page}: its last block has no end");
    found
}

/// Those of a page with this language, as one text.
pub fn shown(page: &str, language: &str) -> String {
    blocks(page).into_iter().filter(|block| block.language == language).map(|block| block.text).collect()
}

/// The blocks of every page for readers.
pub fn every_block() -> Vec<Block> {
    let docs = pages(&root().join("docs"));
    let names = docs.iter().map(|page| page.strip_prefix(root()).unwrap().display().to_string());
    names.chain(["README.md".to_string()]).flat_map(|page| blocks(&page)).collect()
}
