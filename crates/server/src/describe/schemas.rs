//! The schemas of all types that are read or written, each once.
//!
//! Why    a type may be read another way than it is written: what may be left out in a body always stands in an answer. Where the two
//!        differ, the one that is read has a name of its own.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Where the schemas are in the document, and where those that are read are until it is known whether they differ.
const SCHEMAS: &str = "#/components/schemas/";
const READ: &str = "#/components/read/";
/// What is behind the name of a type that is read another way than it is written.
const GIVEN: &str = "Given";

pub struct Schemas {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Default for Schemas {
    fn default() -> Schemas {
        let at = |place: &str| {
            let place = place.trim_start_matches('#').trim_end_matches('/').to_string();
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = place.into();
                settings.meta_schema = None;
            })
        };
        Schemas {
            read: at(READ).for_deserialize().into_generator(),
            written: at(SCHEMAS).for_serialize().into_generator(),
        }
    }
}

impl Schemas {
    pub fn read<T: JsonSchema>(&mut self) -> Value {
        self.read.subschema_for::<T>().to_value()
    }

    pub fn written<T: JsonSchema>(&mut self) -> Value {
        self.written.subschema_for::<T>().to_value()
    }

    /// A type that has no name in the document, only its fields.
    pub fn fields<T: JsonSchema>(&mut self) -> Map<String, Value> {
        match T::json_schema(&mut self.read).to_value() {
            Value::Object(whole) => whole,
            _ => Map::new(),
        }
    }

    /// Every schema by its name. References in `document` are led to them.
    pub fn settle(mut self, document: &mut Value) -> Map<String, Value> {
        let mut read = self.read.take_definitions(true);
        let mut all = self.written.take_definitions(true);
        read.values_mut().chain(all.values_mut()).chain([&mut *document]).for_each(shorten);
        let apart = apart(&read, &all);
        let given = |name: &str| if apart.contains(name) { format!("{name}{GIVEN}") } else { name.into() };
        let mut lead = |key: &str, text: &mut String| {
            if let Some(name) = text.strip_prefix(READ).filter(|_| key == "$ref") {
                *text = format!("{SCHEMAS}{}", given(name));
            }
        };
        for (name, mut schema) in read {
            each_text(&mut schema, &mut lead);
            all.insert(given(&name), schema);
        }
        each_text(document, &mut lead);
        all
    }
}

/// The first paragraph says what it is; examples in Rust are for those who read the code.
fn shorten(schema: &mut Value) {
    each_text(schema, &mut |key, text| {
        if key == "description" {
            *text = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        }
    });
}

/// Types that are read another way than they are written, by themselves or by what they hold.
fn apart(read: &Map<String, Value>, written: &Map<String, Value>) -> BTreeSet<String> {
    let both = read.iter().filter_map(|(name, schema)| Some((name, schema.clone(), written.get(name)?)));
    let mut apart = BTreeSet::new();
    let mut held = Vec::new();
    for (name, mut schema, other) in both {
        let mut names = BTreeSet::new();
        each_text(&mut schema, &mut |key, text| {
            if let Some(below) = text.strip_prefix(READ).filter(|_| key == "$ref").map(String::from) {
                *text = format!("{SCHEMAS}{below}");
                names.insert(below);
            }
        });
        if schema != *other {
            apart.insert(name.clone());
        }
        held.push((name.clone(), names));
    }
    loop {
        let before = apart.len();
        for (name, names) in &held {
            if !names.is_disjoint(&apart) {
                apart.insert(name.clone());
            }
        }
        if apart.len() == before {
            return apart;
        }
    }
}

/// Every text that stands under a name, however deep.
fn each_text(value: &mut Value, change: &mut dyn FnMut(&str, &mut String)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) => change(name, text),
                    field => each_text(field, change),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Inner {
        #[serde(default)]
        n: u8,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Outer {
        inner: Inner,
        same: Same,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Same {
        n: u8,
    }

    #[test]
    fn what_is_read_another_way_has_a_name_of_its_own() {
        let mut schemas = Schemas::default();
        let mut document =
            json!([schemas.read::<Outer>(), schemas.written::<Outer>(), schemas.read::<Same>()]);
        let all = schemas.settle(&mut document);
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        assert_eq!(names, ["Inner", "InnerGiven", "Outer", "OuterGiven", "Same"]);
        let refs: Vec<&str> =
            document.as_array().unwrap().iter().map(|v| v["$ref"].as_str().unwrap()).collect();
        let expected = ["OuterGiven", "Outer", "Same"].map(|name| format!("{SCHEMAS}{name}"));
        assert_eq!(refs, expected);
        assert_eq!(all["OuterGiven"]["properties"]["inner"]["$ref"], format!("{SCHEMAS}InnerGiven"));
        assert_eq!(all["OuterGiven"]["properties"]["same"]["$ref"], format!("{SCHEMAS}Same"));
    }
}
