//! Whatever can be typed can be asked of a server too: every command has a route, or the page of the API says that it has none.
#![allow(clippy::unwrap_used)]

mod pages;

use pages::{read, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a command does, as a program does it over HTTP.
const ROUTES: &str = "
validate                 POST /v1/definitions
graph                    GET /v1/definitions/{workflow}/{version}/graph
diff                     GET /v1/definitions/{workflow}/{version}/diff
schema                   GET /definition.schema.json
apply                    POST /v1/definitions
definitions              GET /v1/definitions
start                    POST /v1/workflows
list                     GET /v1/workflows
show                     GET /v1/workflows/{id}
watch                    GET /v1/workflows/{id}/events
progress                 GET /v1/progress
pause                    POST /v1/workflows/{id}/pause
resume                   POST /v1/workflows/{id}/resume
cancel                   POST /v1/workflows/{id}/cancel
trigger                  POST /v1/workflows/{id}/triggers/{key}
pauses                   GET /v1/pauses
polls                    GET /v1/polls
polls recover            POST /v1/polls/recover
events                   GET /v1/events
resolve                  POST /v1/workflows/{id}/resolve
retry-from               POST /v1/workflows/{id}/resolve
compensate               POST /v1/workflows/{id}/compensate
skip-compensation        POST /v1/workflows/{id}/skip_compensation
retry-compensation       POST /v1/workflows/{id}/retry_compensation
bulk run                 POST /v1/bulk
bulk list                GET /v1/bulk
bulk show                GET /v1/bulk/{id}
bulk cancel              POST /v1/bulk/{id}/cancel
stuck detect             POST /v1/stuck/detect
stuck rules              GET /v1/stuck/rules
stuck set-rule           PUT /v1/stuck/rules/{name}
stuck remove-rule        DELETE /v1/stuck/rules/{name}
stuck auto               PUT /v1/stuck/auto
alerts show              GET /v1/alerts/{id}
alerts ack               POST /v1/alerts/{id}/ack
alerts assign            POST /v1/alerts/{id}/assign
alerts note              POST /v1/alerts/{id}/note
alerts resolve           POST /v1/alerts/{id}/resolve
alerts reopen            POST /v1/alerts/{id}/reopen
alerts list              GET /v1/alerts
alerts figures           GET /v1/alerts/figures
notify list              GET /v1/channels
notify show              GET /v1/channels/{name}
notify set               POST /v1/channels
notify test              POST /v1/channels/{name}/test
notify remove            POST /v1/channels/{name}/remove
steps create             POST /v1/steps
steps attempts           GET /v1/steps/{id}/attempts
steps complete           POST /v1/steps/{id}/complete
steps fail               POST /v1/steps/{id}/fail
steps stop               POST /v1/steps/{id}/stop
steps skip               POST /v1/steps/{id}/skip
steps cancel             POST /v1/steps/{id}/cancel
steps retry              POST /v1/steps/{id}/retry
steps list               GET /v1/steps
steps show               GET /v1/steps/{id}
message-groups pause     POST /v1/message-groups/{name}/pause
message-groups resume    POST /v1/message-groups/{name}/resume
message-groups skip-head POST /v1/message-groups/{name}/skip-head
message-groups requeue   POST /v1/message-groups/{name}/requeue
message-groups ignore    POST /v1/message-groups/{name}/ignore
message-groups cancel    POST /v1/message-groups/{name}/cancel
message-groups unblock   POST /v1/message-groups/{name}/unblock
message-groups list      GET /v1/message-groups
message-groups show      GET /v1/message-groups/{name}
pools set                POST /v1/pools
pools remove             POST /v1/pools/{name}/remove
pools list               GET /v1/pools
executions show          GET /v1/executions/{namespace}/{key}
executions forget        POST /v1/executions/forget
executions list          GET /v1/executions
flows start              POST /v1/flows
flows complete           POST /v1/flows/{id}/steps/{step}/complete
flows fail               POST /v1/flows/{id}/steps/{step}/fail
flows skip               POST /v1/flows/{id}/steps/{step}/skip
flows update             POST /v1/flows/{id}/state
flows finish             POST /v1/flows/{id}/finish
flows retry              POST /v1/flows/{id}/retry
flows cancel             POST /v1/flows/{id}/cancel
flows list               GET /v1/flows
flows show               GET /v1/flows/{id}
subscriptions add        POST /v1/subscriptions
subscriptions list       GET /v1/subscriptions
subscriptions show       GET /v1/subscriptions/{id}
subscriptions change     POST /v1/subscriptions/{id}
subscriptions remove     POST /v1/subscriptions/{id}/remove
subscriptions test       POST /v1/subscriptions/{id}/test
router status            GET /v1/router
router reset-breakers    POST /v1/router/breakers/reset
router suspend           POST /v1/router/pools/{code}/suspend
router activate          POST /v1/router/pools/{code}/activate
status                   GET /step-dispatcher/api
groups                   GET /v1/groups
nodes                    GET /v1/nodes
ticks                    GET /v1/ticks
breaker on               POST /v1/breaker
breaker off              POST /v1/breaker
breaker status           GET /v1/breaker
drain                    GET /v1/drain
audit                    GET /v1/audit
check                    GET /v1/check
archive                  POST /v1/retention
purge                    POST /v1/retention
keys create              POST /v1/keys
keys list                GET /v1/keys
keys revoke              POST /v1/keys/{id}/revoke
";

/// A method and a path.
type Route = (String, String);

/// The routes of commands, by what is typed.
fn routes() -> BTreeMap<String, Route> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [typed @ .., method, path] = &words[..] else { panic!("{line} names no route") };
        (typed.join(" "), (method.to_lowercase(), path.to_string()))
    };
    ROUTES.trim().lines().map(row).collect()
}

/// Every command there is. Another test holds the page to what can be typed.
fn commands() -> BTreeSet<String> {
    let page = read(&root().join("docs/reference/cli.md"));
    let heads = page.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(" stepfast "));
    heads.map(String::from).collect()
}

/// Whether something is done by a command itself, and not by those below it alone.
fn is_done(command: &str, all: &BTreeSet<String>) -> bool {
    let below = format!("{command} ");
    !all.iter().any(|other| other.starts_with(&below))
}

/// The commands that the page of the API names as having no route.
fn without_a_route() -> BTreeSet<String> {
    let page = read(&root().join("docs/api.md"));
    let section = page.split("## What only the command line does").nth(1).unwrap();
    let named = section.split(" are processes ").next().unwrap();
    named.split('`').skip(1).step_by(2).map(String::from).collect()
}

/// Whether the document has a route, by its whole path or by one of the verbs that may end it.
fn is_there(document: &Value, (method, path): &Route) -> bool {
    let of = |path: &str| document["paths"].get(path).and_then(|methods| methods.get(method));
    let (above, verb) = path.rsplit_once('/').unwrap();
    let is_one = |about: &Value| {
        let all = about["parameters"].as_array().into_iter().flatten().filter(|one| one["name"] == "verb");
        all.flat_map(|one| one["schema"]["enum"].as_array().unwrap()).any(|one| one == verb)
    };
    of(path).is_some() || of(&format!("{above}/{{verb}}")).is_some_and(is_one)
}

#[test]
fn every_command_has_a_route_or_is_named_as_having_none() {
    let (all, routes, without) = (commands(), routes(), without_a_route());
    assert!(all.len() > 100 && without.len() > 5, "{} commands, {} without", all.len(), without.len());
    let neither = all.iter().filter(|command| is_done(command, &all));
    let neither: Vec<_> =
        neither.filter(|command| !routes.contains_key(*command) && !without.contains(*command)).collect();
    assert!(neither.is_empty(), "{neither:?}: name their routes here, or name them in docs/api.md");
    let both: Vec<_> = without.iter().filter(|command| routes.contains_key(*command)).collect();
    assert!(both.is_empty(), "docs/api.md says that there is no route for {both:?}");
    let strange: Vec<_> = routes.keys().chain(&without).filter(|command| !all.contains(*command)).collect();
    assert!(strange.is_empty(), "{strange:?} cannot be typed");
}

#[test]
fn every_route_of_a_command_is_in_the_document() {
    let document: Value = serde_json::from_str(&read(&root().join("docs/openapi.json"))).unwrap();
    let missing: Vec<_> = routes().into_iter().filter(|(_, route)| !is_there(&document, route)).collect();
    assert!(missing.is_empty(), "docs/openapi.json has no such routes: {missing:?}");
    for (method, path) in [("get", "/v1/steps/{id}/cancel"), ("post", "/v1/steps/{id}/bless")] {
        assert!(!is_there(&document, &(method.into(), path.into())), "{method} {path}");
    }
}
