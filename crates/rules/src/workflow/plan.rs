//! A definition made ready to run: its graph, and its expressions compiled once.

use super::graph::Graph;
use super::shape::Shape;
use expr::{Program, References, Template};
use model::definition::{ActionDef, Definition, Expression, PauseDef, StepDef, Wait, Work};
use model::{DispatchMode, Fault, Name, Pinned};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Compiled {
    pub when: Option<Program>,
    pub terminate: Option<Program>,
    pub choose: Option<Program>,
    pub items: Option<Program>,
    pub until: Option<Program>,
    pub abort: Option<Program>,
    pub message_group: Option<Program>,
    /// What a worker is given, or the workflow that it starts.
    pub arguments: Option<Template>,
    /// What it must answer.
    pub produces: Option<Shape>,
    /// What lets the pause behind it go on.
    pub resume_when: Option<Program>,
    pub payload: Option<Shape>,
}

/// A definition that can be run.
#[derive(Debug)]
pub struct Plan {
    pub definition: Definition,
    pub pinned: Arc<Pinned>,
    pub graph: Graph,
    pub steps: Vec<Compiled>,
    /// What it must be started with.
    pub input: Option<Shape>,
    /// The key of which only so many are done at once.
    pub concurrency: Option<Program>,
    /// Steps whose answers are needed later.
    read: Vec<bool>,
    /// The steps that undo others, in the order of those; none at all if nothing can be undone.
    undo: Vec<StepDef>,
    names: Vec<Name>,
    by_key: HashMap<String, u32>,
    /// The step behind which each of the last steps polls.
    polled: Vec<u32>,
}

struct Compiler {
    faults: Vec<Fault>,
    read: Vec<References>,
}

impl Compiler {
    fn note(&mut self, field: String, fault: expr::Fault) {
        let problem = format!("{} (line {}, column {})", fault.message, fault.line, fault.column);
        self.faults.push(Fault { field, problem, fix: fault.fix });
    }
    fn program(&mut self, field: String, expression: &Expression) -> Option<Program> {
        match Program::compile(&expression.0) {
            Ok(program) => {
                self.read.push(program.references().clone());
                Some(program)
            }
            Err(fault) => {
                self.note(field, fault);
                None
            }
        }
    }
    fn template(&mut self, field: &str, value: &Value) -> Option<Template> {
        match Template::compile(value) {
            Ok(template) => {
                self.read.push(template.references().clone());
                Some(template)
            }
            Err(faults) => {
                for (path, fault) in faults {
                    self.note(format!("{field}{path}"), fault);
                }
                None
            }
        }
    }
    fn shape(&mut self, field: String, shape: Option<&model::definition::Shape>) -> Option<Shape> {
        let schema = shape?.schema.as_ref()?;
        Shape::compile(schema)
            .map_err(|problem| {
                let problem = format!("is no JSON Schema: {problem}");
                self.faults.push(Fault { field, problem, fix: "write a schema of the draft 2020-12".into() });
            })
            .ok()
    }
    fn action(&mut self, into: &mut Compiled, action: &ActionDef, arguments: &str, message_group: String) {
        into.arguments = action.arguments.as_ref().and_then(|value| self.template(arguments, value));
        into.message_group =
            action.message_group.as_ref().and_then(|group| self.program(message_group, group));
    }
    fn step(&mut self, n: usize, def: &StepDef) -> Compiled {
        let at = |field: &str| format!("steps[{n}].{field}");
        let mut compiled = Compiled {
            when: def.when.as_ref().and_then(|when| self.program(at("when"), when)),
            terminate: def
                .terminate_when
                .as_ref()
                .and_then(|end| self.program(at("terminate_when.if"), &end.condition)),
            produces: self.shape(at("produces.schema"), def.produces.as_ref()),
            resume_when: def
                .pause_after
                .as_ref()
                .and_then(|pause| self.program(at("pause_after.resume_when"), pause.resume_when.as_ref()?)),
            payload: def
                .pause_after
                .as_ref()
                .and_then(|pause| self.shape(at("pause_after.payload.schema"), pause.payload.as_ref())),
            ..Compiled::default()
        };
        match &def.work {
            Work::Action(action) => {
                self.action(&mut compiled, action, &at("arguments"), at("message_group"));
                compiled.items = action.each.as_ref().and_then(|each| self.program(at("each"), &each.items));
            }
            Work::Poll(poll) => {
                self.action(&mut compiled, &poll.run, &at("poll.arguments"), at("message_group"));
                compiled.until = poll.until.as_ref().and_then(|until| self.program(at("poll.until"), until));
                compiled.abort =
                    poll.abort_when.as_ref().and_then(|abort| self.program(at("poll.abort_when"), abort));
            }
            Work::Wait(Wait::Until(until)) => compiled.until = self.program(at("wait.until"), until),
            Work::Wait(Wait::For(_)) => {}
            Work::Branch(branch) => compiled.choose = self.program(at("branch.choose"), &branch.choose),
            Work::Workflow(sub) => {
                compiled.arguments = sub.input.as_ref().and_then(|value| self.template(&at("input"), value));
            }
        }
        compiled
    }
    /// What undoes a step.
    fn undo(&mut self, n: usize, def: &StepDef) -> Compiled {
        let at = |field: &str| format!("steps[{n}].compensation.{field}");
        let Work::Action(action) = &def.work else { return Compiled::default() };
        Compiled {
            arguments: action.arguments.as_ref().and_then(|value| self.template(&at("arguments"), value)),
            message_group: action.message_group.as_ref().and_then(|g| self.program(at("message_group"), g)),
            ..Compiled::default()
        }
    }
}

/// The steps that undo others. One that is never undone has an empty one, so that both have the same place.
fn undo_of(definition: &Definition) -> Vec<StepDef> {
    if definition.steps.iter().all(|def| def.compensation.is_none()) {
        return Vec::new();
    }
    let undo = |def: &StepDef| StepDef {
        key: format!("{}:compensation", def.key),
        work: Work::Action(def.compensation.as_ref().map(|undo| undo.run.clone()).unwrap_or_default()),
        ..StepDef::default()
    };
    definition.steps.iter().map(undo).collect()
}

/// The number of each output. Behind the steps, and those that undo them, comes what is sent to the triggers.
fn outputs_of(definition: &Definition) -> HashMap<String, u32> {
    let numbered = || definition.steps.iter().enumerate();
    let sent = |(n, def): (usize, &StepDef)| {
        let trigger = def.pause_after.as_ref()?.trigger.clone()?;
        Some((trigger, (2 * definition.steps.len() + n) as u32))
    };
    let steps = numbered().map(|(n, def)| (def.key.clone(), n as u32));
    steps.chain(numbered().filter_map(sent)).collect()
}

impl Plan {
    pub fn compile(definition: Definition, pinned: Arc<Pinned>) -> Result<Plan, Vec<Fault>> {
        let mut compiler = Compiler { faults: Vec::new(), read: Vec::new() };
        compiler.faults.extend(super::pause::faults(&definition));
        let order = Graph::of(&definition);
        let (definition, polled) = definition.expanded();
        let mut steps: Vec<Compiled> =
            definition.steps.iter().enumerate().map(|(n, def)| compiler.step(n, def)).collect();
        let undo = undo_of(&definition);
        steps.extend(undo.iter().enumerate().map(|(n, def)| compiler.undo(n, def)));
        let input = compiler.shape("input.schema".into(), definition.input.as_ref());
        let concurrency = definition
            .concurrency
            .as_ref()
            .and_then(|limit| compiler.program("concurrency.key".into(), &limit.key));
        let mut graph = match order {
            Ok(graph) => graph,
            Err(faults) => {
                compiler.faults.extend(faults);
                Graph::default()
            }
        };
        if !compiler.faults.is_empty() {
            return Err(compiler.faults);
        }
        polled.iter().for_each(|n| graph.insert_behind(*n));
        let names = definition.steps.iter().chain(&undo).map(|def| def.key.as_str().into()).collect();
        let by_key = outputs_of(&definition);
        let whole = compiler.read.iter().any(|read| read.whole_outputs);
        let mut read = vec![whole; definition.steps.len()];
        read.resize(2 * definition.steps.len(), false);
        read.resize(3 * definition.steps.len(), whole);
        for key in compiler.read.iter().flat_map(|read| &read.outputs) {
            by_key.get(key.as_str()).into_iter().for_each(|n| read[*n as usize] = true);
        }
        // What nobody follows is what the whole comes to.
        graph.last().for_each(|n| read[n as usize] = true);
        // Which way was taken is told by the answer.
        for (n, def) in definition.steps.iter().enumerate() {
            read[n] |= matches!(def.work, Work::Branch(_));
        }
        Ok(Plan { definition, pinned, graph, steps, input, concurrency, read, undo, names, by_key, polled })
    }

    /// A step as it is written, or one that undoes another.
    pub fn def(&self, n: u32) -> &StepDef {
        let steps = &self.definition.steps;
        steps.get(n as usize).unwrap_or_else(|| &self.undo[n as usize - steps.len()])
    }
    /// The number of the step that undoes another.
    pub fn undo_of(&self, n: u32) -> u32 {
        self.definition.steps.len() as u32 + n
    }
    /// What it undoes, if it undoes a step.
    pub fn undoes(&self, n: u32) -> Option<u32> {
        n.checked_sub(self.definition.steps.len() as u32)
    }
    /// The key of a step.
    pub fn name(&self, n: u32) -> Name {
        self.names[n as usize].clone()
    }
    /// The number of a step.
    pub fn find(&self, key: &str) -> Option<u32> {
        self.output(key).filter(|n| (*n as usize) < self.definition.steps.len())
    }
    /// The number of an output: of a step, or of what was sent to a trigger.
    pub fn output(&self, key: &str) -> Option<u32> {
        self.by_key.get(key).copied()
    }
    /// The key of an output.
    pub fn output_key(&self, n: u32) -> &str {
        match n.checked_sub(self.payload_of(0)) {
            None => &self.def(n).key,
            Some(of) => self.trigger_of(of).unwrap_or_default(),
        }
    }
    pub fn pause(&self, n: u32) -> Option<&PauseDef> {
        self.def(n).pause_after.as_deref()
    }
    /// The step behind which this one asks whether it may go on, if it does.
    pub fn polls_behind(&self, n: u32) -> Option<u32> {
        let written = self.definition.steps.len() - self.polled.len();
        self.polled.get((n as usize).checked_sub(written)?).copied()
    }
    fn trigger_of(&self, n: u32) -> Option<&str> {
        self.pause(n)?.trigger.as_deref()
    }
    /// The number of the output that is sent to the trigger behind a step.
    pub fn payload_of(&self, n: u32) -> u32 {
        2 * self.definition.steps.len() as u32 + n
    }
    /// The step behind which a trigger is waited for.
    pub fn awaits(&self, trigger: &str) -> Option<u32> {
        let n = self.output(trigger)?.checked_sub(self.payload_of(0))?;
        (self.trigger_of(n) == Some(trigger)).then_some(n)
    }
    pub fn has_pauses(&self) -> bool {
        self.definition.steps.iter().any(|def| def.pause_after.is_some())
    }
    /// It is done for each of a list.
    pub fn fans_out(&self, n: u32) -> bool {
        matches!(&self.def(n).work, Work::Action(action) if action.each.is_some())
    }
    /// It is done in the order of a message group.
    pub fn is_in_line(&self, n: u32) -> bool {
        let action = self.def(n).work.action();
        action.is_some_and(|action| action.mode.is_some_and(|mode| mode != DispatchMode::Immediate))
    }
    /// Its answer is needed later.
    pub fn reads(&self, n: u32) -> bool {
        self.read[n as usize]
    }
}

#[cfg(test)]
mod tests;
