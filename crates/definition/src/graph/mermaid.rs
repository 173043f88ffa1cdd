//! For documents: a flowchart in the language of Mermaid.

use super::Picture;
use model::Fault;
use model::definition::Definition;

/// A flowchart from left to right, with a class for each kind of step.
pub fn mermaid(definition: &Definition) -> Result<String, Vec<Fault>> {
    let picture = Picture::of(definition)?;
    let mut text = String::from("flowchart LR\n");
    for (n, step) in picture.steps.iter().enumerate() {
        let times = if step.fan_out { " ×n" } else { "" };
        let label = format!("\"{}{times}<br>{}\"", escape(&step.key), escape(&step.detail));
        let shape = match step.kind {
            "branch" => format!("{{{{{label}}}}}"),
            "wait" => format!("([{label}])"),
            "workflow" => format!("[[{label}]]"),
            _ => format!("[{label}]"),
        };
        text.push_str(&format!("  s{n}{shape}:::{}\n", step.kind));
    }
    for line in &picture.lines {
        let label = line.label.as_ref().map(|label| format!("|\"{}\"|", escape(label))).unwrap_or_default();
        text.push_str(&format!("  s{} -->{label} s{}\n", line.from, line.to));
    }
    Ok(text)
}

/// Everything that could end a label or begin something else.
fn escape(text: &str) -> String {
    let escaped = |c: char| match c {
        c if c.is_alphanumeric() || " .,-_×…:/'()+=!?".contains(c) => c.to_string(),
        c => format!("#{};", c as u32),
    };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::order;
    use super::*;

    #[test]
    fn it_is_a_flowchart() {
        assert_eq!(
            mermaid(&order()).unwrap(),
            "flowchart LR
  s0[\"check<br>orders.check\"]:::action
  s1[\"reserve ×n<br>inventory.reserve\"]:::action
  s2{{\"route<br>one of 3\"}}:::branch
  s3[\"express<br>shipping.express\"]:::action
  s4([\"rest<br>wait 10m\"]):::wait
  s5[[\"ship<br>workflow shipping\"]]:::workflow
  s6[\"confirm<br>mail.#60;send#62; #38; #34;forget#34;\"]:::action
  s0 --> s1
  s1 --> s2
  s2 -->|\"high\"| s3
  s2 -->|\"standard\"| s4
  s2 -->|\"none\"| s6
  s3 --> s6
  s4 --> s5
  s5 --> s6
"
        );
    }
}
