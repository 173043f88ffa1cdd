//! Every row of the lifecycle and of the error policy: what a job says in, what its step does out.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::sync::Mutex;
use std::time::Duration;
use stepfast_worker::{
    Context, Failure, Job, JobError, JobResult, LookAt, NewStep, Outcome, Progress, Registry, Timestamp,
    Trial, Tried, end, fail, fail_quietly, resolved, retry_after, skip, stop, throttle_for,
};

/// Says yes to everything but what its script names, and writes down what it was asked.
#[derive(Default)]
struct Scripted {
    /// Questions that are answered with no.
    no: &'static [&'static str],
    /// Where it errs, and whether that is retried, ignored, resolved, told.
    errs: &'static str,
    retry: bool,
    ignore: bool,
    resolve: Option<fn() -> JobResult<Option<Outcome>>>,
    quiet: bool,
    children: usize,
    asked: Mutex<Vec<&'static str>>,
}

impl Scripted {
    fn ask(&self, context: &Context, what: &'static str) -> JobResult<bool> {
        context.log(what);
        self.asked.lock().unwrap().push(what);
        if self.errs == what {
            let cause = std::io::Error::other("the cable");
            return Err(JobError::new(cause).context(format!("{what} broke")));
        }
        Ok(!self.no.contains(&what))
    }
}

impl Job for Scripted {
    type Arguments = u32;
    type Output = u32;
    async fn start_or_stop(&self, context: &Context, _: &u32) -> JobResult<bool> {
        self.ask(context, "start_or_stop")
    }
    async fn start_or_fail(&self, context: &Context, _: &u32) -> JobResult<bool> {
        self.ask(context, "start_or_fail")
    }
    async fn start_or_skip(&self, context: &Context, _: &u32) -> JobResult<bool> {
        self.ask(context, "start_or_skip")
    }
    async fn start_or_retry(&self, context: &Context, _: &u32) -> JobResult<bool> {
        self.ask(context, "start_or_retry")
    }
    async fn throttle(&self, context: &Context, _: &u32) -> JobResult<Option<Duration>> {
        Ok((!self.ask(context, "throttle")?).then_some(Duration::from_secs(9)))
    }
    async fn compute(&self, context: &Context, arguments: &u32) -> JobResult<u32> {
        self.ask(context, "compute")?;
        if self.children > 0 {
            context.children((0..self.children).map(|_| NewStep::of("child")));
            context.children([NewStep::of("last")]);
        }
        Ok(arguments * 2)
    }
    async fn double_check(&self, context: &Context, _: &u32, output: &u32) -> JobResult<bool> {
        assert_eq!(*output, 14);
        self.ask(context, "double_check")
    }
    async fn confirm_or_retry(&self, context: &Context, _: &u32, output: &u32) -> JobResult<bool> {
        assert_eq!(*output, 14);
        self.ask(context, "confirm_or_retry")
    }
    async fn complete(&self, context: &Context, _: &u32, output: &u32) -> JobResult<()> {
        assert_eq!(*output, 14);
        self.ask(context, "complete").map(|_| ())
    }
    fn should_retry(&self, _: &JobError) -> bool {
        self.retry
    }
    fn should_ignore(&self, _: &JobError) -> bool {
        self.ignore
    }
    async fn resolve(&self, _: &Context, _: &JobError) -> JobResult<Option<Outcome>> {
        self.resolve.map_or(Ok(None), |resolve| resolve())
    }
    fn should_notify(&self, _: &JobError) -> bool {
        !self.quiet
    }
}

async fn tried(job: Scripted, trial: Trial) -> (Tried, String) {
    let mut jobs = Registry::new();
    jobs.add("scripted", job);
    let tried = trial.run(&jobs).await;
    let asked: Vec<&str> = tried.log.iter().map(|line| line.text.as_str()).collect();
    let asked = asked.join(" ");
    (tried, asked)
}

fn first() -> Trial {
    Trial::of("scripted").arguments(&7)
}

const GUARDS: &str = "start_or_stop start_or_fail start_or_skip start_or_retry throttle";

#[tokio::test]
async fn a_run_asks_in_order_and_completes() {
    let (tried, asked) = tried(Scripted::default(), first()).await;
    assert_eq!(tried.outcome, Outcome::Complete { response: Some("14".into()) });
    assert_eq!(asked, format!("{GUARDS} compute double_check confirm_or_retry complete"));
}

#[tokio::test]
async fn each_guard_ends_a_run_before_it_starts() {
    let no = |what: &'static [&'static str]| tried(Scripted { no: what, ..Scripted::default() }, first());
    let (stopped, asked) = no(&["start_or_stop"]).await;
    assert!(
        matches!(stopped.outcome, Outcome::Stop { why } if why.contains("`start_or_stop` of `scripted`"))
    );
    assert_eq!(asked, "start_or_stop");
    let (failed, asked) = no(&["start_or_fail"]).await;
    assert!(matches!(failed.outcome, Outcome::Fail { notify: true, .. }));
    assert_eq!(asked, "start_or_stop start_or_fail");
    let (skipped, _) = no(&["start_or_skip"]).await;
    assert!(matches!(skipped.outcome, Outcome::Skip { .. }));
    let (again, _) = no(&["start_or_retry"]).await;
    assert!(matches!(again.outcome, Outcome::Retry { after: None, failure: Some(_) }));
    let (throttled, asked) = no(&["throttle"]).await;
    assert_eq!(throttled.outcome, Outcome::Throttle { after: Duration::from_secs(9) });
    assert_eq!(asked, GUARDS);
}

#[tokio::test]
async fn an_empty_budget_fails_before_it_computes() {
    let (tried, asked) = tried(Scripted::default(), first().failed(3, 3)).await;
    assert!(
        matches!(tried.outcome, Outcome::Fail { failure, .. } if failure.message == "all 3 attempts are used up")
    );
    assert_eq!(asked, GUARDS);
}

#[tokio::test]
async fn what_does_not_hold_is_looked_at_again_without_computing() {
    let doubtful = || Scripted { no: &["double_check"], ..Scripted::default() };
    let (once, _) = tried(doubtful(), first()).await;
    let look = |at, response: &str| Outcome::LookAgain {
        at,
        response: Some(response.into()),
        after: None,
        failure: None,
    };
    assert_eq!(once.outcome, look(LookAt::Verify(1), "14"));
    let (twice, asked) = tried(doubtful(), first().looks(LookAt::Verify(1), &14).failed(1, 3)).await;
    assert_eq!(twice.outcome, look(LookAt::Verify(2), "14"));
    assert_eq!(asked, "double_check", "neither guards nor compute run again");
}

#[tokio::test]
async fn a_run_that_only_confirms_does_nothing_else_and_still_completes() {
    let (tried, asked) = tried(Scripted::default(), first().looks(LookAt::Confirm, &14)).await;
    assert_eq!(tried.outcome, Outcome::Complete { response: Some("14".into()) });
    assert_eq!(asked, "confirm_or_retry complete");
}

#[tokio::test]
async fn what_is_not_confirmed_is_asked_for_again() {
    let (tried, asked) = tried(
        Scripted { no: &["confirm_or_retry"], ..Scripted::default() },
        first().looks(LookAt::Verify(1), &14),
    )
    .await;
    assert!(matches!(tried.outcome, Outcome::LookAgain { at: LookAt::Confirm, .. }));
    assert_eq!(asked, "double_check confirm_or_retry");
}

#[tokio::test]
async fn an_error_before_the_work_is_retried_with_its_causes() {
    let (tried, _) = tried(Scripted { errs: "compute", retry: true, ..Scripted::default() }, first()).await;
    let Outcome::Retry { after: None, failure: Some(failure) } = tried.outcome else { panic!("{tried:?}") };
    assert_eq!(failure.message, "compute broke");
    assert!(failure.trace.unwrap().starts_with("caused by: the cable"));
}

/// A hook that errs after the work made the next attempt do the work again.
#[tokio::test]
async fn an_error_after_the_work_does_not_repeat_it() {
    for (errs, at) in [("double_check", LookAt::Verify(0)), ("complete", LookAt::Confirm)] {
        let (tried, _) = tried(Scripted { errs, retry: true, ..Scripted::default() }, first()).await;
        let Outcome::LookAgain { at: looks, response, failure, .. } = tried.outcome else {
            panic!("{tried:?}")
        };
        assert_eq!((looks, response.as_deref()), (at, Some("14")));
        assert!(failure.is_some_and(|f: Failure| f.message.contains("broke")));
    }
}

#[tokio::test]
async fn the_last_attempt_is_not_retried_but_resolved_or_failed() {
    let (failed, _) =
        tried(Scripted { errs: "compute", retry: true, ..Scripted::default() }, first().failed(2, 3)).await;
    assert!(matches!(failed.outcome, Outcome::Fail { notify: true, .. }));
    let resolve: fn() -> JobResult<Option<Outcome>> =
        || Ok(Some(Outcome::Resolved { note: "by hand".into() }));
    let job = Scripted { errs: "compute", retry: true, resolve: Some(resolve), ..Scripted::default() };
    let (mended, _) = tried(job, first().failed(2, 3)).await;
    assert_eq!(mended.outcome, Outcome::Resolved { note: "by hand".into() });
}

#[tokio::test]
async fn retry_goes_before_ignore_and_ignore_before_resolve() {
    let resolve: fn() -> JobResult<Option<Outcome>> = || Err(skip("not needed"));
    let job = |retry, ignore| Scripted {
        errs: "compute",
        retry,
        ignore,
        resolve: Some(resolve),
        ..Scripted::default()
    };
    assert!(matches!(tried(job(true, true), first()).await.0.outcome, Outcome::Retry { .. }));
    let (ignored, _) = tried(job(false, true), first()).await;
    assert_eq!(ignored.outcome, Outcome::Complete { response: None });
    assert_eq!(ignored.log.last().unwrap().text, "completed in spite of: compute broke: the cable");
    assert_eq!(tried(job(false, false), first()).await.0.outcome, Outcome::Skip { why: "not needed".into() });
}

#[tokio::test]
async fn a_failure_is_told_unless_the_job_says_not_to() {
    let job = |quiet| Scripted { errs: "compute", quiet, ..Scripted::default() };
    assert!(matches!(tried(job(false), first()).await.0.outcome, Outcome::Fail { notify: true, .. }));
    assert!(matches!(tried(job(true), first()).await.0.outcome, Outcome::Fail { notify: false, .. }));
}

#[tokio::test]
async fn an_error_while_resolving_is_told_with_the_first() {
    let resolve: fn() -> JobResult<Option<Outcome>> = || Err(anyhow::anyhow!("no hands"));
    let job = Scripted { errs: "compute", resolve: Some(resolve), ..Scripted::default() };
    let (tried, _) = tried(job, first()).await;
    let Outcome::Fail { failure, .. } = tried.outcome else { panic!("{tried:?}") };
    assert_eq!(failure.message, "compute broke; and while it was resolved: no hands");
}

#[tokio::test]
async fn children_travel_with_the_outcome_in_the_order_of_the_calls() {
    let (tried, _) = tried(Scripted { children: 2, ..Scripted::default() }, first()).await;
    let at: Vec<(&str, Option<u32>)> = tried.children().iter().map(|c| (&*c.action, c.index)).collect();
    assert_eq!(at, [("child", Some(1)), ("child", Some(1)), ("last", Some(2))]);
    assert_eq!(tried.response(), Some("14"));
}

#[tokio::test]
async fn a_job_with_children_cannot_be_verified_later() {
    let (tried, _) =
        tried(Scripted { children: 1, no: &["double_check"], ..Scripted::default() }, first()).await;
    assert!(
        matches!(tried.outcome, Outcome::Fail { failure, .. } if failure.message.contains("let a child do that"))
    );
}

#[tokio::test]
async fn whatever_a_job_asks_for_instead_is_what_its_step_does() {
    let second = Duration::from_secs(1);
    let asks: [(fn() -> JobError, Outcome); 8] = [
        (|| retry_after(Duration::from_secs(1)), Outcome::Retry { after: Some(second), failure: None }),
        (|| throttle_for(Duration::from_secs(1)), Outcome::Throttle { after: second }),
        (|| skip("a"), Outcome::Skip { why: "a".into() }),
        (|| stop("b"), Outcome::Stop { why: "b".into() }),
        (|| end("c"), Outcome::End { why: "c".into() }),
        (|| resolved("d"), Outcome::Resolved { note: "d".into() }),
        (|| fail("e"), Outcome::Fail { failure: Failure { message: "e".into(), trace: None }, notify: true }),
        (
            || fail_quietly("f"),
            Outcome::Fail { failure: Failure { message: "f".into(), trace: None }, notify: false },
        ),
    ];
    for (ask, outcome) in asks {
        let mut jobs = Registry::new();
        jobs.job("asks", move |_, ()| async move { Err::<(), JobError>(ask().context("on the way")) });
        assert_eq!(Trial::of("asks").run(&jobs).await.outcome, outcome);
    }
}

#[tokio::test]
async fn a_throttle_until_an_instant_is_as_long_as_the_engines_clock_says() {
    for (until, wait) in [(100, 60), (40, 0), (7, 0)] {
        let mut jobs = Registry::new();
        jobs.job("waits", move |context: Context, ()| async move {
            Err::<(), _>(context.throttle_until(Timestamp(until * 1_000_000)))
        });
        let tried = Trial::of("waits").at(Duration::from_secs(40)).run(&jobs).await;
        assert_eq!(tried.outcome, Outcome::Throttle { after: Duration::from_secs(wait) });
    }
}

#[tokio::test]
async fn a_closure_is_retried_as_long_as_attempts_last_and_a_panic_is_too() {
    let mut jobs = Registry::new();
    jobs.job("errs", |_, ()| async { Err::<(), _>(anyhow::anyhow!("no")) });
    jobs.job("panics", |_, ()| async { if true { panic!("boom") } else { Ok(()) } });
    assert!(matches!(Trial::of("errs").run(&jobs).await.outcome, Outcome::Retry { .. }));
    let panicked = Trial::of("panics").run(&jobs).await.outcome;
    assert!(
        matches!(panicked, Outcome::Retry { failure: Some(f), .. } if f.message == "the job panicked: boom")
    );
}

#[tokio::test]
async fn arguments_that_cannot_be_read_fail_at_once_and_say_so() {
    let mut jobs = Registry::new();
    jobs.job("double", |_, n: u32| async move { Ok(2 * n) });
    let tried = Trial::of("double").arguments(&"seven").run(&jobs).await;
    let Outcome::Fail { failure, .. } = tried.outcome else { panic!("{tried:?}") };
    assert!(failure.message.starts_with("`double` does not understand its arguments: invalid type: string"));
    let unknown = Trial::of("triple").run(&jobs).await.outcome;
    assert!(
        matches!(unknown, Outcome::Fail { failure, .. } if failure.message == "this worker has no action `triple`")
    );
}

#[tokio::test]
async fn a_cancelled_run_knows_it() {
    let mut jobs = Registry::new();
    jobs.job("waits", |context: Context, ()| async move {
        context.cancelled().await;
        Ok(context.is_cancelled())
    });
    assert_eq!(Trial::of("waits").cancelled().run(&jobs).await.response(), Some("true"));
}

#[tokio::test]
async fn of_what_a_job_says_about_its_progress_the_last_word_counts() {
    let mut jobs = Registry::new();
    jobs.job("counts", |context: Context, words: Vec<String>| async move {
        context.progress(1, 4);
        words.into_iter().for_each(|word| context.progress_in(2, 4, word));
        Ok(())
    });
    let progress = async |words: &[&str]| Trial::of("counts").arguments(&words).run(&jobs).await.progress;
    assert_eq!(progress(&[]).await, Some(Progress::new(1, 4, None)));
    assert_eq!(progress(&["files", "rows"]).await, Some(Progress::new(2, 4, Some("rows".into()))));
    let word = progress(&[&"é".repeat(150)]).await.unwrap().word.unwrap();
    assert_eq!((word.len(), word.chars().count()), (200, 100), "a long word is cut");
    jobs.job("silent", |_, ()| async { Ok(()) });
    assert_eq!(Trial::of("silent").run(&jobs).await.progress, None);
}

#[tokio::test]
async fn a_trial_is_given_what_came_before() {
    let mut jobs = Registry::new();
    jobs.job("sum", |context: Context, ()| async move {
        Ok(context.previous::<u32>().await?.into_iter().sum::<u32>())
    });
    assert_eq!(Trial::of("sum").previous([3, 4]).run(&jobs).await.response(), Some("7"));
    assert_eq!(Trial::of("sum").run(&jobs).await.response(), Some("0"));
    let strange = Trial::of("sum").previous(["three"]).run(&jobs).await.outcome;
    assert!(matches!(strange, Outcome::Retry { failure: Some(f), .. } if f.message.contains("invalid type")));
}

#[tokio::test]
async fn a_long_log_keeps_its_end() {
    let mut jobs = Registry::new();
    jobs.job("talks", |context: Context, ()| async move {
        (0..100).for_each(|n| context.log(format!("{n} {}", "x".repeat(2_000))));
        Ok(())
    });
    let log = Trial::of("talks").at(Duration::from_secs(5)).run(&jobs).await.log;
    assert!(log[0].text.ends_with("lines before this are left out"), "{}", log[0].text);
    assert!(log.last().unwrap().text.starts_with("99 "));
    assert!(log.iter().map(|line| line.text.len()).sum::<usize>() <= 65_600);
    assert_eq!(log[1].at.0, 5_000_000);
}

/// A wait that was asked for behind the work, or a panic there, made the next run do the work again.
#[tokio::test]
async fn whoever_asks_for_another_run_after_the_work_gets_one_that_only_looks() {
    type Way = fn() -> JobResult<bool>;
    struct Asks(Way);
    impl Job for Asks {
        type Arguments = ();
        type Output = u32;
        async fn compute(&self, _: &Context, (): &()) -> JobResult<u32> {
            Ok(14)
        }
        async fn confirm_or_retry(&self, _: &Context, (): &(), _: &u32) -> JobResult<bool> {
            (self.0)()
        }
    }
    let minute = Duration::from_secs(60);
    let ways: [(Way, Option<Duration>); 3] = [
        (|| Err(retry_after(Duration::from_secs(60))), Some(minute)),
        (|| Err(throttle_for(Duration::from_secs(60))), Some(minute)),
        (|| panic!("boom"), None),
    ];
    for (way, wait) in ways {
        let mut jobs = Registry::new();
        jobs.add("asks", Asks(way));
        let tried = Trial::of("asks").run(&jobs).await;
        let Outcome::LookAgain { at: LookAt::Confirm, response, after, .. } = tried.outcome else {
            panic!("{tried:?}")
        };
        assert_eq!((response.as_deref(), after), (Some("14"), wait));
    }
}
