//! Turns a request for steps into rows, or into the list of everything that is wrong with it.
//!
//! Why    all faults at once, each with its field and its fix, and nothing half-created: the rows exist only when the
//!        whole request is sound.

mod below;
mod line;

use model::{
    Backoff, Block, BlockId, Detail, DispatchGroup, Fault, Name, NewStep, Place, Priority, State, Step,
    StepId, StepKind, Success, Timestamp, Trace, limits,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// What creation knows of the world: names, existing rows, and where ids and groups come from.
pub struct Ground<'a> {
    pub now: Timestamp,
    pub dispatch_groups: &'a [DispatchGroup],
    pub queues: &'a [Arc<str>],
    pub pools: &'a BTreeSet<Name>,
    /// Blocks the request names, as far as they exist.
    pub blocks: HashMap<BlockId, Block>,
    /// Steps the request names as parents, as far as they exist.
    pub parents: HashMap<StepId, Step>,
    pub new_id: &'a mut dyn FnMut() -> [u8; 16],
    pub next_group: &'a mut dyn FnMut() -> DispatchGroup,
}

#[derive(Debug, Default)]
pub struct Plan {
    pub steps: Vec<(Step, Detail)>,
    pub blocks: Vec<Block>,
    /// Existing steps that become parents.
    pub adopt: Vec<(StepId, BlockId)>,
    /// Ids of the steps asked for at the top level, in order.
    pub roots: Vec<StepId>,
}

struct Planner<'g, 'a> {
    ground: &'g mut Ground<'a>,
    plan: Plan,
    faults: Vec<Fault>,
    /// Blocks of this plan or existing ones it extends.
    blocks: BTreeMap<BlockId, Draft>,
}

struct Draft {
    block: Block,
    is_new: bool,
    high: bool,
    /// Where the request says who owns it.
    owner_at: String,
    /// The indexes used per kind, and where the request says so first.
    indexes: BTreeMap<(StepKind, u32), String>,
}

impl Draft {
    fn new(block: Block, high: bool) -> Draft {
        Draft { block, is_new: true, high, owner_at: String::new(), indexes: BTreeMap::new() }
    }

    /// The first index without a step, and the first field behind it. Resolvers may follow the default steps' numbers.
    fn gap(&self) -> Option<(u32, &str)> {
        let has = |kind, index| self.indexes.contains_key(&(kind, index));
        [StepKind::Default, StepKind::Resolver].into_iter().find_map(|kind| {
            let last = self.indexes.range((kind, 0)..=(kind, u32::MAX)).next_back()?.0.1;
            let gap = (1..=last).find(|i| !has(StepKind::Default, *i) && !has(kind, *i))?;
            let (_, at) = self.indexes.range((kind, gap)..).next()?;
            Some((gap, at.as_str()))
        })
    }
}

/// What a nested step takes from above.
#[derive(Clone)]
struct Above {
    block: Option<BlockId>,
    depth: u32,
    high: bool,
    trace: Option<Arc<Trace>>,
}

pub fn plan(steps: &[NewStep], ground: &mut Ground) -> Result<Plan, Vec<Fault>> {
    let total = count(steps, 1);
    if let Err(fault) = total {
        return Err(vec![fault]);
    }
    let mut planner = Planner { ground, plan: Plan::default(), faults: Vec::new(), blocks: BTreeMap::new() };
    planner.declare_blocks(steps, "steps", &mut BTreeSet::new());
    let mut roots = BTreeMap::new();
    for i in owners_first(steps) {
        let above = Above { block: None, depth: 1, high: false, trace: None };
        if let Some(id) = planner.step(&steps[i], &format!("steps[{i}]"), above) {
            roots.insert(i, id);
        }
    }
    planner.plan.roots = roots.into_values().collect();
    planner.check_indexes();
    planner.check_cycles();
    if !planner.faults.is_empty() {
        planner.faults.truncate(100);
        return Err(planner.faults);
    }
    let drafts = std::mem::take(&mut planner.blocks);
    planner.plan.blocks = drafts.into_values().filter(|d| d.is_new).map(|d| d.block).collect();
    Ok(planner.plan)
}

fn fault(field: String, problem: String, fix: impl Into<String>) -> Fault {
    Fault { field, problem, fix: fix.into() }
}

/// Counts nested steps without recursing deeper than is allowed.
fn count(steps: &[NewStep], depth: u32) -> Result<usize, Fault> {
    if depth > limits::NESTING_MAX && !steps.is_empty() {
        let fix = format!("nest at most {} levels", limits::NESTING_MAX);
        return Err(fault("steps".into(), "children are nested too deep".into(), fix));
    }
    let mut n = steps.len();
    for step in steps {
        n += count(&step.children, depth + 1)?;
        if n > limits::STEPS_PER_CREATE_MAX {
            let fix = format!("send at most {} steps in one call", limits::STEPS_PER_CREATE_MAX);
            return Err(fault("steps".into(), "too many steps".into(), fix));
        }
    }
    Ok(n)
}

/// The order in which steps are planned: who owns a block goes before those who name it, for they take its dispatch
/// group, depth and priority.
fn owners_first(steps: &[NewStep]) -> Vec<usize> {
    let mut owner_of = HashMap::new();
    for (i, step) in steps.iter().enumerate() {
        let mut below = vec![step];
        while let Some(step) = below.pop() {
            step.child_block_id.map(|block| owner_of.entry(block).or_insert(i));
            below.extend(&step.children);
        }
    }
    let mut order = Vec::with_capacity(steps.len());
    let mut seen = vec![false; steps.len()];
    for first in 0..steps.len() {
        let (mut chain, mut at) = (Vec::new(), Some(first));
        while let Some(i) = at.filter(|i| !seen[*i]) {
            seen[i] = true;
            chain.push(i);
            at = steps[i].block_id.and_then(|block| owner_of.get(&block).copied());
        }
        order.extend(chain.into_iter().rev());
    }
    order
}

impl Planner<'_, '_> {
    fn fault(&mut self, field: String, problem: impl Into<String>, fix: impl Into<String>) {
        self.faults.push(fault(field, problem.into(), fix));
    }

    /// A block has one owner, at whatever depth it is named.
    fn declare_blocks(&mut self, steps: &[NewStep], path: &str, owners: &mut BTreeSet<BlockId>) {
        for (i, step) in steps.iter().enumerate() {
            if !step.children.is_empty() {
                self.declare_blocks(&step.children, &format!("{path}[{i}].children"), owners);
            }
            if let Some(block) = step.child_block_id {
                let at = format!("{path}[{i}].child_block_id");
                if !owners.insert(block) {
                    self.fault(
                        at.clone(),
                        "two steps own the same block",
                        "give each parent its own child block",
                    );
                }
                if let Some(taken) = self.ground.blocks.get(&block)
                    && (taken.owner.is_some() || taken.total() > 0)
                {
                    self.fault(
                        at,
                        "this block already exists",
                        "name a new block, or add steps to it by block_id",
                    );
                }
            }
        }
    }

    fn step(&mut self, new: &NewStep, path: &str, above: Above) -> Option<StepId> {
        let faults = self.faults.len();
        self.check_words(new, path);
        let at = |field: &str| format!("{path}.{field}");
        let kind = self.word(&new.kind, at("kind"), StepKind::Default, "default or resolve-exception");
        let asked = self.word(&new.priority, at("priority"), Priority::Normal, "high or normal");
        let block = self.block_for(new, path, &above);
        let inherited = above.high || block.is_some_and(|b| self.blocks[&b].high);
        let priority = if inherited { Priority::High } else { asked };
        let (depth, home) = match block {
            Some(id) => (self.blocks[&id].block.depth, Some(self.blocks[&id].block.home.clone())),
            None => (1, None),
        };
        let id = StepId::from_bytes((self.ground.new_id)());
        let member = self.member_for(new, path, id);
        let group = self.home_for(new, path, member.as_ref(), home);
        self.check_depth(depth, path);
        let (queue, note) = self.queue_for(new, priority);
        let index = new.index.unwrap_or(1).max(1);
        block.into_iter().for_each(|block| self.place(block, kind, index, path));
        let child_block = self.child_block_for(new, path, id, depth, &group, priority);
        let trace = self.trace_for(new, path, &above);
        let step = Step {
            id,
            dispatch_group: group,
            action: new.action.as_str().into(),
            queue,
            priority,
            pool: self.pool_for(new, path),
            member,
            expires_at: self.expires_at(new, path),
            in_workflow: None,
            trace: trace.clone(),
            timeout: new.timeout_ms.map(Duration::from_millis),
            kind,
            place: block.map(|block| Place { block, index }),
            child_block,
            state: if kind == StepKind::Resolver { State::NotRunnable } else { State::Pending },
            reason: None,
            parked: false,
            throttled: false,
            wake_at: self.wake_at(new, path),
            attempt: 0,
            failed_attempts: 0,
            lost_attempts: 0,
            polls: 0,
            polled: None,
            look: None,
            max_attempts: new.max_attempts.unwrap_or(limits::ATTEMPTS_DEFAULT),
            backoff: self.backoff(new, path),
            session: None,
            host: None,
            tick: None,
            arguments: new.arguments.as_ref().map_or("{}", |raw| raw.get()).into(),
            created_at: self.ground.now,
            dispatched_at: None,
            started_at: None,
            completed_at: None,
            version: 0,
        };
        if self.faults.len() == faults {
            self.plan.steps.push((step, detail(new, note)));
        }
        if child_block.is_some() {
            let high = priority == Priority::High;
            self.children(new, path, &Above { block: child_block, depth: depth + 1, high, trace });
        }
        (self.faults.len() == faults).then_some(id)
    }

    fn check_depth(&mut self, depth: u32, path: &str) {
        if depth > limits::NESTING_MAX {
            let fix = format!("nest at most {} levels", limits::NESTING_MAX);
            self.fault(path.into(), format!("this step would stand {depth} levels deep"), fix);
        }
    }

    fn check_words(&mut self, new: &NewStep, path: &str) {
        let words = [
            ("step_key", &new.step_key),
            ("label", &new.label),
            ("queue", &new.queue),
            ("pool", &new.pool),
            ("message_group", &new.message_group),
            ("relatable_type", &new.relatable_type),
            ("relatable_id", &new.relatable_id),
        ];
        if new.action.trim().is_empty() {
            self.fault(
                format!("{path}.action"),
                "is empty",
                "name the action a worker runs, for example `echo`",
            );
        }
        let all = words.iter().filter_map(|(name, value)| value.as_ref().map(|v| (*name, v.as_str())));
        for (name, value) in all.chain([("action", new.action.as_str())]).collect::<Vec<_>>() {
            if value.len() > limits::NAME_BYTES_MAX {
                let fix = format!("use at most {} bytes", limits::NAME_BYTES_MAX);
                self.fault(format!("{path}.{name}"), format!("is {} bytes long", value.len()), fix);
            }
            if value.contains('\0') {
                self.faults.push(Fault::nul(format!("{path}.{name}")));
            }
        }
        let bytes = new.arguments.as_ref().map_or(0, |raw| raw.get().len());
        if bytes > limits::PAYLOAD_BYTES_MAX {
            let fix = format!(
                "send at most {} bytes; keep large data elsewhere and pass its address",
                limits::PAYLOAD_BYTES_MAX
            );
            self.fault(format!("{path}.arguments"), format!("are {bytes} bytes long"), fix);
        }
        if new.max_attempts.is_some_and(|n| n == 0 || n > limits::ATTEMPTS_MAX) {
            let fix =
                format!("write a number from 1 to {} (executions including the first)", limits::ATTEMPTS_MAX);
            self.fault(format!("{path}.max_attempts"), "is out of range", fix);
        }
        if new.timeout_ms.is_some_and(|ms| ms == 0 || Duration::from_millis(ms) > limits::WAIT_MAX) {
            let fix = format!("write milliseconds, from 1 to {}", limits::WAIT_MAX.as_millis());
            self.fault(format!("{path}.timeout_ms"), "is out of range", fix);
        }
        if new.index.is_some_and(|n| n > limits::INDEX_MAX) {
            self.fault(
                format!("{path}.index"),
                "is out of range",
                format!("use at most {}", limits::INDEX_MAX),
            );
        }
    }

    fn word<T: std::str::FromStr>(
        &mut self,
        word: &Option<String>,
        field: String,
        default: T,
        fix: &str,
    ) -> T {
        match word.as_deref().map(str::parse) {
            None => default,
            Some(Ok(value)) => value,
            Some(Err(_)) => {
                let problem = format!("`{}` is not known", word.as_deref().unwrap_or_default());
                self.fault(field, problem, format!("write {fix}"));
                default
            }
        }
    }

    /// The block a step stands in: from above, from its parent, or as it says.
    fn block_for(&mut self, new: &NewStep, path: &str, above: &Above) -> Option<BlockId> {
        let named = [above.block.is_some(), new.block_id.is_some(), new.parent_step_id.is_some()];
        if named.iter().filter(|n| **n).count() > 1 {
            let fix = "write only one of: a place under `children`, `block_id`, `parent_step_id`";
            self.fault(path.into(), "says twice where it stands", fix);
            return None;
        }
        if let Some(parent) = new.parent_step_id {
            return self.block_of_parent(parent, path);
        }
        let id = above.block.or(new.block_id)?;
        if self.blocks.contains_key(&id) {
            return Some(id);
        }
        let draft = match self.ground.blocks.get(&id) {
            Some(block) => self.extend(block.clone(), format!("{path}.block_id"))?,
            None => {
                let home = new.dispatch_group.as_deref().map(DispatchGroup::new);
                let home = home.unwrap_or_else(|| (self.ground.next_group)());
                Draft::new(Block { depth: above.depth, ..Block::new(id, home) }, above.high)
            }
        };
        self.blocks.insert(id, draft);
        Some(id)
    }

    fn block_of_parent(&mut self, parent: StepId, path: &str) -> Option<BlockId> {
        let field = format!("{path}.parent_step_id");
        let Some(owner) = self.ground.parents.get(&parent).cloned() else {
            self.fault(field, format!("there is no step {parent}"), "name a step that exists");
            return None;
        };
        if owner.state.is_terminal() {
            self.fault(
                field,
                format!("the parent {}", owner.state.said()),
                "only a parent that has not ended takes children",
            );
            return None;
        }
        let adopted = self.plan.adopt.iter().find(|(step, _)| *step == parent).map(|(_, block)| *block);
        if let Some(id) = owner.child_block.or(adopted) {
            if !self.blocks.contains_key(&id) {
                let Some(block) = self.ground.blocks.get(&id).cloned() else {
                    self.fault(
                        field,
                        format!("the parent's block {id} is gone"),
                        "name a step that can take children",
                    );
                    return None;
                };
                let draft = self.extend(block, field)?;
                self.blocks.insert(id, Draft { high: owner.priority == Priority::High, ..draft });
            }
            return Some(id);
        }
        let id = BlockId::from_bytes((self.ground.new_id)());
        let mut block = Block::new(id, owner.dispatch_group.clone());
        block.owner = Some(parent);
        block.depth = 1 + owner.place.and_then(|p| self.ground.blocks.get(&p.block)).map_or(1, |b| b.depth);
        let high = owner.priority == Priority::High;
        self.blocks.insert(id, Draft::new(block, high));
        self.plan.adopt.push((parent, id));
        Some(id)
    }

    /// An existing block takes more steps while it can still run them.
    fn extend(&mut self, block: Block, field: String) -> Option<Draft> {
        // Those that are still to come are made, whatever became of the others.
        let ended = block.cut_at.is_some() && block.to_come == 0 || block.sweep.is_some();
        let owner = block.owner.and_then(|o| self.ground.parents.get(&o));
        let high = owner.is_some_and(|o| o.priority == Priority::High);
        if ended || owner.is_some_and(|o| o.state.is_terminal()) {
            let fix =
                "a block whose parent ended, or in which a step failed, takes no more steps; use a new block";
            self.fault(field, format!("block {} has ended", block.id), fix);
            return None;
        }
        let used =
            |kind, live: &[u32]| (1..=live.len() as u32).map(move |index| ((kind, index), String::new()));
        let default = used(StepKind::Default, &block.live);
        let indexes = default.chain(used(StepKind::Resolver, &block.live_resolvers)).collect();
        Some(Draft { is_new: false, indexes, ..Draft::new(block, high) })
    }

    fn pool_for(&mut self, new: &NewStep, path: &str) -> Option<Name> {
        let name = new.pool.as_deref()?;
        let known = self.ground.pools.get(name).cloned();
        if known.is_none() && name.len() <= limits::NAME_BYTES_MAX && !name.contains('\0') {
            let fix = format!("make it first, for example with `stepfast pools set {name} --concurrency 10`");
            self.fault(format!("{path}.pool"), format!("`{name}` is not a pool"), fix);
        }
        known
    }

    fn group_for(&mut self, new: &NewStep, path: &str, home: Option<DispatchGroup>) -> DispatchGroup {
        let known = self.ground.dispatch_groups;
        let field = format!("{path}.dispatch_group");
        let names = || known.iter().map(DispatchGroup::as_str).collect::<Vec<_>>().join(", ");
        match (&new.dispatch_group, home) {
            (Some(name), _) if !known.iter().any(|g| g.as_str() == name) => {
                self.fault(
                    field,
                    format!("`{name}` is not a dispatch group"),
                    format!("write one of {}", names()),
                );
                known[0].clone()
            }
            (Some(name), Some(home)) if home.as_str() != name => {
                self.fault(
                    field,
                    format!("its block belongs to `{home}`"),
                    format!("write `{home}` or leave it out"),
                );
                home
            }
            (_, Some(home)) => home,
            (Some(name), None) => DispatchGroup::new(name),
            (None, None) => (self.ground.next_group)(),
        }
    }

    /// An unknown queue falls back, and the step says so.
    fn queue_for(&self, new: &NewStep, priority: Priority) -> (Arc<str>, Option<String>) {
        let known = |name: &str| self.ground.queues.iter().find(|q| &***q == name).cloned();
        let fallback = if priority == Priority::High { "priority" } else { "default" };
        match new.queue.as_deref() {
            None => (fallback.into(), None),
            Some(name) => match known(name) {
                Some(queue) => (queue, None),
                None => (
                    fallback.into(),
                    Some(format!("queue `{name}` is not known; `{fallback}` is used instead")),
                ),
            },
        }
    }

    fn place(&mut self, block: BlockId, kind: StepKind, index: u32, path: &str) {
        let draft = self.blocks.get_mut(&block).expect("the block was found above");
        let passed = draft.block.index_now(kind);
        draft.indexes.entry((kind, index)).or_insert_with(|| format!("{path}.index"));
        if index < passed {
            let fix = format!("use index {passed} or a later one");
            self.fault(format!("{path}.index"), format!("its block is already at index {passed}"), fix);
        }
    }

    fn child_block_for(
        &mut self,
        new: &NewStep,
        path: &str,
        id: StepId,
        depth: u32,
        group: &DispatchGroup,
        priority: Priority,
    ) -> Option<BlockId> {
        let success = self.word(&new.success, format!("{path}.success"), Success::All, Success::WORDS);
        if new.child_block_id.is_none() && new.children.is_empty() {
            return None;
        }
        if new.kind.as_deref() == Some(StepKind::Resolver.word()) {
            let fix = "let its job make them when it runs: a resolver may never wake, and its children would wait for ever";
            self.fault(format!("{path}.children"), "a resolver has no children before it runs", fix);
        }
        let block_id = new.child_block_id.unwrap_or_else(|| BlockId::from_bytes((self.ground.new_id)()));
        let high = priority == Priority::High;
        let fresh = || Draft::new(Block::new(block_id, group.clone()), high);
        let draft = self.blocks.entry(block_id).or_insert_with(fresh);
        draft.owner_at = format!("{path}.child_block_id");
        draft.block.owner = Some(id);
        draft.block.home = group.clone();
        draft.block.depth = depth + 1;
        draft.block.success = success;
        draft.high |= high;
        Some(block_id)
    }

    fn wake_at(&mut self, new: &NewStep, path: &str) -> Option<Timestamp> {
        let now = self.ground.now;
        if new.dispatch_after.is_some() && new.delay_ms.is_some() {
            let fix = "write `dispatch_after` or `delay_ms`, not both";
            self.fault(format!("{path}.delay_ms"), "says twice when the step is due", fix);
        }
        let at =
            new.dispatch_after.map(Timestamp).or(new.delay_ms.map(|ms| now + Duration::from_millis(ms)))?;
        if at > now + limits::WAIT_MAX {
            let days = limits::WAIT_MAX.as_secs() / 86_400;
            self.fault(
                format!("{path}.dispatch_after"),
                "is too far away",
                format!("use at most {days} days from now"),
            );
        }
        (at > now).then_some(at)
    }

    fn backoff(&mut self, new: &NewStep, path: &str) -> Backoff {
        let base = Backoff::default();
        let factor = new.retry_factor.unwrap_or(base.factor);
        if !(1.0..=100.0).contains(&factor) {
            self.fault(format!("{path}.retry_factor"), "is out of range", "use a number from 1 to 100");
        }
        Backoff {
            delay: new.retry_delay_ms.map_or(base.delay, Duration::from_millis).min(limits::WAIT_MAX),
            factor,
            max_delay: new
                .retry_max_delay_ms
                .map_or(base.max_delay, Duration::from_millis)
                .min(limits::WAIT_MAX),
        }
    }

    fn check_indexes(&mut self) {
        let gaps = self.blocks.iter().filter_map(|(id, draft)| draft.gap().map(|gap| (id, gap)));
        let faults: Vec<Fault> = gaps
            .map(|(block, (gap, at))| {
                let fix =
                    "number the indexes of a block 1, 2, 3 without a gap; equal numbers run in parallel";
                fault(at.into(), format!("block {block} has no step at index {gap}"), fix)
            })
            .collect();
        self.faults.extend(faults);
    }

    /// A block may not be its own ancestor.
    fn check_cycles(&mut self) {
        let home: HashMap<StepId, BlockId> =
            self.plan.steps.iter().filter_map(|(s, _)| s.block().map(|b| (s.id, b))).collect();
        let mut faults = Vec::new();
        for (start, draft) in &self.blocks {
            let mut at = draft.block.owner.and_then(|o| home.get(&o));
            let mut hops = 0;
            while let Some(block) = at {
                hops += 1;
                if block == start || hops > limits::NESTING_MAX {
                    let problem = format!("block {start} is inside itself");
                    let fix = "a child block must not hold, at any depth, the step that owns it";
                    faults.push(fault(draft.owner_at.clone(), problem, fix));
                    break;
                }
                at = self.blocks.get(block).and_then(|d| d.block.owner).and_then(|o| home.get(&o));
            }
        }
        self.faults.extend(faults);
    }
}

fn detail(new: &NewStep, note: Option<String>) -> Detail {
    Detail {
        step_key: new.step_key.clone(),
        label: new.label.clone(),
        relatable_type: new.relatable_type.clone(),
        relatable_id: new.relatable_id.clone(),
        note,
        ..Detail::default()
    }
}
