//! Definition files as their authors meet them.

mod hostile;
mod invalid;
mod page;
mod reads;
mod reference;
mod valid;

use std::path::{Path, PathBuf};
use stepfast_definition as definition;

/// The files of a folder of examples, in order.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(&root)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").path());
    let ends = |path: &PathBuf| endings.iter().any(|ending| path.extension().is_some_and(|e| e == *ending));
    let mut files: Vec<PathBuf> = entries.filter(ends).collect();
    files.sort();
    files
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("it can be read")
}

fn name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

/// Golden files are written anew when somebody asks for it.
fn blesses() -> bool {
    std::env::var("STEPFAST_BLESS").is_ok_and(|value| value == "1")
}
