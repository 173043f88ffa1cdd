//! Every verb that a page offers, pressed in a real browser: the page, what would happen, yes, and what has become of it.

use crate::browser::Browser;
use crate::every_page::serve;
use crate::place::Place;
use crate::states::{self, done, started};
use serde_json::{Value, json};
use stepfast_server::{self as server, Site};

/// Which workflow, its state, the verb, and the state that it comes to.
pub const OF_WORKFLOWS: [(&str, &str, &str, &str); 12] = [
    ("plain", "running", "pause", "paused"),
    ("plain", "paused", "resume", "running"),
    ("asked", "paused", "resume", "running"),
    ("broken", "failed", "retry", "running"),
    ("broken", "failed", "retry_from_step", "running"),
    ("broken-undoable", "failed", "compensate", "compensating"),
    ("undoable", "running", "compensate", "compensating"),
    ("broken", "failed", "mark_resolved", "failed"),
    ("stuck", "compensation_failed", "retry_compensation", "compensating"),
    ("stuck", "compensation_failed", "skip_compensation", "compensated"),
    ("plain", "running", "cancel", "cancelled"),
    ("withdrawn", "running", "cancel", "compensating"),
];
/// The verb of a step that waits, and the state that it comes to.
pub const OF_STEPS: [(&str, &str); 5] = [
    ("complete", "completed"),
    ("skip", "skipped"),
    ("fail", "failed"),
    ("stop", "stopped"),
    ("cancel", "cancelled"),
];
/// Which message group, the verb, and the state that it comes to.
pub const OF_GROUPS: [(&str, &str, &str); 7] = [
    ("waits", "pause", "paused"),
    ("waits", "resume", "waiting"),
    ("waits", "skip-head", "waiting"),
    ("waits", "cancel", "idle"),
    ("blocked", "requeue", "blocked"),
    ("blocked", "ignore", "idle"),
    ("blocked-and-paused", "unblock", "idle"),
];
/// The verb of an alert, and what its history says of it.
pub const OF_ALERTS: [(&str, &str); 6] = [
    ("ack", "acknowledged"),
    ("assign", "assigned"),
    // The words of its moment.
    ("unassign", "nobody"),
    ("note", "note"),
    ("resolve", "resolved"),
    ("reopen", "reopened"),
];
/// The verb of a flow, what is declared for it, its state then, what its history says, and what it is told before.
pub const OF_FLOWS: [(&str, &str, &str, &str, &str); 3] = [
    (
        "retry",
        "retry",
        "pending",
        "retry_asked",
        "A step would be made that does what was declared to do it again.",
    ),
    (
        "cancel",
        "cancel",
        "pending",
        "cancel_asked",
        "A step would be made that does what was declared to call it off.",
    ),
    (
        "cancel",
        "nothing",
        "cancelled",
        "cancel_asked",
        "It would be cancelled for good, and nothing would be undone by that.",
    ),
];

struct Desk {
    place: Place,
    url: String,
    browser: Browser,
}

impl Desk {
    async fn open() -> Desk {
        let place = states::open().await;
        let url = serve(place.router.clone()).await;
        Desk { place, url, browser: Browser::start() }
    }

    fn look_at(&mut self, path: &str) {
        self.browser.open(&format!("{}{path}", self.url));
    }

    fn click(&mut self, selector: &str) {
        self.browser.eval(&format!("document.querySelector(`{selector}`).click()"));
    }

    fn fill(&mut self, id: &str, text: &str) {
        self.browser.eval(&format!("document.getElementById('{id}').value = '{text}'"));
    }

    /// Press a verb of the page that is open; if it is asked, be told what would happen, and say yes.
    fn press(&mut self, verb: &str) -> String {
        let button = format!("[data-verb=\"{verb}\"]");
        assert_eq!(
            self.browser.eval(&format!("document.querySelector(`{button}`) !== null")),
            true,
            "{verb} is not offered"
        );
        self.fill("why", "seen to");
        self.click(&button);
        self.browser
            .until("!document.getElementById('sure').hidden || !document.getElementById('told').hidden");
        let told = self.browser.eval("document.getElementById('told').textContent");
        assert_eq!(told, "", "{verb} was refused");
        let would = self.browser.eval("document.getElementById('would').textContent");
        self.click("#do");
        would.as_str().unwrap().to_string()
    }

    /// Press a verb of the page that is open, be told what would happen, and leave it.
    fn leave(&mut self, verb: &str) {
        self.fill("why", "seen to");
        self.click(&format!("[data-verb=\"{verb}\"]"));
        self.leave_it();
    }

    fn leave_it(&mut self) {
        self.browser.until("!document.getElementById('sure').hidden");
        self.click("#leave");
        assert_eq!(self.browser.eval("document.getElementById('sure').hidden"), true);
    }

    fn until_state(&mut self, state: &str) {
        let shown = state.replace('_', " ");
        self.browser.until(&format!("document.querySelector('h1 .state').textContent === '{shown}'"));
    }

    async fn close(mut self) {
        assert_eq!(self.browser.complaints(), [""; 0]);
        self.place.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_of_a_workflow() {
    let mut desk = Desk::open().await;
    for (workflow, state, verb, to) in OF_WORKFLOWS {
        let first = if (workflow, state) == ("plain", "paused") { "running" } else { state };
        let id = started(&desk.place, workflow, json!({}), first).await;
        let at = format!("/v1/workflows/{id}");
        if first != state {
            done(&desk.place, &format!("{at}/pause"), r#"{"why": "not now"}"#).await;
        }
        if workflow == "undoable" || workflow == "withdrawn" {
            desk.place.until(&at, |shown| shown["steps"][1]["state"] == "running").await;
        }
        desk.look_at(&format!("/workflows/{id}"));
        desk.until_state(state);
        let would = desk.press(verb);
        let stays = match verb {
            // What is left to undo is undone next, if there is any.
            "skip_compensation" => "compensating",
            _ if to == state => "would stay so",
            _ => to,
        };
        let is = if state == "failed" { "has" } else { "is" };
        assert!(
            would.starts_with(&format!("It {is} {state} and ")) && would.contains(stays),
            "{verb}: {would}"
        );
        desk.until_state(to);
        if verb == "mark_resolved" {
            desk.browser.until("document.querySelector('h1[data-over]') !== null");
        }
        let shown = desk.place.get(&at).await.ok();
        assert_eq!(shown["state"], to, "{verb}");
    }
    let audit = desk.place.get("/v1/audit?limit=50").await.ok();
    let pressed = audit["audit"].as_array().unwrap().iter().filter(|row| row["why"] == "seen to").count();
    assert_eq!(pressed, OF_WORKFLOWS.len(), "each is on record, with the words: {audit}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_of_a_step() {
    let mut desk = Desk::open().await;
    let made = desk.place.create(&json!(vec![json!({"action": "ghost"}); OF_STEPS.len()]).to_string()).await;
    for ((verb, to), id) in OF_STEPS.iter().zip(&made) {
        desk.look_at(&format!("/step-dispatcher/steps/{id}"));
        assert_eq!(desk.press(verb), format!("It is pending and would be {to} for good."));
        desk.until_state(to);
        assert_eq!(desk.place.step(id).await["state"], *to);
    }
    // The one that failed stands open no more, so it is looked at again.
    desk.look_at(&format!("/step-dispatcher/steps/{}", made[2]));
    assert_eq!(desk.press("retry"), "It has failed and would be superseded for good.");
    desk.until_state("superseded");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_of_a_message_group() {
    let mut desk = Desk::open().await;
    states::message_groups(&desk.place).await;
    for (group, verb, to) in OF_GROUPS {
        let at = format!("/v1/message-groups/{group}");
        desk.look_at(&format!("/message-groups/{group}"));
        let before = blocked_by(&desk.place.get(&at).await.ok());
        let would = desk.press(verb);
        assert!(would.contains("would ") || verb == "unblock", "{verb}: {would}");
        if verb == "requeue" {
            // What took the place of the failed one fails as well; until it has, nothing holds the group back.
            let anew = move |group: &Value| ![json!(null), before.clone()].contains(&blocked_by(group));
            desk.place.until(&at, anew).await;
        }
        until_group(&desk.place, &at, to).await;
        desk.until_state(to);
    }
    let audit = desk.place.get("/v1/audit?limit=20").await.ok();
    let pressed = audit["audit"].as_array().unwrap().iter().filter(|row| row["why"] == "seen to");
    let pressed: Vec<&str> = pressed.filter_map(|row| row["verb"].as_str()).collect();
    assert!(pressed.iter().rev().eq(OF_GROUPS.iter().map(|(_, verb, _)| verb)), "{pressed:?}");
    desk.close().await;
}

fn blocked_by(group: &Value) -> Value {
    group["holds"][0]["blocked_by"].clone()
}

/// A group that has nothing to do any more is not there.
async fn until_group(place: &Place, path: &str, state: &str) {
    let name = path.rsplit('/').next().unwrap().to_string();
    let is_there = move |page: &Value| {
        let found =
            page["message_groups"].as_array().unwrap().iter().find(|group| group["message_group"] == name);
        found.map_or("idle", |group| group["state"].as_str().unwrap()) == state
    };
    place.until("/v1/message-groups", is_there).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_of_an_alert() {
    let mut desk = Desk::open().await;
    let rule = json!({"older_than": "0s", "severity": "critical"}).to_string();
    let request = axum::http::Request::put("/v1/stuck/rules/step-waiting")
        .header("host", "localhost")
        .header("content-type", "application/json");
    desk.place.send(request.body(axum::body::Body::from(rule)).unwrap()).await.ok();
    desk.place.create(r#"[{"action": "ghost"}]"#).await;
    done(&desk.place, "/v1/stuck/detect", "{}").await;
    let alert = desk.place.get("/v1/alerts").await.ok()["alerts"][0]["id"].clone();
    desk.look_at(&format!("/alerts/{alert}"));
    desk.click("[data-verb=assign]");
    desk.browser.until("document.getElementById('told').textContent === 'Write first whose it is.'");
    for (verb, moment) in OF_ALERTS {
        desk.fill("text", "bo");
        desk.click(&format!("[data-verb=\"{verb}\"]"));
        let is_told = "document.getElementById('text').value === '' && !document.querySelector('#verbs button').disabled
            && [...document.querySelectorAll('tbody td')].some((cell) => cell.textContent === 'MOMENT')";
        desk.browser.until(&is_told.replace("MOMENT", moment));
    }
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb_of_a_flow_is_told_first_and_what_needs_a_reason_asks_for_it() {
    let mut desk = Desk::open().await;
    let declared = json!({"action": "noop"});
    for (verb, declares, state, moment, would) in OF_FLOWS {
        let mut flow =
            json!({"type": "payment", "entity_id": format!("{verb} {declares}"), "steps": ["debited"]});
        if declares != "nothing" {
            flow[declares] = declared.clone();
        }
        let flow = done(&desk.place, "/v1/flows", flow.to_string()).await["flow"]["id"].clone();
        let at = format!("/v1/flows/{}", flow.as_str().unwrap());
        desk.look_at(&format!("/flows/{}", flow.as_str().unwrap()));
        let before = desk.place.get(&at).await.ok();
        desk.click(&format!("[data-verb=\"{verb}\"]"));
        match verb {
            "cancel" => {
                desk.browser.until("document.getElementById('told').textContent.startsWith('Say why first')");
                assert_eq!(
                    desk.browser.eval("document.activeElement.id"),
                    "why",
                    "it would be refused without"
                );
            }
            _ => desk.browser.until("!document.getElementById('sure').hidden"),
        }
        assert_eq!(desk.place.get(&at).await.ok(), before, "nothing is done by the first click");
        desk.browser.eval("document.getElementById('told').textContent = ''");
        desk.browser.eval("document.getElementById('sure').hidden = true");
        assert_eq!(desk.press(verb), format!("It is pending. {would}"));
        let shown = desk.place.until(&at, |shown| shown["history"].to_string().contains(moment)).await;
        assert_eq!(shown["flow"]["state"], state, "{shown}");
        let said = shown["history"].as_array().unwrap().iter().find(|one| one["event"] == moment).unwrap();
        assert_eq!(said["message"], "seen to", "the words go on record");
        desk.until_state(state);
    }
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_can_be_left_as_it_is_everywhere() {
    let mut desk = Desk::open().await;
    let letter = json!([{"action": "ghost", "message_group": "waits", "mode": "block_on_error"}]);
    let step = desk.place.create(&letter.to_string()).await.remove(0);
    let workflow = started(&desk.place, "plain", json!({}), "running").await;
    let flow = json!({"type": "payment", "entity_id": "7", "steps": ["debited"]}).to_string();
    let flow = done(&desk.place, "/v1/flows", flow).await["flow"]["id"].as_str().unwrap().to_string();
    for (page, verb) in [
        (format!("/step-dispatcher/steps/{step}"), "cancel"),
        (format!("/workflows/{workflow}"), "cancel"),
        ("/message-groups/waits".to_string(), "pause"),
        (format!("/flows/{flow}"), "cancel"),
    ] {
        desk.look_at(&page);
        desk.leave(verb);
    }
    desk.look_at("/bulk");
    desk.fill("action", "ghost");
    desk.fill("verb", "cancel");
    desk.fill("why", "seen to");
    desk.click("#order button");
    desk.leave_it();
    let audit = desk.place.get("/v1/audit?limit=50").await.ok();
    assert!(!audit.to_string().contains("seen to"), "nothing was done: {audit}");
    assert_eq!(desk.place.get("/v1/bulk").await.ok()["bulk"], json!([]));
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_around_a_page_and_the_switch_for_everything() {
    let mut desk = Desk::open().await;
    desk.look_at("/step-dispatcher");
    desk.click("#switch");
    desk.browser.until("document.getElementById('off').open");
    desk.click("#off-leave");
    assert_eq!(desk.browser.eval("document.getElementById('off').open"), false);
    assert_eq!(desk.place.get("/v1/breaker").await.ok()["can_dispatch_steps"], true, "it was left on");
    desk.click("[href=\"/step-dispatcher?span=day\"]");
    let is_day = "document.querySelector('[aria-label=\"How far back\"] [aria-current]').textContent === 'The last day'";
    desk.browser.until(&format!("location.search === '?span=day' && {is_day}"));
    desk.click("#keys-open");
    assert_eq!(desk.browser.eval("document.getElementById('keys').open"), true);
    desk.click("#keys-close");
    assert_eq!(desk.browser.eval("document.getElementById('keys').open"), false);
    desk.look_at("/settings");
    for (state, can_dispatch) in [("off", false), ("on", true)] {
        desk.browser.eval("window.isOld = true");
        desk.click("[data-row=everywhere] button");
        desk.browser.until("document.getElementById('sure').open");
        desk.fill("sure-why", "seen to");
        desk.click("#sure-do");
        // The page is read anew when it is done.
        let is_so =
            "!window.isOld && document.querySelector('[data-row=everywhere] .state').textContent === 'STATE'";
        desk.browser.until(&is_so.replace("STATE", state));
        assert_eq!(desk.place.get("/v1/breaker").await.ok()["can_dispatch_steps"], can_dispatch);
    }
    desk.look_at("/audit");
    desk.fill("verb", "breaker off");
    desk.click("form[role=search] button");
    let only = "[...document.querySelectorAll('main li.attempt b')].map((one) => one.textContent).join()";
    desk.browser.until(&format!("location.search.includes('verb=breaker+off') && {only} === 'breaker off'"));
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_that_finds_something() {
    let mut desk = Desk::open().await;
    let step = desk
        .place
        .create(r#"[{"action": "ghost", "step_key": "one"}, {"action": "phantom"}]"#)
        .await
        .remove(0);
    let body = json!({"workflow": "plain", "input": {}, "labels": {"team": "blue"}}).to_string();
    let blue = done(&desk.place, "/v1/workflows", body).await["id"].as_str().unwrap().to_string();
    let other = desk.place.start("undoable", json!({})).await;
    done(&desk.place, "/v1/executions/begin", r#"{"namespace": "pay", "key": "order-7"}"#).await;
    desk.place.define("workflow: plain\nversion: 1.1.0\nsteps:\n  - { key: do, action: noop }\n  - { key: more, action: noop }\n").await.ok();
    let lists = "[...document.querySelectorAll('ul.rows a')].map((row) => row.getAttribute('href').split('/').at(-1)).join(' ') === ";
    let steps = "/step-dispatcher/steps";
    for (path, field, text, found) in [
        (steps, "action", "ghost", format!("{lists}'{step}'")),
        (
            "/step-dispatcher/steps?queue=default",
            "action",
            "ghost",
            format!("location.search.includes('queue=default') && {lists}'{step}'"),
        ),
        (steps, "step_key", "one", format!("{lists}'{step}'")),
        (steps, "action", step.as_str(), format!("location.pathname === '{steps}/{step}'")),
        ("/workflows", "workflow", "undoable", format!("{lists}'{other}'")),
        ("/workflows", "label", "team:blue", format!("{lists}'{blue}'")),
        ("/workflows", "workflow", other.as_str(), format!("location.pathname === '/workflows/{other}'")),
    ] {
        desk.look_at(path);
        desk.fill(field, text);
        desk.click("form[role=search] button");
        desk.browser.until(&found);
    }
    let letter = |group: &str| json!({"action": "ghost", "message_group": group, "mode": "block_on_error"});
    desk.place.create(&json!([letter("north-1"), letter("south-1")]).to_string()).await;
    desk.look_at("/message-groups");
    desk.fill("name", "north-");
    desk.click("form[role=search] button");
    desk.browser.until(&format!("location.search === '?name=north-' && {lists}'north-1'"));
    desk.look_at("/executions");
    desk.fill("namespace", "pay");
    desk.fill("key", "order-7");
    desk.click("form[role=search] button");
    desk.browser.until("location.pathname === '/executions/pay/order-7'");
    desk.look_at("/definitions/plain");
    desk.fill("against", "1.0.0");
    desk.click("form.fields button");
    desk.browser.until("location.search === '?against=1.0.0' && document.querySelector('section[aria-label=Versions]').textContent.includes('more')");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_and_out() {
    let place = Place::open();
    let (key, _) = place.key("operator").await;
    let url = serve(server::router(Site { require_key: true, ..place.site() })).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/workflows"));
    browser.until("document.querySelector('form.sign-in #key') !== null");
    browser.eval(&format!("document.getElementById('key').value = '{key}'"));
    browser.eval("document.querySelector('form.sign-in button').click()");
    browser.until("location.pathname === '/step-dispatcher' && document.querySelector('h2') !== null");
    browser.open(&format!("{url}/sign-in"));
    assert_eq!(browser.eval("document.querySelector('h1').textContent"), "Signed in");
    browser.eval("document.querySelector('form.sign-in button').click()");
    browser.until("document.querySelector('form.sign-in #key') !== null");
    browser.open(&format!("{url}/workflows"));
    browser.until("document.querySelector('form.sign-in #key') !== null");
    place.close().await;
}
