//! Where each search goes on: a look reads a bounded part of every index, and the next one goes on behind it.
//!
//! Why    what waits by design can fill any page. A search that began at the oldest end each time would never see what stands behind;
//!        one that goes on, and at the end begins again, has seen everything after a number of looks that the number of rows bounds.

use crate::Result;
use model::limits;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// What each search read last, by its name; one without a mark begins at the beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds(BTreeMap<String, Value>);

/// How much one part of a search may cost, and how much it may keep.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub cost: usize,
    pub kept: usize,
}

/// What was read in one go: rows in order, each with what is to be judged of it.
pub struct Leg<K, R> {
    pub rows: Vec<(K, Option<R>)>,
    pub cost: usize,
    /// There is nothing behind it.
    pub ended: bool,
}

impl<K, R> Leg<K, R> {
    /// Of a single index: a row costs one, and fewer than were asked for are the last.
    pub fn of(rows: Vec<(K, Option<R>)>, limit: usize) -> Leg<K, R> {
        Leg { cost: rows.len(), ended: rows.len() < limit, rows }
    }
}

/// What one part of a search came to.
#[derive(Debug, PartialEq)]
pub struct Part<R> {
    pub kept: Vec<R>,
    pub cost: usize,
    /// The next part goes on; else everything was seen.
    pub more: bool,
}

impl Rounds {
    /// As it is on record; what is not understood begins anew.
    pub fn parse(text: &str) -> Rounds {
        Rounds(serde_json::from_str(text).unwrap_or_default())
    }

    pub fn written(&self) -> String {
        if self.0.len() > limits::STUCK_ROUNDS_MAX {
            return "{}".into();
        }
        serde_json::to_string(&self.0).expect("marks are plain data")
    }

    /// One part of a search: from its mark to the end and from the beginning to where the room ends.
    pub fn part<K: Serialize + DeserializeOwned, R>(
        &mut self,
        name: &str,
        room: Room,
        mut read: impl FnMut(Option<&K>, usize) -> Result<Leg<K, R>>,
    ) -> Result<Part<R>> {
        let mark: Option<K> = self.0.remove(name).and_then(|mark| serde_json::from_value(mark).ok());
        let begins_behind = mark.is_some();
        let mut part = Part { kept: Vec::new(), cost: 0, more: false };
        for from in [mark, None].into_iter().skip(usize::from(!begins_behind)) {
            let left = room.cost.saturating_sub(part.cost);
            if left == 0 {
                break;
            }
            let Leg { rows, cost, ended } = read(from.as_ref(), left)?;
            part.cost += cost;
            let mut last = from;
            for (key, row) in rows {
                part.kept.extend(row);
                last = Some(key);
                if part.kept.len() >= room.kept {
                    break;
                }
            }
            if !ended || part.kept.len() >= room.kept {
                self.mark(name, last);
                part.more = true;
                break;
            }
        }
        Ok(part)
    }

    fn mark<K: Serialize>(&mut self, name: &str, last: Option<K>) {
        if let Some(last) = last {
            self.0.insert(name.into(), serde_json::to_value(last).expect("a key is plain data"));
        }
    }
}

/// Several searches that share one room: each has its part, and what some leave the others have.
pub fn shared<S>(searches: &[S], room: Room, mut go_on: impl FnMut(&S, Room) -> Result<Spent>) -> Result<()> {
    let mut left: Vec<&S> = searches.iter().collect();
    let mut room = room;
    for _ in 0..2 {
        if left.is_empty() || room.cost == 0 || room.kept == 0 {
            break;
        }
        let n = left.len();
        let each = Room { cost: room.cost.div_ceil(n), kept: room.kept.div_ceil(n) };
        let mut with_more = Vec::new();
        for search in left {
            let spent = go_on(search, each)?;
            room.cost = room.cost.saturating_sub(spent.cost);
            room.kept = room.kept.saturating_sub(spent.kept);
            with_more.extend(spent.more.then_some(search));
        }
        left = with_more;
    }
    Ok(())
}

/// What a part took of the room.
pub struct Spent {
    pub cost: usize,
    pub kept: usize,
    pub more: bool,
}

impl<R> From<&Part<R>> for Spent {
    fn from(part: &Part<R>) -> Spent {
        Spent { cost: part.cost, kept: part.kept.len(), more: part.more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers up to `n`, of which those that end in zero are to be judged.
    fn look(rounds: &mut Rounds, n: u32, room: (usize, usize)) -> String {
        let room = Room { cost: room.0, kept: room.1 };
        let part = rounds.part("numbers", room, |after: Option<&u32>, limit| {
            let from = after.map_or(1, |after| after + 1);
            let rows = (from..=n).take(limit).map(|i| (i, (i % 10 == 0).then_some(i))).collect();
            Ok(Leg::of(rows, limit))
        });
        let Part { kept, cost, more } = part.unwrap();
        let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
        format!("{} of {cost}{}", kept.join(" "), if more { " …" } else { "" })
    }

    #[test]
    fn a_search_goes_on_where_it_ended_and_begins_again_at_the_end() {
        let mut rounds = Rounds::default();
        assert_eq!(look(&mut rounds, 50, (20, 9)), "10 20 of 20 …");
        assert_eq!(look(&mut rounds, 50, (20, 9)), "30 40 of 20 …");
        assert_eq!(look(&mut rounds, 50, (20, 9)), "50 10 of 20 …", "and round");
        assert_eq!(
            look(&mut rounds, 14, (20, 9)),
            "10 of 18",
            "what is small is seen whole, wherever it was"
        );
        assert_eq!(look(&mut rounds, 14, (20, 9)), "10 of 14");
    }

    #[test]
    fn what_is_found_bounds_a_part_too() {
        let mut rounds = Rounds::default();
        assert_eq!(look(&mut rounds, 50, (50, 2)), "10 20 of 50 …");
        assert_eq!(look(&mut rounds, 50, (50, 2)), "30 40 of 30 …");
        assert_eq!(look(&mut rounds, 50, (50, 2)), "50 10 of 50 …");
    }

    #[test]
    fn marks_are_kept_as_text_and_what_is_not_understood_begins_anew() {
        let mut rounds = Rounds::default();
        look(&mut rounds, 50, (20, 9));
        let mut read = Rounds::parse(&rounds.written());
        assert_eq!(look(&mut read, 50, (20, 9)), "30 40 of 20 …");
        assert_eq!(look(&mut Rounds::parse("{\"numbers\":[\"x\"]}"), 50, (20, 9)), "10 20 of 20 …");
        assert_eq!(look(&mut Rounds::parse("?"), 50, (20, 9)), "10 20 of 20 …");
    }

    #[test]
    fn what_a_small_search_leaves_a_large_one_has() {
        let mut rounds = Rounds::default();
        let mut told = Vec::new();
        shared(&[("small", 3u32), ("large", 900)], Room { cost: 100, kept: 100 }, |(name, n), room| {
            let part = rounds.part(name, room, |after: Option<&u32>, limit| {
                let from = after.map_or(1, |after| after + 1);
                Ok(Leg::of((from..=*n).take(limit).map(|i| (i, Some(i))).collect(), limit))
            })?;
            told.push(format!("{name} {}", part.cost));
            Ok(Spent::from(&part))
        })
        .unwrap();
        assert_eq!(told, ["small 3", "large 50", "large 47"]);
    }
}
