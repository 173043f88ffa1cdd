//! Splits Rust text into code and comments, with what stands inside literals blanked out.
//!
//! Rules look for words in code or in comments. A word inside a string is neither, which also lets the rules
//! spell what they forbid.

/// One line: what the compiler reads, and what a person reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masked {
    pub code: String,
    pub comment: String,
}

enum Mode {
    Code,
    LineComment,
    /// Block comments nest.
    BlockComment(usize),
    Text,
    /// A raw text ends at a quote with as many hashes as it began with.
    RawText(usize),
}

pub fn mask(text: &str) -> Vec<Masked> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = vec![Masked::default()];
    let mut mode = Mode::Code;
    let mut at = 0;
    while at < chars.len() {
        if chars[at] == '\n' {
            lines.push(Masked::default());
            mode = if matches!(mode, Mode::LineComment) { Mode::Code } else { mode };
            at += 1;
            continue;
        }
        let line = lines.last_mut().expect("there is always a line");
        let (next, taken) = match mode {
            Mode::Code => read_code(&chars[at..], line),
            Mode::LineComment => read_comment(&chars[at..], 1, Mode::LineComment, line),
            Mode::BlockComment(depth) => read_block(&chars[at..], depth, line),
            Mode::Text => read_text(&chars[at..]),
            Mode::RawText(hashes) => read_raw(&chars[at..], hashes),
        };
        mode = next;
        at += taken;
    }
    lines
}

fn read_code(rest: &[char], line: &mut Masked) -> (Mode, usize) {
    let second = rest.get(1).copied().unwrap_or(' ');
    match rest[0] {
        '/' if second == '/' => read_comment(rest, 2, Mode::LineComment, line),
        '/' if second == '*' => read_comment(rest, 2, Mode::BlockComment(1), line),
        '"' => blank(Mode::Text, 1, line),
        'r' if raw_hashes(rest).is_some() => {
            let hashes = raw_hashes(rest).unwrap_or(0);
            blank(Mode::RawText(hashes), hashes + 2, line)
        }
        '\'' if second == '\\' => {
            let end = rest.iter().skip(3).position(|&c| c == '\'').map_or(rest.len(), |n| n + 4);
            blank(Mode::Code, end, line)
        }
        '\'' if rest.get(2) == Some(&'\'') => blank(Mode::Code, 3, line),
        other => {
            line.code.push(other);
            (Mode::Code, 1)
        }
    }
}

/// `r"`, `r#"` and so on; `r#name` is a name.
fn raw_hashes(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
    (rest.get(hashes + 1) == Some(&'"')).then_some(hashes)
}

fn blank(next: Mode, taken: usize, line: &mut Masked) -> (Mode, usize) {
    line.code.push(' ');
    (next, taken)
}

fn read_comment(rest: &[char], taken: usize, next: Mode, line: &mut Masked) -> (Mode, usize) {
    line.comment.extend(&rest[..taken]);
    (next, taken)
}

fn read_block(rest: &[char], depth: usize, line: &mut Masked) -> (Mode, usize) {
    match (rest[0], rest.get(1)) {
        ('*', Some('/')) if depth == 1 => read_comment(rest, 2, Mode::Code, line),
        ('*', Some('/')) => read_comment(rest, 2, Mode::BlockComment(depth - 1), line),
        ('/', Some('*')) => read_comment(rest, 2, Mode::BlockComment(depth + 1), line),
        _ => read_comment(rest, 1, Mode::BlockComment(depth), line),
    }
}

fn read_text(rest: &[char]) -> (Mode, usize) {
    match (rest[0], rest.get(1)) {
        ('"', _) => (Mode::Code, 1),
        // An escaped line end is left for the caller, who counts lines.
        ('\\', Some(&c)) if c != '\n' => (Mode::Text, 2),
        _ => (Mode::Text, 1),
    }
}

fn read_raw(rest: &[char], hashes: usize) -> (Mode, usize) {
    let ends = rest[0] == '"' && rest[1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
    if ends { (Mode::Code, hashes + 1) } else { (Mode::RawText(hashes), 1) }
}

#[cfg(test)]
mod tests {
    use super::mask;

    fn check(text: &str, code: &[&str], comments: &[&str]) {
        let lines = mask(text);
        let squeezed =
            |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ").trim().to_owned();
        assert_eq!(lines.iter().map(|line| squeezed(&line.code)).collect::<Vec<_>>(), code, "{text}");
        assert_eq!(lines.iter().map(|line| squeezed(&line.comment)).collect::<Vec<_>>(), comments, "{text}");
    }

    #[test]
    fn comments_leave_the_code() {
        check("let a = 1; // one", &["let a = 1;"], &["// one"]);
        check("a /* x /* y */ z */ b", &["a b"], &["/* x /* y */ z */"]);
        check("/* x\n y */ b", &["", "b"], &["/* x", "y */"]);
    }

    #[test]
    fn literals_are_blank() {
        check(r#"say("// no { \" }", b"x")"#, &["say( , b )"], &[""]);
        check("say(r##\"a \"# // b\"##, c)", &["say( , c)"], &[""]);
        check("say(\"a\n{ b\", c)", &["say(", ", c)"], &["", ""]);
        check("say(\"a \\\n{ b\", c)", &["say(", ", c)"], &["", ""]);
    }

    #[test]
    fn characters_are_blank_and_lifetimes_are_not() {
        check(
            r"match c { '{' | '\'' | '\u{1}' | '\\' => f::<'a>(r#type) }",
            &["match c { | | | => f::<'a>(r#type) }"],
            &[""],
        );
    }
}
