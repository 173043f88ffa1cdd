//! JSON in whose texts `${ … }` stands for what an expression answers.
//!
//! Why    a text that is nothing but one `${ … }` becomes the value itself, so that numbers and lists stay what they are;
//!        everywhere else it becomes text. Keys are left as they are written.

use crate::answer::Answer;
use crate::fault::{Failure, Fault};
use crate::limits::{ANSWER_DEPTH_MAX, TEMPLATE_EXPRESSIONS_MAX};
use crate::meter::{Meter, Stop};
use crate::program::Program;
use crate::references::References;
use crate::scan::closing_brace;
use crate::scope::Scope;
use serde_json::{Map, Value};

#[derive(Clone, Debug)]
pub struct Template {
    piece: Piece,
    references: References,
}

#[derive(Clone, Debug)]
enum Piece {
    /// Holds no expression.
    Plain(Value),
    One(Program),
    Joined(Vec<Part>),
    List(Vec<Piece>),
    Object(Vec<(String, Piece)>),
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Program(Program),
}

impl Template {
    /// The faults come with the places of their texts, written like `.a[2].b`.
    pub fn compile(value: &Value) -> Result<Template, Vec<(String, Fault)>> {
        let mut reader = Reader { faults: Vec::new(), references: References::default(), expressions: 0 };
        let piece = reader.piece(value, &mut Vec::new());
        match reader.faults.is_empty() {
            true => Ok(Template { piece, references: reader.references }),
            false => Err(reader.faults),
        }
    }

    pub fn references(&self) -> &References {
        &self.references
    }

    /// The limits of one expression hold for the whole of it.
    pub fn render(&self, scope: &Scope) -> Result<Value, Failure> {
        Rendering { scope, meter: Meter::new(), answer: Answer::new() }.piece(&self.piece)
    }
}

struct Reader {
    faults: Vec<(String, Fault)>,
    references: References,
    expressions: usize,
}

impl Reader {
    fn piece(&mut self, value: &Value, place: &mut Vec<String>) -> Piece {
        if place.len() > ANSWER_DEPTH_MAX {
            let message = format!("the arguments are nested more than {ANSWER_DEPTH_MAX} deep");
            self.faults.push((place.concat(), Fault::at("", 0, message, "nest less")));
            return Piece::Plain(Value::Null);
        }
        let piece = match value {
            Value::String(text) => return self.text(text, place),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                Piece::List(items.map(|(at, item)| self.within(format!("[{at}]"), item, place)).collect())
            }
            Value::Object(entries) => {
                let entries = entries.iter();
                let piece = |(key, value): (&String, &Value)| {
                    (key.clone(), self.within(format!(".{key}"), value, place))
                };
                Piece::Object(entries.map(piece).collect())
            }
            scalar => Piece::Plain(scalar.clone()),
        };
        plain(piece)
    }

    fn within(&mut self, step: String, value: &Value, place: &mut Vec<String>) -> Piece {
        place.push(step);
        let piece = self.piece(value, place);
        place.pop();
        piece
    }

    fn text(&mut self, text: &str, place: &[String]) -> Piece {
        let mut parts = match self.split(text) {
            Ok(parts) => parts,
            Err(fault) => {
                self.faults.push((place.concat(), fault));
                return Piece::Plain(Value::Null);
            }
        };
        match parts.as_slice() {
            [] => Piece::Plain(Value::from("")),
            [Part::Text(text)] => Piece::Plain(Value::from(text.as_str())),
            [Part::Program(_)] => match parts.remove(0) {
                Part::Program(program) => Piece::One(program),
                Part::Text(text) => Piece::Plain(Value::from(text)),
            },
            _ => Piece::Joined(parts),
        }
    }

    fn split(&mut self, text: &str) -> Result<Vec<Part>, Fault> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(behind) = from.strip_prefix("$${") {
                plain.push_str("${");
                rest = behind;
            } else if let Some(inside) = from.strip_prefix("${") {
                let start = text.len() - inside.len();
                let (program, behind) = self.expression(text, start)?;
                parts.extend((!plain.is_empty()).then(|| Part::Text(std::mem::take(&mut plain))));
                parts.push(Part::Program(program));
                rest = behind;
            } else {
                plain.push('$');
                rest = &from[1..];
            }
        }
        plain.push_str(rest);
        parts.extend((!plain.is_empty()).then_some(Part::Text(plain)));
        Ok(parts)
    }

    /// The expression that begins there, and what is behind its `}`.
    fn expression<'t>(&mut self, text: &'t str, start: usize) -> Result<(Program, &'t str), Fault> {
        let inside = &text[start..];
        let Some(end) = closing_brace(inside) else {
            let fix = "write } behind the expression, or $${ for a plain ${";
            return Err(Fault::at(text, start - 2, "${ is not closed", fix));
        };
        self.expressions += 1;
        if self.expressions > TEMPLATE_EXPRESSIONS_MAX {
            let message = format!("there are more than {TEMPLATE_EXPRESSIONS_MAX} expressions");
            return Err(Fault::at(text, start, message, "pass a larger part of the input at once"));
        }
        let program = Program::compile(&inside[..end]).map_err(|fault| moved(fault, text, start))?;
        self.references.extend(program.references());
        Ok((program, &inside[end + 1..]))
    }
}

/// The fault's place in the whole text.
fn moved(fault: Fault, text: &str, offset: usize) -> Fault {
    let start = Fault::at(text, offset, "", "");
    let column = if fault.line == 1 { fault.column + start.column - 1 } else { fault.column };
    Fault { line: fault.line + start.line - 1, column, ..fault }
}

/// What holds no expression is kept whole.
fn plain(piece: Piece) -> Piece {
    let is_plain = |piece: &Piece| matches!(piece, Piece::Plain(_));
    match piece {
        Piece::List(pieces) if pieces.iter().all(is_plain) => {
            Piece::Plain(pieces.into_iter().filter_map(value).collect())
        }
        Piece::Object(pieces) if pieces.iter().all(|(_, piece)| is_plain(piece)) => {
            let entries = pieces.into_iter().filter_map(|(key, piece)| Some((key, value(piece)?)));
            Piece::Plain(Value::Object(entries.collect()))
        }
        piece => piece,
    }
}

fn value(piece: Piece) -> Option<Value> {
    match piece {
        Piece::Plain(value) => Some(value),
        _ => None,
    }
}

struct Rendering<'a> {
    scope: &'a Scope<'a>,
    meter: Meter,
    answer: Answer,
}

impl Rendering<'_> {
    fn piece(&mut self, piece: &Piece) -> Result<Value, Failure> {
        match piece {
            Piece::Plain(value) => self.answer.copy(value).map_err(refused),
            Piece::One(program) => program.answer(self.scope, &mut self.meter, &mut self.answer),
            Piece::Joined(parts) => self.joined(parts).map(Value::String),
            Piece::List(pieces) => self.nested(|this| {
                let items = pieces.iter().map(|piece| this.piece(piece));
                items.collect::<Result<_, _>>().map(Value::Array)
            }),
            Piece::Object(pieces) => self.nested(|this| {
                let mut object = Map::new();
                for (key, piece) in pieces {
                    this.answer.key(key).map_err(refused)?;
                    object.insert(key.clone(), this.piece(piece)?);
                }
                Ok(Value::Object(object))
            }),
        }
    }

    fn nested(&mut self, run: impl FnOnce(&mut Self) -> Result<Value, Failure>) -> Result<Value, Failure> {
        self.answer.enter().map_err(refused)?;
        let value = run(self);
        self.answer.leave();
        value
    }

    /// Each part has the room of an answer, and all of them together that of one.
    fn joined(&mut self, parts: &[Part]) -> Result<String, Failure> {
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Program(program) => {
                    match program.answer(self.scope, &mut self.meter, &mut Answer::new())? {
                        Value::String(answer) => text.push_str(&answer),
                        other => text.push_str(&other.to_string()),
                    }
                }
            }
            self.answer.has_room_for(&text).map_err(refused)?;
        }
        self.answer.text(&text).map_err(refused)?;
        Ok(text)
    }
}

fn refused(stop: Stop) -> Failure {
    Failure { message: stop.message() }
}
