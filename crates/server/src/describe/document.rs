//! The whole document: OpenAPI 3.1, one operation for each route, and whatever they share.

use super::operation::{Content, Operation, Parameter};
use super::schemas::Schemas;
use super::words;
use crate::access::{Access, Route, Takes};
use crate::codes;
use crate::idempotency;
use axum::http::{Method, StatusCode};
use model::limits;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

const ABOUT: &str = "Ids are UUIDs, instants are RFC 3339 in UTC with microseconds, states are lower snake case. A refusal is \
    `application/problem+json` with a stable `code`, whose page is at its `type`. Lists come in pages: `next` of one is `after` of the \
    following. From this machine no key is asked for unless the server is told to.";

/// What a new thing makes possible: the operation, its status, where its id is in the answer, and the operations that take the id.
const LINKS: [(&str, &str, &str, &[&str]); 6] = [
    (
        "steps_create",
        "201",
        "/steps/0/id",
        &["steps_show", "steps_attempts", "operate_operate", "progress_step"],
    ),
    (
        "workflows_start",
        "201",
        "/id",
        &["workflows_show", "workflows_operate", "workflows_resolve", "course_events", "workflows_graph"],
    ),
    ("flows_start", "201", "/flow/id", &["flows_show", "flows_ask", "flows_finish", "progress_flow"]),
    (
        "subscriptions_create",
        "201",
        "/id",
        &["subscriptions_show", "subscriptions_change", "subscriptions_remove"],
    ),
    ("bulk_create", "201", "/id", &["bulk_show", "bulk_cancel"]),
    ("keys_create", "201", "/id", &["keys_revoke"]),
];

pub fn document(routes: &[Route], version: &str) -> Value {
    let (mut schemas, mut refusals) = (Schemas::default(), BTreeMap::new());
    let problem = schemas.written::<wire::Problem>();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in routes {
        let mut about = Operation::new(schemas);
        (route.describe)(&mut about);
        around(route, &mut about);
        let own = words::of(&route.name).into_iter().flat_map(|words| words.refuses());
        own.for_each(|code| about.refuses(code));
        let method = route.method.as_str().to_lowercase();
        paths.entry(route.path).or_default().insert(method, operation(route, &about, &mut refusals));
        schemas = about.schemas;
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Stepfast",
            "version": version,
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "responses": refusals.iter().map(|(name, said)| (name.clone(), refusal(said, &problem))).collect::<Map<_, _>>(),
            "securitySchemes": {
                "key": { "type": "http", "scheme": "bearer", "description": "A key, as `stepfast keys create` shows it once." },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "stepfast_key", "description": "What /sign-in gives a browser for a key." },
                "token": { "type": "http", "scheme": "bearer", "description": "A token that was made for this one call, or a signature." },
            },
        },
    });
    let all = schemas.settle(&mut document);
    document["components"]["schemas"] = all.into();
    document
}

/// What stands before every handler: the guard, the header that makes a call be done once, and the engine's turn.
fn around(route: &Route, about: &mut Operation) {
    about.refuses(codes::BAD_REQUEST);
    about.refuses(codes::UNAUTHORIZED);
    about.refuses(codes::FORBIDDEN);
    about.refuses(codes::TOO_MANY);
    about.refuses(codes::UNAVAILABLE);
    if route.method == Method::GET {
        return;
    }
    about.refuses(codes::REFUSED);
    about.refuses(codes::TOO_LARGE);
    about.refuses(codes::TOO_SLOW);
    about.refuses(codes::MEDIA_TYPE);
    if route.method == Method::POST && idempotency::is_heard(route.path) {
        let description = "The same call with the same key is answered again, and not done again.";
        let schema = json!({
            "type": "string", "minLength": 1, "maxLength": limits::NAME_BYTES_MAX, "pattern": "^[!-~]+$",
            "description": description,
        });
        about.parameter("header", "Idempotency-Key", false, schema);
        let keyed = [
            codes::IN_PROGRESS,
            codes::KEY_CONFLICT,
            codes::ANSWER_NOT_KEPT,
            codes::GIVEN_UP,
            codes::INVALID,
            codes::BAD_REQUEST,
            codes::NOT_READY,
            codes::TOO_LARGE,
        ];
        keyed.into_iter().for_each(|code| about.refuses(code));
    }
}

/// Codes of one status, and the name under which operations share them.
type Refusals = BTreeMap<String, (u16, BTreeSet<&'static str>)>;

fn operation(route: &Route, about: &Operation, refusals: &mut Refusals) -> Value {
    let mut answers: BTreeMap<String, Value> = BTreeMap::new();
    for (status, content) in &about.answers {
        answers.insert(status.to_string(), answer(route, about, *status, content));
    }
    for (status, words) in about.problems.clone() {
        let name = words.iter().fold(format!("Problem{status}"), |name, word| format!("{name}.{word}"));
        let shared = json!({ "$ref": format!("#/components/responses/{name}") });
        refusals.insert(name, (status, words));
        match answers.get_mut(&status.to_string()) {
            // A page that may also be refused before it is one.
            Some(page) => page["content"]["application/problem+json"] = json!({}),
            None => drop(answers.insert(status.to_string(), shared)),
        }
    }
    let mut said = json!({
        "operationId": route.name,
        "tags": [tag(route, about)],
        "summary": words::of(&route.name).map(|words| words.says),
        "responses": answers,
        "security": security(route.access),
        "x-right": right(route.access),
    });
    let parameters = parameters(route, about);
    if !parameters.is_empty() {
        said["parameters"] = parameters.into();
    }
    if let Some(schema) = &about.body {
        said["requestBody"] = body(route.body, schema);
    }
    said
}

fn tag(route: &Route, about: &Operation) -> String {
    let is_page = about.answers.values().flatten().any(|(kind, _)| *kind == "text/html");
    match route.path.strip_prefix("/v1/") {
        Some(path) => path.split('/').next().unwrap_or_default().into(),
        None if is_page || route.path.starts_with("/assets") => "pages".into(),
        None => "service".into(),
    }
}

fn right(access: Access) -> &'static str {
    match access {
        Access::Open => "open",
        Access::Token => "token",
        Access::Needs(right) => right.word(),
    }
}

fn security(access: Access) -> Value {
    match access {
        Access::Open => json!([]),
        Access::Token => json!([{ "token": [] }]),
        Access::Needs(_) => json!([{ "key": [] }, { "cookie": [] }]),
    }
}

fn answer(route: &Route, about: &Operation, status: u16, content: &[Content]) -> Value {
    let mut said = json!({ "description": meaning(status) });
    if !content.is_empty() {
        let kinds = content.iter().map(|(kind, schema)| {
            (
                kind.to_string(),
                schema.as_ref().map_or_else(|| json!({}), |schema| json!({ "schema": schema })),
            )
        });
        said["content"] = kinds.collect::<Map<_, _>>().into();
    }
    if about.is_tagged && status == 200 {
        let description = "What it is now, to compare, and for the `If-Match` of calls that take one.";
        said["headers"] = json!({ "ETag": { "description": description, "schema": { "type": "string" } } });
    }
    let links: Map<String, Value> = LINKS
        .iter()
        .filter(|(from, at, ..)| *from == route.name && *at == status.to_string())
        .flat_map(|(_, _, place, targets)| {
            targets.iter().map(|target| (target.to_string(), link(target, place)))
        })
        .collect();
    if !links.is_empty() {
        said["links"] = links.into();
    }
    said
}

fn link(target: &str, place: &str) -> Value {
    json!({ "operationId": target, "parameters": { "id": format!("$response.body#{place}") } })
}

fn meaning(status: u16) -> &'static str {
    match status {
        200 => "As asked.",
        201 => "It was made.",
        202 => "It is kept until it takes effect.",
        204 => "Done.",
        303 => "Look there.",
        _ => "A page that says why not.",
    }
}

fn refusal((status, words): &(u16, BTreeSet<&'static str>), problem: &Value) -> Value {
    let titles: Vec<&str> = codes::ALL
        .iter()
        .filter(|code| code.status.as_u16() == *status && words.contains(code.word))
        .map(|code| code.title)
        .collect();
    let code = json!({ "properties": { "code": { "enum": words }, "status": { "const": status } } });
    let mut content = json!({ "application/problem+json": { "schema": { "allOf": [problem, code] } } });
    if *status == StatusCode::UNAUTHORIZED {
        // Whoever follows a link is shown the way in.
        content["text/html"] = json!({});
    }
    json!({ "description": titles.join("; "), "content": content })
}

/// Everything between braces in the path has a parameter, and it is a text where nobody says more.
fn parameters(route: &Route, about: &Operation) -> Vec<Value> {
    let places = route.path.split(['{', '}']).skip(1).step_by(2);
    let positions = about.positions.iter().cloned().map(Some).chain(std::iter::repeat(None));
    let in_path = places.zip(positions).map(|(name, position)| {
        let told = about.parameters.iter().find(|known| known.place == "path" && known.name == name);
        let schema = told.map(|known| known.schema.clone()).or(position);
        let schema = schema.unwrap_or_else(|| json!({ "type": "string", "minLength": 1 }));
        parameter(&Parameter { name: name.into(), place: "path", is_required: true, schema })
    });
    let others = about.parameters.iter().filter(|known| known.place != "path").map(parameter);
    in_path.chain(others).collect()
}

fn parameter(known: &Parameter) -> Value {
    let mut schema = known.schema.clone();
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let mut said = json!({ "name": known.name, "in": known.place, "schema": sendable(schema) });
    if known.is_required {
        said["required"] = true.into();
    }
    if let Some(description) = description {
        said["description"] = description;
    }
    said
}

/// An address has no `null`: whatever may be none is left out.
fn sendable(mut schema: Value) -> Value {
    if let Some(mut kinds) = schema.get("type").and_then(Value::as_array).cloned() {
        kinds.retain(|kind| kind != "null");
        schema["type"] = match kinds.as_slice() {
            [only] => only.clone(),
            _ => kinds.into(),
        };
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("default");
    }
    schema
}

fn body(takes: Takes, schema: &Value) -> Value {
    let said = json!({ "schema": schema });
    let content = match takes {
        Takes::Json => json!({ "application/json": said }),
        Takes::Text => json!({ "application/yaml": said, "application/json": said }),
        Takes::Form => json!({ "application/x-www-form-urlencoded": said }),
    };
    json!({ "required": true, "content": content })
}
