//! The JSON Schema of definitions, for editors that complete and check.

use crate::duration;
use crate::language::{Form, Key, Need, Object, WORKFLOW};
use model::limits::NAME_BYTES_MAX;
use serde_json::{Map, Value, json};

/// JSON Schema 2020-12 of a definition file, made from the table that the reader follows.
pub fn schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("$id".into(), "https://stepfast.dev/definition.schema.json".into());
    schema.insert("title".into(), "Stepfast workflow definition".into());
    let Value::Object(workflow) = object(&WORKFLOW) else { return Value::Bool(true) };
    schema.extend(workflow);
    Value::Object(schema)
}

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern, "maxLength": NAME_BYTES_MAX })
}

fn form(of: &Form) -> Value {
    match of {
        Form::WorkflowKey => text("^[a-z][a-z0-9]*(-[a-z0-9]+)*$"),
        Form::StepKey => text("^[a-z][a-z0-9]*([-_][a-z0-9]+)*$"),
        Form::BranchKey => text("^[A-Za-z0-9_-]+$"),
        Form::Version => text("^(0|[1-9][0-9]{0,8})\\.(0|[1-9][0-9]{0,8})\\.(0|[1-9][0-9]{0,8})$"),
        Form::Name => text("^\\S(.*\\S)?$"),
        Form::InputPath => text("^input(\\.[A-Za-z0-9_-]+)+$"),
        Form::Text(most) => json!({ "type": "string", "maxLength": most }),
        Form::Duration { .. } => text(duration::PATTERN),
        Form::Whole { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Form::Factor { max } => json!({ "type": "number", "minimum": 1, "maximum": max }),
        Form::Word(words) => json!({ "type": "string", "enum": words }),
        Form::Expression => {
            json!({ "type": "string", "pattern": "\\S", "maxLength": expr::SOURCE_BYTES_MAX })
        }
        Form::Template => json!({}),
        Form::JsonSchema => json!({ "type": ["object", "boolean"] }),
        Form::List { of, min, max } => {
            json!({ "type": "array", "items": form(of), "minItems": min, "maxItems": max })
        }
        Form::Map { keys, of, min, max } => json!({
            "type": "object", "propertyNames": form(keys), "additionalProperties": form(of),
            "minProperties": min, "maxProperties": max,
        }),
        Form::Object(of) => object(of),
        Form::Either(short, long) => json!({ "oneOf": [form(short), form(long)] }),
    }
}

fn object(of: &Object) -> Value {
    let properties: Map<String, Value> = of.keys.iter().map(|key| (key.name.into(), property(key))).collect();
    let required: Vec<&str> =
        of.keys.iter().filter(|key| key.need == Need::Required).map(|key| key.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if !of.one_of.is_empty() {
        schema["oneOf"] = of.one_of.iter().map(|name| json!({ "required": [name] })).collect();
    }
    let depends = of.keys.iter().filter(|key| !key.beside.is_empty());
    let beside: Map<String, Value> = depends
        .map(|key| {
            let any: Vec<Value> = key.beside.iter().map(|name| json!({ "required": [name] })).collect();
            (key.name.to_string(), json!({ "anyOf": any }))
        })
        .collect();
    if !beside.is_empty() {
        schema["dependentSchemas"] = beside.into();
    }
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = form(&key.form);
    schema["description"] = key.about.into();
    if let Some(default) = key.default {
        schema["default"] = default.into();
    }
    let example = Some(key.example).filter(|example| !example.contains('…'));
    if let Some(Ok(example)) = example.map(|example| crate::value(example.as_bytes(), key.name)) {
        schema["examples"] = json!([example]);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_schema_and_its_examples_fit() {
        let schema = schema();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        let mut checked = 0;
        check_examples(&schema, &mut checked);
        assert!(checked > 40, "{checked}");
    }

    fn check_examples(schema: &Value, checked: &mut usize) {
        let Value::Object(entries) = schema else { return };
        for example in schema["examples"].as_array().into_iter().flatten() {
            assert!(jsonschema::draft202012::is_valid(schema, example), "{example} does not fit {schema}");
            *checked += 1;
        }
        entries.values().for_each(|inner| match inner {
            Value::Array(all) => all.iter().for_each(|inner| check_examples(inner, checked)),
            inner => check_examples(inner, checked),
        });
    }
}
