//! `progress`: how far something is, and what is half done.

use super::output;
use crate::Refused;
use crate::cli::{Common, Progress};
use crate::config::Settings;
use crate::screen::plain;
use crate::window::Window;
use anyhow::{Result, bail};
use model::limits;
use std::process::ExitCode;
use std::time::Duration;
use wire::{PartView, ProgressShow};

const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Characters of a bar.
const BAR: usize = 30;

pub async fn run(settings: &Settings, common: &Common, args: &Progress) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    let Some(id) = &args.id else { return half_done(&window, common, args).await };
    if !args.watch {
        show(&window.progress(id).await?, common.json);
        return Ok(ExitCode::SUCCESS);
    }
    let mut told = None;
    loop {
        let now = window.progress(id).await?;
        let is_over = matches!(now.state.as_str(), "completed" | "cancelled" | "failed");
        if told.as_ref() != Some(&now) {
            match common.json {
                true => output::line(&now),
                false => output::text(plain(&brief(&now))),
            }
        }
        if is_over {
            let is_whole = now.state == "completed";
            return Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        told = Some(now);
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn half_done(window: &Window, common: &Common, args: &Progress) -> Result<ExitCode> {
    if !(1..=limits::HALF_DONE_PAGE_MAX).contains(&args.limit) {
        let most = limits::HALF_DONE_PAGE_MAX;
        bail!(Refused(format!("--limit {} is not between 1 and {most}", args.limit)));
    }
    let page = window.half_done(args.after.as_deref(), args.limit).await?;
    if common.json {
        page.half_done.iter().for_each(output::line);
    } else if page.half_done.is_empty() {
        output::text("nothing is half done");
    } else {
        let rows = page.half_done.iter().map(row).collect();
        output::table(&["done", "state", "what", "of", "since", "for people", "id"], rows);
    }
    if let Some(next) = page.next {
        output::note(format_args!("there may be more; see --after {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(one: &ProgressShow) -> Vec<String> {
    let what = format!("{} {}", one.kind, one.name);
    let of = one.entity.clone().unwrap_or_else(|| "-".into());
    let since = output::instant(Some(&one.since));
    vec![
        format!("{} %", one.percent),
        one.state.clone(),
        what,
        of,
        since,
        one.sentence.clone(),
        one.id.clone(),
    ]
}

fn brief(one: &ProgressShow) -> String {
    let full = (one.percent / 100.0 * BAR as f64) as usize;
    let bar: String = (0..BAR).map(|n| if n < full { '█' } else { '░' }).collect();
    format!("{bar} {:>6} % {} · {}", one.percent, one.state, one.sentence)
}

fn show(one: &ProgressShow, json: bool) {
    if json {
        return output::line(one);
    }
    output::text(plain(&format!("{} {} {}", one.kind, one.name, one.id)));
    output::text(plain(&brief(one)));
    let lists = [
        ("completed", &one.completed),
        ("pending", &one.pending),
        ("failed", &one.failed),
        ("skipped", &one.skipped),
        ("cancelled", &one.cancelled),
    ];
    for (word, parts) in lists {
        parts.iter().for_each(|part| output::text(plain(&line(word, part))));
    }
    for (name, value) in [
        ("of", one.entity.clone()),
        ("for", one.user.clone()),
        ("since", Some(output::instant(Some(&one.since)))),
        ("expected by", one.expected_at.as_ref().map(|at| output::instant(Some(at)))),
    ] {
        if let Some(value) = value {
            output::fact(12, name, value);
        }
    }
    one.waits_for.iter().for_each(|what| output::fact(12, "waits for", what));
    if one.left_out > 0 {
        output::fact(12, "not listed", format_args!("{} more", one.left_out));
    }
}

fn line(word: &str, part: &PartView) -> String {
    let at = part.at.as_ref().map(|at| format!("  {}", output::instant(Some(at)))).unwrap_or_default();
    let items = part.items.map(|items| format!("  {} of {}", items.done, items.of)).unwrap_or_default();
    let notes: String = part.notes.iter().map(|note| format!("  {note}")).collect();
    let optional = if part.optional { " (optional)" } else { "" };
    format!("  {word:<10} {}{optional}{at}{items}{notes}", part.name)
}
