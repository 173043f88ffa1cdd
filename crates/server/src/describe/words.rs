//! What each route is for, and the codes that its types do not tell.
//!
//! Why    of all that the document says, only this is written by hand; a test holds it to the routes there are.

use crate::codes::{self, Code};

/// The name of the handler, its own codes behind a colon (with a status, where a code has two), and one sentence behind a bar.
const WORDS: &str = "
health_livez: | Whether the process lives.
health_readyz: not_ready | Whether it can do its work.
metrics_metrics: | Figures for Prometheus.
openapi_show: | This document.
dispatch_process: | Where a router calls for a step whose message it received.
steps_list: | Steps, newest first.
steps_create: | Create steps, alone or as whole trees, all or none; or say what would come of it.
steps_show: | One step with all that is known about it, and why it is not moving.
steps_attempts: | What the attempts of a step came to, oldest first.
operate_operate: | Move one step by hand: complete, fail, stop, skip, cancel or retry it.
definitions_list: | Definitions of workflows, by name and the newest version first.
definitions_apply: invalid_definition definition_differs | Store a version of a definition, written in YAML or JSON.
definitions_show: | The newest version of a definition.
definitions_show_version: | One version of a definition.
definitions_diff: | What one version says differently from another.
definitions_schema: | The JSON Schema of definition files.
definitions_graph: | One version of a definition as a picture.
workflows_list: | Workflows, newest first.
workflows_start: not_found | Start a workflow, or say whether it would be started.
workflows_show: | One workflow with its steps, its pauses and what was decided about it.
workflows_graph: | One workflow as a picture, coloured by where its steps are.
workflows_operate: | Pause, resume or cancel a workflow.
workflows_resolve: | Decide about a workflow, above all one that failed.
course_events: | What happened to a workflow, oldest first.
course_decisions: | Expressions that decided something in a workflow, oldest first.
course_items: | Items of a fan-out, in their order.
triggers_list: | What was sent to the triggers of a workflow, newest first.
triggers_send_one: no_such_trigger payload_rejected late too_many | Send something to a trigger, as somebody who may operate.
triggers_token: no_such_trigger | Make a new token for a pause, for whoever is to answer it.
triggers_receive: no_such_trigger payload_rejected late too_many | Send something to a trigger from anywhere, with a signature or a token.
triggers_pauses: not_found | Pauses that wait.
polls_list: | Steps that wait for their next poll, the one that is due first in front.
polls_recover: | Put back polls that somebody should have made.
events_listen: not_ready | Events of all workflows as they happen, as server-sent events.
subscriptions_list: | Subscriptions, oldest first.
subscriptions_create: | Make a subscription; its secret is shown once.
subscriptions_show: | One subscription.
subscriptions_change: | Change a subscription; what is left out stays.
subscriptions_remove: | Remove a subscription.
subscriptions_test: | Deliver something of no meaning, to see whether it arrives.
groups_list: | Dispatch groups, who decides for each, and how much there is in it.
breaker_show: | The circuit breaker for everything, and each dispatch group's own.
breaker_switch: | Switch dispatch off or on.
pools_list: | Pools and how they are used now, by name.
pools_show: | One pool and how it is used now.
pools_set: | Make a pool, or change the limits of one.
pools_remove: | Remove a pool that no step uses.
message_groups_list: | Message groups that have something to do or are held back, by name.
message_groups_show: | One message group with the front of its line.
message_groups_operate: | Pause, resume, unblock or otherwise move a message group.
router_show: not_found | The router of this process and what it does.
router_reset: not_found | Close the breakers of the router again.
router_pools: not_found | Say which pools the router has.
router_pool: | Activate or suspend a pool of the router.
drain_show: invalid_request/422 | Whether a restart now leaves nothing behind.
ticks_list: | Tick records, newest first.
nodes_list: | Nodes and their worker sessions.
audit_list: | What people did, newest first: by whom, what, to what and when.
worker_claim: no_session | Ask for work, as a worker; the first call opens a session.
worker_heartbeat: no_session | Say that a worker lives, and what it holds.
worker_report: no_session | Say what came of runs.
worker_leave: no_session | End a session, or take no more work.
worker_previous: no_session | What the steps before a held one answered.
executions_list: | Executions, newest first.
executions_begin: in_progress key_conflict given_up answer_not_kept | Ask to do something once under a key.
executions_complete: not_found lease_lost already_ended | Record the answer of what was begun.
executions_fail: not_found lease_lost already_ended | Record that what was begun has failed.
executions_renew: not_found lease_lost already_ended | Keep the right to do what was begun.
executions_forget: | Forget a page of executions that were kept long enough.
executions_show: | One execution with its answer and everything that happened to it.
check_check: | Look for anything in the database that must not be.
bulk_list: | Bulk operations, newest first.
bulk_create: | Do the same to many steps or workflows, or preview it.
bulk_show: | One bulk operation and how far it is.
bulk_cancel: | Have a bulk operation ask for no more; what was done stays done.
retention_retain: | Archive or purge one page of what is over.
keys_list: | API keys, newest first.
keys_create: | Make an API key; it is shown once.
keys_revoke: | Revoke an API key.
progress_half_done: | What is half done, oldest first.
progress_workflow: | How far a workflow is.
progress_step: | How far a step and those below it are.
progress_flow: | How far a tracked flow is.
flows_list: | Tracked flows, newest first.
flows_start: | Start a run of a flow that runs elsewhere, or go on with the one that is not over.
flows_show: | One tracked flow with its steps and its history.
flows_mark: unknown_step | Say what became of a step of a flow.
flows_update: | Say where a flow is.
flows_finish: | Say that a flow is over.
flows_ask: | Have a flow retried or cancelled by what was declared for that.
alerts_list: | Alerts, newest first.
alerts_figures: | How many alerts are open, and what came of those that were closed.
alerts_show: | One alert and what happened to the alerts of this thing.
alerts_review: | Acknowledge, assign, resolve or reopen an alert, or note something about it.
stuck_detect: | Look for what is stuck, now.
stuck_rules: | Rules about what is stuck, by name.
stuck_rule: | One rule about what is stuck.
stuck_put_rule: | Make a rule about what is stuck, or change one.
stuck_remove_rule: | Remove a rule; one that is there from the start is as it was.
stuck_switch: | Switch all remedies on or off.
channels_list: | Channels, by name.
channels_show: | One channel and what it was sent.
channels_put: not_found | Make a channel, or change one; a new secret is shown once.
channels_remove: | Remove a channel.
channels_test: | Tell a channel something of no meaning, to see whether it arrives.
channels_notices: | What channels were told, newest first.
page_home: | The way to the overview.
page_step_dispatcher_page: | The overview.
page_step_dispatcher_api: | Every figure of the overview.
live_listen: | Every figure of the overview whenever one has changed, as server-sent events.
page_step_dispatcher_toggle: | The overview's switch for dispatch.
page_steps_page: | Steps, for people.
page_step_page: | One step, for people.
page_workflows_page: | Workflows, for people.
page_workflow_page: | One workflow, for people.
page_bulk_page: | Bulk operations, for people, and the form for a new one.
page_bulk_operation_page: | One bulk operation, for people.
page_alerts_page: | Alerts, for people.
page_alert_page: | One alert, for people.
page_message_groups_page: | Message groups, for people.
page_message_group_page: | One message group, for people.
page_notifications_page: | Channels and what they were told, for people.
page_approve_page: | Where somebody answers a trigger, opened by a link with a token.
page_approve_answer: | What somebody answers to a trigger.
page_sign_in_page: | The way in.
page_sign_in_enter: | Sign in with a key.
page_sign_in_leave: | Sign out.
page_progress_page: | What is half done, for people.
page_flows_page: | Tracked flows, for people.
page_flow_page: | One tracked flow, for people.
page_waiting_page: | Polls and pauses that wait, for people.
page_answer_page: | Where somebody who may operate answers a pause.
page_answer_send: payload_rejected late | Answer a pause by a form.
page_pools_page: | Pools, for people.
page_executions_page: | Executions, for people, and the way to one by its key.
page_execution_page: | One execution, for people.
page_definitions_page: | Definitions, for people.
page_definition_page: | The newest version of a definition, for people.
page_definition_page_of_version: | One version of a definition, for people.
page_nodes_page: | Nodes and their ticks, for people.
page_settings_page: | Settings, for people.
page_keys_page: | Keys, for people.
page_audit_page: | Who changed what by hand, for people.
page_api_page: | This document, for people.
page_docs_errors: | What errors mean.
page_docs_error: | What one error means, and what to do.
page_assets_graph: | The looks of graphs.
page_assets_file: | A file that pages need.
";

/// What is written of one route.
pub struct Words {
    name: &'static str,
    codes: &'static str,
    pub says: &'static str,
}

impl Words {
    pub fn refuses(&self) -> impl Iterator<Item = &'static Code> + use<> {
        self.codes.split_whitespace().filter_map(|said| match said.split_once('/') {
            Some((word, status)) => {
                codes::ALL.iter().copied().find(|code| code.word == word && code.status.as_str() == status)
            }
            None => codes::named(said),
        })
    }
}

fn all() -> impl Iterator<Item = Words> {
    let lines = WORDS.lines().filter(|line| !line.is_empty());
    lines.filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let (codes, says) = rest.split_once('|')?;
        Some(Words { name, codes, says: says.trim() })
    })
}

pub fn of(name: &str) -> Option<Words> {
    all().find(|words| words.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_has_words_and_no_words_are_without_a_route() {
        let routes: BTreeSet<String> = crate::routes().into_iter().map(|route| route.name).collect();
        let words: BTreeSet<String> = all().map(|words| words.name.to_string()).collect();
        assert_eq!(words, routes);
        assert_eq!(all().count(), crate::routes().len(), "a name stands for one route");
        assert_eq!(
            all().count(),
            WORDS.lines().filter(|line| !line.is_empty()).count(),
            "every line is read"
        );
    }

    #[test]
    fn codes_are_known_and_sentences_are_whole() {
        for words in all() {
            assert_eq!(words.refuses().count(), words.codes.split_whitespace().count(), "{}", words.name);
            assert!(words.says.ends_with('.') && words.says.len() < 120, "{}", words.says);
        }
    }
}
