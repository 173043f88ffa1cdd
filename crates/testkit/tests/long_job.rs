//! A job that is busy far beyond its lease, and runs once: the heartbeat is the runner's, not the job's.

use engine::Config;
use model::{NewStep, State, limits};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use stepfast_testkit::Stage;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{spawn_blocking, yield_now};
use worker::{Context, Registry, Runner, RunnerConfig};

const SECOND: Duration = Duration::from_secs(1);

/// One second of the runner's clock and of the engine's. What the runner sends in it is stored before the next one: the stage's own
/// heartbeat goes behind it.
async fn pass_a_second(stage: &Stage) {
    tokio::time::advance(SECOND).await;
    yield_now().await;
    stage.advance(SECOND).await;
}

#[tokio::test]
async fn a_step_of_ten_leases_runs_once() {
    let stage = Stage::with(Config { host: "stage".into(), full_history: true, ..Config::default() }).await;
    let runs = Arc::new(AtomicUsize::new(0));
    let (begun, mut began) = unbounded_channel();
    let (release, released) = mpsc::channel::<()>();
    let (counted, released) = (runs.clone(), Arc::new(std::sync::Mutex::new(released)));
    let mut registry = Registry::default();
    registry.job("busy", move |context: Context, ()| {
        counted.fetch_add(1, Ordering::SeqCst);
        let (begun, released) = (begun.clone(), released.clone());
        async move {
            begun.send(()).expect("the test waits for it");
            // On a thread of its own, where it sees nothing of the runtime; tokio's clock stands still meanwhile.
            spawn_blocking(move || released.lock().expect("one job").recv()).await??;
            Ok(context.is_cancelled())
        }
    });
    let config = RunnerConfig { clock: Arc::new(stage.clock.clone()), ..RunnerConfig::default() };
    let runner = Runner::start(stage.engine.clone(), registry, config).await.expect("a runner");
    let step = stage.engine.create(vec![NewStep::of("busy")]).await.expect("a step")[0].id;
    began.recv().await.expect("it begins");
    let began_at = stage.clock_now();
    tokio::time::pause();
    while stage.clock_now().since(began_at) < 10 * limits::SESSION_LEASE {
        pass_a_second(&stage).await;
    }
    tokio::time::resume();
    assert_eq!(stage.step(step).step.state, State::Running);
    release.send(()).expect("it is still busy");
    let mut look = tokio::time::interval(Duration::from_millis(5));
    while stage.step(step).step.state == State::Running {
        look.tick().await;
    }
    let row = stage.step(step);
    assert_eq!((row.step.state, row.detail.response.as_deref()), (State::Completed, Some("false")));
    assert_eq!((row.step.attempt, row.step.lost_attempts, row.detail.late_reports.unwrap_or(0)), (1, 0, 0));
    assert_eq!((runs.load(Ordering::SeqCst), stage.browse().attempts(step).expect("a read").len()), (1, 0));
    stage.check();
    runner.stop(Duration::ZERO).await;
}
