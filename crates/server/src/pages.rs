//! Where a page of a list goes on: `next` of one page is `after` of the following, and the words are the same everywhere.

use crate::error::ApiError;
use crate::extract::page_size;
use model::{Timestamp, limits};
use schemars::JsonSchema;
use serde::Deserialize;
use std::str::FromStr;

/// What is asked of a list that has no other parameters.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    /// `next` of the page before.
    pub after: Option<String>,
    #[schemars(range(min = 1, max = limits::PAGE_ROWS_MAX))]
    pub limit: Option<usize>,
}

impl Wanted {
    /// As many as there are, up to a whole page, of a list that is short.
    pub fn whole(&self) -> Result<usize, ApiError> {
        page_size(self.limit.or(Some(limits::PAGE_ROWS_MAX)))
    }
}

/// Keep a page of what was read, which is one row more; the place of its last row if that was there.
pub fn cut<T>(rows: &mut Vec<T>, limit: usize, place: impl Fn(&T) -> String) -> Option<String> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    rows.last().filter(|_| more).map(place)
}

/// A page of more rows than are read at once, in as many reads as it takes to look at so many.
pub fn joined<T, A: FromStr>(
    mut after: Option<A>,
    (limit, at_once): (usize, usize),
    read: impl Fn(Option<A>, usize) -> store::Result<(Vec<T>, Option<String>)>,
) -> store::Result<(Vec<T>, Option<String>)> {
    let (mut rows, mut left) = (Vec::new(), limit);
    loop {
        let many = left.min(at_once);
        let (part, next) = read(after, many)?;
        rows.extend(part);
        left -= many;
        after = next.as_deref().and_then(|next| next.parse().ok());
        if left == 0 || after.is_none() {
            return Ok((rows, next));
        }
    }
}

/// Which way the names of a list go.
#[derive(Clone, Copy)]
pub enum Order {
    Rising,
    Falling,
}

/// A page of a list that is short enough to be read whole, behind the name that a page before ended with.
pub fn part<T>(
    all: Vec<T>,
    wanted: &Wanted,
    order: Order,
    name: impl Fn(&T) -> &str,
) -> Result<(Vec<T>, Option<String>), ApiError> {
    let limit = wanted.whole()?;
    let is_behind = |item: &T, after: &str| match order {
        Order::Rising => name(item) > after,
        Order::Falling => name(item) < after,
    };
    let first = match wanted.after.as_deref() {
        None => Some(0),
        // What was the last of a page may be gone by now.
        Some(after) => match all.iter().position(|item| name(item) == after) {
            Some(at) => Some(at + 1),
            None => all.iter().position(|item| is_behind(item, after)),
        },
    };
    let mut rows: Vec<T> = all.into_iter().skip(first.unwrap_or(usize::MAX)).take(limit + 1).collect();
    let next = cut(&mut rows, limit, |item| name(item).to_string());
    Ok((rows, next))
}

fn strange(text: &str) -> ApiError {
    ApiError::BadRequest(format!("after: `{text}` is not a place in this list; send what `next` said"))
}

/// A place that is one number or id.
pub fn place<T: FromStr>(after: Option<&str>) -> Result<Option<T>, ApiError> {
    after.map(|text| text.parse().map_err(|_| strange(text))).transpose()
}

/// A place that is a time and two more.
pub fn place_in_time<A: FromStr, B: FromStr>(
    after: Option<&str>,
) -> Result<Option<(Timestamp, A, B)>, ApiError> {
    let read = |text: &str| {
        let mut parts = text.splitn(3, ' ');
        let at = parts.next()?.parse().ok()?;
        Some((Timestamp(at), parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    after.map(|text| read(text).ok_or_else(|| strange(text))).transpose()
}

/// Those of a page that are of a scope; it may be short, and have a next one.
pub fn ours<T>(rows: Vec<T>, is_ours: impl Fn(&T) -> store::Result<bool>) -> store::Result<Vec<T>> {
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        if is_ours(&row)? {
            kept.push(row);
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(after: Option<&str>, limit: usize) -> Wanted {
        Wanted { after: after.map(Into::into), limit: Some(limit) }
    }

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let page = |after: Option<&str>, order, names: &[&'static str]| {
            part(names.to_vec(), &wanted(after, 2), order, |name| name).unwrap()
        };
        assert_eq!(page(None, Order::Rising, &["a", "b", "c"]), (vec!["a", "b"], Some("b".into())));
        assert_eq!(page(Some("b"), Order::Rising, &["a", "b", "c"]), (vec!["c"], None));
        assert_eq!(
            page(Some("b"), Order::Rising, &["a", "c"]),
            (vec!["c"], None),
            "what is gone is a place too"
        );
        assert_eq!(page(Some("c"), Order::Falling, &["c", "b", "a"]), (vec!["b", "a"], None));
        assert!(part(vec!["a"], &wanted(None, 0), Order::Rising, |name| name).is_err());
    }

    #[test]
    fn a_page_may_be_longer_than_what_is_read_at_once() {
        // Rows that are not shown are looked at all the same.
        let read = |after: Option<usize>, limit: usize| {
            assert!(limit <= 3);
            let mut rows: Vec<usize> = (after.map_or(0, |n| n + 1)..10).take(limit + 1).collect();
            let next = cut(&mut rows, limit, usize::to_string);
            rows.retain(|n| *n != 1);
            Ok((rows, next))
        };
        let page = |after, limit| joined(after, (limit, 3), read).unwrap();
        assert_eq!(page(None, 4), (vec![0, 2, 3], Some("3".into())));
        assert_eq!(page(Some(3), 4), (vec![4, 5, 6, 7], Some("7".into())));
        assert_eq!(page(Some(3), 6), (vec![4, 5, 6, 7, 8, 9], None));
        assert_eq!(page(Some(7), 6), (vec![8, 9], None));
        assert_eq!(page(None, 2), (vec![0], Some("1".into())));
    }

    #[test]
    fn places_are_read_as_they_were_told() {
        assert_eq!(place::<i64>(Some("7")).unwrap(), Some(7));
        assert!(place::<i64>(Some("x")).is_err());
        let read = place_in_time::<String, String>(Some("-5 ops a b")).unwrap();
        assert_eq!(read, Some((Timestamp(-5), "ops".into(), "a b".into())));
        assert!(place_in_time::<String, String>(Some("5 ops")).is_err());
    }
}
