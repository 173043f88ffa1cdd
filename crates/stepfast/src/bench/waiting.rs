//! Whether what only waits costs anything: live work beside waiting polls and pauses, or beside paused workflows.
//!
//! Why    each row that waits is made unreadable before live work begins. An engine that looked at one of them would stop at it,
//!        and on PostgreSQL the server counts what was read besides.

mod reads;
pub(super) mod rows;

use super::drain;
use super::figures::Figures;
use super::rig::Rig;
use anyhow::Result;
use engine::Stopwatch;
use std::time::Duration;

const TURNS: [&str; 3] = ["empty-1", "empty-2", "empty-3"];
const FULL: &str = "waiting";

/// What waits beside the live work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Half of them polls, half of them pauses.
    PollsAndPauses(usize),
    /// Workflows that a person has paused, each with a step that it holds.
    Paused(usize),
}

impl Waits {
    fn len(self) -> usize {
        match self {
            Waits::PollsAndPauses(n) | Waits::Paused(n) => n,
        }
    }
}

/// `n` live steps beside those that wait.
pub async fn run(rig: &Rig, n: usize, waits: Waits) -> Result<Figures> {
    let watch = Stopwatch::start();
    rows::fill(rig, FULL, waits).await?;
    reads::make_unreadable(&rig.database(FULL)?).await?;
    eprintln!("{} rows wait, made in {} s", waits.len(), watch.elapsed().as_secs());
    let watch = Stopwatch::start();
    rig.open(FULL)?.stop(Duration::from_secs(5)).await?;
    let open = watch.elapsed();
    let (mut empty, mut full) = (Vec::new(), Vec::new());
    for name in TURNS {
        empty.push(measure(rig, name, n).await?);
        full.push(measure(rig, FULL, n).await?);
    }
    let (empty_per_s, full_per_s) = (middle(&empty, |m| m.per_s), middle(&full, |m| m.per_s));
    let ratio = Some((full_per_s / empty_per_s * 1_000.0).round() / 1_000.0);
    let figures = Figures { ratio, ..Figures::new("waiting", n, full_per_s) }
        .with("waiting", waits.len() as f64)
        .with("empty_per_s", empty_per_s.round())
        .with("open_ms", open.as_secs_f64() * 1_000.0);
    Ok(match rig.store() {
        "sqlite" => figures,
        _ => figures
            .with("rows_read_per_step", middle(&full, |m| m.read))
            .with("empty_rows_read_per_step", middle(&empty, |m| m.read)),
    })
}

struct Measured {
    per_s: f64,
    /// Rows that the server read for each step, of the tables in which something waits.
    read: f64,
}

async fn measure(rig: &Rig, name: &str, n: usize) -> Result<Measured> {
    let database = rig.database(name)?;
    rig.open(name)?.stop(Duration::from_secs(5)).await?;
    let before = reads::read(&database).await?;
    let (per_s, _) = drain::once(rig, name, n).await?;
    let read = (reads::read(&database).await? - before) / n as f64;
    Ok(Measured { per_s, read })
}

fn middle(all: &[Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    let mut all: Vec<f64> = all.iter().map(of).collect();
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}
