//! How long a look for what is stuck asks the database, beside much that lives and many steps that have ended.
//!
//! Why    a look must not cost more where more lives. Each one goes on where the one before it ended, as looks do, so that no page is read
//!        twice; and half of what lives are workflows that wait by design, which is what a look passes over most.

use super::drain;
use super::figures::Figures;
use super::rig::{BULK, Rig};
use super::waiting::{Waits, rows};
use crate::Local;
use anyhow::Result;
use engine::{DetectOrder, Stopwatch, dry_look};
use model::{NewStep, StuckPolicy};
use std::time::Duration;
use store::stuck::Rounds;
use store::{Clock, SystemClock};

const NAME: &str = "stuck";
/// Looks that are measured, and one before them that fills the caches.
const LOOKS: usize = 11;
/// Message groups that a quarter of the live steps stand in.
const LINES: usize = 1_000;
/// So much later everything that lives is old for every rule from the start.
const LATER: Duration = Duration::from_secs(25 * 3_600);
/// And this is still due later.
const DELAY_MS: u64 = 30 * 24 * 3_600_000;

pub async fn run(rig: &Rig, n: usize, closed: usize) -> Result<Figures> {
    if closed > 0 {
        eprintln!("closing {closed} steps first");
        drain::once(rig, NAME, closed).await?;
    }
    eprintln!("making {n} live rows");
    let local = rig.open(NAME)?;
    fill(&local, n - n / 2).await?;
    local.stop(Duration::from_secs(5)).await?;
    rows::fill(rig, NAME, Waits::PollsAndPauses(n / 4)).await?;
    rows::fill(rig, NAME, Waits::Paused(n / 4)).await?;
    let database = rig.database(NAME)?;
    let (browse, now) = (database.browse()?, SystemClock::default().now() + LATER);
    let (mut samples, mut asked, mut found) = (Vec::new(), Vec::new(), 0);
    let mut rounds = Rounds::default();
    for look in 0..=LOOKS {
        let watch = Stopwatch::start();
        let (seen, next) = dry_look(&browse, StuckPolicy::default(), DetectOrder::default(), (rounds, now))?;
        rounds = next;
        if look > 0 {
            samples.push(watch.elapsed());
            asked.push(seen.database_us as f64 / 1_000.0);
        }
        found = seen.found.len();
    }
    asked.sort_unstable_by(f64::total_cmp);
    let per_s = n as f64 * 1_000.0 / asked[LOOKS / 2].max(1e-6);
    Ok(Figures::new("stuck", n, per_s)
        .with_samples(samples)
        .with("closed", closed as f64)
        .with("found", found as f64)
        .with("database_ms_p50", asked[LOOKS / 2])
        .with("database_ms_max", asked[LOOKS - 1]))
}

/// Half of them ready, a quarter in lines, a quarter due later.
async fn fill(local: &Local, n: usize) -> Result<()> {
    let step = |i: usize| match i % 4 {
        0 | 1 => NewStep::of("noop"),
        2 => NewStep {
            message_group: Some(format!("line-{}", i / 4 % LINES)),
            mode: Some("next_on_error".into()),
            ..NewStep::of("noop")
        },
        _ => NewStep { delay_ms: Some(DELAY_MS), ..NewStep::of("noop") },
    };
    for from in (0..n).step_by(BULK) {
        local.engine.create((from..(from + BULK).min(n)).map(step).collect()).await?;
    }
    Ok(())
}
