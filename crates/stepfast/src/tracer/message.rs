//! Spans as OTLP says them.

use engine::{Span, SpanOf};
use model::Timestamp;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span as Told, Status};

const ERROR_CHARS_MAX: usize = 500;

pub fn of(spans: &[Span], service: &str, host: &str) -> ExportTraceServiceRequest {
    let resource = Resource {
        attributes: vec![
            text("service.name", service),
            text("service.version", env!("CARGO_PKG_VERSION")),
            text("host.name", host),
        ],
        ..Resource::default()
    };
    let scope = InstrumentationScope {
        name: "stepfast".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..InstrumentationScope::default()
    };
    let scope_spans =
        ScopeSpans { scope: Some(scope), spans: spans.iter().map(told).collect(), ..ScopeSpans::default() };
    let all = ResourceSpans {
        resource: Some(resource),
        scope_spans: vec![scope_spans],
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![all] }
}

fn told(span: &Span) -> Told {
    let trace_id = span.above.id.to_be_bytes().to_vec();
    let link = |follows: u64| Link {
        trace_id: trace_id.clone(),
        span_id: follows.to_be_bytes().to_vec(),
        ..Link::default()
    };
    let above = if span.above.is_root() { Vec::new() } else { span.above.span.to_be_bytes().to_vec() };
    let (name, kind, mut attributes) = named(&span.of);
    attributes.push(text("stepfast.outcome", span.outcome));
    let status = span.error.as_ref().map(|error| Status {
        message: error.chars().take(ERROR_CHARS_MAX).collect(),
        code: StatusCode::Error.into(),
    });
    Told {
        span_id: span.span.to_be_bytes().to_vec(),
        trace_state: span.above.state.as_deref().unwrap_or_default().into(),
        parent_span_id: above,
        flags: 1,
        name,
        kind: kind.into(),
        start_time_unix_nano: nanos(span.started_at),
        end_time_unix_nano: nanos(span.ended_at),
        attributes,
        links: span.follows.map(link).into_iter().collect(),
        status,
        trace_id,
        ..Told::default()
    }
}

fn named(of: &SpanOf) -> (String, SpanKind, Vec<KeyValue>) {
    match of {
        SpanOf::Attempt { step, attempt, action, queue, host, workflow } => {
            let mut attributes = vec![
                text("messaging.system", "stepfast"),
                text("messaging.operation.type", "process"),
                text("messaging.operation.name", action),
                text("messaging.destination.name", queue),
                text("messaging.message.id", &step.to_string()),
                text("stepfast.step.id", &step.to_string()),
                number("stepfast.step.attempt", i64::from(*attempt)),
            ];
            attributes.extend(host.as_ref().map(|host| text("stepfast.host", host)));
            attributes.extend(workflow.map(|id| text("stepfast.workflow.id", &id.to_string())));
            (format!("run {action}"), SpanKind::Consumer, attributes)
        }
        SpanOf::Workflow { id, definition, version } => {
            let attributes = vec![
                text("stepfast.workflow.id", &id.to_string()),
                text("stepfast.workflow.name", definition),
                text("stepfast.workflow.version", version),
            ];
            (format!("workflow {definition}"), SpanKind::Internal, attributes)
        }
    }
}

fn nanos(at: Timestamp) -> u64 {
    at.0.unsigned_abs() * 1_000
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, any_value::Value::StringValue(value.into()))
}

fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, any_value::Value::IntValue(value))
}

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
