//! What an engine counts while it works, for whoever watches it from outside.
//!
//! Why    rows tell what is, and these tell how fast it moves. They are this process's own and begin at nothing when it starts.

use crate::Spans;
use crate::turn::CommitOutcome;
use model::State;
use prometheus::core::Collector;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, Opts};
use std::time::Duration;

/// From a tenth of a millisecond to ten seconds.
const TURN_SECONDS: [f64; 12] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1.0, 10.0];
/// From a millisecond to an hour.
const WAIT_SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0, 3600.0];

#[derive(Clone, Debug)]
pub struct Meters {
    turn: Histogram,
    commit: Histogram,
    commits: IntCounterVec,
    created: IntCounter,
    started: IntCounter,
    wait: Histogram,
    ended: IntCounterVec,
    failed: IntCounter,
    lost: IntCounter,
    ran: Histogram,
    woken: IntCounter,
    untold: IntCounter,
}

impl Default for Meters {
    fn default() -> Meters {
        let outcomes = "Commits by outcome: stored, refused, or unknown when the connection broke.";
        let meters = Meters {
            turn: histogram(
                "stepfast_turn_duration_seconds",
                "Time to decide a turn, without its commit.",
                &TURN_SECONDS,
            ),
            commit: histogram(
                "stepfast_commit_duration_seconds",
                "Time from a decided turn to its outcome in the database.",
                &TURN_SECONDS,
            ),
            commits: counters("stepfast_commits_total", outcomes, "outcome"),
            created: counter("stepfast_steps_created_total", "Steps made by this node."),
            started: counter(
                "stepfast_steps_started_total",
                "Attempts that were given to a worker or a queue.",
            ),
            wait: histogram(
                "stepfast_step_wait_seconds",
                "Time from when a step could start until it was given to somebody.",
                &WAIT_SECONDS,
            ),
            ended: counters("stepfast_steps_ended_total", "Steps that ended, by their last state.", "state"),
            failed: counter("stepfast_attempts_failed_total", "Attempts that failed, whatever came after."),
            lost: counter("stepfast_attempts_lost_total", "Attempts whose worker was lost."),
            ran: histogram(
                "stepfast_attempt_duration_seconds",
                "Time that somebody had a step, of attempts that ended, whatever came of them.",
                &WAIT_SECONDS,
            ),
            untold: untold(),
            woken: counter("stepfast_wakeups_total", "Times that another node woke this one."),
        };
        // What has not happened yet is told as zero.
        CommitOutcome::ALL
            .iter()
            .for_each(|outcome| drop(meters.commits.with_label_values(&[outcome.word()])));
        let ends = State::ALL.iter().filter(|state| state.is_terminal());
        ends.for_each(|state| drop(meters.ended.with_label_values(&[state.word()])));
        meters
    }
}

impl Meters {
    /// With what a tracer did not take, where there is one.
    pub(crate) fn of(spans: Option<&Spans>) -> Meters {
        let meters = Meters::default();
        match spans {
            Some(spans) => Meters { untold: spans.dropped(), ..meters },
            None => meters,
        }
    }
    /// All of them, for a registry.
    pub fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let Meters { turn, commit, commits, created, started, wait, ended, failed, lost, ran, woken, untold } =
            self.clone();
        vec![
            Box::new(turn),
            Box::new(commit),
            Box::new(commits),
            Box::new(created),
            Box::new(started),
            Box::new(wait),
            Box::new(ended),
            Box::new(failed),
            Box::new(lost),
            Box::new(ran),
            Box::new(woken),
            Box::new(untold),
        ]
    }
    pub(crate) fn decided(&self, took: Duration) {
        self.turn.observe(took.as_secs_f64());
    }
    pub(crate) fn stored(&self, outcome: CommitOutcome, took: Duration) {
        self.commit.observe(took.as_secs_f64());
        self.commits.with_label_values(&[outcome.word()]).inc();
    }
    pub(crate) fn woken(&self) {
        self.woken.inc();
    }
    /// A turn is stored: what it did to steps.
    pub(crate) fn count(&self, counted: &Counted) {
        self.created.inc_by(counted.created);
        self.started.inc_by(counted.started);
        self.failed.inc_by(counted.failed);
        self.lost.inc_by(counted.lost);
        counted.waits.iter().for_each(|wait| self.wait.observe(wait.as_secs_f64()));
        counted.ran.iter().for_each(|ran| self.ran.observe(ran.as_secs_f64()));
        for state in &counted.ended {
            self.ended.with_label_values(&[state.word()]).inc();
        }
    }
}

/// What a turn did to steps, told once it is stored.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Counted {
    pub created: u64,
    pub started: u64,
    pub failed: u64,
    pub lost: u64,
    /// How long those that started had waited, as far as it is known.
    pub waits: Vec<Duration>,
    /// How long somebody had those whose attempt ended.
    pub ran: Vec<Duration>,
    pub ended: Vec<State>,
}

/// Spans that a tracer did not take.
pub(crate) fn untold() -> IntCounter {
    counter("stepfast_spans_dropped_total", "Spans that were not told, since the tracer is too far behind.")
}

fn counter(name: &str, help: &str) -> IntCounter {
    IntCounter::new(name, help).expect("a name of ours is sound")
}

fn counters(name: &str, help: &str, label: &str) -> IntCounterVec {
    IntCounterVec::new(Opts::new(name, help), &[label]).expect("a name of ours is sound")
}

fn histogram(name: &str, help: &str, buckets: &[f64]) -> Histogram {
    let opts = HistogramOpts::new(name, help).buckets(buckets.to_vec());
    Histogram::with_opts(opts).expect("a name of ours is sound")
}
