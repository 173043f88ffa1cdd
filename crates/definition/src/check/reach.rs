//! Which steps have certainly been reached when another one is.
//!
//! Why    a step may read what another answered only if that one is over, and was not passed by on a branch that was not taken.
//!        What was chosen on every way to a step is known when it runs; whatever follows from those choices has been reached.

use crate::limits::CHOICES_MAX;
use rules::workflow::graph::{Edge, Graph, Over};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A branch that was chosen: the step that chose, and the key.
type Choice = (u32, Arc<str>);

pub(super) struct Reach<'g> {
    graph: &'g Graph,
    /// Every step behind those it follows.
    order: Vec<u32>,
    /// For each step, which ones are before it.
    before: Vec<Steps>,
    /// For each step, the number of the set of choices that lead to it.
    choices: Vec<usize>,
    sets: Vec<BTreeSet<Choice>>,
    /// What is reached with such a set.
    reached: HashMap<usize, Steps>,
}

/// A set of steps, a bit for each: ten thousand of ten thousand fit into memory.
#[derive(Clone, Default)]
struct Steps(Vec<u64>);

impl Steps {
    fn none(of: usize) -> Steps {
        Steps(vec![0; of.div_ceil(64)])
    }
    fn add(&mut self, step: u32) {
        self.0[step as usize / 64] |= 1 << (step % 64);
    }
    fn add_all(&mut self, others: &Steps) {
        self.0.iter_mut().zip(&others.0).for_each(|(mine, theirs)| *mine |= theirs);
    }
    fn has(&self, step: u32) -> bool {
        self.0[step as usize / 64] & (1 << (step % 64)) != 0
    }
}

impl<'g> Reach<'g> {
    /// Or else a step behind so many branches that nobody can say what was chosen before it.
    pub fn of(graph: &'g Graph) -> Result<Reach<'g>, u32> {
        let order = order(graph);
        let before = before(graph, &order);
        let mut reach =
            Reach { graph, order, before, choices: Vec::new(), sets: Vec::new(), reached: HashMap::new() };
        reach.choose()?;
        Ok(reach)
    }

    /// It has ended whenever the other one begins.
    pub fn is_before(&self, step: u32, other: u32) -> bool {
        self.before[other as usize].has(step)
    }

    /// It was on the way whenever the other one is.
    pub fn is_certain(&mut self, step: u32, other: u32) -> bool {
        let set = self.choices[other as usize];
        if !self.reached.contains_key(&set) {
            let reached = self.follow(&self.sets[set]);
            self.reached.insert(set, reached);
        }
        self.reached[&set].has(step)
    }

    fn choose(&mut self) -> Result<(), u32> {
        let mut numbers: HashMap<BTreeSet<Choice>, usize> = HashMap::new();
        self.choices = vec![0; self.graph.nodes.len()];
        for n in &self.order {
            let node = &self.graph.nodes[*n as usize];
            let over = |edge: &Edge| {
                let mut set = self.sets[self.choices[edge.from as usize]].clone();
                if let Over::Branch(key) = &edge.over {
                    set.insert((edge.from, key.clone()));
                }
                set
            };
            let ways = node.before.iter().map(over);
            let mut set = ways.reduce(|a, b| a.intersection(&b).cloned().collect()).unwrap_or_default();
            if let Some((at, key)) = &node.branch {
                set.extend(self.sets[self.choices[*at as usize]].iter().cloned());
                set.insert((*at, key.clone()));
            }
            if set.len() > CHOICES_MAX {
                return Err(*n);
            }
            let next = self.sets.len();
            let number = *numbers.entry(set.clone()).or_insert(next);
            if number == next {
                self.sets.push(set);
            }
            self.choices[*n as usize] = number;
        }
        Ok(())
    }

    fn follow(&self, chosen: &BTreeSet<Choice>) -> Steps {
        let mut reached = Steps::none(self.graph.nodes.len());
        for n in &self.order {
            let node = &self.graph.nodes[*n as usize];
            let leads = |edge: &Edge| {
                reached.has(edge.from)
                    && match &edge.over {
                        // Whatever was chosen leads to where the branches meet.
                        Over::Always | Over::Past => true,
                        Over::Branch(key) => chosen.contains(&(edge.from, key.clone())),
                    }
            };
            let on_way = node.branch.as_ref().is_none_or(|choice| chosen.contains(choice));
            if on_way && (node.before.is_empty() || node.before.iter().any(leads)) {
                reached.add(*n);
            }
        }
        reached
    }
}

fn order(graph: &Graph) -> Vec<u32> {
    let mut left = vec![0usize; graph.nodes.len()];
    graph.nodes.iter().flat_map(|node| &node.after).for_each(|next| left[*next as usize] += 1);
    let mut order: Vec<u32> = (0..left.len() as u32).filter(|n| left[*n as usize] == 0).collect();
    let mut done = 0;
    while let Some(n) = order.get(done).copied() {
        done += 1;
        for next in &graph.nodes[n as usize].after {
            left[*next as usize] -= 1;
            if left[*next as usize] == 0 {
                order.push(*next);
            }
        }
    }
    order
}

fn before(graph: &Graph, order: &[u32]) -> Vec<Steps> {
    let mut before = vec![Steps::none(graph.nodes.len()); graph.nodes.len()];
    for n in order {
        let mut mine = std::mem::take(&mut before[*n as usize]);
        for edge in &graph.nodes[*n as usize].before {
            mine.add(edge.from);
            mine.add_all(&before[edge.from as usize]);
        }
        before[*n as usize] = mine;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Branch, Definition, Step};

    /// `a`, then `route` to `b, c` or `d` or nothing, and all meet at `e`; `f` follows `b` beside the branches.
    fn graph() -> Graph {
        let route = Branch::new("input.way").branch("x", ["b", "c"]).branch("y", ["d"]).branch("z", []);
        let step = |key: &str| Step::action(key, "do");
        let definition = Definition::of("test", "1.0.0")
            .step(step("a"))
            .step(Step::branch("route", route.converge("e")))
            .steps(["b", "c", "d", "e"].map(step))
            .step(step("f").after(["b"]));
        Graph::of(&definition.build().unwrap()).unwrap()
    }

    #[test]
    fn what_was_chosen_says_what_was_reached() {
        let graph = graph();
        let mut reach = Reach::of(&graph).unwrap();
        let [a, route, b, c, d, e, f] = [0, 1, 2, 3, 4, 5, 6];
        assert!(
            reach.is_before(a, e)
                && reach.is_before(b, e)
                && !reach.is_before(e, b)
                && !reach.is_before(d, c)
        );
        assert!(reach.is_certain(a, e) && reach.is_certain(route, e) && reach.is_certain(b, c));
        assert!(!reach.is_certain(b, e) && !reach.is_certain(d, e) && !reach.is_certain(d, c));
        assert!(reach.is_certain(b, f) && reach.is_certain(e, a) && !reach.is_certain(f, e));
    }
}
