//! Changes a text at random, the way typing errors, cut files and malice do.

/// splitmix64: the same seed, the same choices.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0, and less than `most`; 0 if that is 0.
    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    pub fn choose<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}

/// Longer inputs take long and find the same.
pub const BYTES_MAX: usize = 16 << 10;
const CHANGES_MAX: usize = 6;
const PART_MAX: usize = 60;

/// What means something to one of the readers.
const WORDS: [&str; 70] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "'''",
    "\\",
    "\\u",
    ".",
    "?",
    ":",
    ",",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "==",
    "<",
    " in ",
    "${",
    "$${",
    "$",
    "&a ",
    "*a",
    "!!str ",
    "<<: ",
    "- ",
    "|\n",
    ">\n",
    "#",
    "---\n",
    "\n",
    "\r\n",
    "\t",
    "  ",
    "\u{0}",
    "\u{feff}",
    "ü",
    "😀",
    "null",
    "true",
    "~",
    "0",
    "-1",
    "1e309",
    "9223372036854775807",
    "-9223372036854775808",
    "1u",
    "0x7f",
    "r'",
    "b\"",
    "`",
    "//",
    "has(input.n)",
    "outputs",
    "input",
    "item",
    ".map(x, x)",
    ".filter(x, true)",
    ".matches('(a+)+')",
    "size(",
    "each: ",
    "after: []",
];

/// One of the corpus with a few changes; parts of the others get into it.
pub fn input(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = dice.choose(corpus).clone();
    for _ in 0..=dice.below(CHANGES_MAX) {
        change(dice, &mut bytes, corpus);
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn change(dice: &mut Dice, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let from = dice.below(bytes.len() + 1);
    let to = (from + dice.below(PART_MAX)).min(bytes.len());
    let replacement = match dice.below(8) {
        0 => Vec::new(),
        1 => [&bytes[from..to], &bytes[from..to]].concat(),
        2 => vec![dice.below(256) as u8],
        3 => dice.choose(&WORDS).repeat(1 << dice.below(8)).into_bytes(),
        4 | 5 => {
            bytes.splice(from..from, dice.choose(&WORDS).bytes());
            return;
        }
        6 => {
            let other = dice.choose(corpus);
            part(dice, other).to_vec()
        }
        _ => {
            let other = part(dice, bytes).to_vec();
            bytes.splice(from..from, other);
            return;
        }
    };
    bytes.splice(from..to, replacement);
}

fn part<'a>(dice: &mut Dice, of: &'a [u8]) -> &'a [u8] {
    let from = dice.below(of.len() + 1);
    &of[from..(from + dice.below(PART_MAX)).min(of.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(seed: u64) -> Vec<Vec<u8>> {
        let (mut dice, corpus) = (Dice::new(seed), [b"workflow: a".to_vec(), Vec::new(), b"1 + 2".to_vec()]);
        (0..500).map(|_| input(&mut dice, &corpus)).collect()
    }

    #[test]
    fn a_seed_repeats_its_inputs() {
        assert_eq!(some(7), some(7));
        assert_ne!(some(7), some(8));
    }

    #[test]
    fn inputs_differ_and_have_an_end() {
        let some = some(3);
        assert!(some.iter().all(|bytes| bytes.len() <= BYTES_MAX));
        let distinct: std::collections::BTreeSet<&Vec<u8>> = some.iter().collect();
        assert!(distinct.len() > 300, "only {} of 500 differ", distinct.len());
    }
}
