//! The benches of what waits and of what failed, small: each does what it says and tells its figures as JSON.
#![allow(clippy::unwrap_used)]

mod common;

use common::Home;
use serde_json::Value;

fn measured(args: &[&str]) -> Value {
    let home = Home::new();
    let mut command = home.command(&[&["bench"], args, &["--json", "--workers", "50"]].concat());
    // Where it measures is named by the option alone.
    if std::env::var("STEPFAST_TEST_POSTGRES").is_err() {
        command.env_remove("STEPFAST_DB");
    }
    let output = command.output().unwrap();
    let told = common::text(&output.stderr);
    assert!(output.status.success(), "{args:?}: {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn figure(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().unwrap_or_else(|| panic!("{name} in {figures}"))
}

#[test]
fn timers_begin_when_they_are_due() {
    let figures = measured(&["timers", "--n", "60"]);
    for name in ["p50_us", "p99_us", "workflow_p50_us", "workflow_p99_us"] {
        let late = figure(&figures, name);
        assert!((0.0..30_000_000.0).contains(&late), "{name} is {late}");
    }
}

#[test]
fn live_work_is_done_beside_what_waits_and_reads_none_of_it() {
    for waits in ["--waiting", "--paused-workflows"] {
        let figures = measured(&["waiting", "--n", "300", waits, "500"]);
        assert_eq!((&figures["workload"], figure(&figures, "waiting")), (&"waiting".into(), 500.0));
        assert!(figure(&figures, "ratio") > 0.0, "{figures}");
        if figures["store"] == "postgres" {
            // Of small tables PostgreSQL reads all sooner than it asks an index, so only that it counts is looked at.
            assert!(figure(&figures, "rows_read_per_step") > 0.0, "{figures}");
            assert!(figure(&figures, "empty_rows_read_per_step") > 0.0, "{figures}");
        }
    }
}

#[test]
fn what_was_done_is_undone() {
    let figures = measured(&["compensation", "--n", "25"]);
    assert!(figure(&figures, "forward_s") > 0.0 && figure(&figures, "undo_s") > 0.0, "{figures}");
    assert!(figure(&figures, "ratio") > 0.0, "{figures}");
}

#[test]
fn all_that_failed_is_decided_about_beside_live_work() {
    let figures = measured(&["resolve", "--n", "40"]);
    assert!(figure(&figures, "resolved_per_s") > 0.0 && figure(&figures, "alone_per_s") > 0.0, "{figures}");
}

#[test]
fn open_pages_are_kept_live_beside_work() {
    let figures = measured(&["pages", "--n", "5"]);
    assert!(figure(&figures, "steps_per_s") > 100.0, "{figures}");
    let (without, with) = (figure(&figures, "core_without"), figure(&figures, "core_with"));
    assert!(without > 0.0 && with > 0.0, "{figures}");
}

#[test]
fn every_page_is_opened_beside_steps_on_record() {
    let figures = measured(&["page-times", "--n", "2000"]);
    assert!(figure(&figures, "slowest_ms") >= figure(&figures, "/workflows"), "{figures}");
    assert!(figure(&figures, "/step-dispatcher") > 0.0, "{figures}");
    let (over, slowest) = (figure(&figures, "over_50_ms"), figure(&figures, "slowest_ms"));
    assert_eq!(over > 0.0, slowest > 50.0, "{figures}");
}
