//! Text to a tree, within limits.
//!
//! Why    a file comes from anybody. What aliases stand for is counted as if it were written out, so nothing a file says can
//!        grow beyond what it may have said without them; and a tree is never deeper than a careless recursion can bear.

mod syntax;

use crate::diagnostic::Spot;
use crate::limits::{DEPTH_MAX, FILE_BYTES_MAX, NODES_MAX, TEXT_BYTES_MAX};
use crate::notes::Notes;
use crate::tree::{Body, Entry, Node, Scalar, Style};
use granit_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a part of the tree comes to when everything it stands for is counted.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    height: usize,
}

impl Size {
    fn add(&mut self, inner: Size) {
        self.nodes = self.nodes.saturating_add(inner.nodes);
        self.bytes = self.bytes.saturating_add(inner.bytes);
        self.height = self.height.max(inner.height + 1);
    }
}

struct Frame {
    spot: Spot,
    body: Body,
    size: Size,
    anchor: usize,
    /// The key whose value comes next.
    key: Option<(String, Spot)>,
    /// That key would merge another mapping into this one.
    merges: bool,
    keys: HashSet<String>,
}

/// Nothing more of the file is read.
struct Stop;

struct Builder<'n> {
    notes: &'n mut Notes,
    stack: Vec<Frame>,
    root: Option<Arc<Node>>,
    anchors: HashMap<usize, (Arc<Node>, Size)>,
    documents: usize,
    total: Size,
}

/// The tree of a text, as far as it can be read; what is wrong with it is noted.
pub(crate) fn parse(text: &str, notes: &mut Notes) -> Option<Arc<Node>> {
    let options = granit_parser::options! { emit_comments: false };
    let mut builder = Builder {
        notes,
        stack: Vec::new(),
        root: None,
        anchors: HashMap::new(),
        documents: 0,
        total: Size::default(),
    };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => builder.take(event, &span).ok()?,
            Err(error) => {
                let (message, fix) = syntax::explain(&error);
                let at = error.marker();
                let spot = Spot { line: at.line() as u32, column: at.col() as u32 + 1, width: 1 };
                builder.notes.add(spot, "", message, fix);
                return None;
            }
        }
    }
    builder.root
}

/// The text of a file, or why it is none.
pub(crate) fn decode<'a>(bytes: &'a [u8], notes: &mut Notes) -> Option<&'a str> {
    let start = Spot { line: 1, column: 1, width: 1 };
    if bytes.len() > FILE_BYTES_MAX {
        let message = format!("the file is {} bytes long", bytes.len());
        let fix =
            format!("write at most {FILE_BYTES_MAX} bytes; what a step needs to know it can fetch by itself");
        notes.add(start, "", message, fix);
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let from = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let column = 1 + String::from_utf8_lossy(&before[from..]).chars().count();
            let spot = Spot { line: line as u32, column: column as u32, width: 1 };
            notes.add(spot, "", "this is not UTF-8", "save the file as UTF-8");
            None
        }
    }
}

fn spot(span: &Span) -> Spot {
    let (line, column) = (span.start.line() as u32, span.start.col() as u32 + 1);
    let same_line = span.end.line() == span.start.line();
    let width = if same_line { span.end.col().saturating_sub(span.start.col()) as u32 } else { 0 };
    Spot { line, column, width: width.max(1) }
}

impl Builder<'_> {
    fn take(&mut self, event: Event, span: &Span) -> Result<(), Stop> {
        let at = spot(span);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.notes.add(
                        at,
                        "",
                        "a second document begins here",
                        "write one definition in each file",
                    );
                    return Err(Stop);
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                self.scalar(text.into_owned(), style, at, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                self.open(Body::List(Vec::new()), at, anchor)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                self.open(Body::Map(Vec::new()), at, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Alias(id) => self.alias(id, at)?,
            _ => {}
        }
        Ok(())
    }

    fn refuse_tag(&mut self, tagged: bool, span: &Span) {
        if tagged {
            let tag = span.tag_span();
            let at = spot(tag.as_ref().unwrap_or(span));
            self.notes.add(at, "", "tags mean nothing here", "remove it; put text in quotes");
        }
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, at: Spot, anchor: usize) -> Result<(), Stop> {
        if text.contains('\0') {
            self.notes.add(at, "", "contains a NUL character", "remove it");
        }
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
            _ => Style::Quoted,
        };
        let size = Size { nodes: 1, bytes: text.len(), height: 0 };
        self.count(size, at)?;
        let awaits_key = matches!(self.stack.last(), Some(Frame { body: Body::Map(_), key: None, .. }));
        if awaits_key && style != Style::Literal && style != Style::Folded {
            self.key(text, style, at);
            return Ok(());
        }
        let node = Node { spot: at, body: Body::Scalar(Scalar { text, style }) };
        self.put(Arc::new(node), size, anchor)
    }

    fn key(&mut self, text: String, style: Style, at: Spot) {
        if text == "<<" && style == Style::Plain {
            self.notes.add(
                at,
                "",
                "mappings are not merged",
                "write the keys out, or use `*name` for a whole value",
            );
        }
        if let Some(frame) = self.stack.last_mut() {
            frame.merges = text == "<<" && style == Style::Plain;
            // A mapping in block style begins where its first key does.
            if frame.keys.is_empty() && frame.spot.line == at.line && frame.spot.column == at.column {
                frame.spot.width = at.width;
            }
            frame.key = Some((text, at));
        }
    }

    fn open(&mut self, body: Body, at: Spot, anchor: usize) -> Result<(), Stop> {
        if self.stack.len() >= DEPTH_MAX {
            return self.too_deep(at);
        }
        let size = Size { nodes: 1, ..Size::default() };
        self.count(size, at)?;
        self.stack.push(Frame {
            spot: at,
            body,
            size,
            anchor,
            key: None,
            merges: false,
            keys: HashSet::new(),
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Stop> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        self.put(Arc::new(Node { spot: frame.spot, body: frame.body }), frame.size, frame.anchor)
    }

    fn alias(&mut self, id: usize, at: Spot) -> Result<(), Stop> {
        match self.anchors.get(&id).cloned() {
            Some((node, size)) if self.stack.len() + size.height < DEPTH_MAX => {
                self.count(size, at)?;
                self.put(node, size, 0)
            }
            Some(_) => self.too_deep(at),
            None => {
                self.notes.add(at, "", "this stands for something it is a part of", "write the value out");
                Err(Stop)
            }
        }
    }

    fn too_deep(&mut self, at: Spot) -> Result<(), Stop> {
        let fix = format!("nest lists and mappings at most {DEPTH_MAX} deep");
        self.notes.add(at, "", "this is nested too deep", fix);
        Err(Stop)
    }

    /// What comes to the whole: a value as it is read, and all that an alias stands for.
    fn count(&mut self, size: Size, at: Spot) -> Result<(), Stop> {
        self.total.add(size);
        let (what, most) = match self.total {
            Size { nodes, .. } if nodes > NODES_MAX => ("values", NODES_MAX),
            Size { bytes, .. } if bytes > TEXT_BYTES_MAX => ("bytes of text", TEXT_BYTES_MAX),
            _ => return Ok(()),
        };
        let fix = format!("write at most {most} {what}, with what `*name` stands for");
        self.notes.add(at, "", format!("the file comes to more than {most} {what}"), fix);
        Err(Stop)
    }

    fn put(&mut self, node: Arc<Node>, size: Size, anchor: usize) -> Result<(), Stop> {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.size.add(size);
        match (&mut frame.body, frame.key.take()) {
            (Body::Map(_), Some(_)) if frame.merges => {}
            (Body::Map(entries), Some((key, spot))) => {
                if frame.keys.insert(key.clone()) {
                    entries.push(Entry { key, spot, value: node });
                } else {
                    let first =
                        entries.iter().find(|entry| entry.key == key).map_or(0, |entry| entry.spot.line);
                    let message = format!("`{key}` is written twice; first in line {first}");
                    self.notes.add(spot, "", message, "keep one of them");
                }
            }
            (Body::List(nodes), _) => nodes.push(node),
            _ => {
                self.notes.add(node.spot, "", "only text can be a key", "write the key as plain text");
                return Err(Stop);
            }
        }
        Ok(())
    }
}
