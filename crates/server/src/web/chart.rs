//! Charts over time, drawn here as SVG: how much is done, how long it waits, and how long it takes.

use crate::answers::{Rates, Window};
use crate::words::exact;
use maud::{Markup, html};
use model::{Minute, Spread};
use std::time::Duration;

/// Units of a picture: from left to right, and from top to bottom.
const WIDE: f64 = 1_000.0;
const HIGH: f64 = 100.0;
/// How wide a point is that stands alone.
const DOT: f64 = 8.0;

/// A line: its name, its colour, and a value for each point; none where there is nothing to tell.
struct Line {
    name: &'static str,
    tone: &'static str,
    values: Vec<Option<f64>>,
}

/// How high a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Even,
    /// Ten times as long is one step higher, from a millisecond on: a median and what is rare are both seen.
    Tenfold,
}

impl Scale {
    fn of(self, value: f64) -> f64 {
        match self {
            Scale::Even => value,
            Scale::Tenfold => (value / 1e-3).ln_1p(),
        }
    }
}

/// What is drawn together, and how a value is written.
struct Chart<'a> {
    title: &'static str,
    scale: Scale,
    lines: Vec<Line>,
    told: &'a dyn Fn(f64) -> String,
}

pub fn render(rates: &Rates) -> Markup {
    let per_second = |count: fn(&Minute) -> u64| {
        let of = |point: &Minute| Some(count(point) as f64 / rates.each.as_secs_f64());
        rates.points.iter().map(of).collect()
    };
    let share = |of: fn(&Minute) -> &Spread, share: f64| {
        let one = |point: &Minute| of(point).quantile(share).map(|span| span.as_secs_f64());
        rates.points.iter().map(one).collect()
    };
    let rate = |value: f64| format!("{} a second", few(value));
    let long = |seconds: f64| exact(Duration::from_secs_f64(seconds));
    let spans = |of: fn(&Minute) -> &Spread| {
        vec![
            Line { name: "half within", tone: "cyan", values: share(of, 0.5) },
            Line { name: "19 of 20 within", tone: "purple", values: share(of, 0.95) },
        ]
    };
    let done = vec![
        Line { name: "started", tone: "cyan", values: per_second(|point| point.started) },
        Line { name: "completed", tone: "green", values: per_second(|point| point.completed) },
        Line { name: "failed", tone: "red", values: per_second(|point| point.failed) },
    ];
    html! {
        div.charts {
            (figure(&Chart { title: "Throughput", scale: Scale::Even, lines: done, told: &rate }, rates.window))
            (figure(&Chart { title: "Wait before start", scale: Scale::Tenfold, lines: spans(|point| &point.waits), told: &long }, rates.window))
            (figure(&Chart { title: "Run time", scale: Scale::Tenfold, lines: spans(|point| &point.runs), told: &long }, rates.window))
        }
    }
}

/// Three digits, and no more zeros than needed.
fn few(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        ..1.0 => format!("{value:.2}"),
        ..10.0 => format!("{value:.1}"),
        _ => crate::words::number(value.round() as i64),
    }
}

fn figure(chart: &Chart, window: Window) -> Markup {
    let most = chart
        .lines
        .iter()
        .flat_map(|line| line.values.iter().flatten())
        .fold(0.0, |most: f64, value| most.max(*value));
    let ago = match window {
        Window::Hour => "1 h ago",
        Window::Day => "24 h ago",
    };
    html! {
        figure.chart {
            figcaption { b { (chart.title) } span { @if most > 0.0 { "at most " ((chart.told)(most)) } @else { "nothing yet" } } }
            svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label=(words(chart)) {
                @for y in [0.5, 50.0, 99.5] { line.grid x1="0" y1=(y) x2="1000" y2=(y) {} }
                @for line in &chart.lines { path.line.(line.tone) d=(path(&line.values, most, chart.scale)) {} }
            }
            div.axis aria-hidden="true" { span { (ago) } span { "now" } }
            ul.legend { @for line in &chart.lines { li { (key(line)) (line.name) (last(line, chart)) } } }
        }
    }
}

fn key(line: &Line) -> Markup {
    html! { svg viewBox="0 0 14 10" aria-hidden="true" { path.line.(line.tone) d="M0 5 L14 5" {} } }
}

/// The value of the last point.
fn last(line: &Line, chart: &Chart) -> String {
    line.values.last().copied().flatten().map(|value| format!(" {}", (chart.told)(value))).unwrap_or_default()
}

/// The chart for whoever does not see it.
fn words(chart: &Chart) -> String {
    let one = |line: &Line| {
        let most = line.values.iter().flatten().fold(0.0, |most: f64, value| most.max(*value));
        format!("{}{}, at most {}", line.name, last(line, chart), (chart.told)(most))
    };
    format!("{}: {}", chart.title, chart.lines.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// A line through what there is; a gap where there is nothing, and a dot where a point stands alone.
fn path(values: &[Option<f64>], most: f64, scale: Scale) -> String {
    let step = WIDE / (values.len().saturating_sub(1).max(1)) as f64;
    let (mut path, mut is_drawing) = (String::new(), false);
    for (n, value) in values.iter().enumerate() {
        let Some(value) = value else {
            is_drawing = false;
            continue;
        };
        let x = n as f64 * step;
        let y = HIGH - 2.0 - (HIGH - 4.0) * if most > 0.0 { scale.of(*value) / scale.of(most) } else { 0.0 };
        let is_alone = !is_drawing && values.get(n + 1).copied().flatten().is_none();
        // A dot at the right end is drawn to the left.
        let x = if is_alone { x.min(WIDE - DOT) } else { x };
        path += &format!("{}{x:.1} {y:.1}", if is_drawing { "L" } else { "M" });
        if is_alone {
            path += &format!("h{DOT:.0}");
        }
        is_drawing = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    #[test]
    fn a_line_has_gaps_where_there_is_nothing() {
        let path = |values: &[Option<f64>], most| super::path(values, most, Scale::Even);
        assert_eq!(path(&[Some(0.0), Some(1.0), Some(2.0)], 2.0), "M0.0 98.0L500.0 50.0L1000.0 2.0");
        assert_eq!(path(&[Some(1.0), None, Some(1.0)], 1.0), "M0.0 2.0h8M992.0 2.0h8");
        assert_eq!(path(&[None, None], 0.0), "");
        assert_eq!(path(&[Some(0.0)], 0.0), "M0.0 98.0h8");
        let long = super::path(&[Some(0.0), Some(0.031_622), Some(1.0)], 1.0, Scale::Tenfold);
        assert_eq!(
            long, "M0.0 98.0L500.0 49.6L1000.0 2.0",
            "a thirtieth of a second stands half as high as a second"
        );
    }

    #[test]
    fn a_chart_is_told_in_words() {
        let mut point = Minute { at: Timestamp(0), started: 120, completed: 60, ..Minute::default() };
        point.runs.add(Duration::from_millis(3));
        let rates =
            Rates { window: Window::Hour, each: Minute::LONG, points: vec![Minute::default(), point] };
        let html = render(&rates).into_string();
        assert!(
            html.contains(
                "aria-label=\"Throughput: started 2.0 a second, at most 2.0 a second; completed 1.0 a second"
            ),
            "{html}"
        );
        assert!(
            html.contains("half within 3.8 ms") && html.contains("nothing yet") && !html.contains("style="),
            "{html}"
        );
    }
}
