//! What a workflow must come to, told by the plainest means: rounds over a list, in which whatever runs ends.

use super::generate::{Kind, Policy, Sketch, Step, Success};

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Place {
    Ahead,
    /// Made, and not given to a worker.
    Pending,
    /// A fan-out whose items are not made yet, and one whose items are not given to workers.
    Begun,
    ItemsPending,
    Running,
    /// A fan-out whose items have all ended; its own end is seen in the next round.
    ItemsEnded,
    Done,
    Failed,
    /// Left out, for this reason.
    Skipped(&'static str),
    /// Taken back before it was done.
    Cancelled(&'static str),
}

pub struct World<'a> {
    pub steps: &'a [Step],
    pub places: Vec<Place>,
    /// Fan-outs in the order in which they began.
    pub fans: Vec<usize>,
    pub state: &'static str,
}

/// What it comes to when nobody decides anything.
pub fn run(sketch: &Sketch) -> World<'_> {
    let places = vec![Place::Ahead; sketch.steps.len()];
    let mut world = World { steps: &sketch.steps, places, fans: Vec::new(), state: "running" };
    world.go_on();
    world
}

impl World<'_> {
    /// Until nothing runs any more.
    pub fn go_on(&mut self) {
        let n = self.steps.len();
        self.begin();
        self.make_items();
        loop {
            let (mut ended, rest): (Vec<usize>, _) = std::mem::take(&mut self.fans)
                .into_iter()
                .partition(|n| self.places[*n] == Place::ItemsEnded);
            self.fans = rest;
            // Those that fail are dealt with before those that complete.
            ended.sort_by_key(|n| !fails(&self.steps[*n]));
            ended.into_iter().for_each(|n| self.end(n, fails(&self.steps[n])));
            self.make_items();
            let going_on = self.state == "running";
            let starts = |place: &Place| matches!(place, Place::Pending | Place::ItemsPending) && going_on;
            let ready: Vec<usize> = (0..n).filter(|n| starts(&self.places[*n])).collect();
            ready.into_iter().for_each(|n| self.places[n] = Place::Running);
            let running: Vec<usize> = (0..n).filter(|n| self.places[*n] == Place::Running).collect();
            if running.is_empty() {
                break;
            }
            for n in running {
                match &self.steps[n].kind {
                    Kind::Action { fails } => self.end(n, *fails),
                    _ => self.places[n] = Place::ItemsEnded,
                }
            }
            self.make_items();
        }
    }

    /// How it is: `failed s0=C s1=F`.
    pub fn told(&self) -> String {
        let word = |n: usize| {
            let letter = match self.places[n] {
                Place::Ahead => "-".into(),
                Place::Done => "C".into(),
                Place::Failed => "F".into(),
                Place::Skipped(reason) => format!("K({reason})"),
                Place::Cancelled(reason) => format!("X({reason})"),
                Place::Pending => "P".into(),
                Place::Begun | Place::ItemsPending | Place::Running | Place::ItemsEnded => "R".into(),
            };
            format!("{}={letter}", self.steps[n].key)
        };
        format!("{} {}", self.state, (0..self.steps.len()).map(word).collect::<Vec<_>>().join(" "))
    }
}

impl World<'_> {
    fn is_over(&self, n: usize) -> bool {
        match self.places[n] {
            Place::Done | Place::Skipped(_) => true,
            Place::Failed => self.steps[n].policy == Policy::Skip,
            _ => false,
        }
    }

    /// Whether a way that was taken leads from one step to the next.
    fn leads(&self, from: usize, over: Option<char>, past: bool) -> bool {
        if self.places[from] == Place::Skipped("not_on_active_branch") {
            return false;
        }
        let Kind::Branch { chosen } = &self.steps[from].kind else { return true };
        let empty = |key: &char| !self.steps.iter().any(|step| step.on == Some((from, *key)));
        match over {
            Some(key) => chosen.contains(&key),
            None => !past || chosen.iter().any(empty),
        }
    }

    fn begin(&mut self) {
        while self.state == "running" {
            let ready = |n: &usize| {
                self.places[*n] == Place::Ahead
                    && self.steps[*n].before.iter().all(|edge| self.is_over(edge.from))
            };
            let Some(n) = (0..self.steps.len()).find(ready) else { break };
            self.begin_one(n);
        }
        if self.state == "running" && (0..self.steps.len()).all(|n| self.is_over(n)) {
            self.state = "succeeded";
        }
    }

    fn begin_one(&mut self, n: usize) {
        let step = &self.steps[n];
        let reached = step.before.is_empty()
            || step.before.iter().any(|edge| self.leads(edge.from, edge.over, edge.past));
        self.places[n] = match &step.kind {
            _ if !reached => Place::Skipped("not_on_active_branch"),
            _ if step.when == Some(false) => Place::Skipped("condition_false"),
            Kind::Branch { .. } => Place::Done,
            Kind::FanOut { fails, .. } if fails.is_empty() => Place::Done,
            Kind::FanOut { .. } => {
                self.fans.push(n);
                Place::Begun
            }
            Kind::Action { .. } => Place::Pending,
        };
    }

    /// Items are made when all that ended at once is dealt with, if the workflow still goes on.
    fn make_items(&mut self) {
        if self.state == "running" {
            self.places
                .iter_mut()
                .filter(|place| **place == Place::Begun)
                .for_each(|place| *place = Place::ItemsPending);
        }
    }

    fn end(&mut self, n: usize, fails: bool) {
        self.places[n] = if fails { Place::Failed } else { Place::Done };
        match (fails, self.steps[n].policy, self.state) {
            (true, Policy::Fail, "running" | "paused") => self.state = "failed",
            (true, Policy::Pause, "running") => self.state = "paused",
            _ => {}
        }
        self.begin();
    }
}

fn fails(step: &Step) -> bool {
    let Kind::FanOut { fails, success } = &step.kind else { return false };
    let failed = fails.iter().filter(|fails| **fails).count();
    match success {
        Success::All => failed > 0,
        Success::BestEffort => failed == fails.len(),
        Success::Majority => fails.len() - failed <= fails.len() / 2,
    }
}
