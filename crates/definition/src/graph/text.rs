//! For the terminal.

use super::Picture;
use ascii_dag::{Graph, LabelOverflow, RenderOptions};
use model::Fault;
use model::definition::Definition;

/// The graph in characters; of a large one, its steps and what each follows.
pub fn text(definition: &Definition) -> Result<String, Vec<Fault>> {
    let picture = Picture::of(definition)?;
    if picture.is_too_large() {
        return Ok(list(&picture));
    }
    let labels: Vec<String> = picture.steps.iter().map(label).collect();
    let mut graph = Graph::new();
    for (n, label) in labels.iter().enumerate() {
        graph.add_node(n, label.as_str());
    }
    for line in &picture.lines {
        graph.add_edge(line.from, line.to, line.label.as_deref());
    }
    let mut options = RenderOptions::plain();
    options.plan.label_policy.overflow = LabelOverflow::Legend;
    options.emit.render_legend = true;
    let drawn = graph.compute_layout().render_string(&options);
    Ok(drawn.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

fn label(step: &super::Drawn) -> String {
    let when = if step.conditional { "?" } else { "" };
    match (step.kind, step.fan_out) {
        ("action", false) => format!("{}{when}", step.key),
        ("action", true) => format!("{}{when} ×n", step.key),
        _ => format!("{}{when} · {}", step.key, step.detail),
    }
}

fn list(picture: &Picture) -> String {
    let width = picture.steps.iter().map(|step| step.key.chars().count()).max().unwrap_or_default();
    let before = picture.before();
    let row = |(step, before): (&super::Drawn, &Vec<(usize, String)>)| {
        let before: Vec<&str> = before.iter().map(|(_, words)| words.as_str()).collect();
        let after = if before.is_empty() { String::new() } else { format!("  ← {}", before.join(", ")) };
        format!("{:width$}  {}{after}\n", step.key, step.detail)
    };
    picture.steps.iter().zip(&before).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{chain, order};
    use super::*;

    #[test]
    fn every_step_and_branch_is_shown() {
        let text = text(&order()).unwrap();
        for word in [
            "check",
            "reserve? ×n",
            "route · one of 3",
            "high",
            "standard",
            "none",
            "rest · wait 10m",
            "confirm",
        ] {
            assert!(text.contains(word), "`{word}` is missing in\n{text}");
        }
    }

    #[test]
    fn a_large_one_is_listed() {
        let text = text(&chain(200)).unwrap();
        assert_eq!(text.lines().count(), 200);
        assert_eq!(text.lines().nth(12), Some("s12   work  ← s11"));
    }
}
