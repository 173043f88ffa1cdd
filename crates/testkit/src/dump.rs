//! All that a database holds, to look for what must not be there.

use engine::{Keyring, SealKey};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use store::Database;
use store::postgres::tokio_postgres::{NoTls, connect};

/// A key that seals secret values, different for each id.
pub fn keys(id: &str) -> Keyring {
    let first = id.bytes().last().unwrap_or_default();
    Keyring::of(vec![SealKey::new(id, [first; 32])])
}

/// Every value of every table and, where it is a file, every byte on disk.
pub async fn everything(database: &Database) -> Vec<u8> {
    match database {
        Database::Sqlite(path) => {
            let mut all = rows(path);
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            let beside = path.parent().expect("a directory");
            for entry in std::fs::read_dir(beside).expect("the directory can be read") {
                let entry = entry.expect("an entry");
                let of_database = entry.file_name().to_string_lossy().starts_with(&name);
                if of_database && entry.path().extension().is_none_or(|end| end != "key") {
                    all.extend(std::fs::read(entry.path()).unwrap_or_default());
                }
            }
            all
        }
        Database::Postgres(url) => tables(url).await,
    }
}

/// A value may lie over the edge of a page, so the bytes of a file alone do not show everything.
fn rows(path: &Path) -> Vec<u8> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the file opens");
    let mut names = file.prepare("select name from sqlite_master where type = 'table'").expect("a statement");
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).expect("tables").map(|name| name.expect("a name")).collect();
    let mut all = Vec::new();
    for name in names {
        let mut rows = file.prepare(&format!("select * from \"{name}\"")).expect("a table");
        let columns = rows.column_count();
        let mut rows = rows.query([]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            for n in 0..columns {
                match row.get_ref(n).expect("a value") {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => all.extend(bytes),
                    ValueRef::Integer(n) => all.extend(n.to_string().bytes()),
                    ValueRef::Null | ValueRef::Real(_) => {}
                }
                all.push(b'\n');
            }
        }
    }
    all
}

async fn tables(url: &str) -> Vec<u8> {
    let (client, connection) = connect(url, NoTls).await.expect("the server lets us in");
    let connection = tokio::spawn(connection);
    let named = "select format('%I.%I', table_schema, table_name) from information_schema.tables
                  where table_schema not in ('pg_catalog', 'information_schema')";
    let mut all = Vec::new();
    for name in client.query(named, &[]).await.expect("tables") {
        let name: String = name.get(0);
        let text = format!("select t::text from {name} t");
        for row in client.query(&text, &[]).await.expect("rows") {
            all.extend(row.get::<_, String>(0).bytes());
            all.push(b'\n');
        }
    }
    connection.abort();
    all
}

/// Whether some bytes stand there, as they are or as a server shows bytes.
pub fn holds(all: &[u8], what: &str) -> bool {
    let hex: String = what.bytes().map(|byte| format!("{byte:02x}")).collect();
    [what, &hex].iter().any(|form| all.windows(form.len()).any(|part| part == form.as_bytes()))
}
