//! The process dies at every commit of an undoing, before it is stored and after: whoever takes over comes to the same end.
//!
//! Why    what is undone is done in the world. A plan that is made twice, or a line of it that is forgotten, is money.

use engine::WorkflowVerb;
use model::{Decision, WorkflowId, WorkflowState as W};
use serde_json::json;
use std::io::Write;
use std::time::Duration;
use stepfast_testkit::{Doubt, Stage, Stored, undo_all, undo_then_from};

/// Beyond which a story does not go on: each round is a second.
const ROUNDS_MAX: usize = 120;
const SECOND: Duration = Duration::from_secs(1);
/// A commit that no story has.
const NEVER: usize = usize::MAX;

/// A workflow that fails, and what people decide about it until it is where it stays.
struct Story {
    yaml: &'static str,
    /// What is decided about a workflow that is so and about which so much was decided before.
    decides: fn(W, usize) -> Option<Decision>,
    ends: W,
    /// Commits that it has at least: with fewer, nothing was tried.
    commits_min: usize,
}

const UNDONE: Story = Story {
    yaml: "
workflow: undone
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: all, action: echo, each: \"[1, 2]\", compensation: { action: ok } }
  - { key: b, action: ok }
  - { key: c, action: ok, compensation: { action: ok } }
  - { key: d, action: fail, retry: { attempts: 1 }, compensation: { action: ok, when: started } }
",
    decides: |state, decided| (state == W::Failed && decided == 0).then(undo_all),
    ends: W::Compensated,
    commits_min: 6,
};

const STUCK: Story = Story {
    yaml: "
workflow: stuck
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: b, action: ok, compensation: { action: fail, retry: { attempts: 1 } } }
  - { key: c, action: ok, compensation: { action: ok } }
  - { key: d, action: fail, retry: { attempts: 1 } }
",
    decides: |state, decided| match (state, decided) {
        (W::Failed, 0) => Some(undo_all()),
        (W::CompensationFailed, 1) => Some(Decision::RetryCompensation),
        (W::CompensationFailed, 2) => Some(Decision::SkipCompensation { all: false }),
        _ => None,
    },
    ends: W::Compensated,
    commits_min: 8,
};

const AGAIN: Story = Story {
    yaml: "
workflow: again
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: b, action: ok, compensation: { action: ok } }
  - { key: all, action: echo, each: \"[1, 2]\", compensation: { action: ok } }
  - { key: c, action: ok, compensation: { action: ok }, pause_after: { resume_after: 2s } }
  - { key: d, action: fail, retry: { attempts: 1 } }
",
    // It fails again behind what was done again, and then somebody has had enough.
    decides: |state, decided| match (state, decided) {
        (W::Failed, 0) => Some(undo_then_from("a")),
        (W::Failed, 1) => Some(Decision::Cancel { on_cancel: None }),
        _ => None,
    },
    ends: W::Cancelled,
    commits_min: 10,
};

/// What a workflow came to: how it ended, each run of each step, what was undone, decided, waited for and told.
#[derive(PartialEq, Debug)]
struct End {
    flow: String,
    undoing: String,
    decided: Vec<String>,
    pauses: Vec<String>,
    told: Vec<String>,
    has_skips: bool,
}

fn end_of(stage: &Stage, id: WorkflowId) -> End {
    End {
        flow: stage.flow(id),
        undoing: stage.undoing(id),
        decided: stage.decided(id),
        pauses: stage.pauses(id),
        told: stage.told(id),
        has_skips: stage.workflow(id).aftermath.is_some_and(|after| after.has_skips),
    }
}

impl Story {
    /// To the point from which on the process may die: it has failed.
    async fn fails(&self, stage: &mut Stage) -> WorkflowId {
        let id = stage.run(self.yaml, json!({})).await;
        for _ in 0..10 {
            stage.advance(SECOND).await;
            stage.settle().await;
        }
        assert_eq!(stage.workflow(id).state, W::Failed, "{}", stage.flow(id));
        id
    }

    /// People decide and workers answer until it is over; whoever gets no answer looks how it is and asks again.
    async fn goes_on(&self, stage: &mut Stage, id: WorkflowId, doubt: &Doubt) {
        let mut lives_anew = false;
        for _ in 0..ROUNDS_MAX {
            if doubt.came() && !lives_anew {
                stage.crash().await;
                lives_anew = true;
            }
            let asked = (self.decides)(stage.workflow(id).state, stage.decided(id).len());
            if let Some(decision) = asked
                && let Err(why) = stage.operate_workflow(id, WorkflowVerb::Resolve(decision)).await
            {
                assert!(doubt.came() && !lives_anew, "{why}");
                continue;
            }
            if let Err(why) = stage.try_settle().await {
                assert!(doubt.came() && !lives_anew, "{why}");
                continue;
            }
            if stage.workflow(id).state == self.ends {
                return;
            }
            if let Err(why) = stage.try_advance(SECOND).await {
                assert!(doubt.came() && !lives_anew, "{why}");
            }
        }
        panic!("it does not end: {} [{}]", stage.flow(id), stage.undoing(id));
    }

    /// Nobody dies: what it comes to, and how many commits that takes.
    async fn undisturbed(&self) -> (End, usize) {
        let (mut stage, doubt) = Stage::mortal().await;
        let id = self.fails(&mut stage).await;
        doubt.dies_at(NEVER, Stored::No);
        self.goes_on(&mut stage, id, &doubt).await;
        stage.check();
        (end_of(&stage, id), doubt.commits())
    }

    async fn dies_at_each(&self, stored: Stored) {
        let (expected, commits) = self.undisturbed().await;
        assert!(commits >= self.commits_min, "only {commits} commits: {expected:#?}");
        let mut died = 0;
        for commit in 1..=commits {
            let (mut stage, doubt) = Stage::mortal().await;
            let id = self.fails(&mut stage).await;
            doubt.dies_at(commit, stored);
            self.goes_on(&mut stage, id, &doubt).await;
            died += usize::from(doubt.came());
            assert_eq!(
                end_of(&stage, id),
                expected,
                "it died at commit {commit} of {commits}, stored: {stored:?}"
            );
            stage.check();
        }
        let _ = writeln!(std::io::stderr(), "{commits} commits, died at {died} of them, stored: {stored:?}");
        assert!(died + 1 >= commits, "it died only at {died} of {commits} commits");
    }
}

#[tokio::test]
async fn an_undoing_survives_a_crash_before_each_of_its_commits() {
    UNDONE.dies_at_each(Stored::No).await;
}

#[tokio::test]
async fn an_undoing_survives_a_crash_behind_each_of_its_commits() {
    UNDONE.dies_at_each(Stored::Yes).await;
}

#[tokio::test]
async fn what_cannot_be_undone_survives_a_crash_before_each_of_its_commits() {
    STUCK.dies_at_each(Stored::No).await;
}

#[tokio::test]
async fn what_cannot_be_undone_survives_a_crash_behind_each_of_its_commits() {
    STUCK.dies_at_each(Stored::Yes).await;
}

#[tokio::test]
async fn undone_and_done_again_survives_a_crash_before_each_of_its_commits() {
    AGAIN.dies_at_each(Stored::No).await;
}

#[tokio::test]
async fn undone_and_done_again_survives_a_crash_behind_each_of_its_commits() {
    AGAIN.dies_at_each(Stored::Yes).await;
}
