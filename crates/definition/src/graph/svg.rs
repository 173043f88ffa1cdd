//! For pages: an SVG with names for everything that is drawn, so that a page can colour it.
//!
//! Why    nothing in it runs, and nothing in it comes from elsewhere; what a definition says is only ever text in it. Light or
//!        dark follows the reader.

use super::layout::{Layout, Route, text_width};
use super::{Drawing, Drawn, Line, Picture};
use model::Fault;
use model::definition::Definition;
use std::fmt::Write;

/// The looks of a picture, for pages that bring their own style sheet.
pub const STYLE: &str = include_str!("graph.css");

/// What is told of a workflow in the picture of its definition.
pub struct Looks<'l> {
    /// What a step is doing, as a class of the page; none if there is nothing to tell.
    pub step: &'l dyn Fn(&str) -> Option<&'static str>,
    /// Which branches a step chose; none if it has not.
    pub chosen: &'l dyn Fn(&str) -> Option<Vec<String>>,
    /// Where somebody who chooses a step is led; none if nowhere.
    pub link: &'l dyn Fn(&str) -> Option<Link>,
}

pub struct Link {
    pub href: String,
    /// What it is called by whoever reads it aloud.
    pub name: String,
}

impl Looks<'_> {
    /// Of a definition by itself.
    pub const NONE: Looks<'static> = Looks { step: &|_| None, chosen: &|_| None, link: &|_| None };
}

/// A picture that stands by itself.
pub fn svg(definition: &Definition) -> Result<String, Vec<Fault>> {
    Ok(Drawing::of(definition)?.alone(&Looks::NONE))
}

pub(super) fn paint(drawing: &Drawing, looks: &Looks, style: &str) -> String {
    let mark = |key: &String| Mark { class: (looks.step)(key), link: (looks.link)(key) };
    let marks: Vec<Mark> = drawing.keys.iter().map(mark).collect();
    let (size, body) = match &drawing.layout {
        None => list(&drawing.picture, &marks, &ways(drawing, looks)),
        Some(layout) => graph(&drawing.picture, layout, &marks, &ways(drawing, looks)),
    };
    let title = escape(&drawing.title);
    // Within a picture nothing is read aloud by itself, and no link is there.
    let role = if marks.iter().any(|mark| mark.link.is_some()) { "group" } else { "img" };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sf-graph\" viewBox=\"0 0 {w:.0} {h:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" \
         role=\"{role}\" aria-label=\"{title}\"><title>{title}</title>{style}{body}</svg>\n",
        w = size.0,
        h = size.1,
    )
}

/// What a step looks like, and where it leads.
struct Mark {
    class: Option<&'static str>,
    link: Option<Link>,
}

impl Mark {
    fn state(&self) -> String {
        self.class.map(|class| format!(" {}", escape(class))).unwrap_or_default()
    }

    /// What is drawn of a step, as a link where it leads somewhere.
    fn around(&self, drawn: &str) -> String {
        match &self.link {
            None => format!("{drawn}\n"),
            Some(Link { href, name }) => {
                format!("<a href=\"{}\" aria-label=\"{}\">{drawn}</a>\n", escape(href), escape(name))
            }
        }
    }
}

/// What became of each line of a branch that was decided, as a class.
fn ways(drawing: &Drawing, looks: &Looks) -> Vec<&'static str> {
    let way = |line: &Line| match (looks.chosen)(&drawing.keys[line.from]) {
        Some(chosen) if line.ways.iter().any(|way| chosen.contains(way)) => " is-taken",
        Some(_) if !line.ways.is_empty() => " is-not-taken",
        _ => "",
    };
    drawing.picture.lines.iter().map(way).collect()
}

fn graph(picture: &Picture, layout: &Layout, marks: &[Mark], ways: &[&str]) -> ((f64, f64), String) {
    let mut body = String::from(
        "<defs><marker id=\"sf-arrow\" class=\"sf-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"12\" markerHeight=\"12\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0.5 0.5 L7.5 4 L0.5 7.5 z\"/></marker></defs>\n",
    );
    for (route, way) in layout.routes.iter().zip(ways) {
        _ = writeln!(
            body,
            "<path class=\"sf-line{way}\" d=\"{}\" marker-end=\"url(#sf-arrow)\"/>",
            curve(&route.points)
        );
    }
    for ((line, route), way) in picture.lines.iter().zip(&layout.routes).zip(ways) {
        body.push_str(&label(line.label.as_deref(), route, way));
    }
    for ((step, place), mark) in picture.steps.iter().zip(&layout.boxes).zip(marks) {
        let corner = (place.x - place.width / 2.0, place.y - place.height / 2.0);
        body.push_str(&mark.around(&step_box(step, corner, (place.width, place.height), &mark.state())));
    }
    ((layout.width, layout.height), body)
}

fn label(text: Option<&str>, route: &Route, way: &str) -> String {
    let (Some(text), Some((x, y, width))) = (text, route.label) else { return String::new() };
    format!(
        "<g class=\"sf-label{way}\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"20\" rx=\"10\"/>\
         <text x=\"{x:.1}\" y=\"{:.1}\">{}</text></g>\n",
        x - width / 2.0,
        y - 10.0,
        y + 4.0,
        escape(text)
    )
}

fn step_box(step: &Drawn, (x, y): (f64, f64), (width, height): (f64, f64), state: &str) -> String {
    let conditional = if step.conditional { " sf-when" } else { "" };
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
    _ = write!(
        text,
        "<text class=\"sf-detail\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text></g>",
        y + 37.0,
        escape(&step.detail)
    );
    text
}

/// A row for each step: the layout of a large graph takes long, and nobody could follow its lines.
fn list(picture: &Picture, marks: &[Mark], ways: &[&str]) -> ((f64, f64), String) {
    const ROW: f64 = 30.0;
    let width = picture.steps.iter().map(|step| text_width(&step.key, 14.0)).fold(120.0, f64::max) + 32.0;
    let detail = picture.steps.iter().map(|step| text_width(&step.detail, 11.5)).fold(80.0, f64::max) + 24.0;
    let mut body = String::new();
    let before = picture.before();
    for (n, ((step, before), mark)) in picture.steps.iter().zip(&before).zip(marks).enumerate() {
        let y = 16.0 + ROW * n as f64;
        let row = format!(
            "<g class=\"sf-step sf-row sf-{}{state}\"><rect class=\"sf-box\" x=\"16\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"24\" rx=\"6\"/>\
             <text class=\"sf-key\" x=\"28\" y=\"{t:.1}\">{}</text><text class=\"sf-detail\" x=\"{:.1}\" y=\"{t:.1}\">{}</text>\
             <text class=\"sf-after\" x=\"{:.1}\" y=\"{t:.1}\">{}</text></g>",
            step.kind,
            escape(&step.key),
            width + 28.0,
            escape(&step.detail),
            width + detail + 28.0,
            after(before, ways),
            t = y + 16.5,
            state = mark.state(),
        );
        body.push_str(&mark.around(&row));
    }
    ((width + detail + 440.0, 32.0 + ROW * picture.steps.len() as f64), body)
}

/// What a row follows, with what became of the ways there, as far as there is room.
fn after(before: &[(usize, String)], ways: &[&str]) -> String {
    const ROOM: usize = 60;
    let (mut text, mut left) = (String::new(), ROOM);
    for (n, (line, words)) in before.iter().enumerate() {
        if left == 0 {
            break;
        }
        let words = match ways[*line] {
            " is-taken" => format!("{words}, taken"),
            " is-not-taken" => format!("{words}, not taken"),
            _ => words.clone(),
        };
        let words = super::shorten(&words, left);
        left = left.saturating_sub(words.chars().count() + 2);
        let sign = if n == 0 { "← " } else { ", " };
        match ways[*line] {
            "" => _ = write!(text, "{sign}{}", escape(&words)),
            way => _ = write!(text, "{sign}<tspan class=\"{}\">{}</tspan>", way.trim_start(), escape(&words)),
        }
    }
    text
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
    use super::super::tests::{ORDER, chain, order};
    use super::*;

    #[test]
    fn everything_is_drawn_and_nothing_runs() {
        let step = |key: &str| (key == "reserve").then_some("sf-running");
        let (drawing, looks) = (Drawing::of(&order()).unwrap(), Looks { step: &step, ..Looks::NONE });
        let picture = drawing.alone(&looks);
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
        let again = Drawing::of(&order()).unwrap();
        assert_eq!(
            [drawing.alone(&looks), again.alone(&looks)],
            [picture.clone(), picture],
            "the same every time"
        );
    }

    #[test]
    fn the_ways_of_a_branch_that_was_decided_are_told() {
        let drawing = Drawing::of(&order()).unwrap();
        let told = |chosen: &[&str]| {
            let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
            let of = |key: &str| (key == "route").then(|| chosen.clone());
            let picture = drawing.figure(&Looks { chosen: &of, ..Looks::NONE });
            let labels = picture.split("class=\"sf-label").skip(1).map(|label| {
                let text = label.split("</text>").next().and_then(|text| text.split('>').next_back());
                format!("{}{}", text.unwrap(), label.split('"').next().unwrap())
            });
            let lines = ["sf-line is-taken\"", "sf-line is-not-taken\"", "sf-line\""];
            (labels.collect::<Vec<_>>(), lines.map(|class| picture.matches(class).count()))
        };
        assert_eq!(
            told(&["high"]),
            (
                vec!["high is-taken".into(), "standard is-not-taken".into(), "none is-not-taken".into()],
                [1, 2, 5]
            )
        );
        assert_eq!(told(&["none", "standard"]).1, [2, 1, 5]);
        assert_eq!(drawing.figure(&Looks::NONE).matches("taken").count(), 0, "it is not decided");
    }

    #[test]
    fn a_step_leads_to_its_page_where_it_has_one() {
        let link = |key: &str| {
            let link = || Link { href: "/steps/7?a&b".into(), name: format!("{key} \"now\"") };
            (key == "reserve" || key == "s0").then(link)
        };
        for (definition, name) in [(order(), "reserve"), (chain(1_000), "s0")] {
            let drawing = Drawing::of(&definition).unwrap();
            let picture = drawing.figure(&Looks { link: &link, ..Looks::NONE });
            let opens = format!(
                "<a href=\"/steps/7?a&amp;b\" aria-label=\"{name} &quot;now&quot;\"><g class=\"sf-step"
            );
            assert!(picture.contains(&opens) && picture.contains("</g></a>\n"), "{picture}");
            assert_eq!(picture.matches("<a ").count(), 1);
            assert!(picture.contains("role=\"group\""), "what is in a picture is not read aloud");
            assert!(drawing.figure(&Looks::NONE).contains("role=\"img\""));
        }
    }

    #[test]
    fn a_page_may_bring_its_own_looks() {
        assert!(svg(&order()).unwrap().contains("prefers-color-scheme"));
        assert!(!Drawing::of(&order()).unwrap().figure(&Looks::NONE).contains("<style"));
    }

    #[test]
    fn a_large_one_is_listed() {
        let picture = svg(&chain(1_000)).unwrap();
        assert_eq!(picture.matches("sf-row").count(), 1_000 + STYLE.matches("sf-row").count());
        assert!(picture.contains("← s998"));
        assert!(!picture.contains("sf-line\""));
    }

    #[test]
    fn a_list_tells_which_way_was_taken() {
        let more = (0..200).map(|n| format!("  - {{key: f{n}, action: work}}\n"));
        let text = ORDER.to_string() + &more.collect::<String>();
        let large =
            crate::read(text.as_bytes(), "order.yaml").unwrap_or_else(|faults| panic!("{}", faults[0]));
        let large = large.definition;
        let of = |key: &str| (key == "route").then(|| vec!["high".to_string()]);
        let picture = Drawing::of(&large).unwrap().figure(&Looks { chosen: &of, ..Looks::NONE });
        for words in [
            "← <tspan class=\"is-taken\">route (high), taken</tspan></text>",
            "← <tspan class=\"is-not-taken\">route (standard), not taken</tspan></text>",
            "← <tspan class=\"is-not-taken\">route (none), not taken</tspan>, express, ship</text>",
        ] {
            assert!(picture.contains(words), "{words} is not in {picture}");
        }
        assert_eq!(picture.matches("taken\"").count(), 3);
    }

    #[test]
    fn lines_stay_within_their_points() {
        assert_eq!(curve(&[(0.0, 0.0), (10.0, 0.0)]), "M0.0 0.0 C5.0 0.0 5.0 0.0 10.0 0.0");
        let path = curve(&[(0.0, 0.0), (10.0, 40.0), (20.0, 0.0)]);
        assert_eq!(path, "M0.0 0.0 C3.3 0.0 6.7 40.0 10.0 40.0 C13.3 40.0 16.7 0.0 20.0 0.0");
    }
}
