//! A timeline as lanes: a name, and a strip of SVG on which a thousand units are the whole time.
//!
//! Why    one strip a lane stretches with the page and keeps its letters readable on a phone, which one large picture does not.

use crate::answers::{Bar, Lane, LaneKind, LeftOut, Span, Timeline};
use crate::words::{exact, number};
use maud::{Markup, html};
use model::{State, Timestamp};

/// Units from the left end to the right.
const WIDE: f64 = 1_000.0;
/// What is shorter is drawn as long as this.
const THIN: f64 = 3.0;
/// Words of a lane that are read aloud.
const TOLD: usize = 12;

pub fn render(timeline: &Timeline) -> Markup {
    let whole = timeline.to.since(timeline.from);
    html! {
        @if timeline.lanes.is_empty() { p.empty { "Nothing has begun yet." } }
        @else {
            ol.gantt {
                @for lane in &timeline.lanes { li { (label(lane)) (strip(lane, timeline)) } }
                li.axis aria-hidden="true" { span {} span { span { "0" } span { (exact(whole / 2)) } span { (exact(whole)) } } }
            }
            (legend())
        }
        @for words in missing(&timeline.left_out) { p.aside { (words) } }
    }
}

/// What is not drawn, in words.
fn missing(left_out: &LeftOut) -> Vec<String> {
    let mut told = Vec::new();
    let all: usize = left_out.lanes.values().sum();
    if all > 0 {
        let kinds: Vec<String> = left_out.lanes.iter().map(|(kind, n)| of_kind(*kind, *n)).collect();
        let are = if all == 1 { "is" } else { "are" };
        told.push(format!(
            "{} more {are} not drawn: {}. What failed, what is live and what was undone comes before the rest.",
            number(all as i64),
            kinds.join(", ")
        ));
    }
    match left_out.tries {
        0 => {}
        1 => told.push("Attempts and polls of 1 step are not drawn; its own page lists them.".into()),
        n => told.push(format!(
            "Attempts and polls of {} steps are not drawn; their own pages list them.",
            number(n as i64)
        )),
    }
    told
}

fn of_kind(kind: LaneKind, n: usize) -> String {
    let n = number(n as i64);
    match kind {
        LaneKind::Failed => format!("{n} of what failed"),
        LaneKind::Live => format!("{n} of what is live"),
        LaneKind::Undone => format!("{n} of what was undone"),
        LaneKind::Other => format!("{n} of the rest"),
    }
}

fn label(lane: &Lane) -> Markup {
    html! {
        span.lane {
            @match &lane.step { Some(id) => a href={ "/step-dispatcher/steps/" (id) } { (lane.name) }, None => (lane.name) }
        }
    }
}

fn strip(lane: &Lane, timeline: &Timeline) -> Markup {
    html! {
        svg.lane-bars viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label=(told(lane, timeline.to)) {
            rect.ground x="0" y="0" width="1000" height="20" {}
            @for bar in &lane.bars { (drawn(bar, timeline)) }
        }
    }
}

fn drawn(bar: &Bar, timeline: &Timeline) -> Markup {
    let (x, width) = place(bar, timeline);
    let (y, height) = match bar.span {
        Span::Waits => (9, 2),
        Span::Pause | Span::Held => (7, 6),
        Span::Attempt | Span::Poll => (13, 7),
        Span::Run(_) | Span::Undoing | Span::NotUndone => (3, 14),
    };
    html! {
        rect.(class(bar.span)) x=(format!("{x:.1}")) y=(y) width=(format!("{width:.1}")) height=(height) {
            title { (bar.words) ", " (length(bar, timeline.to)) }
        }
    }
}

/// Where a bar begins and how wide it is.
fn place(bar: &Bar, timeline: &Timeline) -> (f64, f64) {
    let whole = timeline.to.since(timeline.from).as_secs_f64().max(1e-6);
    let at = |instant: Timestamp| (instant.since(timeline.from).as_secs_f64() / whole).min(1.0) * WIDE;
    let (from, to) = (at(bar.from), at(bar.to.unwrap_or(timeline.to)));
    let width = (to - from).max(THIN);
    (from.min(WIDE - width), width)
}

fn class(span: Span) -> &'static str {
    match span {
        Span::Waits => "waits",
        Span::Run(State::Completed) => "done",
        Span::Run(State::Failed | State::Stopped | State::TimedOut) | Span::Attempt | Span::NotUndone => {
            "failed"
        }
        Span::Run(state) if state.is_terminal() => "over",
        Span::Run(_) => "runs",
        Span::Poll => "poll",
        Span::Pause | Span::Held => "pause",
        Span::Undoing => "undo",
    }
}

fn length(bar: &Bar, now: Timestamp) -> String {
    let long = exact(bar.to.unwrap_or(now).since(bar.from));
    if bar.to.is_none() { format!("{long} so far") } else { long }
}

/// The lane in words, for whoever does not see it.
fn told(lane: &Lane, now: Timestamp) -> String {
    let mut words: Vec<String> =
        lane.bars.iter().take(TOLD).map(|bar| format!("{} {}", bar.words, length(bar, now))).collect();
    if lane.bars.len() > TOLD {
        words.push(format!("{} more", lane.bars.len() - TOLD));
    }
    format!("{}: {}", lane.name, words.join(", "))
}

fn legend() -> Markup {
    let all = [
        ("waits", "waits to start"),
        ("runs", "runs"),
        ("done", "completed"),
        ("failed", "failed, or an attempt that did"),
        ("poll", "poll"),
        ("pause", "paused behind it, or held"),
        ("undo", "undone"),
    ];
    html! {
        ul.legend {
            @for (class, words) in all {
                li { svg viewBox="0 0 14 10" width="14" height="10" aria-hidden="true" { rect.(class) x="0" y="0" width="14" height="10" {} } (words) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(span: Span, from: i64, to: Option<i64>) -> Bar {
        Bar { span, from: Timestamp(from), to: to.map(Timestamp), words: "<b>".into() }
    }

    fn timeline(bars: Vec<Bar>) -> Timeline {
        let lane = Lane { name: "<i>".into(), step: Some("7".into()), bars };
        Timeline {
            from: Timestamp(0),
            to: Timestamp(10_000_000),
            lanes: vec![lane],
            left_out: LeftOut::default(),
        }
    }

    #[test]
    fn bars_stand_where_their_time_is() {
        let whole = timeline(vec![]);
        let at = |from, to| place(&bar(Span::Poll, from, to), &whole);
        assert_eq!(at(0, Some(10_000_000)), (0.0, 1_000.0));
        assert_eq!(at(5_000_000, None), (500.0, 500.0));
        assert_eq!(at(10_000_000, Some(10_000_000)), (997.0, 3.0), "what is short stays within");
        let nothing = Timeline { to: Timestamp(0), ..whole };
        assert_eq!(place(&bar(Span::Poll, 0, None), &nothing), (0.0, 3.0));
    }

    #[test]
    fn what_is_not_drawn_is_told_in_words() {
        assert_eq!(missing(&LeftOut::default()), [""; 0]);
        let one = LeftOut { lanes: [(LaneKind::Other, 1)].into(), tries: 1 };
        assert_eq!(
            missing(&one),
            [
                "1 more is not drawn: 1 of the rest. What failed, what is live and what was undone comes before the rest.",
                "Attempts and polls of 1 step are not drawn; its own page lists them.",
            ]
        );
        let many = LeftOut { lanes: [(LaneKind::Failed, 20), (LaneKind::Other, 1_200)].into(), tries: 30 };
        assert!(
            missing(&many)[0].starts_with("1,220 more are not drawn: 20 of what failed, 1,200 of the rest.")
        );
        assert!(missing(&many)[1].contains("of 30 steps"));
    }

    #[test]
    fn a_lane_is_told_in_words_and_never_as_markup() {
        let bars = vec![bar(Span::Waits, 0, Some(2_000_000)), bar(Span::Run(State::Failed), 2_000_000, None)];
        let html = render(&timeline(bars)).into_string();
        assert!(
            html.contains("aria-label=\"&lt;i&gt;: &lt;b&gt; 2.00 s, &lt;b&gt; 8.00 s so far\""),
            "{html}"
        );
        assert!(
            html.contains("class=\"failed\"") && html.contains("steps/7") && !html.contains("style="),
            "{html}"
        );
    }
}
