//! Statements behind the engine's back, as somebody with a way to the database would run them.

use store::Database;
use store::postgres::tokio_postgres::{NoTls, connect};

/// All of a script; what the database says when it refuses.
pub async fn run(database: &Database, script: &str) -> Result<(), String> {
    match database {
        Database::Sqlite(path) => {
            let file = rusqlite::Connection::open(path).expect("the file opens");
            file.execute_batch(script).map_err(|e| e.to_string())
        }
        Database::Postgres(url) => {
            let (client, connection) = connect(url, NoTls).await.expect("the server lets us in");
            tokio::spawn(connection);
            let script = format!("set search_path = stepfast; {script}");
            let told = |e: store::postgres::tokio_postgres::Error| {
                e.as_db_error().map_or_else(|| e.to_string(), |told| told.message().to_string())
            };
            client.batch_execute(&script).await.map_err(told)
        }
    }
}
