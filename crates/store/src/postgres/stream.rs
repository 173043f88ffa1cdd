//! An answer on its way from the connections' runtime to a thread that waits for it, a bounded number of rows at a time.
//!
//! Why    `check` reads tables of any size. The driver reads on only when what it has read is taken, so the server waits for
//!        the reader, and neither side holds more than some pages.

use super::link::{Patience, Prepared, spawn, within};
use crate::sql::{Param, Row};
use crate::{Result, StoreError};
use futures_util::TryStreamExt;
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use tokio::sync::Semaphore;
use tokio_postgres::RowStream;

const ROWS_PER_PAGE: usize = 250;
/// Pages that were read and not yet looked at.
const PAGES_AHEAD: usize = 4;

type Page = Vec<tokio_postgres::Row>;

/// Room for pages; a reader that has gone, for whatever reason, leaves none.
struct Room(Arc<Semaphore>);

impl Drop for Room {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Look at each row; nothing else may be asked on this connection meanwhile.
pub fn each(
    prepared: Arc<Prepared>,
    sql: String,
    params: Vec<Param<'static>>,
    look: &mut dyn FnMut(&Row) -> Result<()>,
) -> Result<()> {
    let (to, pages) = mpsc::channel();
    let room = Room(Arc::new(Semaphore::new(PAGES_AHEAD)));
    let free = room.0.clone();
    spawn(async move {
        if let Err(problem) = read(&prepared, &sql, params, &to, &free).await {
            // A reader that went away has nobody to tell.
            let _ = to.send(Err(problem));
        }
    });
    loop {
        let stopped = || Err(StoreError::Down("the connection's runtime has stopped".into()));
        let page: Page = pages.recv().unwrap_or_else(|_| stopped())?;
        page.iter().try_for_each(|row| look(row))?;
        if page.len() < ROWS_PER_PAGE {
            return Ok(());
        }
        room.0.add_permits(1);
    }
}

/// Every page is full but the last.
async fn read(
    prepared: &Prepared,
    sql: &str,
    params: Vec<Param<'static>>,
    to: &mpsc::Sender<Result<Page>>,
    free: &Semaphore,
) -> Result<()> {
    let limit = Patience::default().flight;
    let begun = within(limit, async {
        let statement = prepared.prepare(sql).await?;
        Ok::<_, StoreError>(prepared.client.query_raw(&statement, params).await?)
    });
    let mut rows = pin!(begun.await?);
    loop {
        let page = within(limit, next_page(rows.as_mut())).await?;
        let is_last = page.len() < ROWS_PER_PAGE;
        let Ok(permit) = free.acquire().await else { return Ok(()) };
        permit.forget();
        if to.send(Ok(page)).is_err() || is_last {
            return Ok(());
        }
    }
}

async fn next_page(mut rows: Pin<&mut RowStream>) -> Result<Page> {
    let mut page = Vec::new();
    while page.len() < ROWS_PER_PAGE
        && let Some(row) = rows.try_next().await?
    {
        page.push(row);
    }
    Ok(page)
}
