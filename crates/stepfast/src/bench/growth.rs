//! Whether history or a deep backlog costs anything.

use super::figures::Figures;
use super::rig::Rig;
use super::{drain, enqueue};
use anyhow::Result;

/// A backlog this many times `n`, drained whole.
const DEEP: usize = 10;
/// Empty and full databases are measured in turns, and the middle of each is told: a single drain lasts a second or two.
const TURNS: [&str; 3] = ["empty-1", "empty-2", "empty-3"];

pub async fn run(rig: &Rig, n: usize, closed: usize) -> Result<Figures> {
    eprintln!("closing {closed} steps first");
    drain::once(rig, "full", closed).await?;
    let (mut empty, mut full) = (Vec::new(), Vec::new());
    for name in TURNS {
        empty.push(drain::once(rig, name, n).await?);
        full.push(drain::once(rig, "full", n).await?);
    }
    let ((empty, empty_insert), (full, full_insert)) = (middle(&empty), middle(&full));
    eprintln!("draining a backlog of {}", n * DEEP);
    let (deep, _) = drain::once(rig, "deep", n * DEEP).await?;
    let single = enqueue::run(rig, n.min(20_000)).await?.steps_per_s;
    let three = |x: f64| (x * 1000.0).round() / 1000.0;
    Ok(Figures { ratio: Some(three(full / empty)), ..Figures::new("growth", n, full) }
        .with("empty_per_s", empty.round())
        .with("insert_ratio", full_insert / empty_insert)
        .with("backlog_per_s", deep.round())
        .with("backlog_ratio", deep / empty)
        .with("enqueue_per_s", single))
}

/// The middle of the drains, and of the inserts.
fn middle(figures: &[(f64, f64)]) -> (f64, f64) {
    let of = |mut all: Vec<f64>| {
        all.sort_unstable_by(f64::total_cmp);
        all[all.len() / 2]
    };
    (of(figures.iter().map(|f| f.0).collect()), of(figures.iter().map(|f| f.1).collect()))
}
