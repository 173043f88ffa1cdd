//! Leaves out what is built for tests only: a test that reaches itself proves nothing.

use super::lcov::FileLines;
use crate::repo;
use crate::tidy::source::{Line, Source};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below the folder, without the lines behind `#[cfg(test)]`, in the file itself or where it is declared.
pub fn left_out(files: Vec<FileLines>, folder: &Path) -> Result<Vec<FileLines>> {
    let root = repo::root();
    let within = files.into_iter().filter(|file| root.join(&file.path).starts_with(folder));
    let mut sources = Vec::new();
    for file in within {
        let path = root.join(&file.path);
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        sources.push((Source::new(file.path.clone(), &text), file));
    }
    // A file that declares modules may hold no line that is counted.
    let roots = fs::read_to_string(folder.join("lib.rs")).context("the crate has no lib.rs")?;
    let library = Source::new(folder.strip_prefix(root).unwrap_or(folder).join("lib.rs"), &roots);
    let declaring = sources.iter().map(|(source, _)| source).chain([&library]);
    let tested: BTreeSet<PathBuf> = declaring.flat_map(test_modules).collect();
    Ok(kept(sources, &tested))
}

fn kept(sources: Vec<(Source, FileLines)>, tested: &BTreeSet<PathBuf>) -> Vec<FileLines> {
    let is_test = |path: &Path| path.with_extension("").ancestors().any(|above| tested.contains(above));
    let outside = sources.into_iter().filter(|(source, _)| !is_test(&source.path));
    let cut = |(source, mut file): (Source, FileLines)| {
        let tests = source.lines.iter().filter(|line| line.in_test).map(|line| line.number as u32);
        let tests: BTreeSet<u32> = tests.collect();
        file.counts.retain(|line, _| !tests.contains(line));
        file
    };
    outside.map(cut).filter(|file| !file.counts.is_empty()).collect()
}

/// The modules that a file declares for tests only, as their paths without an ending.
fn test_modules(source: &Source) -> Vec<PathBuf> {
    let stem = source.path.file_stem().unwrap_or_default();
    let above = source.path.parent().unwrap_or(Path::new(""));
    let folder = if stem == "lib" || stem == "mod" { above.to_owned() } else { above.join(stem) };
    let name = |line: &Line| {
        let declared = line.code.trim().strip_suffix(';')?;
        Some(folder.join(declared.rsplit_once("mod ")?.1))
    };
    source.lines.iter().filter(|line| line.in_test).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::{kept, test_modules};
    use crate::coverage::lcov::FileLines;
    use crate::tidy::source::Source;
    use std::path::PathBuf;

    fn counted(path: &str, text: &str) -> (Source, FileLines) {
        let counts = (1..=text.lines().count() as u32).map(|line| (line, 1)).collect();
        (Source::new(path, text), FileLines { path: path.into(), counts })
    }

    #[test]
    fn tests_do_not_count() {
        let library =
            Source::new("src/lib.rs", "mod pick;\n#[cfg(test)]\nmod story;\n#[cfg(test)]\nmod all;\n");
        let inner = Source::new("src/pick.rs", "#[cfg(test)]\nmod matrix;\n");
        let tested: Vec<PathBuf> = [&library, &inner].into_iter().flat_map(test_modules).collect();
        assert_eq!(tested, ["src/story", "src/all", "src/pick/matrix"].map(PathBuf::from));
        let sources = vec![
            counted("src/pick.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n"),
            counted("src/story.rs", "fn a() {}\n"),
            counted("src/all/one.rs", "fn a() {}\n"),
            counted("src/pick/matrix.rs", "fn a() {}\n"),
        ];
        let kept = kept(sources, &tested.into_iter().collect());
        assert_eq!(kept.len(), 1);
        assert_eq!(Vec::from_iter(kept[0].counts.keys().copied()), [1, 6]);
    }
}
