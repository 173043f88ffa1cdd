//! How far a workflow is: which steps are over, and which may go on because of that.
//!
//! Why    a graph of thousands of steps is not looked at again for each of them. Every step counts those before it that are not
//!        over yet; whoever ends counts down those behind it.

use super::graph::{Edge, Graph, Over};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a step is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passed {
    /// It was done, or there was nothing to do: those behind it go on.
    On,
    /// It chose these branches.
    Chose(Vec<Arc<str>>),
    /// It had nothing to choose; those behind its branches go on.
    Past,
    /// It is not on a way that was taken.
    Aside,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum Standing {
    #[default]
    Ahead,
    /// It is being done.
    Begun,
    Over(Passed),
}

#[derive(Clone, Debug, Default)]
struct Place {
    /// Steps before it that are not over.
    waits_for: u32,
    /// One of them leads here.
    reached: bool,
    standing: Standing,
}

#[derive(Clone, Debug, Default)]
pub struct Progress {
    places: Vec<Place>,
    /// Steps that are not over.
    left: u32,
    begun: u32,
}

/// A step whose turn has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Next {
    pub step: u32,
    /// Some way that was taken leads to it.
    pub reached: bool,
}

impl Progress {
    /// Nothing is done yet; the steps with which it begins.
    pub fn start(graph: &Graph) -> (Progress, Vec<Next>) {
        let place = |node: &super::graph::Node| Place {
            waits_for: node.before.len() as u32,
            reached: node.before.is_empty(),
            standing: Standing::Ahead,
        };
        let places: Vec<Place> = graph.nodes.iter().map(place).collect();
        let left = places.len() as u32;
        let progress = Progress { places, left, begun: 0 };
        let next = progress.roots().collect();
        (progress, next)
    }
    fn roots(&self) -> impl Iterator<Item = Next> {
        let roots = self.places.iter().enumerate().filter(|(_, place)| place.waits_for == 0);
        roots.map(|(n, _)| Next { step: n as u32, reached: true })
    }
    /// Everything is over.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }
    /// Steps that are being done.
    pub fn begun(&self) -> u32 {
        self.begun
    }
    pub fn is_begun(&self, step: u32) -> bool {
        self.places[step as usize].standing == Standing::Begun
    }
    pub fn is_ahead(&self, step: u32) -> bool {
        self.places[step as usize].standing == Standing::Ahead
    }
    /// Steps of which there is no trace yet.
    pub fn ahead(&self) -> impl Iterator<Item = u32> {
        (0..self.places.len() as u32).filter(|n| self.is_ahead(*n))
    }
    /// Steps that may begin and have not: what a pause held back.
    pub fn due(&self, graph: &Graph) -> Vec<Next> {
        let due = |(_, place): &(usize, &Place)| place.waits_for == 0 && place.standing == Standing::Ahead;
        let places = self.places.iter().enumerate().filter(due);
        places.map(|(n, _)| self.next(graph, n as u32)).collect()
    }
    pub fn begin(&mut self, step: u32) {
        let place = &mut self.places[step as usize];
        if place.standing == Standing::Ahead {
            place.standing = Standing::Begun;
            self.begun += 1;
        }
    }
    /// A step that is being done is not: it begins anew.
    pub fn put_back(&mut self, step: u32) {
        let place = &mut self.places[step as usize];
        if place.standing == Standing::Begun {
            place.standing = Standing::Ahead;
            self.begun -= 1;
        }
    }
    /// As if these steps had not been done; all others stay as they are.
    pub fn without(&self, graph: &Graph, gone: &BTreeSet<u32>) -> Progress {
        let (mut again, _) = Progress::start(graph);
        for (n, place) in self.places.iter().enumerate() {
            let n = n as u32;
            match &place.standing {
                _ if gone.contains(&n) => {}
                Standing::Ahead => {}
                Standing::Begun => again.begin(n),
                Standing::Over(passed) => drop(again.pass(graph, n, passed.clone())),
            }
        }
        again
    }
    /// A step is over: those whose turn has come. What is over stays so.
    pub fn pass(&mut self, graph: &Graph, step: u32, passed: Passed) -> Vec<Next> {
        let place = &mut self.places[step as usize];
        match place.standing {
            Standing::Over(_) => return Vec::new(),
            Standing::Begun => self.begun -= 1,
            Standing::Ahead => {}
        }
        place.standing = Standing::Over(passed);
        self.left -= 1;
        let mut next = Vec::new();
        for after in &graph.nodes[step as usize].after {
            let edges = graph.nodes[*after as usize].before.iter().filter(|edge| edge.from == step);
            let (mut n, mut leads) = (0, false);
            for edge in edges {
                n += 1;
                leads |= self.leads(graph, edge);
            }
            let place = &mut self.places[*after as usize];
            place.waits_for -= n;
            place.reached |= leads;
            if place.waits_for == 0 && place.standing == Standing::Ahead {
                next.push(self.next(graph, *after));
            }
        }
        next
    }
    /// A step on a branch is reached only if that was chosen, whatever else leads to it.
    fn next(&self, graph: &Graph, step: u32) -> Next {
        let chosen = |(at, key): &(u32, Arc<str>)| match &self.places[*at as usize].standing {
            Standing::Over(Passed::Chose(chosen)) => chosen.contains(key),
            _ => false,
        };
        let on_way = graph.nodes[step as usize].branch.as_ref().is_none_or(chosen);
        Next { step, reached: on_way && self.places[step as usize].reached }
    }
    fn leads(&self, graph: &Graph, edge: &Edge) -> bool {
        let Standing::Over(passed) = &self.places[edge.from as usize].standing else { return false };
        match (passed, &edge.over) {
            (Passed::Aside, _) => false,
            (_, Over::Always) => true,
            (Passed::Chose(chosen), Over::Branch(key)) => chosen.contains(key),
            (Passed::Chose(chosen), Over::Past) => chosen.iter().any(|key| !graph.has_steps(edge.from, key)),
            (Passed::On | Passed::Past, Over::Branch(_)) => false,
            (Passed::On | Passed::Past, Over::Past) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    fn keys(next: &[Next]) -> String {
        let word = |n: &Next| format!("{}{}", n.step, if n.reached { "" } else { "-" });
        next.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_step_waits_for_all_before_it() {
        let graph = graph("a\nb after a\nc after a\nd after b c");
        let (mut progress, next) = Progress::start(&graph);
        assert_eq!(keys(&next), "0");
        assert_eq!(keys(&progress.pass(&graph, 0, Passed::On)), "1 2");
        assert_eq!(keys(&progress.pass(&graph, 1, Passed::On)), "");
        assert_eq!(keys(&progress.pass(&graph, 1, Passed::On)), "", "what is over stays so");
        assert_eq!(keys(&progress.pass(&graph, 2, Passed::On)), "3");
        assert!(!progress.is_over());
        progress.pass(&graph, 3, Passed::On);
        assert!(progress.is_over());
    }

    #[test]
    fn what_is_on_no_chosen_branch_is_set_aside_and_the_rest_goes_on() {
        let graph = graph("r branch x=a y=b z= converge=c\na\nb\nc");
        let (mut progress, _) = Progress::start(&graph);
        assert_eq!(keys(&progress.pass(&graph, 0, Passed::Chose(vec!["y".into()]))), "1- 2");
        assert_eq!(keys(&progress.pass(&graph, 1, Passed::Aside)), "");
        assert_eq!(keys(&progress.pass(&graph, 2, Passed::On)), "3");
        let (mut progress, _) = Progress::start(&graph);
        assert_eq!(keys(&progress.pass(&graph, 0, Passed::Chose(vec!["z".into()]))), "1- 2-");
        progress.pass(&graph, 1, Passed::Aside);
        assert_eq!(
            keys(&progress.pass(&graph, 2, Passed::Aside)),
            "3",
            "an empty branch leads past the others"
        );
        let (mut progress, _) = Progress::start(&graph);
        assert_eq!(keys(&progress.pass(&graph, 0, Passed::Aside)), "1- 2-");
        progress.pass(&graph, 1, Passed::Aside);
        assert_eq!(keys(&progress.pass(&graph, 2, Passed::Aside)), "3-", "no way leads there");
    }

    #[test]
    fn a_step_on_a_branch_needs_that_branch_whatever_else_it_follows() {
        let graph = graph("a\nr branch x=b y=c\nb after a\nc");
        let (mut progress, _) = Progress::start(&graph);
        assert_eq!(keys(&progress.pass(&graph, 0, Passed::On)), "1");
        assert_eq!(keys(&progress.pass(&graph, 1, Passed::Chose(vec!["y".into()]))), "2- 3");
    }

    #[test]
    fn what_had_nothing_to_choose_leads_past_its_branches() {
        let graph = graph("r branch x=a y=b converge=c\na\nb\nc");
        let (mut progress, _) = Progress::start(&graph);
        assert_eq!(keys(&progress.pass(&graph, 0, Passed::Past)), "1- 2-");
        progress.pass(&graph, 1, Passed::Aside);
        assert_eq!(keys(&progress.pass(&graph, 2, Passed::Aside)), "3", "where they meet it goes on");
    }

    #[test]
    fn what_is_done_again_and_all_behind_it_is_ahead_and_the_rest_stays() {
        let graph = graph("a\nb after a\nc after a\nd after b c");
        let (mut progress, _) = Progress::start(&graph);
        progress.pass(&graph, 0, Passed::On);
        progress.pass(&graph, 1, Passed::On);
        progress.begin(2);
        progress.begin(2);
        assert_eq!((progress.begun(), progress.is_begun(2), progress.is_begun(3)), (1, true, false));
        let again = progress.without(&graph, &[1, 3].into());
        assert_eq!(keys(&again.due(&graph)), "1");
        assert_eq!(again.ahead().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(
            (again.begun(), again.is_begun(2), again.is_ahead(0)),
            (1, true, false),
            "beside it nothing changes"
        );
        let one = progress.without(&graph, &[1].into());
        assert_eq!(
            (keys(&one.due(&graph)), one.is_ahead(3)),
            ("1".into(), true),
            "what is ahead stays ahead"
        );
        let all = progress.without(&graph, &[0, 1, 2, 3].into());
        assert_eq!((keys(&all.due(&graph)), all.begun()), ("0".into(), 0));
        let mut chose = Progress::start(&graph).0;
        chose.begin(0);
        chose.put_back(0);
        chose.put_back(0);
        assert_eq!((chose.begun(), keys(&chose.due(&graph))), (0, "0".into()), "it begins anew");
        progress.pass(&graph, 2, Passed::On);
        assert_eq!((progress.begun(), keys(&progress.due(&graph))), (0, "3".into()));
    }
}
