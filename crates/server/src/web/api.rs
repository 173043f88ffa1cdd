//! The description of the API for people: every route by its noun, and every type.

use super::docs::shown;
use super::markdown::inline;
use crate::app::App;
use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

const SCHEMAS: &str = "#/components/schemas/";

pub async fn page(State(app): State<Arc<App>>) -> Markup {
    shown(&app, "API", render(app.document()))
}

/// A route: its path, its method, and what the document says of it.
type Line<'a> = (&'a str, &'a str, &'a Value);

fn render(document: &Value) -> Markup {
    let mut nouns: BTreeMap<&str, Vec<Line>> = BTreeMap::new();
    for (path, methods) in fields(&document["paths"]) {
        for (method, said) in fields(methods) {
            nouns.entry(text(&said["tags"][0])).or_default().push((path, method, said));
        }
    }
    html! {
        h1 { "API" }
        p { (inline(text(&document["info"]["description"]))) }
        p { a href="/openapi.json" { "The same for programs" } ", as OpenAPI 3.1. " a href="/docs/errors" { "What errors mean" } "." }
        p { @for noun in nouns.keys() { a href={ "#of-" (noun) } { (noun) } " " } }
        @for (noun, lines) in &nouns {
            section id={ "of-" (noun) } { h2 { (noun) } @for line in lines { (operation(line, document)) } }
        }
        section id="types" {
            h2 { "Types" }
            @for (name, schema) in fields(&document["components"]["schemas"]) { (described(name, schema)) }
        }
    }
}

fn operation((path, method, said): &Line, document: &Value) -> Markup {
    let right = text(&said["x-right"]);
    let bodies = fields(&said["requestBody"]["content"]);
    html! {
        details id=(text(&said["operationId"])) {
            summary { b.mono { (method.to_uppercase()) } " " span.mono { (path) } " " span.aside { (inline(text(&said["summary"]))) } }
            p { @match right {
                "open" => "Asks for nothing.",
                "token" => "Asks for a token of its own.",
                _ => { "Asks for the right " code { (right) } "." },
            } }
            @if let Some(parameters) = said["parameters"].as_array() {
                table {
                    thead { tr { th { "Parameter" } th { "In" } th { "Is" } th { "Means" } } }
                    tbody { @for one in parameters { tr {
                        td.mono { (text(&one["name"])) @if one["required"] == true { " *" } }
                        td.word { (text(&one["in"])) }
                        td { (kind(&one["schema"])) }
                        td { (inline(text(&one["description"]))) }
                    } } }
                }
            }
            @for (media, body) in bodies { p { "Body " code { (media) } ": " (kind(&body["schema"])) } }
            ul { @for (status, answer) in fields(&said["responses"]) { li { b { (status) } " " (replied(answer, document)) } } }
        }
    }
}

/// What an answer is: its type, or its codes with their pages.
fn replied(answer: &Value, document: &Value) -> Markup {
    let shared = answer["$ref"].as_str().and_then(|place| document.pointer(place.trim_start_matches('#')));
    let said = shared.unwrap_or(answer);
    let problem =
        &said["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"]["code"]["enum"];
    let codes: Vec<&str> = problem.as_array().into_iter().flatten().map(text).collect();
    html! {
        @if codes.is_empty() { (text(&said["description"])) " " }
        @for code in codes { a href={ "/docs/errors/" (code) } { (code) } " " }
        @for (media, content) in fields(&said["content"]) {
            @if media != "application/problem+json" { code { (media) } " " (kind(&content["schema"])) " " }
        }
    }
}

fn described(name: &str, schema: &Value) -> Markup {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().map(text).collect();
    html! {
        details id={ "type-" (name) } {
            summary { b.mono { (name) } " " span.aside { (inline(text(&schema["description"]))) } }
            @if fields(&schema["properties"]).is_empty() { p { (kind(schema)) } }
            @else {
                table {
                    thead { tr { th { "Field" } th { "Is" } th { "Means" } } }
                    tbody { @for (field, said) in fields(&schema["properties"]) { tr {
                        td.mono { (field) @if required.contains(&field) { " *" } }
                        td { (kind(said)) }
                        td { (inline(text(&said["description"]))) }
                    } } }
                }
            }
        }
    }
}

/// What a schema lets stand there, in words.
fn kind(schema: &Value) -> Markup {
    let either = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[*key].as_array());
    if let Some(name) = schema["$ref"].as_str().and_then(|place| place.strip_prefix(SCHEMAS)) {
        return html! { a href={ "#type-" (name) } { (name) } };
    }
    if let Some(words) = schema["enum"].as_array() {
        return html! { (words.iter().map(text).collect::<Vec<_>>().join(", ")) };
    }
    if let Some(either) = either {
        return html! { @for (n, one) in either.iter().enumerate() { @if n > 0 { " or " } (kind(one)) } };
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(text).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let bounds = match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(min), Some(max)) => format!(" {min} to {max}"),
        _ => String::new(),
    };
    html! {
        @if kinds.is_empty() { "any JSON" } @else { (kinds.join(" or ")) (bounds) }
        @if schema["items"].is_object() { " of " (kind(&schema["items"])) }
        @if let Some(format) = schema["format"].as_str().filter(|format| matches!(*format, "uuid" | "date-time")) { " (" (format) ")" }
    }
}

fn fields(value: &Value) -> Vec<(&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, field)| (name.as_str(), field)).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
