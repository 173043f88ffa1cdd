//! What was made of definitions, by their hashes: made once, and the last of it kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Definitions of which something is kept; those that are looked at are few.
const KEPT_MAX: usize = 200;

pub struct Kept<T> {
    /// The one that was asked for last stands last.
    made: Mutex<VecDeque<(Arc<str>, Arc<T>)>>,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { made: Mutex::new(VecDeque::new()) }
    }
}

impl<T> Kept<T> {
    pub fn find(&self, hash: &str) -> Option<Arc<T>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let at = made.iter().position(|(one, _)| **one == *hash)?;
        let found = made.remove(at)?;
        made.push_back(found.clone());
        Some(found.1)
    }

    /// What another made meanwhile is as good.
    pub fn keep(&self, hash: &str, one: T) -> Arc<T> {
        if let Some(found) = self.find(hash) {
            return found;
        }
        let one = Arc::new(one);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.push_back((hash.into(), one.clone()));
        if made.len() > KEPT_MAX {
            made.pop_front();
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept() {
        let kept = Kept::default();
        let first = kept.keep("0", 0);
        assert!(Arc::ptr_eq(&first, &kept.keep("0", 7)), "what is there stays");
        for n in 1..KEPT_MAX {
            kept.keep(&n.to_string(), n);
        }
        assert!(
            kept.find("0").is_some_and(|found| Arc::ptr_eq(&found, &first)),
            "it is asked for, and stays"
        );
        kept.keep("another", 1);
        assert_eq!((kept.find("0").as_deref(), kept.find("1")), (Some(&0), None));
    }
}
