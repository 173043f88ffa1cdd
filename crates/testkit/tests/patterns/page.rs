//! Reads the page of the patterns: for each its name, what is said of it, and its definitions.

pub const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/patterns.md"));

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Expressible,
    InPart,
    NotExpressible,
}

impl Verdict {
    const ALL: [(Verdict, &str); 3] = [
        (Verdict::Expressible, "\n**Expressible.** "),
        (Verdict::InPart, "\n**In part.** "),
        (Verdict::NotExpressible, "\n**Not expressible.** "),
    ];
}

pub struct Pattern {
    pub number: u32,
    pub name: &'static str,
    pub verdict: Verdict,
    /// All that stands under its heading.
    pub text: &'static str,
    /// The first is the one to start.
    pub definitions: Vec<&'static str>,
}

pub fn patterns() -> Vec<Pattern> {
    PAGE.split("\n### WCP-").skip(1).map(read).collect()
}

pub fn pattern(number: u32) -> Pattern {
    let found = patterns().into_iter().find(|pattern| pattern.number == number);
    found.unwrap_or_else(|| panic!("WCP-{number} is not on the page"))
}

fn read(section: &'static str) -> Pattern {
    let (heading, text) = section.split_once('\n').expect("a text below each heading");
    let (number, name) = heading.split_once(' ').expect("a number and a name in each heading");
    let said: Vec<Verdict> =
        Verdict::ALL.iter().filter(|(_, words)| text.contains(words)).map(|(verdict, _)| *verdict).collect();
    let [verdict] = said[..] else { panic!("WCP-{heading}: one verdict, and not {said:?}") };
    let number = number.parse().unwrap_or_else(|problem| panic!("WCP-{heading}: {problem}"));
    Pattern { number, name, verdict, text, definitions: definitions(text) }
}

fn definitions(text: &'static str) -> Vec<&'static str> {
    let end = |block: &'static str| block.split_once("```").expect("each block has an end").0;
    text.split("```yaml\n").skip(1).map(end).collect()
}
