//! How long a look for what is stuck asks the database, beside many live steps and many that have ended.

use super::drain;
use super::figures::Figures;
use super::rig::{BULK, Rig};
use crate::Local;
use anyhow::Result;
use engine::{DetectOrder, Stopwatch, dry_detect};
use model::{NewStep, StuckPolicy};
use std::time::Duration;
use store::{Clock, SystemClock};

const NAME: &str = "stuck";
/// Looks that are measured, and one before them that fills the caches.
const LOOKS: usize = 11;
/// Message groups that a quarter of the live steps stand in.
const LINES: usize = 1_000;
/// So much later everything that lives is old.
const LATER: Duration = Duration::from_secs(2 * 3_600);

pub async fn run(rig: &Rig, n: usize, closed: usize) -> Result<Figures> {
    if closed > 0 {
        eprintln!("closing {closed} steps first");
        drain::once(rig, NAME, closed).await?;
    }
    eprintln!("making {n} live steps");
    let local = rig.open(NAME)?;
    fill(&local, n).await?;
    local.stop(Duration::from_secs(5)).await?;
    let database = rig.database(NAME)?;
    let (browse, now) = (database.browse()?, SystemClock::default().now() + LATER);
    let (mut samples, mut asked, mut found) = (Vec::new(), Vec::new(), 0);
    for look in 0..=LOOKS {
        let watch = Stopwatch::start();
        let seen = dry_detect(&browse, StuckPolicy::default(), DetectOrder::default(), now)?;
        if look > 0 {
            samples.push(watch.elapsed());
            asked.push(seen.database_us as f64 / 1_000.0);
        }
        found = seen.found.len();
    }
    asked.sort_unstable_by(f64::total_cmp);
    let per_s = n as f64 / samples[LOOKS / 2].as_secs_f64().max(1e-9);
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
            message_group: Some(format!("line-{}", i % LINES)),
            mode: Some("next_on_error".into()),
            ..NewStep::of("noop")
        },
        _ => NewStep { delay_ms: Some(3_600_000 * 24), ..NewStep::of("noop") },
    };
    for from in (0..n).step_by(BULK) {
        local.engine.create((from..(from + BULK).min(n)).map(step).collect()).await?;
    }
    Ok(())
}
