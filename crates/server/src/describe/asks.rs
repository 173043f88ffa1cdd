//! What each extractor asks of a request, and how it refuses.

use super::{Asks, Operation};
use crate::access::{Caller, Cookies};
use crate::codes;
use crate::extract::{
    Expected, Params, Path, Posted, PostedDefinition, PostedText, ThisFlow, ThisKey, ThisStep,
    ThisSubscription, ThisWorkflow, Traced,
};
use crate::triggers::Source;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::HeaderMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::json;
use std::borrow::Cow;

macro_rules! asks_nothing {
    ($($given:ty),*) => {
        $(impl Asks for $given {
            fn ask(_: &mut Operation) {}
        })*
    };
}

asks_nothing!(Caller, Cookies, HeaderMap, Source);

impl<S> Asks for State<S> {
    fn ask(_: &mut Operation) {}
}

macro_rules! asks_for_an_id {
    ($($given:ty),*) => {
        $(impl Asks for $given {
            fn ask(about: &mut Operation) {
                about.parameter("path", "id", true, json!({ "type": "string", "format": "uuid" }));
                about.refuses(codes::BAD_REQUEST);
                about.refuses(codes::NOT_FOUND);
            }
        })*
    };
}

asks_for_an_id!(ThisStep, ThisWorkflow, ThisFlow, ThisSubscription, ThisKey);

impl<T: JsonSchema> Asks for Path<T> {
    fn ask(about: &mut Operation) {
        about.fields::<T>("path");
        about.refuses(codes::BAD_REQUEST);
        about.refuses(codes::NOT_FOUND);
    }
}

impl<T: JsonSchema> Asks for Params<T> {
    fn ask(about: &mut Operation) {
        about.fields::<T>("query");
        about.refuses(codes::BAD_REQUEST);
    }
}

impl Asks for Traced {
    fn ask(about: &mut Operation) {
        for (name, description) in [
            ("traceparent", "The W3C trace context that this is asked for in."),
            ("tracestate", "What goes with it."),
        ] {
            let schema = json!({ "type": "string", "description": description });
            about.parameter("header", name, false, schema);
        }
    }
}

/// What any body may be refused for.
fn body(about: &mut Operation) {
    for code in [codes::BAD_REQUEST, codes::MALFORMED, codes::TOO_LARGE, codes::MEDIA_TYPE, codes::INVALID] {
        about.refuses(code);
    }
}

impl<T: JsonSchema> Asks for Posted<T> {
    fn ask(about: &mut Operation) {
        about.body = Some(about.schemas.read::<T>());
        body(about);
    }
}

impl Asks for PostedText {
    fn ask(about: &mut Operation) {
        about.body = Some(json!({}));
        body(about);
    }
}

/// What the reader of definitions takes, as editors are told it too.
struct Authored;

impl JsonSchema for Authored {
    fn schema_name() -> Cow<'static, str> {
        "Definition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = Schema::try_from(definition::schema()).unwrap_or_default();
        // It is a part of this document, and no document of its own.
        ["$id", "$schema"].into_iter().for_each(|name| drop(schema.remove(name)));
        schema
    }
}

impl Asks for PostedDefinition {
    fn ask(about: &mut Operation) {
        about.body = Some(about.schemas.read::<Authored>());
        body(about);
    }
}

/// Whatever its fields are called, they are texts.
impl<T: JsonSchema> Asks for Result<Form<T>, FormRejection> {
    fn ask(about: &mut Operation) {
        let schema = about.schemas.fields::<T>();
        let is_named = schema.contains_key("properties");
        let any = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        about.body = Some(if is_named { schema.into() } else { any });
        body(about);
    }
}

impl<T: JsonSchema> Asks for Result<Query<T>, QueryRejection> {
    fn ask(about: &mut Operation) {
        about.fields::<T>("query");
    }
}

impl Asks for Expected {
    fn ask(about: &mut Operation) {
        let description = "The `ETag` of what the caller has seen; refused with `changed` if it is another now. `*` is any.";
        about.parameter("header", "If-Match", false, json!({ "type": "string", "description": description }));
        about.refuses(codes::BAD_REQUEST);
        about.refuses(codes::CHANGED);
    }
}

impl<A: Asks, B: Asks> Asks for (A, B) {
    fn ask(about: &mut Operation) {
        A::ask(about);
        B::ask(about);
    }
}

impl<A: Asks, B: Asks, C: Asks> Asks for (A, B, C) {
    fn ask(about: &mut Operation) {
        A::ask(about);
        B::ask(about);
        C::ask(about);
    }
}
