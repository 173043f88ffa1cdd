//! Whether the licence that a crate names can be met with those that are allowed.

/// An SPDX expression: words joined by `OR` (or `/`, as it was once written) and `AND`, in brackets, some `WITH` an exception. One that
/// is not understood is not met.
pub fn is_met(text: &str, allows: &dyn Fn(&str) -> bool) -> bool {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allows };
    let met = reader.any();
    met == Some(true) && reader.words.is_empty()
}

struct Reader<'a> {
    words: &'a [&'a str],
    allows: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }

    fn any(&mut self) -> Option<bool> {
        let mut met = self.all()?;
        while self.take("OR") {
            met |= self.all()?;
        }
        Some(met)
    }

    fn all(&mut self) -> Option<bool> {
        let mut met = self.one()?;
        while self.take("AND") {
            met &= self.one()?;
        }
        Some(met)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let met = self.any()?;
            return self.take(")").then_some(met);
        }
        let (word, rest) =
            self.words.split_first().filter(|(word, _)| !["OR", "AND", "WITH", ")"].contains(word))?;
        self.words = rest;
        if !self.take("WITH") {
            return Some((self.allows)(word));
        }
        let (exception, rest) = self.words.split_first()?;
        self.words = rest;
        Some((self.allows)(&format!("{word} WITH {exception}")))
    }
}

#[cfg(test)]
mod tests {
    use super::is_met;

    #[test]
    fn one_of_them_is_enough_and_all_of_them_are_needed() {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
        let met = |text: &str| is_met(text, &|word| allowed.contains(&word));
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/GPL-3.0",
            "GPL-3.0 / Apache-2.0",
            "MIT AND Apache-2.0",
            "(GPL-3.0 OR MIT) AND Apache-2.0",
            "GPL-3.0 OR MIT AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ] {
            assert!(met(good), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND GPL-3.0",
            "GPL-3.0 OR MIT AND ISC",
            "MIT WITH LLVM-exception",
            "MIT WITH",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "OR MIT",
        ] {
            assert!(!met(bad), "{bad}");
        }
    }
}
