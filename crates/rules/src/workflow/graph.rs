//! The order of a definition's steps: who follows whom, and over which branch.
//!
//! Why    steps are written as a list, as a graph or as branches, and the rules that run them should see one thing. An edge that
//!        belongs to a branch is passed only if that branch was chosen; everything else follows from that.

use model::Fault;
use model::definition::{Branch, Definition, Work};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// When a step that is over lets the next one go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Over {
    /// Whenever it was done, or there was nothing to do.
    Always,
    /// If this branch was chosen.
    Branch(Arc<str>),
    /// If there was nothing to choose, or what was chosen has no steps.
    Past,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: u32,
    pub over: Over,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Node {
    pub before: Vec<Edge>,
    pub after: Vec<u32>,
    /// The branch it stands on, by the innermost branch step.
    pub branch: Option<(u32, Arc<str>)>,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Graph {
    pub nodes: Vec<Node>,
}

struct Builder<'a> {
    definition: &'a Definition,
    by_key: HashMap<&'a str, u32>,
    graph: Graph,
    faults: Vec<Fault>,
}

impl Graph {
    pub fn of(definition: &Definition) -> Result<Graph, Vec<Fault>> {
        let mut builder = Builder {
            definition,
            by_key: HashMap::new(),
            graph: Graph { nodes: vec![Node::default(); definition.steps.len()] },
            faults: Vec::new(),
        };
        builder.name();
        builder.place_on_branches();
        builder.follow();
        builder.converge();
        if builder.faults.is_empty() {
            builder.look_for_cycles();
        }
        if !builder.faults.is_empty() {
            return Err(builder.faults);
        }
        let mut graph = builder.graph;
        for n in 0..graph.nodes.len() {
            for edge in graph.nodes[n].before.clone() {
                let after = &mut graph.nodes[edge.from as usize].after;
                if !after.contains(&(n as u32)) {
                    after.push(n as u32);
                }
            }
        }
        Ok(graph)
    }

    /// A branch that leads to steps of its own.
    pub fn has_steps(&self, at: u32, key: &str) -> bool {
        let on =
            |n: &u32| self.nodes[*n as usize].branch.as_ref().is_some_and(|(b, k)| *b == at && &**k == key);
        self.nodes[at as usize].after.iter().any(on)
    }

    /// All steps that come after one, on whatever way.
    pub fn behind(&self, n: u32) -> BTreeSet<u32> {
        let (mut behind, mut open) = (BTreeSet::new(), vec![n]);
        while let Some(at) = open.pop() {
            for next in &self.nodes[at as usize].after {
                if behind.insert(*next) {
                    open.push(*next);
                }
            }
        }
        behind
    }

    /// A new step between one and all that follow it.
    pub fn insert_behind(&mut self, n: u32) {
        let new = self.nodes.len() as u32;
        let after = std::mem::replace(&mut self.nodes[n as usize].after, vec![new]);
        for next in &after {
            let edges = self.nodes[*next as usize].before.iter_mut();
            edges.filter(|edge| edge.from == n).for_each(|edge| edge.from = new);
        }
        let before = vec![Edge { from: n, over: Over::Always }];
        self.nodes.push(Node { before, after, branch: None });
    }

    /// Steps that nobody follows.
    pub fn last(&self) -> impl Iterator<Item = u32> {
        (0..self.nodes.len() as u32).filter(|n| self.nodes[*n as usize].after.is_empty())
    }
}

impl<'a> Builder<'a> {
    fn fault(&mut self, field: String, problem: impl Into<String>, fix: impl Into<String>) {
        self.faults.push(Fault { field, problem: problem.into(), fix: fix.into() });
    }

    fn branches(&self) -> impl Iterator<Item = (usize, &'a Branch)> {
        let steps = self.definition.steps.iter().enumerate();
        steps.filter_map(|(n, step)| match &step.work {
            Work::Branch(branch) => Some((n, branch)),
            _ => None,
        })
    }

    fn name(&mut self) {
        for (n, step) in self.definition.steps.iter().enumerate() {
            if let Some(first) = self.by_key.insert(&step.key, n as u32) {
                let problem = format!("`{}` is the key of step {} already", step.key, first + 1);
                self.fault(format!("steps[{n}].key"), problem, "give each step its own key");
            }
        }
    }

    fn find(&mut self, key: &str, field: String) -> Option<u32> {
        let found = self.by_key.get(key).copied();
        if found.is_none() {
            self.fault(field, format!("there is no step `{key}`"), "name a step of this definition");
        }
        found
    }

    fn place_on_branches(&mut self) {
        for (n, branch) in self.branches().collect::<Vec<_>>() {
            for (key, steps) in &branch.branches {
                for (i, step) in steps.iter().enumerate() {
                    let field = format!("steps[{n}].branch.branches.{key}[{i}]");
                    let Some(at) = self.find(step, field.clone()) else { continue };
                    if at as usize == n {
                        self.fault(field, "a branch cannot hold the step that chooses it", "remove it");
                        continue;
                    }
                    if let Some((other, _)) = &self.graph.nodes[at as usize].branch {
                        let other = &self.definition.steps[*other as usize].key;
                        let problem = format!("`{step}` is on a branch of `{other}` already");
                        self.fault(field, problem, "name each step on one branch only");
                        continue;
                    }
                    self.graph.nodes[at as usize].branch = Some((n as u32, key.as_str().into()));
                }
            }
            if let Some(key) = &branch.otherwise
                && !branch.branches.contains_key(key)
            {
                let field = format!("steps[{n}].branch.otherwise");
                self.fault(field, format!("there is no branch `{key}`"), "name one of `branches`");
            }
        }
    }

    /// Edges of every step, but those into the steps at which branches meet.
    fn follow(&mut self) {
        let meets: HashMap<&str, u32> =
            self.branches().filter_map(|(n, branch)| Some((branch.converge.as_deref()?, n as u32))).collect();
        let mut above: Option<u32> = None;
        for (n, step) in self.definition.steps.iter().enumerate() {
            let branch = self.graph.nodes[n].branch.clone();
            let met = meets.contains_key(step.key.as_str());
            match (&step.after, &branch) {
                (Some(after), _) => {
                    for (i, key) in after.iter().enumerate() {
                        if let Some(from) = self.find(key, format!("steps[{n}].after[{i}]")) {
                            let edge = self.edge(from, n as u32);
                            self.graph.nodes[n].before.push(edge);
                        }
                    }
                    self.bind_to_branch(n);
                }
                (None, Some((at, key))) => self.follow_on_branch(n as u32, *at, key),
                (None, None) if met => {}
                (None, None) => {
                    if let Some(from) = above {
                        self.follow_by_order(n, from);
                    }
                }
            }
            if branch.is_none() {
                above = Some(n as u32);
            }
        }
    }

    fn follow_by_order(&mut self, n: usize, from: u32) {
        if let Work::Branch(branch) = &self.definition.steps[from as usize].work {
            let key = &self.definition.steps[from as usize].key;
            let (problem, fix) = match &branch.converge {
                Some(meets) => (
                    format!("it follows the branches of `{key}`, which meet at `{meets}`"),
                    format!("write it behind `{meets}`, or name what it follows with `after`"),
                ),
                None => (
                    format!("it follows the branches of `{key}`, which do not meet"),
                    format!("write `converge: {}` in `{key}`, or name what it follows with `after`", {
                        &self.definition.steps[n].key
                    }),
                ),
            };
            return self.fault(format!("steps[{n}].key"), problem, fix);
        }
        self.graph.nodes[n].before.push(Edge { from, over: Over::Always });
    }

    /// The step before it on its branch, or the one that chooses the branch.
    fn follow_on_branch(&mut self, n: u32, at: u32, key: &Arc<str>) {
        let Work::Branch(branch) = &self.definition.steps[at as usize].work else { return };
        let steps = &branch.branches[&**key];
        let mine = &self.definition.steps[n as usize].key;
        let i = steps.iter().position(|step| step == mine).unwrap_or_default();
        let before = i.checked_sub(1).and_then(|i| self.by_key.get(steps[i].as_str()).copied());
        let edge = match before {
            None => Edge { from: at, over: Over::Branch(key.clone()) },
            Some(from) => match &self.definition.steps[from as usize].work {
                // The inner branches meet here, or the chain would not go on.
                Work::Branch(inner) if inner.converge.as_deref() == Some(mine) => return,
                Work::Branch(_) => {
                    let inner = &self.definition.steps[from as usize].key;
                    let problem = format!("it follows the branches of `{inner}`, which do not meet here");
                    return self.fault(
                        format!("steps[{n}].key"),
                        problem,
                        format!("write `converge: {mine}` in `{inner}`"),
                    );
                }
                _ => Edge { from, over: Over::Always },
            },
        };
        self.graph.nodes[n as usize].before.push(edge);
    }

    /// Whoever stands on a branch waits until it is chosen, also where it names only others.
    fn bind_to_branch(&mut self, n: usize) {
        let Some((at, key)) = self.graph.nodes[n].branch.clone() else { return };
        let of = |edge: &Edge| {
            edge.from == at
                || self.graph.nodes[edge.from as usize].branch.as_ref() == Some(&(at, key.clone()))
        };
        if !self.graph.nodes[n].before.iter().any(of) {
            self.graph.nodes[n].before.push(Edge { from: at, over: Over::Branch(key) });
        }
    }

    /// An edge that `after` names; from the step that chooses a branch into it, it is the branch's.
    fn edge(&self, from: u32, to: u32) -> Edge {
        match &self.graph.nodes[to as usize].branch {
            Some((at, key)) if *at == from => Edge { from, over: Over::Branch(key.clone()) },
            _ => Edge { from, over: Over::Always },
        }
    }

    /// The ends of all branches lead to the step at which they meet.
    fn converge(&mut self) {
        let inner: BTreeMap<u32, &Branch> = self.branches().map(|(at, branch)| (at as u32, branch)).collect();
        for (n, branch) in self.branches().collect::<Vec<_>>() {
            let Some(key) = &branch.converge else { continue };
            let field = format!("steps[{n}].branch.converge");
            let Some(to) = self.find(key, field.clone()) else { continue };
            let on = |node: &Node| node.branch.as_ref().map(|(at, _)| *at);
            if on(&self.graph.nodes[to as usize]) == Some(n as u32) {
                let problem = format!("`{key}` is on one of the branches itself");
                self.fault(field, problem, "take it from `branches`, or let the branches meet elsewhere");
                continue;
            }
            let mut edges = vec![Edge { from: n as u32, over: Over::Past }];
            let followed: Vec<u32> = self
                .graph
                .nodes
                .iter()
                .filter(|node| on(node) == Some(n as u32))
                .flat_map(|node| node.before.iter().map(|edge| edge.from))
                .collect();
            for (at, _) in self.graph.nodes.iter().enumerate().filter(|(_, node)| on(node) == Some(n as u32))
            {
                let at = at as u32;
                let meets_inside = inner.get(&at).is_some_and(|branch| branch.converge.is_some());
                if !followed.contains(&at) && !meets_inside {
                    edges.push(Edge { from: at, over: Over::Always });
                }
            }
            self.graph.nodes[to as usize].before.extend(edges);
        }
    }

    /// Those that no order can be found for, as one round.
    fn look_for_cycles(&mut self) {
        let nodes = &self.graph.nodes;
        let mut left: Vec<usize> = nodes.iter().map(|node| node.before.len()).collect();
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (n, node) in nodes.iter().enumerate() {
            node.before.iter().for_each(|edge| after[edge.from as usize].push(n));
        }
        let mut free: Vec<usize> = (0..nodes.len()).filter(|n| left[*n] == 0).collect();
        while let Some(n) = free.pop() {
            for next in &after[n] {
                left[*next] -= 1;
                if left[*next] == 0 {
                    free.push(*next);
                }
            }
        }
        let Some(start) = (0..nodes.len()).find(|n| left[*n] > 0) else { return };
        // Whoever waits for ever waits for somebody who does too.
        let (mut seen, mut at) = (Vec::new(), start);
        while !seen.contains(&at) {
            seen.push(at);
            let waits = nodes[at].before.iter().map(|edge| edge.from as usize);
            at = waits.into_iter().find(|from| left[*from] > 0).unwrap_or(at);
        }
        let round = &seen[seen.iter().position(|n| *n == at).unwrap_or_default()..];
        let keys = |n: &usize| self.definition.steps[*n].key.clone();
        let mut names: Vec<String> = round.iter().rev().map(keys).collect();
        names.extend(names.first().cloned());
        let problem = format!("its steps wait for each other: {}", names.join(" → "));
        self.fault(format!("steps[{}].key", round[0]), problem, "take one of these edges away");
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::definition::StepDef;

    /// `a`, `b after a c`, `r branch x=a,b y=c z= converge d`.
    fn definition(text: &str) -> Definition {
        let words =
            |t: &str| -> Vec<String> { t.split(',').filter(|w| !w.is_empty()).map(Into::into).collect() };
        let step = |line: &str| {
            let mut parts = line.split_whitespace();
            let mut def = StepDef { key: parts.next().expect("a key").into(), ..StepDef::default() };
            match parts.next() {
                Some("after") => def.after = Some(parts.map(Into::into).collect()),
                Some("branch") => {
                    let (mut branches, mut converge, mut otherwise) = (BTreeMap::new(), None, None);
                    for part in parts {
                        match part.split_once('=') {
                            Some(("converge", key)) => converge = Some(key.into()),
                            Some(("otherwise", key)) => otherwise = Some(key.into()),
                            Some((key, steps)) => drop(branches.insert(key.to_string(), words(steps))),
                            None => panic!("`{part}` is not a branch"),
                        }
                    }
                    let (kind, choose) = (Default::default(), "input.x".into());
                    def.work = Work::Branch(Branch { kind, choose, branches, otherwise, converge });
                }
                _ => {}
            }
            def
        };
        Definition {
            steps: text.lines().map(str::trim).filter(|l| !l.is_empty()).map(step).collect(),
            ..Definition::default()
        }
    }

    pub fn graph(text: &str) -> Graph {
        Graph::of(&definition(text)).expect("a sound graph")
    }

    fn show(text: &str) -> String {
        let definition = definition(text);
        let key = |n: u32| definition.steps[n as usize].key.clone();
        match Graph::of(&definition) {
            Err(faults) => faults.iter().map(|f| format!("{f}\n")).collect(),
            Ok(graph) => graph
                .nodes
                .iter()
                .enumerate()
                .map(|(n, node)| {
                    let edges = node.before.iter().map(|e| match &e.over {
                        Over::Always => key(e.from),
                        Over::Branch(b) => format!("{}/{b}", key(e.from)),
                        Over::Past => format!("{}/-", key(e.from)),
                    });
                    format!("{} <- {}\n", key(n as u32), edges.collect::<Vec<_>>().join(" "))
                })
                .collect(),
        }
    }

    #[test]
    fn steps_follow_each_other_unless_they_say_otherwise() {
        assert_eq!(show("a\nb\nc after a\nd after\ne"), "a <- \nb <- a\nc <- a\nd <- \ne <- d\n");
    }

    #[test]
    fn branches_part_and_meet() {
        let text = "a\nr branch x=b,c y=d z= converge=e\nb\nc\nd\ne\nf";
        assert_eq!(show(text), "a <- \nr <- a\nb <- r/x\nc <- b\nd <- r/y\ne <- r/- c d\nf <- e\n");
    }

    #[test]
    fn branches_may_hold_branches() {
        let text = "r branch x=s,m y=n converge=e\ns branch p=t q=u converge=m\nt\nu\nm\nn\ne";
        assert_eq!(show(text), "r <- \ns <- r/x\nt <- s/p\nu <- s/q\nm <- s/- t u\nn <- r/y\ne <- r/- m n\n");
    }

    #[test]
    fn what_is_wrong_is_told() {
        assert_eq!(
            show("a after b"),
            "steps[0].after[0]: there is no step `b`; name a step of this definition\n"
        );
        assert_eq!(
            show("a after c\nb after a\nc after b"),
            "steps[0].key: its steps wait for each other: b → c → a → b; take one of these edges away\n"
        );
        assert_eq!(
            show("r branch x=a\na\nb"),
            "steps[2].key: it follows the branches of `r`, which do not meet; write `converge: b` in `r`, or name what it follows with `after`\n"
        );
    }

    #[test]
    fn what_stands_on_a_branch_waits_until_it_is_chosen() {
        let told = show("r branch x=a,b converge=e\na\nz after\nb after z\ne");
        assert_eq!(
            told, "r <- \na <- r/x\nz <- \nb <- z r/x\ne <- r/- a b\n",
            "also if it names only others"
        );
        assert_eq!(
            show("r branch x=a,b converge=e\na\nb after r\ne"),
            "r <- \na <- r/x\nb <- r/x\ne <- r/- a b\n"
        );
        let graph = graph("r branch x=a y= converge=e\na\ne");
        assert_eq!((graph.has_steps(0, "x"), graph.has_steps(0, "y")), (true, false));
        assert_eq!(graph.last().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_wrong_with_branches_is_told() {
        for (text, told) in [
            ("a\na", "steps[1].key: `a` is the key of step 1 already; give each step its own key"),
            (
                "r branch x=r",
                "steps[0].branch.branches.x[0]: a branch cannot hold the step that chooses it; remove it",
            ),
            (
                "r branch x=a y=a\na",
                "steps[0].branch.branches.y[0]: `a` is on a branch of `r` already; name each step on one branch only",
            ),
            (
                "r branch x=nobody",
                "steps[0].branch.branches.x[0]: there is no step `nobody`; name a step of this definition",
            ),
            (
                "r branch x=a otherwise=z\na",
                "steps[0].branch.otherwise: there is no branch `z`; name one of `branches`",
            ),
            (
                "r branch x=a converge=c\na\nb\nc",
                "steps[2].key: it follows the branches of `r`, which meet at `c`; write it behind `c`, or name what it follows with `after`",
            ),
            (
                "r branch x=s,m converge=e\ns branch p=t\nt\nm\ne",
                "steps[3].key: it follows the branches of `s`, which do not meet here; write `converge: m` in `s`",
            ),
            (
                "r branch x=a converge=a\na",
                "steps[0].branch.converge: `a` is on one of the branches itself; take it from `branches`, or let the branches meet elsewhere",
            ),
            (
                "r branch x=a converge=z\na",
                "steps[0].branch.converge: there is no step `z`; name a step of this definition",
            ),
        ] {
            assert_eq!(show(text), format!("{told}\n"), "{text}");
        }
    }
}
