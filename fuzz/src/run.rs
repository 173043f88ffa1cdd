//! Runs one target over its corpus and over changed copies of it, and keeps the input that it does not survive.
//!
//! Why    the input is on disk before it is run: an overflown stack ends the process, and nobody can say anything after that.
//!        It is run on a stack as large as that of the server's threads.

use crate::Target;
use crate::mutate::{self, Dice};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const STACK_BYTES: usize = 2 << 20;
/// Far beyond what any input may take, also in a build with assertions.
const INPUT_LIMIT: Duration = Duration::from_secs(20);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

pub struct Plan {
    /// Holds `corpus/` and `artifacts/`.
    pub folder: PathBuf,
    pub seed: u64,
    pub length: Duration,
}

#[derive(Default)]
struct Progress {
    inputs: AtomicU64,
    is_over: AtomicBool,
}

/// How many inputs were run.
pub fn run(target: &'static Target, plan: &Plan) -> Result<u64> {
    let corpus = corpus(&plan.folder.join("corpus").join(target.name))?;
    let artifacts = plan.folder.join("artifacts").join(target.name);
    fs::create_dir_all(&artifacts).with_context(|| format!("could not make {}", artifacts.display()))?;
    let artifact = artifacts.join(format!("seed-{}", plan.seed));
    let progress = Arc::new(Progress::default());
    let (mine, seed, kept) = (progress.clone(), plan.seed, artifact.clone());
    let work = move || work(target, &corpus, Dice::new(seed), &kept, &mine);
    let thread = std::thread::Builder::new().name(target.name.into()).stack_size(STACK_BYTES);
    let thread = thread.spawn(work).context("could not start a thread")?;
    watch(&progress, plan.length, || thread.is_finished())
        .with_context(|| format!("the input is in {}", artifact.display()))?;
    match thread.join() {
        Ok(done) => done?,
        Err(_) => bail!("the loop over `{}` panicked", target.name),
    }
    fs::remove_file(&artifact).with_context(|| format!("could not remove {}", artifact.display()))?;
    Ok(progress.inputs.load(Ordering::Relaxed))
}

/// Ends the loop when its time is over; fails when an input does not come to its end.
fn watch(progress: &Progress, length: Duration, is_finished: impl Fn() -> bool) -> Result<()> {
    let (start, mut last, mut since) = (now(), 0, now());
    while !is_finished() {
        let inputs = progress.inputs.load(Ordering::Relaxed);
        if inputs != last {
            (last, since) = (inputs, now());
        }
        ensure!(since.elapsed() < INPUT_LIMIT, "an input took longer than {} s", INPUT_LIMIT.as_secs());
        if start.elapsed() >= length {
            progress.is_over.store(true, Ordering::Relaxed);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a loop that is bounded in seconds measures them")]
fn now() -> Instant {
    Instant::now()
}

/// The corpus as it is, then changes of it until the time is over.
fn work(target: &Target, corpus: &[Vec<u8>], mut dice: Dice, kept: &Path, progress: &Progress) -> Result<()> {
    for bytes in corpus {
        survive(target, bytes, kept)?;
        progress.inputs.fetch_add(1, Ordering::Relaxed);
    }
    while !progress.is_over.load(Ordering::Relaxed) {
        survive(target, &mutate::input(&mut dice, corpus), kept)?;
        progress.inputs.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn survive(target: &Target, bytes: &[u8], kept: &Path) -> Result<()> {
    fs::write(kept, bytes).with_context(|| format!("could not write {}", kept.display()))?;
    let run = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
    ensure!(run.is_ok(), "`{}` panicked; the input is in {}", target.name, kept.display());
    Ok(())
}

/// In order of name, so that a seed means the same on every machine.
fn corpus(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let unreadable = || format!("could not read {}", folder.display());
    let entries = fs::read_dir(folder).with_context(unreadable)?;
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.with_context(unreadable)?;
    ensure!(!paths.is_empty(), "there is nothing in {}", folder.display());
    paths.sort();
    let read = |path: &PathBuf| fs::read(path).with_context(|| format!("could not read {}", path.display()));
    paths.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> (tempfile::TempDir, Plan) {
        let folder = tempfile::tempdir().unwrap();
        let corpus = folder.path().join("corpus/planted");
        fs::create_dir_all(&corpus).unwrap();
        fs::write(corpus.join("a"), "plain").unwrap();
        fs::write(corpus.join("b"), "((((").unwrap();
        let plan = Plan { folder: folder.path().into(), seed: 3, length: Duration::from_millis(50) };
        (folder, plan)
    }

    #[test]
    fn an_input_that_panics_is_kept() {
        static PLANTED: Target =
            Target { name: "planted", run: |bytes| assert!(!bytes.contains(&b'('), "planted") };
        let (folder, plan) = plan();
        let told = run(&PLANTED, &plan).unwrap_err().to_string();
        assert!(told.starts_with("`planted` panicked; the input is in"), "{told}");
        let kept = fs::read(folder.path().join("artifacts/planted/seed-3")).unwrap();
        assert!(kept.contains(&b'('));
    }

    #[test]
    fn a_loop_that_finds_nothing_leaves_nothing() {
        static PLANTED: Target = Target { name: "planted", run: |_| {} };
        let (folder, plan) = plan();
        assert!(run(&PLANTED, &plan).unwrap() > 2);
        assert!(!folder.path().join("artifacts/planted/seed-3").exists());
    }

    #[test]
    fn the_corpus_is_survived() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for target in &crate::TARGETS {
            corpus(&folder.join(target.name)).unwrap().iter().for_each(|bytes| (target.run)(bytes));
        }
    }
}
