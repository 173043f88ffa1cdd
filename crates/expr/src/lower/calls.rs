//! Operators, functions and loops.

use super::Lowering;
use crate::fault::Fault;
use crate::functions::{self, Function, Style};
use crate::limits::LOOPS_NESTED_MAX;
use crate::names::nearest;
use crate::node::{Absence, Literal, Loop, LoopKind, Node, Operator};
use cel::common::ast::{CallExpr, Expr, IdedExpr, operators};
use std::sync::Arc;

/// Functions whose names have two parts.
const NAMESPACES: [&str; 2] = ["math", "optional"];
const LOOPS: [&str; 5] = ["all", "exists", "exists_one", "map", "filter"];

impl Lowering<'_> {
    pub(super) fn call(&mut self, id: u64, call: &CallExpr) -> Result<Node, Fault> {
        match (&call.target, call.args.as_slice()) {
            (None, [of]) if call.func_name == operators::LOGICAL_NOT => Ok(Node::Not(self.boxed(of)?)),
            (None, [of]) if call.func_name == operators::NEGATE => Ok(Node::Negate(self.boxed(of)?)),
            (None, [of]) if call.func_name == operators::HAS => self.has(id, of),
            (None, [a, b]) if !call.func_name.starts_with(char::is_alphabetic) => self.pair(id, call, a, b),
            (None, [a, b, c]) if call.func_name == operators::CONDITIONAL => {
                Ok(Node::If(Box::new([self.node(a)?, self.node(b)?, self.node(c)?])))
            }
            (None, arguments) => self.function(id, &call.func_name, arguments, Style::Global),
            (Some(target), arguments) => self.member(id, target, &call.func_name, arguments),
        }
    }

    fn pair(&mut self, id: u64, call: &CallExpr, a: &IdedExpr, b: &IdedExpr) -> Result<Node, Fault> {
        let operator = match call.func_name.as_str() {
            operators::LOGICAL_AND => return Ok(Node::And(Box::new([self.node(a)?, self.node(b)?]))),
            operators::LOGICAL_OR => return Ok(Node::Or(Box::new([self.node(a)?, self.node(b)?]))),
            operators::INDEX => return self.index(a, b, Absence::Refused),
            operators::OPT_INDEX | operators::OPT_SELECT => return self.index(a, b, Absence::Allowed),
            operators::ADD => Operator::Add,
            operators::SUBSTRACT => Operator::Subtract,
            operators::MULTIPLY => Operator::Multiply,
            operators::DIVIDE => Operator::Divide,
            operators::MODULO => Operator::Remainder,
            operators::EQUALS => Operator::Equal,
            operators::NOT_EQUALS => Operator::NotEqual,
            operators::LESS => Operator::Less,
            operators::LESS_EQUALS => Operator::LessOrEqual,
            operators::GREATER => Operator::Greater,
            operators::GREATER_EQUALS => Operator::GreaterOrEqual,
            operators::IN => Operator::In,
            other => return self.function(id, other, &call.args, Style::Global),
        };
        Ok(Node::Binary(operator, Box::new([self.node(a)?, self.node(b)?])))
    }

    fn index(&mut self, of: &IdedExpr, at: &IdedExpr, absence: Absence) -> Result<Node, Fault> {
        Ok(Node::Index(self.boxed(of)?, self.boxed(at)?, absence))
    }

    fn has(&mut self, id: u64, of: &IdedExpr) -> Result<Node, Fault> {
        match self.node(of)? {
            Node::Select(of, key, Absence::Refused) => Ok(Node::Has(of, key)),
            _ => self.fault(id, "has(…) asks for a field", "write has(a.b), or 'b' in a"),
        }
    }

    fn member(
        &mut self,
        id: u64,
        target: &IdedExpr,
        name: &str,
        arguments: &[IdedExpr],
    ) -> Result<Node, Fault> {
        if let Expr::Ident(space) = &target.expr
            && NAMESPACES.contains(&space.as_str())
            && !self.locals.iter().any(|local| **local == **space)
        {
            return self.function(id, &format!("{space}.{name}"), arguments, Style::Global);
        }
        match (name, arguments) {
            ("all", [variable, body]) => self.a_loop(LoopKind::All, target, variable, [None, Some(body)]),
            ("exists", [variable, body]) => {
                self.a_loop(LoopKind::Exists, target, variable, [None, Some(body)])
            }
            ("exists_one", [variable, body]) => {
                self.a_loop(LoopKind::ExistsOne, target, variable, [None, Some(body)])
            }
            ("filter", [variable, body]) => {
                self.a_loop(LoopKind::Filter, target, variable, [None, Some(body)])
            }
            ("map", [variable, body]) => self.a_loop(LoopKind::Map, target, variable, [None, Some(body)]),
            ("map", [variable, filter, body]) => {
                self.a_loop(LoopKind::Map, target, variable, [Some(filter), Some(body)])
            }
            _ if LOOPS.contains(&name) => {
                let fix = format!("write list.{name}(x, …), where x stands for each item");
                self.fault(id, format!("{name}(…) needs a name and what is to be done with it"), fix)
            }
            _ => {
                let receiver = self.node(target)?;
                let function = self.find(id, name, arguments.len(), Style::Member)?;
                self.apply(id, function, Some(receiver), arguments)
            }
        }
    }
}

impl Lowering<'_> {
    /// `parts` are the filter and the body.
    fn a_loop(
        &mut self,
        kind: LoopKind,
        range: &IdedExpr,
        variable: &IdedExpr,
        parts: [Option<&IdedExpr>; 2],
    ) -> Result<Node, Fault> {
        let Expr::Ident(name) = &variable.expr else {
            return self.fault(
                variable.id,
                "a loop needs a plain name for its items",
                "write list.all(x, …)",
            );
        };
        let range = self.node(range)?;
        if self.loops == LOOPS_NESTED_MAX {
            let message = format!("loops are nested more than {LOOPS_NESTED_MAX} deep");
            let fix = "make a step for each item, or leave this to an action";
            return self.fault(variable.id, message, fix);
        }
        self.loops += 1;
        self.locals.push(Arc::from(name.as_str()));
        let lowered = parts.map(|part| part.map(|part| self.node(part)).transpose());
        self.locals.pop();
        self.loops -= 1;
        let [filter, body] = lowered;
        let (filter, body) = (filter?, body?.expect("a loop is written with a body"));
        Ok(Node::Loop(Box::new(Loop { kind, range, filter, body })))
    }

    fn function(&mut self, id: u64, name: &str, arguments: &[IdedExpr], style: Style) -> Result<Node, Fault> {
        let function = self.find(id, name.trim_start_matches('.'), arguments.len(), style)?;
        self.apply(id, function, None, arguments)
    }

    fn apply(
        &mut self,
        id: u64,
        function: &'static Function,
        receiver: Option<Node>,
        arguments: &[IdedExpr],
    ) -> Result<Node, Fault> {
        let mut nodes: Vec<Node> = receiver.into_iter().collect();
        for argument in arguments {
            nodes.push(self.node(argument)?);
        }
        match nodes.as_slice() {
            [_, Node::Literal(Literal::Text(pattern))] if function.name == "matches" => {
                match functions::compile_pattern(pattern) {
                    Ok(pattern) => Ok(Node::Matches(Box::new(nodes.swap_remove(0)), Arc::new(pattern))),
                    Err(message) => self.fault(id, message, "write a pattern such as '^[A-Z]{2}[0-9]+$'"),
                }
            }
            _ => Ok(Node::Call(function, nodes)),
        }
    }

    fn find(&self, id: u64, name: &str, given: usize, style: Style) -> Result<&'static Function, Fault> {
        let Some(function) = functions::find(name, style) else {
            return self.unknown(id, name, style);
        };
        let (least, most) = function.arguments;
        if (least..=most).contains(&given) {
            return Ok(function);
        }
        let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let message = format!("{name}(…) has {given} arguments, and takes {wanted}");
        self.at_name(id, name, message, "see the functions in docs/expressions.md".to_string())
    }

    fn unknown<T>(&self, id: u64, name: &str, style: Style) -> Result<T, Fault> {
        let written = |name: &str, style| match style {
            Style::Global => format!("{name}(…)"),
            Style::Member => format!("x.{name}(…)"),
        };
        let other = match style {
            Style::Global => Style::Member,
            Style::Member => Style::Global,
        };
        let is_loop = style == Style::Global && LOOPS.contains(&name);
        let known = functions::all().filter(|function| function.style == style).map(|function| function.name);
        let loops = LOOPS.into_iter().filter(|_| style == Style::Member);
        let fix = match nearest(name, known.chain(loops)) {
            _ if is_loop || functions::find(name, other).is_some() => {
                format!("write {}", written(name, other))
            }
            Some(meant) => format!("did you mean {}?", written(meant, style)),
            None => "see the functions in docs/expressions.md".to_string(),
        };
        self.at_name(id, name, format!("there is no function {}", written(name, style)), fix)
    }

    /// A call is placed at its bracket; what is wrong is the name before it.
    fn at_name<T>(&self, id: u64, name: &str, message: String, fix: String) -> Result<T, Fault> {
        let written = name.rsplit('.').next().unwrap_or(name).len();
        let offset = self.offset(id).saturating_sub(written);
        Err(Fault::at(&self.source.source, offset, message, fix))
    }
}
