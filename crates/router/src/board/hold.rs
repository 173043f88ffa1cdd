//! Keeps the order of a message group while messages of it are deferred: who was put back first goes first.
//!
//! Why    a deferred message is with the broker, and one that came later would overtake it. The wait is bounded: another
//!        router may have got the message, and then it never comes back here.

use crate::delays::clamp;
use std::collections::VecDeque;
use std::time::Duration;

/// How long others wait for a message that is deferred for longer.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How long they wait for one that should be back, or should follow the one that is.
const LATE_MAX: Duration = Duration::from_secs(10);
const ORDER_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub struct Hold {
    /// The ids that were put back, in the order in which they first came.
    order: VecDeque<String>,
    due_at: Duration,
    ends_at: Duration,
}

impl Hold {
    /// These go before all that were put back so far.
    pub fn put_back(&mut self, ids: &[&str], delay: Duration, now: Duration) {
        if self.is_over(now) {
            self.order.clear();
        }
        self.order.retain(|known| !ids.contains(&known.as_str()));
        for id in ids.iter().rev() {
            self.order.push_front(id.to_string());
        }
        self.order.truncate(ORDER_MAX);
        self.due_at = now + delay.min(WAIT_MAX);
        self.ends_at = self.ends_at.max(self.due_at + LATE_MAX);
    }

    /// One of the group has come; how long it has to wait for those before it.
    pub fn arrive(&mut self, id: &str, now: Duration) -> Option<Duration> {
        if self.is_over(now) || self.order.front().is_some_and(|first| first == id) {
            return None;
        }
        if !self.order.iter().any(|known| known == id) && self.order.len() < ORDER_MAX {
            self.order.push_back(id.into());
        }
        Some(clamp(self.due_at.saturating_sub(now)))
    }

    /// The first one has a place in the line; the next is waited for as long.
    pub fn pass(&mut self, id: &str, now: Duration) {
        if self.order.front().is_some_and(|first| first == id) {
            self.order.pop_front();
            self.ends_at = self.ends_at.max(now + LATE_MAX);
        }
    }

    pub fn is_over(&self, now: Duration) -> bool {
        self.order.is_empty() || now >= self.ends_at
    }
}

#[cfg(test)]
mod tests {
    use super::Hold;
    use std::time::Duration;

    /// `5 put a b 30` puts a and b back at 5 s for 30 s; `5 a` lets a come at 5 s, and tells how long it has to wait.
    fn play(script: &str) -> String {
        let (mut hold, mut told) = (Hold::default(), Vec::new());
        for line in script.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let now = Duration::from_secs(words[0].parse().unwrap());
            if let ["put", ids @ .., delay] = &words[1..] {
                hold.put_back(ids, Duration::from_secs(delay.parse().unwrap()), now);
                continue;
            }
            match hold.arrive(words[1], now) {
                Some(delay) => told.push(format!("{} {}", words[1], delay.as_secs())),
                None => {
                    hold.pass(words[1], now);
                    told.push(format!("{} goes", words[1]));
                }
            }
        }
        told.join(", ")
    }

    #[test]
    fn who_was_put_back_first_goes_first() {
        assert_eq!(play("0 a"), "a goes");
        assert_eq!(play("0 put a 30\n1 b\n30 a\n30 b"), "b 29, a goes, b goes");
        assert_eq!(play("0 put a b 5\n5 b\n5 a\n6 c\n6 b\n7 c"), "b 1, a goes, c 1, b goes, c goes");
        assert_eq!(play("0 put b c 5\n1 put a 5\n6 b\n6 a\n7 b\n7 c"), "b 1, a goes, b goes, c goes");
    }

    #[test]
    fn nobody_is_waited_for_for_ever() {
        assert_eq!(play("0 put a 5\n14 b\n15 b"), "b 1, b goes");
        assert_eq!(play("0 put a b 5\n14 a\n23 c\n24 c"), "a goes, c 1, c goes");
        assert_eq!(play("0 put a 43200\n1 b\n60 b\n70 b"), "b 59, b 1, b goes");
    }
}
