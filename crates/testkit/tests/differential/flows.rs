//! Definitions whose workflows both engines run: each kind of step, each policy, and what holds or ends them.

use super::dice::Dice;
use engine::WorkflowVerb;
use model::Decision;
use stepfast_testkit::stored;
use store::workflows::Definition;

const DEFINITIONS: [&str; 8] = [
    "
workflow: plain
version: 1.0.0
labels: { kind: plain }
steps:
  - { key: a, action: work, retry: { attempts: 2, delay: 1s }, arguments: { n: \"${input.n}\" } }
  - { key: b, action: haul, retry: { attempts: 2, delay: 1s }, when: \"input.n % 2 == 0\" }
  - { key: c, action: work, retry: { attempts: 2, delay: 1s }, on_failure: skip_step }
",
    "
workflow: routed
version: 1.0.0
steps:
  - { key: ask, action: work, retry: { attempts: 2, delay: 1s }, on_failure: pause_workflow }
  - key: route
    branch:
      choose: \"input.n % 3 == 0 ? 'x' : 'y'\"
      branches: { x: [left, more], y: [right] }
      converge: end
  - { key: left, action: haul, retry: { attempts: 2, delay: 1s } }
  - { key: more, action: work, retry: { attempts: 2, delay: 1s } }
  - { key: right, action: haul, retry: { attempts: 2, delay: 1s }, on_failure: continue_with_partial }
  - { key: end, action: work, retry: { attempts: 2, delay: 1s } }
",
    "
workflow: each
version: 1.0.0
steps:
  - { key: all, action: haul, retry: { attempts: 2, delay: 1s }, each: \"input.items\", max_parallel: 2, success: best_effort, arguments: { i: \"${index}\", v: \"${item}\" } }
  - { key: end, action: work, retry: { attempts: 2, delay: 1s }, arguments: \"${outputs.all}\" }
",
    "
workflow: timed
version: 1.0.0
timeout: 2m
steps:
  - { key: rest, wait: 5s }
  - { key: a, action: rare, timeout: { attempt: 10s, step: 40s }, retry: { attempts: 3, delay: 1s } }
",
    "
workflow: outer
version: 1.0.0
steps:
  - { key: first, action: work, retry: { attempts: 2, delay: 1s } }
  - { key: sub, workflow: plain, input: { n: \"${input.n}\" } }
  - { key: last, action: haul, retry: { attempts: 2, delay: 1s } }
",
    "
workflow: one-by-one
version: 1.0.0
concurrency: { key: \"string(input.n % 2)\", limit: 1 }
steps:
  - { key: a, action: work, retry: { attempts: 2, delay: 1s }, message_group: \"'order-' + string(input.n % 3)\", mode: block_on_error }
  - { key: b, action: haul, retry: { attempts: 2, delay: 1s } }
",
    "
workflow: in-lines
version: 1.0.0
steps:
  - { key: all, action: work, retry: { attempts: 2, delay: 1s }, each: \"input.items\", message_group: \"'order-' + string(item % 3)\", mode: next_on_error, gather: counts }
  - key: enough
    action: haul
    retry: { attempts: 2, delay: 1s }
    after: []
    terminate_when: { if: \"input.n > 5\", reason: enough }
",
    "
workflow: pauses
version: 1.0.0
steps:
  - { key: a, action: work, retry: { attempts: 2, delay: 1s }, after: [], pause_after: { resume_after: 5s } }
  - { key: b, action: haul, retry: { attempts: 2, delay: 1s }, after: [], pause_after: { trigger: boss, timeout: 8s, on_timeout: auto_approve, default: { ok: true } } }
  - { key: c, action: work, retry: { attempts: 2, delay: 1s }, after: [], on_failure: pause_workflow, pause_after: { trigger: late, timeout: 4s, on_timeout: remind, reminders: 2 } }
  - { key: end, action: haul, retry: { attempts: 2, delay: 1s }, after: [a, b, c], arguments: \"${outputs.boss}\" }
",
];

pub const NAMES: [&str; 8] =
    ["plain", "routed", "each", "timed", "outer", "one-by-one", "in-lines", "pauses"];

pub fn definitions() -> Vec<Definition> {
    DEFINITIONS.iter().map(|yaml| stored(yaml)).collect()
}

pub fn input(dice: &mut Dice) -> String {
    let items: Vec<usize> = (0..dice.below(6)).collect();
    match dice.below(20) {
        // What the expressions look for is not there.
        0 => "{}".into(),
        _ => format!("{{\"n\":{},\"items\":{items:?}}}", dice.below(8)),
    }
}

pub fn verb(dice: &mut Dice) -> WorkflowVerb {
    let retry = || WorkflowVerb::Resolve(Decision::RETRY);
    dice.one(&[
        WorkflowVerb::Pause,
        WorkflowVerb::Resume,
        WorkflowVerb::Resume,
        WorkflowVerb::Cancel,
        retry(),
        retry(),
    ])
    .clone()
}
