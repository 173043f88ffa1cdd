//! What its children make of a parent: one total function, asked when no child can move any more.

use model::{Block, Success};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Some child can still move.
    Open,
    Completed,
    Cancelled,
    Failed,
}

pub fn verdict(block: &Block) -> Verdict {
    if !block.is_at_rest() || block.wants_resolvers {
        return Verdict::Open;
    }
    let failed = block.steps.failed_set() + block.resolvers.failed_set();
    let cancelled = block.steps.cancelled + block.resolvers.cancelled;
    let concluded = block.steps.concluded();
    let total = block.steps.counting();
    match block.success {
        Success::All if failed > 0 => Verdict::Failed,
        Success::All if cancelled > 0 => Verdict::Cancelled,
        Success::All => Verdict::Completed,
        // Spec rule 5 to the letter: only when every child failed.
        Success::BestEffort if total > 0 && block.steps.failed_set() == total => Verdict::Failed,
        Success::BestEffort if concluded == 0 && cancelled > 0 => Verdict::Cancelled,
        Success::BestEffort => Verdict::Completed,
        Success::Majority => enough(concluded, total / 2 + u32::from(total > 0), failed),
        Success::AtLeast(n) => enough(concluded, n, failed),
    }
}

fn enough(concluded: u32, needed: u32, failed: u32) -> Verdict {
    match concluded >= needed {
        true => Verdict::Completed,
        false if failed > 0 => Verdict::Failed,
        false => Verdict::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{BlockId, DispatchGroup, State};

    /// Every multiset of up to four children over all states has an answer, and the answer is as ruled.
    #[test]
    fn it_is_total() {
        let mut cases = 0;
        for n in 0..=4usize {
            let mut picks = vec![0usize; n];
            loop {
                let states: Vec<State> = picks.iter().map(|i| State::ALL[*i]).collect();
                check_one(&states);
                cases += 1;
                let Some(i) = (0..n).rev().find(|i| picks[*i] + 1 < State::ALL.len()) else { break };
                picks[i] += 1;
                let next = picks[i];
                picks[i..].fill(next);
            }
        }
        assert!(cases > 1_800, "{cases} multisets were looked at");
    }

    fn check_one(states: &[State]) {
        let mut block = Block::new(BlockId::of(1), DispatchGroup::new("alpha"));
        for state in states {
            *block.steps.of_mut(*state) += 1;
        }
        let any = |f: fn(&State) -> bool| states.iter().any(f);
        let expected = if any(|s| s.is_hot()) {
            Verdict::Open
        } else if any(|s| s.is_failed()) {
            Verdict::Failed
        } else if any(|s| *s == State::Cancelled) {
            Verdict::Cancelled
        } else {
            Verdict::Completed
        };
        assert_eq!(verdict(&block), expected, "{states:?}");
        for success in [Success::Majority, Success::BestEffort, Success::AtLeast(2)] {
            block.success = success;
            assert_eq!(
                verdict(&block) == Verdict::Open,
                expected == Verdict::Open,
                "{success} over {states:?}"
            );
        }
    }

    #[test]
    fn best_effort_fails_only_when_all_failed() {
        let mut block = Block::new(BlockId::of(1), DispatchGroup::new("alpha"));
        block.success = Success::BestEffort;
        block.steps.failed = 3;
        assert_eq!(verdict(&block), Verdict::Failed);
        block.steps.completed = 1;
        assert_eq!(verdict(&block), Verdict::Completed);
    }
}
