//! The same decision about many workflows: in batches, with rests between them, so that live work hardly notices.
//!
//! Why    decisions that are on their way together share a commit, and each is judged by itself and refused by itself. Whoever decides
//!        them decides about live work too, so only a part of its time is asked for.

use engine::Stopwatch;
use futures_util::future::join_all;
use model::WorkflowId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Decisions on their way at once.
const BATCH: usize = 64;
/// Nobody rests longer than this between two batches.
const REST_MAX: Duration = Duration::from_secs(5);
/// Different outcomes that are told apart, and workflows that are named for each.
const WAYS_MAX: usize = 20;
const NAMED_MAX: usize = 3;

/// How much of the time is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace(f64);

impl Pace {
    /// A quarter of the time, most of which is spent in waiting for the turn that live work fills.
    pub const GENTLE: Pace = Pace(0.25);
    /// Nobody else is there.
    pub const FREE: Pace = Pace(1.0);

    /// How long a batch that took so long is rested from.
    fn rest(self, took: Duration) -> Duration {
        took.mul_f64(1.0 / self.0 - 1.0).min(REST_MAX)
    }
}

/// Ask for each of these, and hand on what is answered; whoever takes an answer may end it.
pub async fn each<T, E>(
    ids: &[WorkflowId],
    pace: Pace,
    ask: impl AsyncFn(WorkflowId) -> T,
    mut answered: impl FnMut(WorkflowId, T) -> Result<(), E>,
) -> Result<(), E> {
    for batch in ids.chunks(BATCH) {
        let watch = Stopwatch::start();
        let answers = join_all(batch.iter().map(|id| ask(*id))).await;
        let rest = pace.rest(watch.elapsed());
        for (id, answer) in batch.iter().zip(answers) {
            answered(*id, answer)?;
        }
        tokio::time::sleep(rest).await;
    }
    Ok(())
}

/// What came of many, those alike together.
#[derive(Debug, Default)]
pub struct Tally {
    ways: BTreeMap<String, Way>,
    /// Of more kinds than are told apart.
    others: usize,
}

#[derive(Debug, Default)]
struct Way {
    n: usize,
    named: Vec<WorkflowId>,
}

impl Tally {
    /// One more of which this is told; its own id in the text is none of the difference.
    pub fn note(&mut self, id: WorkflowId, told: &str) {
        let told = told.replace(&format!("workflow {id}: "), "").replace(&id.to_string(), "it");
        if self.ways.len() >= WAYS_MAX && !self.ways.contains_key(&told) {
            self.others += 1;
            return;
        }
        let way = self.ways.entry(told).or_default();
        way.n += 1;
        if way.named.len() < NAMED_MAX {
            way.named.push(id);
        }
    }
    pub fn len(&self) -> usize {
        self.ways.values().map(|way| way.n).sum::<usize>() + self.others
    }
    /// A few lines: how many, which for example, and what is told of them; the most frequent first.
    pub fn lines(&self, verb: &str) -> Vec<String> {
        let mut ways: Vec<(&String, &Way)> = self.ways.iter().collect();
        ways.sort_by_key(|(_, way)| std::cmp::Reverse(way.n));
        let mut lines = Vec::new();
        for (told, Way { n, named }) in ways {
            let named: Vec<String> = named.iter().map(ToString::to_string).collect();
            let (named, more) = (named.join(", "), if *n > named.len() { ", …" } else { "" });
            lines.push(format!("{n} {verb}: {named}{more}"));
            lines.extend(told.lines().map(|line| format!("  {line}")));
        }
        if self.others > 0 {
            lines.push(format!("{} {verb} in other ways", self.others));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> WorkflowId {
        WorkflowId::from_bytes([n; 16])
    }

    #[test]
    fn only_a_part_of_the_time_is_taken() {
        let took = Duration::from_millis(20);
        assert_eq!(Pace::GENTLE.rest(took), Duration::from_millis(60));
        assert_eq!(Pace::FREE.rest(took), Duration::ZERO);
        assert_eq!(Pace::GENTLE.rest(Duration::from_secs(60)), REST_MAX);
    }

    #[test]
    fn what_is_alike_is_told_once() {
        let mut tally = Tally::default();
        for n in 0..5 {
            tally.note(id(n), &format!("workflow {}: it is running", id(n)));
        }
        tally.note(id(9), "failed -> running\nstep `a` is done again");
        assert_eq!(tally.len(), 6);
        let (a, b, c, other) = (id(0), id(1), id(2), id(9));
        assert_eq!(
            tally.lines("refused"),
            [
                format!("5 refused: {a}, {b}, {c}, …"),
                "  it is running".into(),
                format!("1 refused: {other}"),
                "  failed -> running".into(),
                "  step `a` is done again".into()
            ]
        );
    }

    #[test]
    fn too_many_kinds_are_only_counted() {
        let mut tally = Tally::default();
        (0..30).for_each(|n| tally.note(id(n), &format!("reason {n}")));
        assert_eq!((tally.len(), tally.others), (30, 10));
        assert_eq!(tally.lines("refused").last().unwrap(), "10 refused in other ways");
    }

    #[tokio::test]
    async fn all_are_asked_for_and_whoever_takes_the_answers_may_end_it() {
        let ids: Vec<WorkflowId> = (0..100).map(id).collect();
        let mut seen = Vec::new();
        let ask = async |id: WorkflowId| id;
        let all: Result<(), ()> = each(&ids, Pace::FREE, ask, |_, id| {
            seen.push(id);
            Ok(())
        })
        .await;
        assert_eq!((all, seen), (Ok(()), ids.clone()));
        let mut n = 0;
        let ended = each(&ids, Pace::FREE, ask, |_, _| {
            n += 1;
            if n == 70 { Err("enough") } else { Ok(()) }
        })
        .await;
        assert_eq!((ended, n), (Err("enough"), 70));
    }
}
