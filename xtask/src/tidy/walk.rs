//! Reads the files of the repository that people write, in a fixed order.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 5] = ["bench", "crates", "examples", "fuzz", "xtask"];

/// Every file with this extension, as its path from the root and its text.
pub fn files(root: &Path, extension: &str) -> Result<Vec<(PathBuf, String)>> {
    let mut paths = Vec::new();
    for folder in FOLDERS.map(|name| root.join(name)).iter().filter(|folder| folder.is_dir()) {
        collect(folder, extension, &mut paths)?;
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        Ok((path.strip_prefix(root).unwrap_or(&path).to_owned(), text))
    };
    paths.into_iter().map(read).collect()
}

fn collect(folder: &Path, extension: &str, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry.with_context(|| format!("could not read {}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect(&path, extension, paths)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::files;
    use std::fs;
    use std::path::Path;

    #[test]
    fn builds_and_hidden_folders_are_passed_over() {
        let root = tempfile::tempdir().unwrap();
        for path in ["crates/a/src/lib.rs", "crates/a/target/x.rs", "crates/.git/y.rs", "docs/z.rs"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let found = files(root.path(), "rs").unwrap();
        assert_eq!(found, [(Path::new("crates/a/src/lib.rs").to_owned(), "text".to_owned())]);
    }
}
