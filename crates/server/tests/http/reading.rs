//! Reading changes nothing, whatever is asked for and however it is asked.

use crate::access::filled;
use crate::document::parameters;
use crate::place::Place;
use axum::body::Body;
use axum::http::{Method, Request};
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeMap;
use stepfast_server as server;

/// What an engine writes by the clock alone.
const BY_THE_CLOCK: [&str; 5] = ["commit_stamps", "dispatch_groups", "minutes", "nodes", "ticks"];

pub type Rows = BTreeMap<String, Vec<String>>;

fn of_a_file(place: &Place) -> Rows {
    let file = Connection::open(place.file()).unwrap();
    let mut names = file.prepare("select name from sqlite_master where type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let whole = |name: String| {
        let mut table = file.prepare(&format!("select * from \"{name}\"")).unwrap();
        let columns = table.column_count();
        let row =
            |row: &rusqlite::Row| (0..columns).map(|n| row.get_ref(n).map(|v| format!("{v:?}"))).collect();
        let rows: Vec<Vec<String>> = table.query_map([], row).unwrap().map(Result::unwrap).collect();
        (name, rows.iter().map(|row| row.join("|")).collect())
    };
    names.into_iter().map(whole).collect()
}

async fn of_a_server(place: &Place) -> Rows {
    let read = |store: &mut dyn store::Store| {
        let sql = store.reader();
        let text = "select table_name::text from information_schema.tables where table_schema = 'stepfast'";
        let tables: Vec<String> = sql.rows(text, &[], |row| row.get(0)).unwrap();
        let whole = |table: String| {
            let text = format!("select t::text from {table} t order by 1");
            let rows: Vec<String> = sql.rows(&text, &[], |row| row.get(0)).unwrap();
            (table, rows)
        };
        tables.into_iter().map(whole).collect()
    };
    place.engine.with_store(read).await.unwrap()
}

/// Every row of every table.
pub async fn rows(place: &Place) -> Rows {
    let mut all = match std::env::var_os("STEPFAST_TEST_POSTGRES") {
        Some(_) => of_a_server(place).await,
        None => of_a_file(place),
    };
    all.retain(|table, _| !BY_THE_CLOCK.contains(&table.as_str()));
    assert!(all.len() > 20 && !all["audit"].is_empty(), "this is no whole database: {:?}", all.keys());
    all
}

/// A page that wants a token of its own puts on record that it was shown a wrong one.
fn is_refusal(row: &str) -> bool {
    let bytes: Vec<String> = "refused".bytes().map(|byte| byte.to_string()).collect();
    row.contains("refused") || row.contains(&bytes.join(", "))
}

pub fn same(before: &Rows, after: &Rows) {
    // Where the audit ends follows from its rows.
    for (table, rows) in before.iter().filter(|(table, _)| *table != "audit_head") {
        let now = after[table].iter().filter(|row| table != "audit" || !is_refusal(row));
        assert_eq!(rows.iter().collect::<Vec<_>>(), now.collect::<Vec<_>>(), "{table} has changed");
    }
}

/// Some of everything, and nothing that moves by itself. The address of the workflow comes back.
pub async fn still(place: &Place) -> String {
    let yaml = "workflow: held\nversion: 1.0.0\nsteps:\n  - { key: a, action: ghost }\n";
    place.define(yaml).await.ok();
    let id = place.start("held", json!({})).await;
    place.create(r#"[{"action": "ghost", "message_group": "g", "mode": "block_on_error"}]"#).await;
    place.post("/v1/pools", r#"{"name": "p", "concurrency": 1}"#).await.ok();
    place.key("viewer").await;
    place.post("/v1/flows", r#"{"type": "t", "key": "1", "steps": ["a"]}"#).await.ok();
    let begun = place.post("/v1/executions/begin", r#"{"namespace": "n", "key": "k"}"#).await;
    assert!(begun.status.is_success());
    place.until(&format!("/v1/workflows/{id}"), |shown| shown["steps"][0]["state"] == "pending").await;
    id
}

#[tokio::test]
async fn s7_whatever_is_read_is_as_it_was() {
    let place = Place::open();
    let id = still(&place).await;
    let before = rows(&place).await;
    let mut asked = 0;
    for route in server::routes().iter().filter(|route| route.method == Method::GET) {
        let path = route.path.replace("/workflows/{id}", &format!("/workflows/{id}"));
        let path = path.replace("{workflow}", "held").replace("{version}", "1.0.0");
        for method in [Method::GET, Method::HEAD] {
            let request = Request::builder().method(method).uri(filled(&path)).header("host", "localhost");
            let answer = place.send(request.body(Body::empty()).unwrap()).await;
            assert!(!answer.status.is_server_error(), "{path}: {}", answer.text());
            asked += 1;
        }
    }
    println!("{asked} times asked");
    same(&before, &rows(&place).await);
    place.close().await;
}

/// Every parameter of everything that is read, with what would be more than a value if it were put into a statement.
#[tokio::test]
async fn s32b_no_parameter_is_read_as_sql() {
    let place = Place::open();
    still(&place).await;
    let before = rows(&place).await;
    let hostile = [
        "'",
        "''",
        "\"",
        "';delete from steps;--",
        "' or '1'='1",
        "1) or (1=1",
        "$1",
        "?1",
        "\\",
        "%",
        "id desc",
    ];
    let coded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let mut asked = 0;
    for route in server::routes().iter().filter(|route| route.method == Method::GET) {
        let path = filled(route.path);
        let (path, rest) = path.split_once('?').unwrap_or((&path, ""));
        for name in parameters(&route.method, route.path) {
            if rest.starts_with(&name) {
                // It would listen for ever with a place that is one.
                continue;
            }
            for text in hostile {
                let address = format!("{path}?{name}={}&{rest}", coded(text));
                let answer = place.get(&address).await;
                assert!(!answer.status.is_server_error(), "{address}: {}", answer.text());
                asked += 1;
            }
        }
        if route.path.contains("{name}") || route.path.contains("{key}") {
            for text in hostile {
                let address = route.path.replace("{name}", &coded(text)).replace("{key}", &coded(text));
                let answer = place.get(&filled(&address)).await;
                assert!(!answer.status.is_server_error(), "{address}: {}", answer.text());
                asked += 1;
            }
        }
    }
    println!("{asked} times asked");
    assert!(asked > 300, "{asked}");
    same(&before, &rows(&place).await);
    place.close().await;
}
