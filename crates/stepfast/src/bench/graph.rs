//! One workflow of n steps that follow four others each: how long its start takes, and how fast it is done beside steps in no order.

use super::drain;
use super::figures::{Figures, rate};
use super::rig::{Rig, counting};
use super::workflow::store;
use anyhow::{Result, bail};
use engine::{StartWorkflow, Stopwatch};
use model::WorkflowState;
use std::time::Duration;
use stepfast::builder::{Definition, Step};

/// Steps side by side.
const LAYER: usize = 100;
/// How many of the layer before each of them follows.
const FOLLOWS: usize = 4;
/// Steps of the second layer and on that follow one more: with 5,000 steps there are 20,000 edges.
const MORE: usize = 400;

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (plain, _) = drain::once(rig, "plain", n).await?;
    let mut local = rig.open("graph")?;
    let watch = Stopwatch::start();
    store(&local, layers(n)).await?;
    let apply = watch.elapsed();
    let (registry, count) = counting();
    local.run(registry, rig.concurrency).await?;
    let watch = Stopwatch::start();
    let started = local.start(StartWorkflow::of("layers")).await?;
    let start = watch.elapsed();
    rig.wait_completed("graph", &count, n).await?;
    let (state, _) = local.finished(started.id).await?;
    let per_s = rate(n, watch.elapsed());
    local.stop(Duration::from_secs(5)).await?;
    if state != WorkflowState::Succeeded {
        bail!("workflow {} is {state}", started.id);
    }
    let ratio = Some((per_s / plain * 1000.0).round() / 1000.0);
    Ok(Figures { ratio, ..Figures::new("graph", n, per_s) }
        .with("edges", (0..n).map(|step| follows(step).len()).sum::<usize>() as f64)
        .with("apply_ms", apply.as_secs_f64() * 1_000.0)
        .with("start_ms", start.as_secs_f64() * 1_000.0)
        .with("plain_per_s", plain.round()))
}

fn layers(n: usize) -> Definition {
    let step = |n: usize| {
        let before: Vec<String> = follows(n).iter().map(|n| key(*n)).collect();
        Step::action(&key(n), "noop").after(before.iter().map(String::as_str))
    };
    Definition::of("layers", "1.0.0").steps((0..n).map(step))
}

fn key(n: usize) -> String {
    format!("s{n}")
}

/// Which steps one follows: some of the layer before it.
fn follows(n: usize) -> Vec<usize> {
    let Some(layer) = (n / LAYER).checked_sub(1) else { return Vec::new() };
    let many = if n - LAYER < MORE { FOLLOWS + 1 } else { FOLLOWS };
    (0..many).map(|k| layer * LAYER + (n + k * 7) % LAYER).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_is_as_large_as_it_says() {
        assert_eq!((0..5_000).map(|n| follows(n).len()).sum::<usize>(), 20_000);
        assert!((0..5_000).all(|n| follows(n).iter().all(|before| *before / LAYER + 1 == n / LAYER)));
        assert_eq!(layers(300).build().unwrap().steps.len(), 300);
    }
}
