//! A test waits for the thing, not for a while.

use super::Finding;
use super::source::Source;

const SLEEPS: [&str; 2] = ["thread::sleep", "time::sleep"];

pub fn find(source: &Source) -> Vec<Finding> {
    let asleep =
        source.lines.iter().filter(|line| line.in_test && SLEEPS.iter().any(|word| line.code.contains(word)));
    asleep
        .map(|line| source.finding(line.number, "a test sleeps; wait for what it expects instead"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::tidy::source::Source;
    use crate::tidy::told;

    #[test]
    fn a_sleep_in_a_test_is_told() {
        let text = "fn a() { std::thread::sleep(b) }\n#[cfg(test)]\nmod tests {\n    tokio::time::sleep(b).await;\n}\n";
        let message = "a test sleeps; wait for what it expects instead";
        let inside = told(&find(&Source::new("crates/engine/src/a.rs", text)));
        assert_eq!(inside, [format!("4: {message}")]);
        let beside = told(&find(&Source::new("crates/engine/tests/a.rs", text)));
        assert_eq!(beside, [format!("1: {message}"), format!("4: {message}")]);
    }
}
