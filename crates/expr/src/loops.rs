//! The loops of CEL: `all`, `exists`, `exists_one`, `map` and `filter`.
//!
//! Why    they are the only parts of an expression that run more than once. A map is gone over by its keys in their order, so
//!        that the same values have the same answer.

use crate::evaluation::Evaluation;
use crate::limits::LOOP_ITEMS_MAX;
use crate::meter::{Stop, problem};
use crate::node::{Loop, LoopKind, Node};
use crate::value::Val;

impl<'a> Evaluation<'a, '_> {
    pub(crate) fn go_over(&mut self, a_loop: &'a Loop) -> Result<Val<'a>, Stop> {
        let range = self.run(&a_loop.range)?;
        let items = self.range(range)?;
        match a_loop.kind {
            LoopKind::All => self.quantify(items, &a_loop.body, Decides::False),
            LoopKind::Exists => self.quantify(items, &a_loop.body, Decides::True),
            LoopKind::ExistsOne => self.count(items, &a_loop.body).map(|count| Val::Bool(count == 1)),
            LoopKind::Map => self.collect(items, a_loop.filter.as_ref(), Some(&a_loop.body)),
            LoopKind::Filter => self.collect(items, Some(&a_loop.body), None),
        }
    }

    fn range(&mut self, range: Val<'a>) -> Result<Val<'a>, Stop> {
        let size = range.len();
        if size > LOOP_ITEMS_MAX {
            return Err(Stop::Limit(format!(
                "a loop goes over at most {LOOP_ITEMS_MAX} items, and here are {size}; \
                 make a step for each of them instead"
            )));
        }
        if range.is_list() {
            return Ok(range);
        }
        if !range.is_map() {
            return problem(format!("{} cannot be looped over; a list or a map can", range.told()));
        }
        self.meter.build_values(size + 3)?;
        Ok(Val::list(range.keys().into_iter().map(|key| key.value()).collect()))
    }

    /// Evaluates something with the variable of the loop.
    fn with<T>(&mut self, item: Val<'a>, run: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        self.locals.push(item);
        let result = run(self);
        self.locals.pop();
        result
    }

    /// One item decides, even if there was something wrong with another.
    fn quantify(&mut self, items: Val<'a>, body: &'a Node, decides: Decides) -> Result<Val<'a>, Stop> {
        let decisive = decides == Decides::True;
        let mut pending = None;
        for item in items.items() {
            match self.with(item, |this| this.truth(body)) {
                Ok(truth) if truth == decisive => return Ok(Val::Bool(decisive)),
                Ok(_) => {}
                Err(Stop::Limit(message)) => return Err(Stop::Limit(message)),
                Err(problem) => pending = Some(problem),
            }
        }
        match pending {
            Some(problem) => Err(problem),
            None => Ok(Val::Bool(!decisive)),
        }
    }

    fn count(&mut self, items: Val<'a>, body: &'a Node) -> Result<usize, Stop> {
        let mut count = 0;
        for item in items.items() {
            count += usize::from(self.with(item, |this| this.truth(body))?);
        }
        Ok(count)
    }

    fn collect(
        &mut self,
        items: Val<'a>,
        filter: Option<&'a Node>,
        body: Option<&'a Node>,
    ) -> Result<Val<'a>, Stop> {
        self.meter.build_values(3)?;
        let mut list = Vec::new();
        for item in items.items() {
            let kept =
                self.with(item.clone(), |this| filter.map_or(Ok(true), |filter| this.truth(filter)))?;
            if !kept {
                continue;
            }
            self.meter.build_values(1)?;
            list.push(match body {
                Some(body) => self.with(item, |this| this.run(body))?,
                None => item,
            });
        }
        Ok(Val::list(list))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Decides {
    True,
    False,
}
