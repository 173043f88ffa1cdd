//! The counts of lines in the form of `lcov`: `SF` names a file, `DA` a line and how often it was reached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLines {
    /// From the root of the repository.
    pub path: PathBuf,
    pub counts: BTreeMap<u32, u64>,
}

impl FileLines {
    pub fn reached(&self) -> usize {
        self.counts.values().filter(|count| **count > 0).count()
    }

    /// As `3, 7-9`. Lines that hold no code do not break a row.
    pub fn unreached(&self) -> String {
        let mut rows: Vec<(u32, u32)> = Vec::new();
        let mut goes_on = false;
        for (line, count) in &self.counts {
            match rows.last_mut() {
                Some(row) if *count == 0 && goes_on => row.1 = *line,
                _ if *count == 0 => rows.push((*line, *line)),
                _ => {}
            }
            goes_on = *count == 0;
        }
        let told =
            |(from, to): &(u32, u32)| if from == to { from.to_string() } else { format!("{from}-{to}") };
        rows.iter().map(told).collect::<Vec<_>>().join(", ")
    }
}

pub fn read(text: &str, root: &Path) -> Vec<FileLines> {
    let mut files: Vec<FileLines> = Vec::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            let path = Path::new(path);
            let path = path.strip_prefix(root).unwrap_or(path).to_owned();
            files.push(FileLines { path, counts: BTreeMap::new() });
        } else if let (Some(count), Some(file)) = (line.strip_prefix("DA:"), files.last_mut()) {
            file.counts.extend(counted(count));
        }
    }
    files
}

fn counted(text: &str) -> Option<(u32, u64)> {
    let (line, count) = text.split_once(',')?;
    Some((line.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::path::Path;

    #[test]
    fn lines_are_read_and_told_in_rows() {
        let text = "SF:/repo/a.rs\nFN:1,x\nDA:1,0\nDA:2,5\nDA:4,0\nDA:6,0\nDA:7,0\nDA:8,1\nend_of_record\nSF:/b.rs\nDA:1,1\n";
        let files = read(text, Path::new("/repo"));
        assert_eq!(files[0].path, Path::new("a.rs"));
        assert_eq!((files[0].reached(), files[0].counts.len()), (2, 6));
        assert_eq!(files[0].unreached(), "1, 4-7");
        assert_eq!((files[1].path.as_path(), files[1].unreached().as_str()), (Path::new("/b.rs"), ""));
    }
}
