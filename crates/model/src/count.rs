//! How many of something, as people say it: one step, two steps.

use std::fmt;

/// Shown as `1 step` or `3 steps`.
pub struct Count<N>(pub N, pub &'static str);

impl<N: fmt::Display + PartialEq + From<u8>> fmt::Display for Count<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count(n, noun) = self;
        let ending = if *n == N::from(1) { "" } else { "s" };
        write!(f, "{n} {noun}{ending}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_none_are_many() {
        let told: Vec<String> = (0..3).map(|n| Count(n, "failed step").to_string()).collect();
        assert_eq!(told, ["0 failed steps", "1 failed step", "2 failed steps"]);
    }
}
