//! A statement for one row, turned into one that takes arrays: the same text serves both databases.

use tokio_postgres::types::Type;

/// `$1` becomes the first column of the rows that the arrays make. An insert selects from them; an update joins them.
pub fn batched(sql: &str, types: &[Type]) -> String {
    let columns: Vec<String> = (1..=types.len()).map(|i| format!("p{i}")).collect();
    let arrays: Vec<String> =
        types.iter().enumerate().map(|(i, t)| format!("${}::{}[]", i + 1, t.name())).collect();
    let from = format!("from unnest({}) as u({})", arrays.join(", "), columns.join(", "));
    let mut text = sql.trim_end().to_string();
    for i in (1..=types.len()).rev() {
        text = text.replace(&format!("${i}"), &format!("u.p{i}"));
    }
    if let Some((head, rest)) = text.split_once("values (")
        && let Some((inner, tail)) = rest.split_once(')')
    {
        return format!("{head}select {inner} {from}{tail}");
    }
    let from = if text.contains("delete from") { from.replacen("from", "using", 1) } else { from };
    match text.rsplit_once("\n where ") {
        Some((head, tail)) => format!("{head}\n  {from}\n where {tail}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_selects_from_the_arrays() {
        let sql = "insert into t (a, b, c) values ($1, 'x', $2)\non conflict do nothing\n";
        assert_eq!(
            batched(sql, &[Type::BYTEA, Type::INT8]),
            "insert into t (a, b, c) select u.p1, 'x', u.p2 from unnest($1::bytea[], $2::int8[]) as u(p1, p2)\n\
             on conflict do nothing"
        );
    }

    #[test]
    fn an_update_joins_the_arrays() {
        let sql = "update t\n   set a = $1, n = n + 1\n where id = $2 and n = $3\n";
        assert_eq!(
            batched(sql, &[Type::TEXT, Type::BYTEA, Type::INT8]),
            "update t\n   set a = u.p1, n = n + 1\n  from unnest($1::text[], $2::bytea[], $3::int8[]) as u(p1, p2, p3)\n \
             where id = u.p2 and n = u.p3"
        );
    }
}
