//! The figures of the dashboard as they change, for everybody who looks: read once for all of them.
//!
//! Why    two hundred pages that each asked for themselves would cost a core; one that asks for all of them costs nothing that grows.

use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::describe::{Answers, Operation};
use crate::error::ApiError;
use crate::extract::Params;
use axum::extract::State;
use axum::http::HeaderName;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{AppendHeaders, IntoResponse, Response};
use futures_util::stream::unfold;
use schemars::JsonSchema;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use wire::DashboardView;

/// Pages that are kept live at once.
const PAGES_MAX: usize = 1_000;
/// How often the figures are read, however many look, and how soon somebody who may not look any more is noticed.
const EVERY: Duration = Duration::from_secs(1);
/// After this long a page comes back, and shows again who looks.
const STAY: Duration = Duration::from_secs(60);
const BACK_SOON: Duration = Duration::from_millis(200);
/// A proxy that gathers answers would keep the figures.
const UNBUFFERED: [(HeaderName, &str); 1] = [(HeaderName::from_static("x-accel-buffering"), "no")];

/// The figures as JSON.
type Figures = Option<Arc<str>>;

/// Who reads the figures, while anybody looks.
#[derive(Default)]
pub struct Live {
    reading: Mutex<Option<watch::Sender<Figures>>>,
}

impl Live {
    /// What is known, and what is read from now on. The first who looks begins it, and it ends with the last.
    fn join(&self, app: &Arc<App>) -> Result<watch::Receiver<Figures>, ApiError> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(figures) = reading.as_ref() else {
            let (figures, receiver) = watch::channel(None);
            *reading = Some(figures.clone());
            tokio::spawn(read_on(app.clone(), figures));
            return Ok(receiver);
        };
        if figures.receiver_count() >= PAGES_MAX {
            return Err(ApiError::NotReady(format!("{PAGES_MAX} pages are kept live already")));
        }
        let mut receiver = figures.subscribe();
        if receiver.borrow().is_some() {
            receiver.mark_changed();
        }
        Ok(receiver)
    }

    /// Whether nobody looks any more; whoever comes then begins anew.
    fn is_over(&self, figures: &watch::Sender<Figures>) -> bool {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = figures.receiver_count() == 0;
        if is_over {
            *reading = None;
        }
        is_over
    }
}

async fn read_on(app: Arc<App>, figures: watch::Sender<Figures>) {
    let mut last = None;
    while !app.live.is_over(&figures) {
        match read(&app).await {
            Ok(view) => {
                // The time alone is no news.
                let news = DashboardView { now: String::new(), ..view.clone() };
                if last.as_ref() != Some(&news) {
                    last = Some(news);
                    figures.send_replace(serde_json::to_string(&view).ok().map(Into::into));
                }
            }
            // A page that hears nothing asks for itself, and is told why.
            Err(problem) => tracing::debug!(target: "server", %problem, "the figures were not read"),
        }
        tokio::select! {
            () = sleep(EVERY) => {}
            () = figures.closed() => {}
        }
    }
}

async fn read(app: &App) -> Result<DashboardView, ApiError> {
    let (now, host, version) = (app.now(), app.site.host.clone(), app.site.version);
    app.read(move |browse| answers::dashboard(browse, &host, version, now)).await
}

/// Nothing can be asked for but the figures.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {}

/// A stream of figures.
pub struct Stream<S>(S);

impl<S: IntoResponse> IntoResponse for Stream<S> {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

impl<S> Answers for Stream<S> {
    fn answer(about: &mut Operation) {
        let figures = about.schemas.written::<DashboardView>();
        about.answers(200, [("text/event-stream", Some(figures))]);
    }
}

/// Somebody who looks.
struct Onlooker {
    app: Arc<App>,
    caller: Caller,
    figures: watch::Receiver<Figures>,
    over: watch::Receiver<bool>,
    until: Instant,
}

impl Onlooker {
    /// The next figures; none at the end.
    async fn next(&mut self) -> Option<Event> {
        let (mut over, until) = (self.over.clone(), self.until);
        tokio::select! {
            biased;
            _ = over.wait_for(|over| *over) => None,
            () = sleep_until(until) => None,
            news = self.news() => news,
        }
    }

    /// None for somebody who may not look any more, also where nothing changes.
    async fn news(&mut self) -> Option<Event> {
        loop {
            let changed = timeout(EVERY, self.figures.changed()).await;
            match self.app.still_knows(&self.caller).await {
                Ok(true) => {}
                Ok(false) => return None,
                // Nothing is told until it is known; whoever was sent away now would find nobody, and not come back.
                Err(_) => {
                    self.figures.mark_changed();
                    sleep(EVERY).await;
                    continue;
                }
            }
            if let Ok(changed) = changed {
                changed.ok()?;
                let text = self.figures.borrow_and_update().clone().unwrap_or_else(|| "null".into());
                return Some(Event::default().retry(BACK_SOON).data(text));
            }
        }
    }
}

/// The figures, whenever they have changed.
pub async fn listen(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(Asked {}): Params<Asked>,
) -> Result<Stream<impl IntoResponse>, ApiError> {
    let figures = app.live.join(&app)?;
    let (over, until) = (app.listeners.over(), Instant::now() + STAY);
    let onlooker = Onlooker { app, caller, figures, over, until };
    let events = unfold(onlooker, async |mut onlooker| {
        let event = onlooker.next().await?;
        Some((Ok::<_, Infallible>(event), onlooker))
    });
    Ok(Stream((AppendHeaders(UNBUFFERED), Sse::new(events).keep_alive(KeepAlive::default()))))
}
