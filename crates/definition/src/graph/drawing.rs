//! A definition laid out: made once, and painted as often as somebody looks.

use super::Picture;
use super::layout::Layout;
use super::svg::{self, Looks, STYLE};
use model::Fault;
use model::definition::Definition;

#[derive(Debug)]
pub struct Drawing {
    pub(super) title: String,
    /// Of the steps, as they are written; what is drawn may be shortened.
    pub(super) keys: Vec<String>,
    pub(super) picture: Picture,
    /// None of a large one, which is listed.
    pub(super) layout: Option<Layout>,
}

impl Drawing {
    pub fn of(definition: &Definition) -> Result<Drawing, Vec<Fault>> {
        let picture = Picture::of(definition)?;
        Ok(Drawing {
            title: format!("{} {}", definition.workflow, definition.version),
            keys: definition.steps.iter().map(|step| step.key.clone()).collect(),
            layout: (!picture.is_too_large()).then(|| Layout::of(&picture)),
            picture,
        })
    }

    /// A picture that stands by itself.
    pub fn alone(&self, looks: &Looks) -> String {
        svg::paint(self, looks, &format!("<style>{STYLE}</style>"))
    }

    /// A picture without its looks, for a page that has `STYLE` among its own.
    pub fn figure(&self, looks: &Looks) -> String {
        svg::paint(self, looks, "")
    }
}
