//! New rows as the parameters of one insert: what is null in all of them is left out, what is the same in all of them is one value, and
//! only the rest are arrays.
//!
//! Why    the server makes a table of its own of each array before it reads the first row. Of the fifty columns of a step, three or four
//!        differ between steps that were created together.

use crate::sql::Param;
use tokio_postgres::types::{ToSql, Type};

/// The columns of an insert, in the order of its parameters.
pub struct Columns {
    names: Vec<&'static str>,
    types: Vec<Type>,
}

/// Sets of columns, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Those that have a value in any row.
    pub used: u64,
    /// Those that are arrays. The first is one always: it tells how many rows there are.
    arrays: u64,
}

impl Columns {
    pub fn of(sql: &'static str, types: &[Type]) -> Columns {
        let (_, rest) = sql.split_once('(').expect("an insert names its columns");
        let (names, _) = rest.split_once(')').expect("an insert names its columns");
        Columns { names: names.split(',').map(str::trim).collect(), types: types.to_vec() }
    }

    /// How many parameters rows of this form have.
    pub fn width(&self, form: Form) -> usize {
        (0..self.names.len()).filter(|i| has(form.used, *i)).count()
    }

    /// The insert of a single row, for rows of this form, with so many parameters before its own.
    pub fn insert(&self, sql: &str, form: Form, before: usize) -> String {
        let (head, _) = sql.split_once('(').expect("an insert names its columns");
        let tail = sql.trim_end().rsplit_once("values (").and_then(|(_, values)| values.split_once(')'));
        let (_, tail) = tail.expect("an insert has values");
        let used = (0..self.names.len()).filter(|i| has(form.used, *i));
        let (mut names, mut values, mut arrays, mut of_arrays) = (vec![], vec![], vec![], vec![]);
        for (n, i) in used.enumerate() {
            let (name, parameter) = (self.names[i], format!("${}::{}", before + n + 1, self.types[i].name()));
            names.push(name);
            if has(form.arrays, i) {
                values.push(format!("u.{name}"));
                arrays.push(format!("{parameter}[]"));
                of_arrays.push(name);
            } else {
                values.push(parameter);
            }
        }
        let (names, values) = (names.join(", "), values.join(", "));
        let (arrays, of_arrays) = (arrays.join(", "), of_arrays.join(", "));
        format!("{head}({names}) select {values} from unnest({arrays}) as u({of_arrays}){tail}")
    }
}

impl Form {
    pub fn of(columns: &[Vec<Param>]) -> Form {
        let has_value = |column: &[Param]| column.iter().any(|value| !matches!(value, Param::Null));
        let differs = |column: &[Param]| column.iter().any(|value| *value != column[0]);
        let which = |is: &dyn Fn(&[Param]) -> bool| {
            columns.iter().enumerate().map(|(i, column)| u64::from(is(column)) << i).sum::<u64>()
        };
        Form { used: which(&has_value) | 1, arrays: which(&differs) | 1 }
    }
    /// With every column.
    pub fn whole(self) -> Form {
        Form { used: u64::MAX, ..self }
    }
    /// What rows of both forms fit into.
    pub fn and(self, other: Form) -> Form {
        Form { used: self.used | other.used, arrays: self.arrays | other.arrays }
    }
    pub fn params<'a>(self, columns: &'a [Vec<Param<'a>>]) -> impl Iterator<Item = &'a (dyn ToSql + Sync)> {
        let used = columns.iter().enumerate().filter(move |(i, _)| has(self.used, *i));
        used.map(move |(i, column)| match has(self.arrays, i) {
            true => column as &(dyn ToSql + Sync),
            false => &column[0] as &(dyn ToSql + Sync),
        })
    }
}

fn has(columns: u64, i: usize) -> bool {
    columns >> i & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use Param::{Int, Null};

    const SQL: &str = "insert into t (a, b, c, d) values ($1, $2, $3, $4)\non conflict (a) do nothing\n";

    fn columns() -> Columns {
        Columns::of(SQL, &[Type::BYTEA, Type::INT8, Type::TEXT, Type::INT4])
    }

    #[test]
    fn a_column_is_left_out_or_one_value_or_an_array() {
        let rows = [vec![Int(1), Int(1)], vec![Null, Null], vec![Int(7), Int(7)], vec![Null, Int(2)]];
        let form = Form::of(&rows);
        assert_eq!((form.used, form.arrays), (0b1101, 0b1001));
        assert_eq!((columns().width(form), form.params(&rows).count()), (3, 3));
        assert_eq!(
            columns().insert(SQL, form, 5),
            "insert into t (a, c, d) select u.a, $7::text, u.d from unnest($6::bytea[], $8::int4[]) as u(a, d)\n\
             on conflict (a) do nothing"
        );
    }

    #[test]
    fn one_row_is_a_row_too() {
        let form = Form::of(&[vec![Null], vec![Int(1)], vec![Null], vec![Null]]);
        assert_eq!((form.used, form.arrays), (0b11, 0b1));
        assert_eq!((columns().width(form.whole()), form.whole().arrays), (4, 0b1));
    }

    #[test]
    fn what_differed_once_is_an_array_from_then_on() {
        let first = Form::of(&[vec![Int(1), Int(2)], vec![Int(3), Int(4)], vec![Int(5), Int(5)]]);
        let second = Form::of(&[vec![Int(1), Int(2)], vec![Int(3), Int(3)], vec![Int(5), Int(6)]]);
        let both = second.and(first);
        assert_eq!((both.used, both.arrays), (0b111, 0b111));
        assert_eq!(both.and(second), both);
    }
}
