//! For pages: an SVG with names for everything that is drawn, so that a page can colour it.
//!
//! Why    nothing in it runs, and nothing in it comes from elsewhere; what a definition says is only ever text in it. Light or
//!        dark follows the reader.

use super::layout::{Layout, Route, text_width};
use super::{Drawn, Picture};
use model::Fault;
use model::definition::Definition;
use std::fmt::Write;

/// The looks of a picture, for pages that bring their own style sheet.
pub const STYLE: &str = include_str!("graph.css");

/// What a step is doing, as a class of the page; none if there is nothing to tell.
pub type State<'s> = &'s dyn Fn(&str) -> Option<&'static str>;

/// A picture that stands by itself.
pub fn svg(definition: &Definition) -> Result<String, Vec<Fault>> {
    svg_with(definition, &|_| None)
}

/// The same, with a class for each step that has a state.
pub fn svg_with(definition: &Definition, state: State) -> Result<String, Vec<Fault>> {
    draw(definition, state, &format!("<style>{STYLE}</style>"))
}

/// A picture without its looks, for a page that has `STYLE` among its own.
pub fn figure(definition: &Definition, state: State) -> Result<String, Vec<Fault>> {
    draw(definition, state, "")
}

fn draw(definition: &Definition, state: State, style: &str) -> Result<String, Vec<Fault>> {
    let picture = Picture::of(definition)?;
    let keys: Vec<&str> = definition.steps.iter().map(|step| step.key.as_str()).collect();
    let classes: Vec<Option<&str>> = keys.iter().map(|key| state(key)).collect();
    let (size, body) = match picture.is_too_large() {
        true => list(&picture, &classes),
        false => graph(&picture, &classes),
    };
    let title = escape(&format!("{} {}", definition.workflow, definition.version));
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sf-graph\" viewBox=\"0 0 {w:.0} {h:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" \
         role=\"img\" aria-label=\"{title}\"><title>{title}</title>{style}{body}</svg>\n",
        w = size.0,
        h = size.1,
    ))
}

fn graph(picture: &Picture, classes: &[Option<&str>]) -> ((f64, f64), String) {
    let layout = Layout::of(picture);
    let mut body = String::from(
        "<defs><marker id=\"sf-arrow\" class=\"sf-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0.5 0.5 L7.5 4 L0.5 7.5 z\"/></marker></defs>\n",
    );
    for route in &layout.routes {
        _ = writeln!(
            body,
            "<path class=\"sf-line\" d=\"{}\" marker-end=\"url(#sf-arrow)\"/>",
            curve(&route.points)
        );
    }
    for (line, route) in picture.lines.iter().zip(&layout.routes) {
        body.push_str(&label(line.label.as_deref(), route));
    }
    for ((step, place), class) in picture.steps.iter().zip(&layout.boxes).zip(classes) {
        let corner = (place.x - place.width / 2.0, place.y - place.height / 2.0);
        body.push_str(&step_box(step, corner, (place.width, place.height), *class));
    }
    ((layout.width, layout.height), body)
}

fn label(text: Option<&str>, route: &Route) -> String {
    let (Some(text), Some((x, y, width))) = (text, route.label) else { return String::new() };
    format!(
        "<g class=\"sf-label\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"20\" rx=\"10\"/>\
         <text x=\"{x:.1}\" y=\"{:.1}\">{}</text></g>\n",
        x - width / 2.0,
        y - 10.0,
        y + 4.0,
        escape(text)
    )
}

fn step_box(step: &Drawn, (x, y): (f64, f64), (width, height): (f64, f64), class: Option<&str>) -> String {
    let conditional = if step.conditional { " sf-when" } else { "" };
    let state = class.map(|class| format!(" {}", escape(class))).unwrap_or_default();
    let radius = if step.kind == "branch" || step.kind == "wait" { height / 2.0 } else { 8.0 };
    let mut text = format!("<g class=\"sf-step sf-{}{conditional}{state}\">", step.kind);
    // A fan-out is a pile of boxes.
    let behind: &[f64] = if step.fan_out { &[6.0, 3.0] } else { &[] };
    for shift in behind.iter().chain(&[0.0]) {
        _ = write!(
            text,
            "<rect class=\"sf-box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius}\"/>",
            x + shift,
            y + shift
        );
    }
    let middle = x + width / 2.0;
    _ = write!(
        text,
        "<text class=\"sf-key\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
        y + 21.0,
        escape(&step.key)
    );
    _ = writeln!(
        text,
        "<text class=\"sf-detail\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text></g>",
        y + 37.0,
        escape(&step.detail)
    );
    text
}

/// A row for each step: the layout of a large graph takes long, and nobody could follow its lines.
fn list(picture: &Picture, classes: &[Option<&str>]) -> ((f64, f64), String) {
    const ROW: f64 = 30.0;
    let width = picture.steps.iter().map(|step| text_width(&step.key, 14.0)).fold(120.0, f64::max) + 32.0;
    let detail = picture.steps.iter().map(|step| text_width(&step.detail, 11.5)).fold(80.0, f64::max) + 24.0;
    let mut body = String::new();
    let before = picture.before();
    for (n, ((step, before), class)) in picture.steps.iter().zip(&before).zip(classes).enumerate() {
        let y = 16.0 + ROW * n as f64;
        let state = class.map(|class| format!(" {}", escape(class))).unwrap_or_default();
        let after = if before.is_empty() { String::new() } else { format!("← {}", before.join(", ")) };
        _ = writeln!(
            body,
            "<g class=\"sf-step sf-row sf-{}{state}\"><rect class=\"sf-box\" x=\"16\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"24\" rx=\"6\"/>\
             <text class=\"sf-key\" x=\"28\" y=\"{t:.1}\">{}</text><text class=\"sf-detail\" x=\"{:.1}\" y=\"{t:.1}\">{}</text>\
             <text class=\"sf-after\" x=\"{:.1}\" y=\"{t:.1}\">{}</text></g>",
            step.kind,
            escape(&step.key),
            width + 28.0,
            escape(&step.detail),
            width + detail + 28.0,
            escape(&super::shorten(&after, 60)),
            t = y + 16.5,
        );
    }
    ((width + detail + 440.0, 32.0 + ROW * picture.steps.len() as f64), body)
}

/// A smooth line that never swings out beyond its points.
fn curve(points: &[(f64, f64)]) -> String {
    let slope = |a: (f64, f64), b: (f64, f64)| if b.0 == a.0 { 0.0 } else { (b.1 - a.1) / (b.0 - a.0) };
    let tangent = |n: usize| {
        if n == 0 || n + 1 == points.len() {
            return 0.0;
        }
        let (left, right) = (slope(points[n - 1], points[n]), slope(points[n], points[n + 1]));
        if left * right <= 0.0 { 0.0 } else { 2.0 * left * right / (left + right) }
    };
    let mut path = format!("M{:.1} {:.1}", points[0].0, points[0].1);
    for n in 1..points.len() {
        let (from, to) = (points[n - 1], points[n]);
        let third = (to.0 - from.0) / 3.0;
        // The first and the last part leave and arrive straight, so they get more room to turn.
        let (out, into) = if points.len() == 2 { (third * 1.5, third * 1.5) } else { (third, third) };
        let (y1, y2) = (from.1 + out * tangent(n - 1), to.1 - into * tangent(n));
        let (x1, x2) = (from.0 + out, to.0 - into);
        _ = write!(path, " C{x1:.1} {y1:.1} {x2:.1} {y2:.1} {:.1} {:.1}", to.0, to.1);
    }
    path
}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Not even an escape of these is allowed in XML.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::tests::{chain, order};
    use super::*;

    #[test]
    fn everything_is_drawn_and_nothing_runs() {
        let state = |key: &str| (key == "reserve").then_some("sf-running");
        let picture = svg_with(&order(), &state).unwrap();
        for word in [
            "sf-step sf-action sf-when sf-running",
            "sf-branch",
            ">high<",
            ">none<",
            "mail.&lt;send&gt; &amp; &quot;forget&quot;",
        ] {
            assert!(picture.contains(word), "`{word}` is missing in\n{picture}");
        }
        assert!(!picture.contains("<script") && !picture.contains("onload") && !picture.contains("NaN"));
        assert_eq!(picture.matches("sf-line\"").count(), 8);
        assert_eq!(picture.matches("class=\"sf-step").count(), 7);
        assert_eq!(picture, svg_with(&order(), &state).unwrap(), "the same every time");
    }

    #[test]
    fn a_page_may_bring_its_own_looks() {
        assert!(svg(&order()).unwrap().contains("prefers-color-scheme"));
        assert!(!figure(&order(), &|_| None).unwrap().contains("<style"));
    }

    #[test]
    fn a_large_one_is_listed() {
        let picture = svg(&chain(1_000)).unwrap();
        assert_eq!(picture.matches("sf-row").count(), 1_000 + STYLE.matches("sf-row").count());
        assert!(picture.contains("← s998"));
        assert!(!picture.contains("sf-line\""));
    }

    #[test]
    fn lines_stay_within_their_points() {
        assert_eq!(curve(&[(0.0, 0.0), (10.0, 0.0)]), "M0.0 0.0 C5.0 0.0 5.0 0.0 10.0 0.0");
        let path = curve(&[(0.0, 0.0), (10.0, 40.0), (20.0, 0.0)]);
        assert_eq!(path, "M0.0 0.0 C3.3 0.0 6.7 40.0 10.0 40.0 C13.3 40.0 16.7 0.0 20.0 0.0");
    }
}
