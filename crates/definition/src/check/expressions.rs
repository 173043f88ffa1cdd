//! Expressions must compile, and use only what exists where they stand.

use super::Finding;
use crate::place::Part;
use expr::{Program, References, Scope, Template};
use model::definition::{ActionDef, Branch, Definition, StepDef, Wait, Work};
use serde_json::Value;

/// An expression that compiles: where it stands, what it says and what it looks at.
pub(super) struct Read {
    pub step: Option<u32>,
    pub field: String,
    pub text: String,
    pub references: References,
    pub moment: Moment,
}

/// When an expression is read, which says what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// When the whole begins.
    Start,
    Step,
    /// For each item of a fan-out.
    Item,
    /// When a poll of its step was answered.
    Poll,
    /// When its step has answered.
    End,
    /// When something was sent to the trigger behind it.
    Sent,
    /// When its step is undone.
    Undo,
}

impl Moment {
    fn known(self) -> &'static [&'static str] {
        match self {
            Moment::Start => &["input"],
            Moment::Step | Moment::End => &["input", "outputs"],
            Moment::Item => &["input", "outputs", "item", "index"],
            Moment::Sent => &["payload", "input", "outputs"],
            Moment::Undo => &["input", "outputs", "undo"],
            Moment::Poll => &["input", "outputs", "answer", "polls"],
        }
    }
}

struct Checker {
    /// The step that is looked at.
    step: Option<u32>,
    read: Vec<Read>,
    findings: Vec<Finding>,
}

pub(super) fn check(definition: &Definition) -> (Vec<Read>, Vec<Finding>) {
    let mut checker = Checker { step: None, read: Vec::new(), findings: Vec::new() };
    if let Some(concurrency) = &definition.concurrency {
        checker.program("concurrency.key".into(), &concurrency.key.0, Moment::Start);
    }
    for (n, step) in definition.steps.iter().enumerate() {
        checker.step = Some(n as u32);
        checker.check_step(&format!("steps[{n}]"), step);
    }
    (checker.read, checker.findings)
}

impl Checker {
    fn check_step(&mut self, at: &str, step: &StepDef) {
        if let Some(when) = &step.when {
            let program = self.program(format!("{at}.when"), &when.0, Moment::Step);
            if constant(program.as_ref()) == Some(Value::Bool(false)) {
                let problem = format!("this never holds, so `{}` is never done", step.key);
                let fix = "remove the step, or write when it is done";
                self.findings.push(Finding::new(format!("{at}.when"), problem, fix));
            }
        }
        if let Some(end) = &step.terminate_when {
            self.program(format!("{at}.terminate_when.if"), &end.condition.0, Moment::End);
        }
        if let Some(resume) = step.pause_after.as_ref().and_then(|pause| pause.resume_when.as_ref()) {
            let field = format!("{at}.pause_after.resume_when");
            let program = self.program(field.clone(), &resume.0, Moment::Sent);
            if constant(program.as_ref()) == Some(Value::Bool(false)) {
                let fix = "write what must hold for what was sent, such as payload.approved == true";
                self.findings.push(Finding::new(field, "this never holds, so it waits for ever", fix));
            }
        }
        if let Some(poll) = step.pause_after.as_ref().and_then(|pause| pause.poll.as_ref()) {
            let at = format!("{at}.pause_after.poll");
            self.whole_template(format!("{at}.arguments"), poll.run.arguments.as_ref(), Moment::End);
            if let Some(abort) = &poll.abort_when {
                self.program(format!("{at}.abort_when"), &abort.0, Moment::Sent);
            }
        }
        if let Some(compensation) = &step.compensation {
            let at = format!("{at}.compensation");
            if let Some(group) = &compensation.run.message_group {
                self.program(format!("{at}.message_group"), &group.0, Moment::Undo);
            }
            self.whole_template(format!("{at}.arguments"), compensation.run.arguments.as_ref(), Moment::Undo);
        }
        match &step.work {
            Work::Action(action) => {
                self.check_action(at, action);
                self.check_arguments(format!("{at}.arguments"), action);
            }
            Work::Poll(poll) => {
                self.check_action(at, &poll.run);
                self.check_arguments(format!("{at}.poll.arguments"), &poll.run);
                for (name, expression) in [("until", &poll.until), ("abort_when", &poll.abort_when)] {
                    if let Some(expression) = expression {
                        self.check_judgement(format!("{at}.poll.{name}"), &expression.0);
                    }
                }
            }
            Work::Wait(Wait::Until(until)) => {
                _ = self.program(format!("{at}.wait.until"), &until.0, Moment::Step)
            }
            Work::Wait(Wait::For(_)) => {}
            Work::Branch(branch) => {
                let field = format!("{at}.branch.choose");
                let program = self.program(field.clone(), &branch.choose.0, Moment::Step);
                let never = constant(program.as_ref()).and_then(|chosen| never_taken(branch, &chosen));
                self.findings.extend(never.map(|(problem, fix)| Finding::new(field, problem, fix)));
            }
            Work::Workflow(sub) => {
                self.whole_template(format!("{at}.input"), sub.input.as_ref(), Moment::Step)
            }
        }
    }

    fn check_action(&mut self, at: &str, action: &ActionDef) {
        let moment = if action.each.is_some() { Moment::Item } else { Moment::Step };
        if let Some(each) = &action.each {
            self.program(format!("{at}.each"), &each.items.0, Moment::Step);
        }
        if let Some(group) = &action.message_group {
            self.program(format!("{at}.message_group"), &group.0, moment);
        }
    }

    fn check_arguments(&mut self, field: String, action: &ActionDef) {
        let moment = if action.each.is_some() { Moment::Item } else { Moment::Step };
        self.whole_template(field, action.arguments.as_ref(), moment);
    }

    /// What judges answers must look at something: what always says the same judges nothing.
    fn check_judgement(&mut self, field: String, text: &str) {
        let program = self.program(field.clone(), text, Moment::Poll);
        if let Some(Value::Bool(always)) = constant(program.as_ref()) {
            let word = if always { "always" } else { "never" };
            let fix = "write what it depends on, such as answer.status == 'paid', or remove it";
            self.findings.push(Finding::new(field, format!("this {word} holds"), fix));
        }
    }

    fn program(&mut self, field: String, text: &str, moment: Moment) -> Option<Program> {
        match Program::compile(text) {
            Ok(program) => {
                self.note(field, text, program.references().clone(), moment);
                Some(program)
            }
            Err(fault) => {
                self.wrong(field, fault);
                None
            }
        }
    }

    /// Its parts first; what is wrong with none of them may still be too much together.
    fn whole_template(&mut self, field: String, value: Option<&Value>, moment: Moment) {
        let before = self.findings.len();
        self.template(field.clone(), value, moment);
        if let (Some(value), true) = (value, self.findings.len() == before)
            && let Err(faults) = Template::compile(value)
        {
            faults.into_iter().for_each(|(path, fault)| self.wrong(format!("{field}{path}"), fault));
        }
    }

    /// Every text of a value by itself, so that each fault has its own field.
    fn template(&mut self, field: String, value: Option<&Value>, moment: Moment) {
        match value {
            Some(Value::String(text)) => match Template::compile(&Value::from(text.as_str())) {
                Ok(template) => self.note(field, text, template.references().clone(), moment),
                Err(faults) => faults.into_iter().for_each(|(_, fault)| self.wrong(field.clone(), fault)),
            },
            Some(Value::Array(values)) => {
                let numbered = values.iter().enumerate();
                numbered.for_each(|(n, value)| self.template(format!("{field}[{n}]"), Some(value), moment));
            }
            Some(Value::Object(values)) => {
                values
                    .iter()
                    .for_each(|(key, value)| self.template(format!("{field}.{key}"), Some(value), moment));
            }
            _ => {}
        }
    }

    fn wrong(&mut self, field: String, fault: expr::Fault) {
        let part = Part { line: fault.line, column: fault.column, width: 1 };
        self.findings.push(Finding { field, problem: fault.message, fix: fault.fix, part: Some(part) });
    }

    fn note(&mut self, field: String, text: &str, references: References, moment: Moment) {
        let known = moment.known();
        for name in references.variables.iter().filter(|name| !known.contains(&name.as_str())) {
            let fix = match name.as_str() {
                "payload" => {
                    "use it in `resume_when` of `pause_after`; later it is an output of the trigger's name"
                        .into()
                }
                "answer" | "polls" => "use it in `until` or `abort_when` of a `poll`".into(),
                "item" | "index" => "use it in `arguments` or `message_group` of a step with `each`".into(),
                _ => format!("use `{}`", known.join("` or `")),
            };
            let problem = format!("`{name}` does not exist here");
            self.findings.push(Finding { field: field.clone(), problem, fix, part: find(text, name) });
        }
        self.read.push(Read { step: self.step, field, text: text.into(), references, moment });
    }
}

/// What an expression says that looks at nothing.
fn constant(program: Option<&Program>) -> Option<Value> {
    let program = program.filter(|program| program.references().variables.is_empty())?;
    program.evaluate(&Scope::new()).ok()
}

/// Branches that are never taken because the same is chosen always.
fn never_taken(branch: &Branch, chosen: &Value) -> Option<(String, String)> {
    let keys: Vec<&str> = match chosen {
        Value::String(key) => vec![key],
        Value::Array(keys) => keys.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    if let Some(key) = keys.iter().find(|key| !branch.branches.contains_key(**key)) {
        return Some((format!("there is no branch `{key}`"), "name one of `branches`".into()));
    }
    let never =
        branch.branches.iter().find(|(key, steps)| !steps.is_empty() && !keys.contains(&key.as_str()));
    never.map(|(key, _)| {
        let problem = format!("this chooses the same always, so the steps of branch `{key}` are never done");
        (problem, "write what the choice depends on, such as outputs['check'].priority".into())
    })
}

/// Where a name stands in a text.
pub(super) fn find(text: &str, name: &str) -> Option<Part> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    for (number, line) in text.lines().enumerate() {
        let mut places = line.match_indices(name).map(|(at, _)| at);
        let alone =
            |at: &usize| !line[..*at].ends_with(is_word) && !line[*at + name.len()..].starts_with(is_word);
        if let Some(at) = places.find(alone) {
            let column = line[..at].chars().count() as u32 + 1;
            return Some(Part { line: number as u32 + 1, column, width: name.chars().count() as u32 });
        }
    }
    None
}
