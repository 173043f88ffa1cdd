//! Where everything stands in a picture: from left to right, edges led around what they do not concern.

use super::{Line, Picture};
use dagre::graph::{Graph, GraphOptions};
use dagre::{EdgeLabel, GraphLabel, LayoutOptions, NodeLabel, RankDir, layout};

#[derive(Debug)]
pub(super) struct Box {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

#[derive(Debug)]
pub(super) struct Route {
    pub points: Vec<(f64, f64)>,
    /// The middle of the label, and how wide it is.
    pub label: Option<(f64, f64, f64)>,
}

#[derive(Debug)]
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    pub boxes: Vec<Box>,
    pub routes: Vec<Route>,
}

const HEIGHT: f64 = 48.0;
const MARGIN: f64 = 16.0;

/// How wide a text is drawn, about: fonts differ, and room does not hurt.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| if c.is_ascii() { 0.6 } else { 1.0 }).sum::<f64>() * size
}

fn width(step: &super::Drawn) -> f64 {
    (text_width(&step.key, 14.0).max(text_width(&step.detail, 11.5)) + 40.0).max(112.0)
}

impl Layout {
    pub fn of(picture: &Picture) -> Layout {
        let options = GraphOptions { directed: true, multigraph: false, compound: true };
        let mut graph: Graph<NodeLabel, EdgeLabel> = Graph::with_options(options);
        for (n, step) in picture.steps.iter().enumerate() {
            let label = NodeLabel { width: width(step), height: HEIGHT, ..NodeLabel::default() };
            graph.set_node(n.to_string(), Some(label));
        }
        for line in &picture.lines {
            graph.set_edge(line.from.to_string(), line.to.to_string(), Some(edge(line)), None);
        }
        let options = LayoutOptions {
            rankdir: RankDir::LR,
            nodesep: 28.0,
            ranksep: 76.0,
            edgesep: 16.0,
            marginx: MARGIN,
            marginy: MARGIN,
            ..LayoutOptions::default()
        };
        layout(&mut graph, Some(options));
        Layout::read(picture, &graph)
    }

    fn read(picture: &Picture, graph: &Graph<NodeLabel, EdgeLabel>) -> Layout {
        let place = |n: usize| {
            let node = graph.node(&n.to_string()).cloned().unwrap_or_default();
            let (x, y) = (node.x.unwrap_or_default(), node.y.unwrap_or_default());
            Box { x, y, width: node.width, height: node.height }
        };
        let boxes: Vec<Box> = (0..picture.steps.len()).map(place).collect();
        let routes = picture.lines.iter().map(|line| route(line, graph, &boxes)).collect();
        let size = graph.graph_label::<GraphLabel>();
        let right = boxes.iter().map(|b| b.x + b.width / 2.0 + MARGIN).fold(0.0, f64::max);
        let bottom = boxes.iter().map(|b| b.y + b.height / 2.0 + MARGIN).fold(0.0, f64::max);
        let (width, height) =
            size.map_or((right, bottom), |size| (size.width.max(right), size.height.max(bottom)));
        Layout { width, height, boxes, routes }
    }
}

fn edge(line: &Line) -> EdgeLabel {
    match &line.label {
        None => EdgeLabel::default(),
        Some(label) => EdgeLabel {
            width: text_width(label, 11.5) + 14.0,
            height: 20.0,
            labelpos: Default::default(),
            ..EdgeLabel::default()
        },
    }
}

/// From the right side of one box to the left side of the other, over the points between.
fn route(line: &Line, graph: &Graph<NodeLabel, EdgeLabel>, boxes: &[Box]) -> Route {
    let edge = graph.edge(&line.from.to_string(), &line.to.to_string(), None).cloned().unwrap_or_default();
    let (from, to) = (&boxes[line.from], &boxes[line.to]);
    // Between neighbours one curve is enough; over a greater distance the points lead around what is between.
    let between = match edge.points.len() {
        3 if line.label.is_none() => 0,
        points => points.saturating_sub(2),
    };
    let mut points = vec![(from.x + from.width / 2.0, from.y)];
    points.extend(edge.points.iter().skip(1).take(between).map(|point| (point.x, point.y)));
    points.push((to.x - to.width / 2.0, to.y));
    let label = line.label.as_ref().and_then(|_| Some((edge.x?, edge.y?, edge.width)));
    Route { points, label }
}
