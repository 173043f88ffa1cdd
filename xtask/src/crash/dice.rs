//! Choices that can be repeated: splitmix64 from a printed seed.

use std::hash::{BuildHasher, Hasher, RandomState};

pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Dice of their own for another task, so that the order of tasks changes no one's throws.
    pub fn fork(&mut self) -> Dice {
        Dice(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// One of several; there must be one.
    pub fn choose<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        assert!(!among.is_empty(), "there is nothing to choose from");
        &among[self.between(0, among.len() as u64 - 1) as usize]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.between(0, last as u64) as usize);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a run without a given seed draws one and prints it")]
pub fn fresh_seed() -> u64 {
    // Six digits are easier to type again than twenty.
    RandomState::new().build_hasher().finish() % 1_000_000
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn the_published_sequence_comes_out() {
        let mut dice = Dice::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(expected.map(|_| dice.next()), expected);
    }

    #[test]
    fn throws_stay_between_their_bounds() {
        let mut dice = Dice::new(1);
        let throws: Vec<u64> = (0..1000).map(|_| dice.between(3, 5)).collect();
        assert_eq!((throws.iter().min(), throws.iter().max()), (Some(&3), Some(&5)));
    }

    #[test]
    fn shuffling_loses_nothing() {
        let mut cards: Vec<u32> = (0..20).collect();
        Dice::new(3).shuffle(&mut cards);
        assert_ne!(cards, Vec::from_iter(0..20));
        cards.sort_unstable();
        assert_eq!(cards, Vec::from_iter(0..20));
    }
}
