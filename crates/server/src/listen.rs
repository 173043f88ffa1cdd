//! Listeners of events: each is told everything that happens to workflows, from a place in every dispatch group on.
//!
//! Why    events are numbered within their dispatch group, so a place is one number for each of them. A listener reads what is on
//!        record: nothing it was not told is lost when its connection breaks, and other nodes' events are there too.

mod positions;
mod wanted;

pub use positions::Positions;
pub use wanted::Wanted;

use crate::access::Caller;
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::secrets::Known;
use axum::response::sse::Event;
use engine::Stopwatch;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::{Browse, EventLine, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::sleep;

/// Listeners at once.
pub const LISTENERS_MAX: usize = 64;
/// Events of one dispatch group that are read at once.
const EVENTS_PAGE: usize = 100;
/// How soon a listener reads again, however much happens.
const READ_AGAIN: Duration = Duration::from_millis(50);
/// How long one waits for this node to tell something before it looks for what other nodes told.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Room for listeners, and the way to send them home.
pub struct Listeners {
    places: Arc<Semaphore>,
    over: watch::Sender<bool>,
}

impl Default for Listeners {
    fn default() -> Listeners {
        Listeners { places: Arc::new(Semaphore::new(LISTENERS_MAX)), over: watch::Sender::new(false) }
    }
}

impl Listeners {
    /// The server stops: every listener's answer ends.
    pub fn dismiss(&self) {
        self.over.send_replace(true);
    }

    /// Whether the server stops.
    pub fn over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }

    fn place(&self) -> std::result::Result<OwnedSemaphorePermit, ApiError> {
        let full =
            |_| ApiError::NotReady(format!("{LISTENERS_MAX} listen already; try again when one has left"));
        self.places.clone().try_acquire_owned().map_err(full)
    }
}

/// What a listener reads at once: where each event stands, and the event itself if it is wanted.
type Told = (String, u64, Option<wire::CloudEvent>);

pub struct Listener {
    app: Arc<App>,
    caller: Caller,
    wanted: Wanted,
    at: Positions,
    is_greeted: bool,
    waiting: VecDeque<Told>,
    told: watch::Receiver<u64>,
    over: watch::Receiver<bool>,
    last_read: Option<Stopwatch>,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    /// From a place on, or from now on.
    pub async fn join(
        app: &Arc<App>,
        caller: Caller,
        wanted: Wanted,
        from: Option<Positions>,
    ) -> std::result::Result<Listener, ApiError> {
        let place = app.listeners.place()?;
        // From before the place is read: what is told since then is not missed.
        let told = app.site.engine.told();
        let at = match from {
            Some(at) => at,
            None => app.read(Positions::now).await?,
        };
        Ok(Listener {
            app: app.clone(),
            caller,
            wanted,
            at,
            is_greeted: false,
            waiting: VecDeque::new(),
            told,
            over: app.listeners.over.subscribe(),
            last_read: None,
            _place: place,
        })
    }

    /// The next event; none when the server stops or the listener may not listen any more.
    pub async fn next(&mut self) -> Option<Event> {
        if !self.is_greeted {
            self.is_greeted = true;
            // Without data it is no event: it only says from where to go on, also to one that was told nothing yet.
            return Some(Event::default().id(self.at.to_string()));
        }
        loop {
            while let Some((group, number, event)) = self.waiting.pop_front() {
                self.at.reach(group, number);
                if let Some(event) = event {
                    return Some(self.event(&event));
                }
            }
            if !self.app.still_knows(&self.caller).await.unwrap_or(false) || !self.read().await {
                return None;
            }
        }
    }

    fn event(&self, event: &wire::CloudEvent) -> Event {
        let text = serde_json::to_string(event).unwrap_or_default();
        Event::default().id(self.at.to_string()).data(text)
    }

    /// What happened since, if need be when it happens; false at the end.
    async fn read(&mut self) -> bool {
        if let Some(last) = &self.last_read {
            let early = READ_AGAIN.saturating_sub(last.elapsed());
            if !self.rest(early).await {
                return false;
            }
        }
        self.told.mark_unchanged();
        self.last_read = Some(Stopwatch::start());
        let (at, wanted) = (self.at.clone(), self.wanted.clone());
        match self.app.read(move |browse| behind(browse, &at, &wanted)).await {
            Ok(told) => self.waiting = told,
            Err(problem) => {
                tracing::warn!(target: "server", %problem, "a listener was sent home: {problem}");
                return false;
            }
        }
        !self.waiting.is_empty() || self.something_told().await
    }

    async fn something_told(&mut self) -> bool {
        tokio::select! {
            changed = self.told.changed() => changed.is_ok(),
            () = sleep(LOOK_EVERY) => true,
            _ = self.over.wait_for(|over| *over) => false,
        }
    }

    async fn rest(&mut self, length: Duration) -> bool {
        // The end is looked for first: with nothing to rest for, both are there at once.
        tokio::select! {
            biased;
            _ = self.over.wait_for(|over| *over) => false,
            () = sleep(length) => true,
        }
    }
}

/// Events behind a place, of all dispatch groups, in the order of their times.
fn behind(browse: &Browse, at: &Positions, wanted: &Wanted) -> Result<VecDeque<Told>> {
    let mut lines: Vec<(i64, EventLine)> = Vec::new();
    for group in browse.groups()? {
        let name = group.dispatch_group.as_str();
        let mut latest = i64::MIN;
        for line in browse.events_of_group(name, at.of(name), EVENTS_PAGE)? {
            // Within a dispatch group the numbers are the order, whatever a clock said.
            latest = latest.max(line.at.0);
            lines.push((latest, line));
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    let mut known = Known::default();
    let told = lines.into_iter().map(|(_, line)| {
        let event = if wanted.takes(&line) { Some(shown(browse, &line, &mut known)?) } else { None };
        Ok((line.dispatch_group.to_string(), line.number, event))
    });
    told.collect()
}

/// An event without what its workflow calls secret; of one that is gone nobody knows what that was.
fn shown(browse: &Browse, line: &EventLine, known: &mut Known) -> Result<wire::CloudEvent> {
    let event = convert::cloud_event(line);
    let Some(data) = event.data else { return Ok(event) };
    let secrets = known.secrets_of(browse, line.workflow)?;
    Ok(wire::CloudEvent { data: secrets.map(|secrets| secrets.hide(data)), ..event })
}
