//! Definition files that a command is given: one by one, or all of a directory.
//!
//! Why    everything is read before anything is done with it, so that all faults are told at once and nothing is half stored.

use crate::Refused;
use anyhow::{Context, Result, bail};
use definition::Diagnostic;
use definition::limits::FILE_BYTES_MAX;
use model::definition::Definition;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files that one command takes.
const FILES_MAX: usize = 10_000;
/// Directories inside each other.
const DEPTH_MAX: usize = 16;
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A definition file that is sound.
#[derive(Debug)]
pub struct File {
    pub name: String,
    /// As it stands there.
    pub text: Vec<u8>,
    pub definition: Definition,
}

/// The files that are sound, and what is wrong with the others.
pub fn read_all(paths: &[PathBuf]) -> Result<(Vec<File>, Vec<Diagnostic>)> {
    let (mut files, mut faults) = (Vec::new(), Vec::new());
    for path in found(paths)? {
        match read(&path)? {
            Ok(file) => files.push(file),
            Err(found) => faults.extend(found),
        }
    }
    Ok((files, faults))
}

/// The files that are sound; otherwise everything that is wrong is told, and the command refused.
pub fn read_sound(paths: &[PathBuf]) -> Result<Vec<File>> {
    let (files, faults) = read_all(paths)?;
    if faults.is_empty() {
        return Ok(files);
    }
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    bail!(Refused(format!("nothing was done, for a definition is faulty\n{}", told.join("\n"))));
}

pub fn read(path: &Path) -> Result<std::result::Result<File, Vec<Diagnostic>>> {
    let name = path.display().to_string();
    let mut text = Vec::new();
    let file = fs::File::open(path).with_context(|| format!("cannot open {name}"))?;
    // One byte more than is allowed, so that the reader can tell.
    let most = FILE_BYTES_MAX as u64 + 1;
    file.take(most).read_to_end(&mut text).with_context(|| format!("cannot read {name}"))?;
    Ok(definition::read(&text, &name).map(|read| File { name, text, definition: read.definition }))
}

/// The files of these paths, in the order they are given; those of a directory by name.
fn found(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        if path.is_dir() {
            walk(path, 0, &mut files)?;
            if files.len() == before {
                bail!(Refused(format!("there is no {} file in {}", ENDINGS.join(", "), path.display())));
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn walk(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    if depth == DEPTH_MAX {
        bail!(Refused(format!("{} lies more than {DEPTH_MAX} directories deep", directory.display())));
    }
    let cannot = || format!("cannot read {}", directory.display());
    let mut entries = fs::read_dir(directory)
        .and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>())
        .with_context(cannot)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries.iter().filter(|entry| !is_hidden(&entry.path())) {
        // A link to a directory could lead back to it.
        if entry.file_type().with_context(cannot)?.is_dir() {
            walk(&entry.path(), depth + 1, files)?;
        } else if has_ending(&entry.path()) {
            files.push(entry.path());
        }
        if files.len() > FILES_MAX {
            bail!(Refused(format!("there are more than {FILES_MAX} files; name fewer of them")));
        }
    }
    Ok(())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

pub fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "workflow: a\nversion: 1.0.0\nsteps:\n- {key: s, action: noop}\n";

    #[test]
    fn a_directory_is_read_in_order_and_all_faults_are_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("inner")).unwrap();
        for (name, text) in
            [("b.yaml", SOUND), ("a.yml", "workflow: A\n"), ("inner/c.json", "{"), ("x.txt", "")]
        {
            fs::write(dir.path().join(name), text).unwrap();
        }
        fs::write(dir.path().join(".hidden.yaml"), "").unwrap();
        let (files, faults) = read_all(&[dir.path().into()]).unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].definition.workflow, "a");
        let told: Vec<&str> = faults.iter().map(|f| f.file.rsplit('/').next().unwrap()).collect();
        assert!(told.starts_with(&["a.yml"]) && told.ends_with(&["c.json"]), "{told:?}");
        let refused = read_sound(&[dir.path().into()]).unwrap_err().to_string();
        assert!(refused.starts_with("nothing was done") && refused.contains("c.json:1:"), "{refused}");
    }

    #[test]
    fn a_path_that_holds_nothing_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let told = read_all(&[dir.path().into()]).unwrap_err().to_string();
        assert!(told.starts_with("there is no yaml, yml, json file in"), "{told}");
        let told = read_all(&[dir.path().join("missing.yaml")]).unwrap_err().to_string();
        assert!(told.starts_with("cannot open"), "{told}");
    }
}
