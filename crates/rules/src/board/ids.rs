//! Maps keyed by ids, which need no hashing: the last bytes of a UUIDv7 are random.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Takes the last eight bytes of a key as its hash.
#[derive(Default, Clone, Copy)]
pub struct LastBytes(u64);

impl Hasher for LastBytes {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk::<8>() {
            // The very last bytes vary most, and a map looks at the lowest and the highest bits of a hash.
            self.0 = u64::from_be_bytes(*last).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
    fn write_usize(&mut self, _: usize) {}
}

pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<LastBytes>>;
