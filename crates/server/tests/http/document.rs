//! The description of the API: as it is kept in `docs/`, whole, and true of every answer that a test gets.

use crate::place::{Answer, Place};
use axum::http::Method;
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex};
use stepfast_server::{self as server};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| server::document(env!("CARGO_PKG_VERSION")));
static VALIDATORS: LazyLock<Mutex<HashMap<String, &'static Validator>>> = LazyLock::new(Mutex::default);

#[test]
fn the_document_is_the_one_in_the_docs() {
    let text = laid_out(&DOCUMENT, 0) + "\n";
    if std::env::var_os("STEPFAST_RENEW").is_some() {
        std::fs::write(GOLDEN, &text).unwrap();
    }
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap();
    let how = "STEPFAST_RENEW=1 cargo nextest run -p stepfast-server the_document_is_the_one_in_the_docs";
    let differs = differs(&golden, &DOCUMENT, "");
    assert!(
        differs.is_empty(),
        "docs/openapi.json is not what the code says; renew it with `{how}`:\n{differs}"
    );
}

/// An operation, and a schema, on each line.
fn laid_out(value: &Value, depth: usize) -> String {
    match value {
        Value::Object(fields) if depth < 3 && !fields.is_empty() => {
            let indent = " ".repeat(depth + 1);
            let mut lines: Vec<(&String, &Value)> = fields.iter().collect();
            lines.sort_by_key(|(name, _)| name.as_str());
            let line = |(name, field): (&String, &Value)| {
                format!("{indent}{}: {}", json!(name), laid_out(field, depth + 1))
            };
            let lines: Vec<String> = lines.into_iter().map(line).collect();
            format!("{{\n{}\n{}}}", lines.join(",\n"), " ".repeat(depth))
        }
        value => value.to_string(),
    }
}

/// The first places that differ.
fn differs(before: &Value, after: &Value, place: &str) -> String {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let none = Value::Null;
            let below = names.into_iter().map(|name| {
                differs(
                    a.get(name).unwrap_or(&none),
                    b.get(name).unwrap_or(&none),
                    &format!("{place}/{name}"),
                )
            });
            below.filter(|told| !told.is_empty()).take(10).collect()
        }
        _ if before == after => String::new(),
        _ => format!("{place}\n"),
    }
}

#[test]
fn every_route_is_described_and_no_other() {
    let described: BTreeSet<String> = DOCUMENT["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(move |m| format!("{} {path}", m.to_uppercase()))
        })
        .collect();
    let declared: BTreeSet<String> =
        server::routes().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    assert_eq!(described, declared);
}

/// Every value that a reference or a link leads to.
#[test]
fn nothing_leads_nowhere() {
    let mut operations = BTreeSet::new();
    let (mut references, mut links) = (0, 0);
    each(&DOCUMENT, &mut |name, value| {
        if name == "operationId" && value.is_string() {
            operations.insert(value.as_str().unwrap().to_string());
        }
    });
    each(&DOCUMENT, &mut |name, value| match (name, value) {
        ("$ref", Value::String(place)) => {
            assert!(DOCUMENT.pointer(place.trim_start_matches('#')).is_some(), "{place} is not there");
            references += 1;
        }
        ("links", Value::Object(all)) => {
            for (to, link) in all {
                assert!(operations.contains(to) && link["operationId"] == *to, "{to} is no operation");
                links += 1;
            }
        }
        _ => {}
    });
    println!("{references} references, {links} links");
    assert!(references > 500 && links > 10);
}

fn each<'a>(value: &'a Value, look: &mut dyn FnMut(&'a str, &'a Value)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            look(name, field);
            each(field, look);
        }),
        Value::Array(items) => items.iter().for_each(|item| each(item, look)),
        _ => {}
    }
}

#[test]
fn what_is_asked_of_the_caller_stands_in_the_document() {
    let operation = |path: &str, method: &str| &DOCUMENT["paths"][path][method];
    assert_eq!(operation("/livez", "get")["security"], json!([]));
    assert_eq!(operation("/v1/steps", "post")["x-right"], "start");
    assert_eq!(operation("/v1/steps", "post")["security"], json!([{"key": []}, {"cookie": []}]));
    let limit = operation("/v1/steps", "get")["parameters"].as_array().unwrap();
    let limit = limit.iter().find(|one| one["name"] == "limit").unwrap();
    assert_eq!(
        (&limit["schema"]["minimum"], &limit["schema"]["maximum"]),
        (&json!(1), &json!(1000)),
        "{limit}"
    );
    let verbs = operation("/v1/steps/{id}/{verb}", "post")["parameters"].as_array().unwrap();
    let verbs = verbs.iter().find(|one| one["name"] == "verb").unwrap();
    assert!(verbs["schema"]["enum"].as_array().unwrap().contains(&json!("cancel")), "{verbs}");
}

/// What is read where a step is created, against what is described.
#[test]
fn a_new_step_is_described_as_it_is_read() {
    let told = serde_json::from_str::<model::NewStep>(r#"{"?": 1}"#).unwrap_err().to_string();
    let (_, names) = told.split_once("expected one of ").unwrap();
    let read: BTreeSet<&str> = names.split('`').skip(1).step_by(2).collect();
    let fields = DOCUMENT.pointer("/components/schemas/NewStepBody/properties").unwrap();
    let described: BTreeSet<&str> = fields.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(read, described);
}

/// What may stand in a field that takes one of a few words.
fn words_of(schema: &str, field: &str) -> BTreeSet<String> {
    let place = format!("/components/schemas/{schema}/properties/{field}/enum");
    let told = DOCUMENT.pointer(&place).unwrap_or_else(|| panic!("{place} is not there"));
    told.as_array().unwrap().iter().filter_map(|word| word.as_str().map(Into::into)).collect()
}

/// A word too many or too few would be a promise that nobody keeps.
#[test]
fn closed_sets_of_words_are_those_that_the_code_knows() {
    macro_rules! told {
        ($($schema:literal . $field:literal is $of:ty),* $(,)?) => {
            $({
                let known: BTreeSet<String> = <$of>::ALL.iter().map(ToString::to_string).collect();
                assert_eq!(words_of($schema, $field), known, "{} of {}", $field, $schema);
            })*
        };
    }
    told!(
        "NewStepBody"."priority" is model::Priority,
        "NewStepBody"."kind" is model::StepKind,
        "NewStepBody"."mode" is model::DispatchMode,
        "KeyBody"."role" is model::Role,
        "StepView"."state" is model::State,
        "StepView"."status" is model::Status,
        "StepView"."mode" is model::DispatchMode,
        "DeliveryView"."status" is model::DeliveryStatus,
        "DeliveryView"."error_type" is model::DeliveryError,
        "WorkflowView"."state" is model::WorkflowState,
        "PauseView"."state" is model::PauseState,
        "ExecutionView"."state" is model::ExecutionState,
        "MomentView"."event" is model::ExecutionEvent,
        "FlowView"."state" is model::FlowState,
    );
    let steps = engine::Verb::ALL.iter().map(|verb| verb.word().to_string()).chain(["retry".into()]);
    let workflows = engine::WorkflowVerb::plain().map(|verb| verb.word().to_string());
    let known: BTreeSet<String> = steps.chain(workflows).collect();
    assert_eq!(words_of("BulkBody", "verb"), known);
    let body = DOCUMENT.pointer("/paths/~1v1~1definitions/post/requestBody/content/application~1yaml/schema");
    assert_eq!(body.unwrap(), &json!({"$ref": "#/components/schemas/Definition"}));
    let definition = DOCUMENT.pointer("/components/schemas/Definition/properties/steps").unwrap();
    assert_eq!(definition["type"], "array", "{definition}");
}

/// The path of the document that an address belongs to; fixed words win over names.
fn described(method: &Method, path: &str) -> Option<(&'static str, &'static Value)> {
    let method = method.as_str().to_lowercase();
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |known: &str| {
        let known: Vec<&str> = known.split('/').collect();
        let same = |(said, part): (&&str, &&str)| said.starts_with('{') && !part.is_empty() || said == part;
        known.len() == parts.len() && known.iter().zip(&parts).all(same)
    };
    let all = DOCUMENT["paths"].as_object().unwrap();
    let best =
        all.iter().filter(|(known, _)| fits(known)).min_by_key(|(known, _)| known.matches('{').count())?;
    Some((best.0.as_str(), best.1.get(&method)?))
}

/// The names that may stand behind the question mark of a route.
pub fn parameters(method: &Method, path: &str) -> Vec<String> {
    let operation = &DOCUMENT["paths"][path][method.as_str().to_lowercase()];
    let all = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let in_query = all.iter().filter(|one| one["in"] == "query");
    in_query.map(|one| one["name"].as_str().unwrap().to_string()).collect()
}

/// There is no table to open in a program that takes a cell for a formula; and what is answered is held to its kind.
#[test]
fn s20_nothing_is_answered_that_a_spreadsheet_opens() {
    let mut kinds = BTreeSet::new();
    each(&DOCUMENT["paths"], &mut |name, value| {
        if name == "responses" {
            each(value, &mut |name, value| {
                if name == "content" {
                    kinds.extend(value.as_object().into_iter().flat_map(Map::keys).map(String::as_str));
                }
            });
        }
    });
    let known = [
        "application/json",
        "application/openmetrics-text",
        "application/problem+json",
        "application/schema+json",
        "application/yaml",
        "image/svg+xml",
        "text/css",
        "text/event-stream",
        "text/html",
        "text/javascript",
        "text/plain",
    ];
    let others: Vec<_> = kinds.iter().filter(|kind| !known.contains(kind)).collect();
    assert!(
        kinds.contains("application/json") && others.is_empty(),
        "{others:?}: think of cells that begin with ="
    );
}

/// Holds an answer to the document: its status, its kind and its body.
pub fn hold(method: &Method, path: &str, answer: &Answer) {
    let Some((known, operation)) = described(method, path) else { return };
    let status = answer.status.as_u16();
    let place = format!("{method} {known} {status}");
    let said = &operation["responses"][status.to_string()];
    assert!(said.is_object(), "{place} is not described: {}", answer.text());
    let said = match said["$ref"].as_str() {
        Some(reference) => DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap(),
        None => said,
    };
    let kind = answer.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap());
    let kind = kind.split(';').next().unwrap();
    let Some(content) = said.get("content") else {
        assert!(answer.bytes.is_empty(), "{place} has a body: {}", answer.text());
        return;
    };
    assert!(content.get(kind).is_some(), "{place} answered `{kind}`: {}", answer.text());
    if let Some(schema) = content[kind].get("schema").filter(|_| kind.ends_with("json")) {
        let body = answer.json();
        let wrong: Vec<String> = validator(&format!("{place} {kind}"), schema)
            .iter_errors(&body)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{place} is not as described: {wrong:#?}\n{body:#}");
    }
}

fn validator(place: &str, schema: &Value) -> &'static Validator {
    let mut known = VALIDATORS.lock().unwrap();
    known.entry(place.into()).or_insert_with(|| {
        let mut whole: Map<String, Value> = Map::new();
        whole.insert("allOf".into(), json!([schema]));
        whole.insert("components".into(), DOCUMENT["components"].clone());
        Box::leak(Box::new(jsonschema::validator_for(&whole.into()).unwrap()))
    })
}

#[tokio::test]
async fn both_forms_of_the_document_are_served_to_everybody() {
    let place = Place::open();
    let served = place.get("/openapi.json").await;
    assert_eq!(served.ok()["openapi"], "3.1.0");
    assert_eq!(served.headers["content-type"], "application/json");
    let page = place.get("/docs/api").await;
    assert!(page.headers["content-security-policy"].to_str().unwrap().contains("script-src 'self'"));
    let text = page.text();
    for route in server::routes() {
        assert!(text.contains(&format!("id=\"{}\"", route.name)), "{} is not on the page", route.name);
    }
    assert!(!text.contains("<script>"), "it has no script of its own");
    place.close().await;
}

#[tokio::test]
async fn the_type_of_a_problem_leads_to_its_page() {
    let place = Place::open();
    let problem = place.get("/v1/steps/nonsense").await.refused(400, "invalid_request");
    let page = place.get(problem["type"].as_str().unwrap()).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("<h2>What to do</h2>"), "{}", page.text());
    let all = place.get("/docs/errors").await;
    assert!(all.text().contains("href=\"/docs/errors/lease_lost\""));
    place.get("/docs/errors/nothing").await.refused(404, "not_found");
    place.close().await;
}
