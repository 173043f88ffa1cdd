//! What was read of the rows that wait: counted by PostgreSQL, and told by rows that nobody can read.

use anyhow::Result;
use store::Database;
use store::postgres::tokio_postgres::{Client, NoTls, connect};

/// Words that none of these columns may have: whoever reads such a row is told that it is corrupt.
const UNREADABLE: [&str; 2] =
    ["update steps set reason = 'unreadable'", "update workflows set labels = 'unreadable'"];

/// So that it is noticed when one of them is read. Everything in the database waits when this is called.
pub async fn make_unreadable(database: &Database) -> Result<()> {
    match database {
        Database::Sqlite(path) => {
            let file = rusqlite::Connection::open(path)?;
            for text in UNREADABLE {
                file.execute(text, [])?;
            }
        }
        Database::Postgres(url) => {
            let client = client(url).await?;
            for text in UNREADABLE {
                client.execute(&format!("{text} where true"), &[]).await?;
            }
            client.batch_execute("vacuum analyze").await?;
        }
    }
    Ok(())
}

/// Rows that were read so far of the tables in which something waits, as PostgreSQL counts them; SQLite does not.
pub async fn read(database: &Database) -> Result<f64> {
    let Database::Postgres(url) = database else { return Ok(0.0) };
    let text = "select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::float8
                  from pg_stat_user_tables where relname in ('steps', 'workflows', 'pauses')";
    Ok(client(url).await?.query_one(text, &[]).await?.get(0))
}

async fn client(url: &str) -> Result<Client> {
    let (client, connection) = connect(url, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute("set search_path to stepfast, public").await?;
    Ok(client)
}
