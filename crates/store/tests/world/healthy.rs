//! A set of rows with something of everything, made by the rules.

use super::world::{World, again, at, complete, fail, parent, resolver, step};
use model::{BlockId, FlowAgain, FlowState, FlowStepState, NewStep, Outcome, Standing, limits};
use rules::operator::Verb;
use std::time::Duration;
use stepfast_store::flows::FlowWord;
use stepfast_store::{Asked, Retaining, Retention};

pub fn healthy(full_history: bool) -> World {
    let mut w = World::new(full_history);
    old_trees(&mut w);
    w.wait(Duration::from_secs(3600));
    executions(&mut w);
    flows(&w);
    let before = w.now();
    assert_eq!(
        w.store.retain(Retention::Archive { before }, Retaining::Done(Asked::by("anna"))).unwrap().trees,
        3
    );
    w.wait(Duration::from_secs(1));
    w.turn();
    roots(&mut w);
    ended_trees(&mut w);
    live_trees(&mut w);
    workflows(&mut w);
    surroundings(&mut w);
    w
}

/// One that succeeded over a branch, one that runs, one that is paused, and one that waits for a trigger.
fn workflows(w: &mut World) {
    w.create(vec![
        step("flow-route"),
        step("flow-end"),
        step("flow-now"),
        step("flow-held"),
        step("flow-asked"),
    ]);
    w.run("flow-asked", complete());
    w.run("flow-route", complete());
    w.run("flow-end", complete());
    let text = r#"{"workflow":"flow","version":"1.0.0","steps":[{"key":"flow-route"},{"key":"flow-end"}]}"#;
    w.sql(&format!(
        "insert into definitions values ('flow', '1.0.0', 1, 0, 0, 'h', '{text}', 1, 'test');
         insert into workflows (id, definition_key, definition_version, definition_hash, dispatch_group, state, depth, input, labels, created_at, completed_at)
           values (x'000000000000000000000000000000f1', 'flow', '1.0.0', 'h', 'alpha', 'succeeded', 0, '{{}}', '{{}}', 1, 2),
                  (x'000000000000000000000000000000f2', 'flow', '1.0.0', 'h', 'alpha', 'running', 0, '{{}}', '{{}}', 1, null),
                  (x'000000000000000000000000000000f3', 'flow', '1.0.0', 'h', 'alpha', 'paused', 0, '{{}}', '{{}}', 1, null),
                  (x'000000000000000000000000000000f4', 'flow', '1.0.0', 'h', 'alpha', 'paused', 0, '{{}}', '{{}}', 1, null);
         update workflows set paused_by = 'trigger' where id = x'000000000000000000000000000000f4';
         insert into tallies values ('alpha', '', 'flow', '', 'running', 0, 0, 1), ('alpha', '', 'flow', '', 'paused', 0, 0, 2);
         update steps set workflow_id = x'000000000000000000000000000000f4', def = 0, run = 1 where id = {{flow-asked}};
         insert into pauses (workflow_id, def, run, step_id, step_key, kind, trigger_key, registered_at, timeout_at, state, ended_at, consumed)
           values (x'000000000000000000000000000000f1', 1, 1, {{flow-end}}, 'flow-end', 'trigger', 'ok', 1, 9, 'resumed', 2, 1),
                  (x'000000000000000000000000000000f4', 0, 1, {{flow-asked}}, 'flow-asked', 'trigger', 'ok', 1, 9, 'waiting', null, null);
         insert into trigger_payloads (workflow_id, number, trigger_key, payload, received_at, identity, verdict, run)
           values (x'000000000000000000000000000000f1', 1, 'ok', '{{}}', 1, 'test', 'accepted', 1);
         update steps set workflow_id = x'000000000000000000000000000000f1', def = 0, run = 1 where id = {{flow-route}};
         update steps set workflow_id = x'000000000000000000000000000000f1', def = 1, run = 1 where id = {{flow-end}};
         update steps set workflow_id = x'000000000000000000000000000000f2', def = 0, run = 1 where id = {{flow-now}};
         update steps set workflow_id = x'000000000000000000000000000000f3', def = 0, run = 1 where id = {{flow-held}};
         insert into branch_decisions values (x'000000000000000000000000000000f1', 'flow-route', 'branch', 'x', '[]', '{{}}', 1)"
    ));
}

/// What the archive holds.
fn old_trees(w: &mut World) {
    w.create(vec![step("old")]);
    w.run("old", complete());
    w.create(vec![parent("old-order", vec![step("old-pack"), resolver("old-undo")])]);
    w.run("old-order", complete());
    w.run("old-pack", complete());
    let block_id = Some(BlockId::of(900));
    w.create(vec![NewStep { block_id, ..step("old-one") }, NewStep { block_id, ..at(2, step("old-two")) }]);
    w.run("old-one", again());
    w.run("old-one", complete());
    w.run("old-two", complete());
}

fn roots(w: &mut World) {
    w.create(vec![step("done"), step("ready"), step("waits"), step("logged"), step("held")]);
    w.run("done", complete());
    w.run("waits", Outcome::Throttle { after: Duration::from_secs(600) });
    w.create(vec![
        NewStep { max_attempts: Some(2), ..step("broken") },
        step("lost"),
        step("retried"),
        step("skipped"),
    ]);
    w.run("broken", again());
    w.run("broken", again());
    w.claim("lost");
    w.write_row("lost");
    w.lose("lost");
    w.run("retried", fail());
    w.retry("retried", "retried-again");
    w.operate("skipped", Verb::Skip);
    w.claim("held");
    w.write_row("held");
}

fn ended_trees(w: &mut World) {
    let deep = parent("pack", vec![step("label"), resolver("undo")]);
    w.create(vec![parent("order", vec![deep, at(2, step("ship"))])]);
    for key in ["order", "pack", "label", "ship"] {
        w.run(key, complete());
    }
    let children = vec![step("charge"), at(2, step("mail")), resolver("refund")];
    w.create(vec![parent("payment", children)]);
    w.run("payment", complete());
    w.run("charge", fail());
    w.run("refund", complete());
    let children = vec![step("best-one"), step("best-two")];
    w.create(vec![NewStep { success: Some("best_effort".into()), ..parent("best", children) }]);
    w.run("best", complete());
    w.run("best-one", fail());
    w.run("best-two", complete());
    w.create(vec![parent("off", vec![step("off-one"), resolver("off-undo")])]);
    w.operate("off", Verb::Cancel);
}

fn live_trees(w: &mut World) {
    let children = vec![step("first"), step("second"), at(2, step("third")), resolver("asleep")];
    w.create(vec![parent("family", children), parent("young", vec![step("unborn")])]);
    w.run("family", complete());
    w.run("first", complete());
    w.claim("second");
    w.write_row("second");
    let block_id = Some(BlockId::of(901));
    w.create(vec![NewStep { block_id, ..step("one") }, NewStep { block_id, ..at(2, step("two")) }]);
    w.run("one", complete());
}

fn surroundings(w: &mut World) {
    w.breaker(true);
    w.wait(Duration::from_secs(5));
    w.turn();
    w.breaker(false);
    w.tick();
    w.tick();
    w.alert("dispatch_group", "alpha".into(), true);
    w.alert("step", w.named["ready"].to_string(), true);
    w.alert("step", w.named["done"].to_string(), true);
    w.alert("step", w.named["done"].to_string(), false);
    w.claim("logged");
}

/// Work done once: done, failed, in somebody's hands, taken over, and a request with its answer.
fn executions(w: &mut World) {
    w.begin("pay", "done", 1);
    w.end("pay", "done", 1, Standing::Done { answer: "{\"credited\":1}".into() });
    w.begin("pay", "failed", 1);
    w.end("pay", "failed", 1, Standing::Failed { error: "no".into() });
    w.begin("pay", "again", 1);
    w.end("pay", "again", 1, Standing::Failed { error: "no".into() });
    w.begin("pay", "again", 2);
    w.end("pay", "again", 2, Standing::Done { answer: "7".into() });
    w.begin("pay", "taken", 1);
    w.wait(limits::EXECUTION_LEASE_DEFAULT);
    w.begin("pay", "taken", 2);
    w.begin("pay", "open", 1);
    w.begin("http POST /v1/steps", "k1", 1);
    let answer =
        "{\"status\":201,\"content_type\":\"application/json\",\"body\":{},\"left_out\":null}".into();
    w.end("http POST /v1/steps", "k1", 1, Standing::Done { answer });
}

/// Flows that run elsewhere: at its beginning, half done, failed, whole, called off, and one in whose place another was started.
fn flows(w: &World) {
    w.start_flow("begun", 1, FlowAgain::Resume);
    w.start_flow("half", 2, FlowAgain::Resume);
    w.mark_flow(2, "debited", FlowStepState::Completed);
    w.start_flow("broken", 3, FlowAgain::Resume);
    w.mark_flow(3, "debited", FlowStepState::Completed);
    w.mark_flow(3, "credited", FlowStepState::Failed);
    w.start_flow("whole", 4, FlowAgain::Resume);
    w.mark_flow(4, "debited", FlowStepState::Completed);
    w.mark_flow(4, "credited", FlowStepState::Skipped);
    w.mark_flow(4, "mailed", FlowStepState::Failed);
    w.start_flow("off", 5, FlowAgain::Resume);
    w.say_of_flow(5, FlowWord::Finish { to: FlowState::Cancelled });
    w.start_flow("twice", 6, FlowAgain::Resume);
    w.start_flow("twice", 7, FlowAgain::New);
}
