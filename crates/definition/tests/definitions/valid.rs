//! Definitions without a fault: one model however they are written.

use super::{blesses, bytes, files, name};
use crate::definition;
use crate::definition::builder::{Branch, Definition, Each, Pause, Poll, Retry, Step};
use model::definition::{
    Ending, FailurePolicy, Fallback, Gather, OnCancel, OnTimeout, PauseTimeout, Resolution, RetryScope,
    Strategy, TriggerAuth,
};
use model::{DispatchMode, Fault, Pinned, Priority, Success};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn read(path: &std::path::Path) -> definition::Read {
    let text = bytes(path);
    definition::read(&text, &name(path)).unwrap_or_else(|faults| {
        panic!("{}", faults.iter().map(|fault| format!("{fault}\n")).collect::<String>())
    })
}

fn example(name: &str) -> definition::Read {
    read(
        &files("valid", &["yaml", "json"])
            .into_iter()
            .find(|path| path.ends_with(name))
            .expect("it is there"),
    )
}

#[test]
fn they_fit_the_schema_and_can_be_run() {
    let schema = jsonschema::draft202012::new(&definition::schema()).unwrap();
    for path in files("valid", &["yaml", "json"]) {
        let read = read(&path);
        let value = definition::value(&bytes(&path), "x").unwrap();
        let faults: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{}: {faults:?}", name(&path));
        assert_eq!(definition::check(&read.definition), Vec::<Fault>::new(), "{}", name(&path));
        let pinned = Arc::new(Pinned { key: "k".into(), version: "v".into(), hash: "h".into() });
        rules::workflow::Plan::compile(read.definition, pinned).unwrap();
    }
}

/// Every key of the language is in the largest example, so a key the model does not know, or the reader, is found out.
#[test]
fn the_largest_example_uses_every_key() {
    let text = std::fs::read(
        files("valid", &["yaml"]).into_iter().find(|path| path.ends_with("order.yaml")).unwrap(),
    );
    let value = definition::value(&text.unwrap(), "order.yaml").unwrap();
    let schema = definition::schema();
    let used = |of: &Value, properties: &Value| {
        let names = properties.as_object().unwrap().keys();
        names.filter(|name| of.get(name.as_str()).is_none()).cloned().collect::<Vec<_>>()
    };
    assert_eq!(used(&value, &schema["properties"]), Vec::<String>::new());
    let mut all = serde_json::Map::new();
    value["steps"].as_array().unwrap().iter().for_each(|step| all.extend(step.as_object().unwrap().clone()));
    assert_eq!(used(&all.into(), &schema["properties"]["steps"]["items"]["properties"]), ["after"]);
}

#[test]
fn the_builder_makes_the_same_value() {
    let seconds = Duration::from_secs;
    let item = json!({"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}});
    let properties = json!({"customer": {"type": "string"}, "items": {"type": "array", "items": {"$ref": "#/$defs/item"}}});
    let input = json!({"type": "object", "required": ["customer", "items"], "properties": properties, "$defs": {"item": item}});
    let each = Each::of("input.items").success(Success::AtLeast(1)).max_parallel(20);
    let retry = Retry::attempts(3).delay(seconds(1)).backoff(2.0, seconds(60)).scope(RetryScope::All);
    let route = Branch::new("outputs['validate-order'].priority").otherwise("standard").converge("confirm");
    let route = route.branch("high", ["express"]).branch("standard", ["rest", "ship"]).branch("none", []);
    let promote = Branch::new("input.promotions").inclusive().branch("mail", ["advert"]).branch("none", []);
    let packed = "${has(outputs.reserve)\n  ? outputs.reserve : []}\n";
    let parcel = "${outputs[?'ship'].orValue('none')}";
    let friends = Each::of("input.friends").success(Success::Majority).gather(Gather::Counts);
    let paid = Poll::of("payments.status")
        .arguments(json!({"order": "${input.id}"}))
        .interval(seconds(600))
        .backoff(2.0, seconds(3_600))
        .max_duration(seconds(36 * 3_600))
        .max_attempts(576)
        .until("answer.paid || outputs['validate-order'].priority == 'none'")
        .abort_when("polls > 3 && has(answer.refused)")
        .or_default(json!({"paid": false}))
        .keep_last(50);
    let built = Definition::of("order-fulfillment", "2.1.0")
        .description("From order to parcel")
        .input(input)
        .timeout(seconds(2 * 86_400))
        .expected_within(seconds(3_600))
        .concurrency("input.customer", 1)
        .label("team", "fulfilment")
        .secret("input.card.number")
        .on_failure(Resolution {
            strategy: Strategy::AutoRetry,
            max_retries: Some(3),
            delay: Some(seconds(60)),
            backoff: Some(2.0),
            max_delay: Some(seconds(3_600)),
            fallback: Some(Fallback::AutoCompensate),
            scope: Some(vec!["reserve".into()]),
        })
        .on_cancel(OnCancel::Compensate)
        .on_timeout(OnTimeout::AwaitDecision)
        .step(
            Step::action("validate-order", "orders.validate")
                .produces(json!({"type": "object", "required": ["priority"]}))
                .terminate_when("!outputs['validate-order'].valid", Ending::Failed, "the order is not valid"),
        )
        .step(
            Step::action("reserve", "inventory.reserve")
                .arguments(
                    json!({"sku": "${item.sku}", "place": "${index}", "note": "for ${input.customer}"}),
                )
                .each(each)
                .when("size(input.items) > 0")
                .retry(retry)
                .attempt_timeout(seconds(60))
                .step_timeout(seconds(600))
                .message_group("'sku-' + item.sku")
                .mode(DispatchMode::BlockOnError)
                .queue("warehouse")
                .priority(Priority::High)
                .pool("shelves")
                .on_failure(FailurePolicy::PauseWorkflow)
                .compensation_once_started(
                    Step::undo("inventory.release")
                        .arguments(json!({"sku": "${undo.input.sku}"}))
                        .queue("warehouse")
                        .priority(Priority::High)
                        .pool("shelves")
                        .message_group("'sku-' + undo.input.sku")
                        .mode(DispatchMode::NextOnError)
                        .retry(Retry::attempts(3).delay(seconds(5)))
                        .attempt_timeout(seconds(60)),
                )
                .status_message("Your order is being packed"),
        )
        .step(Step::branch("route", route))
        .step(
            Step::action("express", "shipping.express")
                .requires(["validate-order"])
                .attempt_timeout(seconds(60))
                .pause_after(
                    Pause::until_triggered("picked-up")
                        .auth(TriggerAuth::Token)
                        .timeout(seconds(86_400), PauseTimeout::Extend),
                ),
        )
        .step(Step::wait("rest", seconds(600)))
        .step(
            Step::workflow("ship", "shipping")
                .version("1.2.0")
                .input(json!({"order": "${input}"}))
                .produces(json!(true)),
        )
        .step(
            Step::action("confirm", "mail.send")
                .arguments(json!({"express": "${'express' in outputs}", "parcel": parcel, "packed": packed})),
        )
        .step(
            Step::poll("paid", paid).queue("payments").retry(Retry::attempts(5)).attempt_timeout(seconds(30)),
        )
        .step(Step::wait_until("later", "input.not_before"))
        .step(Step::branch("promote", promote))
        .step(Step::action("advert", "mail.advert").each(friends))
        .build()
        .unwrap();
    let written = example("order.yaml").definition;
    assert_eq!(built, written);
    assert_eq!(definition::hash(&built), definition::hash(&written));
}

#[test]
fn the_builder_makes_every_kind_of_pause() {
    let approval = example("approval.yaml").definition;
    let schema =
        json!({"type": "object", "required": ["approved"], "properties": {"approved": {"type": "boolean"}}});
    let day = Duration::from_secs(86_400);
    let asks = Pause::until_triggered("manager-approval")
        .auth(TriggerAuth::Hmac)
        .timeout(7 * day, PauseTimeout::Remind)
        .reminders(2)
        .payload(schema)
        .resume_when("payload.approved == true && outputs.submit.amount < 1000")
        .notify("https://example.com/approvals");
    let answer = Pause::until_triggered("answer")
        .auth(TriggerAuth::Token)
        .timeout(day, PauseTimeout::AutoApprove)
        .default(json!({"yes": false}));
    let polled = Poll::of("payments.status")
        .arguments(json!({"bill": "${outputs.bill.id}"}))
        .interval(Duration::from_secs(60))
        .max_attempts(100);
    let paid = Pause::until_polled(polled)
        .resume_when("payload.status == 'paid'")
        .timeout(2 * day, PauseTimeout::Fail);
    let built = Definition::of("approval", "1.0.0")
        .step(Step::action("submit", "approvals.submit").pause_after(asks))
        .step(
            Step::action("book", "books.enter")
                .requires(["manager-approval"])
                .arguments(json!({"by": "${outputs['manager-approval'].by}"}))
                .pause_after(Pause::resume_after(14 * day)),
        )
        .step(Step::action("ask", "mail.send").pause_after(answer))
        .step(Step::action("close", "books.close").when("outputs.answer.yes"))
        .step(Step::action("bill", "bills.send").pause_after(paid))
        .step(Step::action("thank", "mail.send").arguments(json!({"paid": "${outputs['bill:poll'].at}"})))
        .build()
        .unwrap();
    assert_eq!(built, approval);
    let signed = Pause::until_triggered("x").notify_signed("https://example.com", "key");
    let step = Step::action("a", "x").pause_after(signed);
    assert!(Definition::of("a", "1.0.0").step(step).build().is_ok());
}

#[test]
fn places_are_known_in_both_forms() {
    let at = |file: &str, field: &str| {
        let spot = example(file).place(field);
        (spot.line, spot.column)
    };
    assert_eq!(at("order.yaml", "steps[2].branch.choose"), (57, 15));
    assert_eq!(at("small.json", "steps[0].action"), (5, 29));
    assert_eq!(at("small.json", "steps[0].arguments.deep.list[1]"), (5, 109));
}

#[test]
fn the_builder_refuses_what_a_file_would() {
    let faults = Definition::of("Order", "1.0.0")
        .step(Step::action("a", "x").retry(Retry::attempts(0)))
        .step(Step::wait("b", Duration::ZERO).when("input.x >"))
        .build()
        .unwrap_err();
    let fields: Vec<&str> = faults.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(fields, ["workflow", "steps[0].retry.attempts", "steps[1].wait", "steps[1].when"]);
}

#[test]
fn the_published_schema_is_the_one_the_reader_follows() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/definition.schema.json");
    let schema = serde_json::to_string_pretty(&definition::schema()).unwrap() + "\n";
    if blesses() {
        std::fs::write(&path, &schema).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), schema, "STEPFAST_BLESS=1 writes it anew");
}
