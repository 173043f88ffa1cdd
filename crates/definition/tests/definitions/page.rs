//! The page for authors: its examples are read, and every key is on it.

use crate::definition;
use serde_json::Value;

fn page() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/definitions.md");
    std::fs::read_to_string(path).expect("docs/definitions.md is there")
}

#[test]
fn its_examples_have_no_fault() {
    let page = page();
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 5, "{} examples", blocks.len());
    for block in blocks {
        // Those that show only steps stand in some workflow.
        let whole = match block.starts_with("workflow:") {
            true => block.to_string(),
            false => format!("workflow: example\nversion: 1.0.0\n{block}"),
        };
        if let Err(faults) = definition::read(whole.as_bytes(), "docs/definitions.md") {
            panic!("{}", faults.iter().map(|fault| format!("{fault}\n")).collect::<String>());
        }
    }
}

#[test]
fn every_key_is_on_it() {
    fn keys(schema: &Value, into: &mut Vec<String>) {
        if let Some(properties) = schema["properties"].as_object() {
            for (key, inner) in properties {
                into.push(key.clone());
                keys(inner, into);
                inner["oneOf"].as_array().into_iter().flatten().for_each(|form| keys(form, into));
                keys(&inner["items"], into);
            }
        }
    }
    let (page, mut all) = (page(), Vec::new());
    keys(&definition::schema(), &mut all);
    assert!(all.len() > 45, "{all:?}");
    let missing: Vec<&String> = all.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
}

/// Every whole workflow that a page of the documents shows.
#[test]
fn the_workflows_of_every_page_have_no_fault() {
    fn pages(folder: &std::path::Path, into: &mut Vec<std::path::PathBuf>) {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => pages(&path, into),
                false if path.extension().is_some_and(|ending| ending == "md") => into.push(path),
                false => {}
            }
        }
    }
    let (mut all, mut faults, mut tried) = (Vec::new(), Vec::new(), 0);
    pages(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"), &mut all);
    for page in all {
        let text = std::fs::read_to_string(&page).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        for block in blocks.filter(|block| block.lines().any(|line| line.starts_with("workflow:"))) {
            tried += 1;
            let name = page.file_name().unwrap().to_string_lossy().into_owned();
            if let Err(found) = definition::read(block.as_bytes(), &name) {
                faults.extend(found.iter().map(ToString::to_string));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried >= 8, "{tried} workflows were read");
}
