//! Pages of the documentation as they are served: the few signs of Markdown that they use.
//!
//! Why    the pages are our own, so what they do not use need not be understood; everything is escaped.

use maud::{Markup, html};

pub fn render(text: &str) -> Markup {
    html! { @for block in blocks(text) { (shown(&block)) } }
}

#[derive(Debug, PartialEq)]
enum Block {
    Heading(usize, String),
    Paragraph(String),
    List(Vec<String>),
    Code(String),
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let code: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            blocks.push(Block::Code(code.join("\n")));
        } else if let Some(heading) = line.strip_prefix('#') {
            let level = 1 + heading.chars().take_while(|sign| *sign == '#').count();
            blocks.push(Block::Heading(level, heading.trim_start_matches('#').trim().into()));
        } else if let Some(item) = line.strip_prefix("- ") {
            match blocks.last_mut() {
                Some(Block::List(items)) => items.push(item.into()),
                _ => blocks.push(Block::List(vec![item.into()])),
            }
        } else if !line.trim().is_empty() {
            let mut paragraph = line.trim().to_string();
            let goes_on = |line: &&str| !line.trim().is_empty() && !line.starts_with(['#', '`', '-']);
            while let Some(more) = lines.next_if(goes_on) {
                paragraph = paragraph + " " + more.trim();
            }
            blocks.push(Block::Paragraph(paragraph));
        }
    }
    blocks
}

fn shown(block: &Block) -> Markup {
    match block {
        Block::Heading(1, text) => html! { h1 { (inline(text)) } },
        Block::Heading(_, text) => html! { h2 { (inline(text)) } },
        Block::Paragraph(text) => html! { p { (inline(text)) } },
        Block::List(items) => html! { ul { @for item in items { li { (inline(item)) } } } },
        Block::Code(text) => html! { pre { (text) } },
    }
}

/// Code between backticks; one that has no other is a sign like any.
pub fn inline(text: &str) -> Markup {
    if text.matches('`').count() % 2 == 1 {
        return html! { (text) };
    }
    let parts = text.split('`').enumerate();
    html! { @for (n, part) in parts { @if n % 2 == 1 { code { (part) } } @else { (part) } } }
}

#[cfg(test)]
mod tests {
    use super::{inline, render};

    #[test]
    fn a_page_is_shown_as_it_is_written() {
        let text =
            "# late\n\nOne `line`\nand <more>.\n\n## Example\n\n```json\n{\n  1}\n```\n\n- a\n- b `c`\n";
        assert_eq!(
            render(text).into_string(),
            "<h1>late</h1><p>One <code>line</code> and &lt;more&gt;.</p><h2>Example</h2><pre>{\n  1}</pre>\
             <ul><li>a</li><li>b <code>c</code></li></ul>"
        );
    }

    #[test]
    fn a_backtick_alone_is_no_code() {
        assert_eq!(inline("say `ok` <b>").into_string(), "say <code>ok</code> &lt;b&gt;");
        assert_eq!(inline("it`s late").into_string(), "it`s late");
    }

    #[test]
    fn the_pages_of_errors_use_nothing_else() {
        for code in crate::codes::ALL {
            let shown = render(code.page).into_string();
            for sign in ["](", "**", "```", "<p>|", "<p>#"] {
                assert!(!shown.contains(sign), "{}: `{sign}` is not understood", code.word);
            }
            assert_eq!(shown.matches("<h2>").count(), 2, "{}", code.word);
        }
    }
}
