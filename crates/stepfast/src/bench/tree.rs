//! One parent with many children, and many deep trees at once.

use super::drain;
use super::figures::{Figures, rate};
use super::rig::{BULK, Rig, counting};
use anyhow::Result;
use engine::Stopwatch;
use model::NewStep;
use std::time::Duration;

const TREES: usize = 1_000;
const DEPTH: usize = 50;

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (plain, _) = drain::once(rig, "plain", n).await?;
    let wide = wide(rig, "wide", n).await?;
    let small = wide_many(rig, "small", n, 1_000).await?;
    let deep = deep(rig).await?;
    Ok(Figures { ratio: Some((wide / plain * 1000.0).round() / 1000.0), ..Figures::new("tree", n, wide) }
        .with("plain_per_s", plain.round())
        .with("children_1000_per_s", small.round())
        .with("deep_per_s", deep.round())
        .with("deep_ratio", deep / plain)
        .with("wide_to_small", wide / small))
}

async fn wide(rig: &Rig, name: &str, n: usize) -> Result<f64> {
    wide_many(rig, name, n, n).await
}

/// Parents with `children` each, `n` children in all.
async fn wide_many(rig: &Rig, name: &str, n: usize, children: usize) -> Result<f64> {
    let mut local = rig.open(name)?;
    let parents = n.div_ceil(children);
    for _ in 0..parents {
        let parent = local.engine.create(vec![NewStep::of("noop")]).await?[0].id;
        for _ in 0..children.div_ceil(BULK) {
            let batch = children.min(BULK);
            let child = || NewStep { parent_step_id: Some(parent), ..NewStep::of("noop") };
            local.engine.create((0..batch).map(|_| child()).collect()).await?;
        }
    }
    let total = n + parents;
    let (registry, count) = counting();
    let watch = Stopwatch::start();
    local.run(registry, rig.concurrency).await?;
    rig.wait_completed(name, &count, total).await?;
    let per_s = rate(total, watch.elapsed());
    local.stop(Duration::from_secs(5)).await?;
    Ok(per_s)
}

async fn deep(rig: &Rig) -> Result<f64> {
    let mut local = rig.open("deep")?;
    let chain = || {
        (1..DEPTH)
            .fold(NewStep::of("noop"), |inner, _| NewStep { children: vec![inner], ..NewStep::of("noop") })
    };
    for _ in 0..TREES / 100 {
        local.engine.create((0..100).map(|_| chain()).collect()).await?;
    }
    let (registry, count) = counting();
    let watch = Stopwatch::start();
    local.run(registry, rig.concurrency).await?;
    rig.wait_completed("deep", &count, TREES * DEPTH).await?;
    let per_s = rate(TREES * DEPTH, watch.elapsed());
    local.stop(Duration::from_secs(5)).await?;
    Ok(per_s)
}
