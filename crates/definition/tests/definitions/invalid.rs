//! Every fault with its golden file: what is wrong, where, and what to write.
//!
//! What the name of a file begins with says what finds its faults: `yaml-` is not read at all, `form-` does not fit the schema for
//! editors, and `sense-` fits it and is wrong all the same.

use super::{blesses, bytes, files, name};
use crate::definition;
use std::collections::BTreeSet;

fn told(path: &std::path::Path) -> String {
    let text = bytes(path);
    match definition::read(&text, &name(path)) {
        Ok(_) => panic!("{} has no fault", name(path)),
        Err(faults) => faults.iter().map(|fault| format!("{fault}\n\n")).collect(),
    }
}

#[test]
fn every_fault_is_told_as_it_should_be() {
    let examples = files("invalid", &["yaml", "json"]);
    assert!(examples.len() >= 60, "{} examples", examples.len());
    let mut differs = Vec::new();
    let mut known = BTreeSet::new();
    for path in &examples {
        let (told, golden) = (told(path), path.with_extension("txt"));
        known.insert(golden.clone());
        if blesses() {
            std::fs::write(&golden, &told).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if told != expected {
            differs.push(format!("{}:\n{told}instead of\n{expected}", name(path)));
        }
    }
    let extra: Vec<_> = files("invalid", &["txt"]).into_iter().filter(|path| !known.contains(path)).collect();
    assert!(extra.is_empty(), "golden files without a definition: {extra:?}");
    assert!(differs.is_empty(), "{}\nSTEPFAST_BLESS=1 writes what is told now", differs.join("\n"));
}

#[test]
fn the_schema_for_editors_finds_the_faults_of_form_and_only_those() {
    let schema = jsonschema::draft202012::new(&definition::schema()).unwrap();
    for path in files("invalid", &["yaml", "json"]) {
        let name = name(&path);
        let value = definition::value(&bytes(&path), &name);
        match name.split('-').next() {
            Some("yaml") => assert!(value.is_err(), "{name} is read"),
            Some("form") => assert!(!schema.is_valid(&value.unwrap()), "{name} fits the schema"),
            Some("sense") => {
                let value = value.unwrap();
                let faults: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
                assert!(faults.is_empty(), "{name} does not fit the schema: {faults:?}");
            }
            _ => panic!("{name} must begin with yaml-, form- or sense-"),
        }
    }
}
