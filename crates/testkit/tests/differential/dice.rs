//! Choices that can be repeated: splitmix64 from a printed seed.

pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// A number below `n`; 0 when there is none.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }
    /// True so many times in a thousand.
    pub fn often(&mut self, in_thousand: usize) -> bool {
        self.below(1_000) < in_thousand
    }
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
    /// Something, so many times in a thousand.
    pub fn maybe<T>(&mut self, in_thousand: usize, make: impl FnOnce(&mut Dice) -> T) -> Option<T> {
        self.often(in_thousand).then(|| make(self))
    }
    /// One of these, each as often as its weight says.
    pub fn weighted<'a, T>(&mut self, of: &'a [(usize, T)]) -> &'a T {
        let mut at = self.below(of.iter().map(|(weight, _)| weight).sum());
        for (weight, one) in of {
            if at < *weight {
                return one;
            }
            at -= weight;
        }
        unreachable!("the throw is below the sum of the weights")
    }
}
