//! A server as seen by a worker in another process: the worker protocol over HTTP.
//!
//! Why    a server that is away for a minute loses nothing: every call says so, and whoever called decides whether to ask again.

use engine::{EngineError, Handed, ReportAnswer, SessionHandle, StoreError, Told};
use model::{
    Claim, Delivery, Failure, Fault, ForWorkflow, Look, NewStep, Outcome, Place, Poll, Report, SessionId,
    SessionOffer, StepId, Trace,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use wire::{
    ClaimBody, ClaimView, ClaimedPage, DeliveryItem, ForWorkflowView, HeartbeatBody, HeartbeatView, Held,
    LeaveBody, Problem, ProgressItem, ReportBody, ReportItem, ReportedView,
};

/// How long one call waits for work.
const WAIT: Duration = Duration::from_secs(10);
/// How long any call may take beyond that.
const PATIENCE: Duration = Duration::from_secs(20);
/// Calls that keep a lease are made anew rather than waited for.
const BRIEF: [&str; 2] = ["/heartbeat", "/renew"];
const BRIEFLY: Duration = Duration::from_secs(4);
/// Bytes of reports that travel together.
const TOGETHER: usize = 4 << 20;
/// After a server did not answer, doubled each time.
const ASK_AGAIN: Duration = Duration::from_millis(100);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(2);

type Result<T> = std::result::Result<T, EngineError>;

/// Why a call was not carried out.
#[derive(Debug)]
pub enum Refusal {
    /// Nothing is known of it; asking again may help.
    Away(String),
    Told {
        code: String,
        detail: String,
        faults: Vec<Fault>,
        retry_after: Option<Duration>,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Away(problem) => f.write_str(problem),
            Refusal::Told { detail, .. } => f.write_str(detail),
        }
    }
}

impl std::error::Error for Refusal {}

#[derive(Clone)]
pub struct Remote {
    url: String,
    key: Option<String>,
    http: reqwest::Client,
}

impl Remote {
    /// The server at this address, with an API key if it asks for one.
    pub fn new(url: &str, key: Option<String>) -> std::result::Result<Remote, reqwest::Error> {
        let http = reqwest::Client::builder().timeout(WAIT + PATIENCE).connect_timeout(BRIEFLY);
        // The client looks for it before it speaks to anyone; one that is installed already serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A plain address needs nobody's certificates.
        let http = if url.starts_with("https://") { http } else { http.tls_certs_only([]) };
        let http = http.build()?;
        Ok(Remote { url: url.trim_end_matches('/').into(), key, http })
    }

    async fn post<T: DeserializeOwned>(&self, call: &str, body: &impl Serialize) -> Result<T> {
        self.call(&format!("/v1/worker/{call}"), body).await.map_err(|refused| match refused {
            Refusal::Away(problem) => EngineError::Unavailable(StoreError::Down(problem)),
            Refusal::Told { code, .. } if code == "no_session" => EngineError::NoSession,
            Refusal::Told { code, detail, .. } if code == "too_large" || code == "not_storable" => {
                EngineError::Unstorable(StoreError::Unfit(detail))
            }
            Refusal::Told { faults, .. } if !faults.is_empty() => EngineError::Invalid(faults),
            Refusal::Told { detail, .. } => EngineError::Unavailable(StoreError::Down(detail)),
        })
    }

    /// One call of the API.
    pub async fn call<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> std::result::Result<T, Refusal> {
        let mut request = self.http.post(format!("{}{path}", self.url)).json(body);
        if BRIEF.iter().any(|brief| path.ends_with(brief)) {
            request = request.timeout(BRIEFLY);
        }
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let answer = request.send().await.map_err(|problem| away(&problem))?;
        let status = answer.status();
        let retry_after = answer.headers().get("retry-after").and_then(|v| v.to_str().ok()?.parse().ok());
        let bytes = answer.bytes().await.map_err(|problem| away(&problem))?;
        if status.is_success() {
            let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
            return serde_json::from_slice(text).map_err(|problem| away(&problem));
        }
        match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) if !status.is_server_error() || problem.code == "not_storable" => {
                Err(Refusal::Told {
                    code: problem.code.clone(),
                    detail: problem.detail.clone(),
                    faults: faults(problem),
                    retry_after: retry_after.map(Duration::from_secs),
                })
            }
            Ok(problem) => Err(Refusal::Away(problem.detail)),
            Err(_) => Err(Refusal::Away(format!("the server answered {status}"))),
        }
    }

    pub async fn join(&self, offer: SessionOffer) -> Result<SessionHandle> {
        let names = |names: &[model::Name]| names.iter().map(ToString::to_string).collect();
        let body = ClaimBody {
            host: Some(offer.host.to_string()),
            queues: names(&offer.queues),
            actions: names(&offer.actions),
            capacity: Some(offer.capacity),
            ..ClaimBody::default()
        };
        let first: ClaimedPage = self.post("claim", &body).await?;
        let id: SessionId = first.session.parse().map_err(|_| strange("session", &first.session))?;
        let (hand, work) = mpsc::unbounded_channel();
        let remote = self.clone();
        let body = ClaimBody {
            session: Some(first.session.clone()),
            wait_ms: Some(WAIT.as_millis() as u64),
            ..ClaimBody::default()
        };
        tokio::spawn(async move { remote.ask_for_work(body, first, hand).await });
        Ok(SessionHandle { id, work })
    }

    /// Until the session is over, or nobody wants its work any more.
    async fn ask_for_work(
        &self,
        mut body: ClaimBody,
        first: ClaimedPage,
        hand: mpsc::UnboundedSender<Handed>,
    ) {
        let (mut page, mut pause) = (Ok(first), ASK_AGAIN);
        loop {
            match page {
                Ok(ClaimedPage { number, claims, .. }) => {
                    pause = ASK_AGAIN;
                    let claims = claims.into_iter().filter_map(claim).collect::<Vec<_>>();
                    if number > body.received && hand.send(Handed { number, claims }).is_err() {
                        return;
                    }
                    body.received = number;
                }
                Err(EngineError::NoSession) => return,
                Err(problem) => {
                    tracing::warn!(target: "worker", %problem, "no work could be asked for");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(ASK_AGAIN_MAX);
                }
            }
            page = tokio::select! {
                () = hand.closed() => return,
                page = self.post("claim", &body) => page,
            };
        }
    }

    /// A few calls if they are many or large, or if a session that was joined anew has words of the one before.
    pub async fn report(&self, reports: Vec<Report>) -> Result<Vec<ReportAnswer>> {
        let mut answers = Vec::with_capacity(reports.len());
        for part in reports.chunk_by(|a, b| a.session == b.session) {
            let session = part[0].session.to_string();
            let mut items: Vec<Box<RawValue>> = Vec::new();
            for report in part {
                let raw = to_raw_value(&item(report)).map_err(|e| strange("report", &e.to_string()))?;
                let bytes: usize = items.iter().map(|item| item.get().len()).sum();
                if bytes + raw.get().len() > TOGETHER && !items.is_empty() {
                    self.send_reports(&session, std::mem::take(&mut items), &mut answers).await?;
                }
                items.push(raw);
            }
            self.send_reports(&session, items, &mut answers).await?;
        }
        Ok(answers)
    }

    async fn send_reports(
        &self,
        session: &str,
        reports: Vec<Box<RawValue>>,
        answers: &mut Vec<ReportAnswer>,
    ) -> Result<()> {
        let told: ReportedView =
            self.post("report", &ReportBody { session: session.into(), reports }).await?;
        for answer in told.answers {
            answers.push(match (answer.answer.as_str(), answer.detail) {
                ("applied", _) => ReportAnswer::Applied,
                ("late", _) => ReportAnswer::Late,
                (_, detail) => {
                    return Err(EngineError::Unstorable(StoreError::Unfit(detail.unwrap_or_default())));
                }
            });
        }
        Ok(())
    }

    pub async fn heartbeat(
        &self,
        session: SessionId,
        received: u64,
        held: Vec<(StepId, u32)>,
        progress: Vec<Told>,
    ) -> Result<Vec<(StepId, u32)>> {
        let held = held.into_iter().map(|(step, attempt)| Held { step: step.to_string(), attempt }).collect();
        let progress = progress.into_iter().map(progress_item).collect();
        let body = HeartbeatBody { session: session.to_string(), received, held, progress };
        let told: HeartbeatView = self.post("heartbeat", &body).await?;
        Ok(told.lost.into_iter().filter_map(|held| Some((held.step.parse().ok()?, held.attempt))).collect())
    }

    pub async fn leave(&self, session: SessionId, give_back: bool) -> Result<()> {
        let _: HeartbeatView =
            self.post("leave", &LeaveBody { session: session.to_string(), give_back }).await?;
        Ok(())
    }
}

fn progress_item((step, attempt, progress): Told) -> ProgressItem {
    let model::Progress { done, of, word } = progress;
    ProgressItem { step: step.to_string(), attempt, done, of, word }
}

fn away(problem: &dyn std::error::Error) -> Refusal {
    let cause = problem.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Refusal::Away(format!("{problem}{cause}"))
}

fn strange(field: &str, text: &str) -> EngineError {
    EngineError::Unavailable(StoreError::Down(format!("a {field} cannot be read: {text}")))
}

fn faults(problem: Problem) -> Vec<Fault> {
    let faults = problem.faults.into_iter();
    faults.map(|f| Fault { field: f.field, problem: f.problem, fix: f.fix }).collect()
}

/// One that cannot be read is not run; the engine hears no more of it and gives it to another.
fn claim(view: ClaimView) -> Option<Claim> {
    let place = match (view.block_id, view.index) {
        (Some(block), Some(index)) => Some(Place { block: block.parse().ok()?, index }),
        _ => None,
    };
    let look = match view.look {
        None => None,
        Some(look) => {
            let response = look.response.map(|raw| raw.get().into());
            Some(Look { at: look.at.parse().ok()?, response })
        }
    };
    let trace: Option<Trace> = view.traceparent.and_then(|text| text.parse().ok());
    Some(Claim {
        step: view.step.parse().ok()?,
        attempt: view.attempt,
        action: view.action.into(),
        queue: view.queue.into(),
        arguments: view.arguments.get().into(),
        failed_attempts: view.failed_attempts,
        max_attempts: view.max_attempts,
        place,
        look,
        message_group: view.message_group.map(Into::into),
        workflow: view.workflow.and_then(for_workflow),
        opens: Vec::new(),
        poll: view
            .poll
            .map(|poll| Poll { number: poll.number, previous: poll.previous.map(|raw| raw.get().into()) }),
        trace: trace.map(|trace| Arc::new(trace.with_state(view.tracestate.as_deref()))),
    })
}

fn for_workflow(view: ForWorkflowView) -> Option<Arc<ForWorkflow>> {
    Some(Arc::new(ForWorkflow {
        id: view.id.parse().ok()?,
        definition: view.workflow.into(),
        version: view.version.into(),
        step_key: view.step_key.into(),
        run: view.run,
        item: view.item,
    }))
}

fn delivery_item(delivery: &Delivery) -> DeliveryItem {
    DeliveryItem {
        status: delivery.status.to_string(),
        http_code: delivery.http_code,
        error_type: delivery.error_type.map(|error| error.to_string()),
        response_body: delivery.response_body.clone(),
        started_at: Some(delivery.started_at.0),
        duration_ms: delivery.duration_ms,
    }
}

fn item(report: &Report) -> ReportItem {
    let said = ReportItem {
        step: report.step.to_string(),
        attempt: report.attempt,
        log: report.log.iter().map(|line| line.text.clone()).collect(),
        delivery: report.delivery.as_ref().map(delivery_item),
        ..ReportItem::default()
    };
    let raw = |text: &Option<String>| text.as_deref().map(json);
    let millis = |after: &Option<Duration>| after.map(|after| after.as_millis() as u64);
    let word = |outcome: &str| outcome.to_string();
    let (message, trace) = match &report.outcome {
        Outcome::Retry { failure, .. } | Outcome::LookAgain { failure, .. } => told(failure.as_ref()),
        Outcome::Fail { failure, .. } => told(Some(failure)),
        _ => (None, None),
    };
    let said = ReportItem { message, trace, ..said };
    match &report.outcome {
        Outcome::Complete { response } => {
            ReportItem { outcome: word("complete"), response: raw(response), ..said }
        }
        Outcome::Children { response, children, success } => ReportItem {
            outcome: word("complete"),
            response: raw(response),
            children: children.iter().filter_map(|c: &NewStep| to_raw_value(c).ok()).collect(),
            success: Some(success.to_string()),
            ..said
        },
        Outcome::Retry { after, .. } => {
            ReportItem { outcome: word("retry"), after_ms: millis(after), ..said }
        }
        Outcome::LookAgain { at, response, after, .. } => ReportItem {
            outcome: word("look_again"),
            at: Some(at.to_string()),
            response: raw(response),
            after_ms: millis(after),
            ..said
        },
        Outcome::Throttle { after } => {
            ReportItem { outcome: word("throttle"), after_ms: millis(&Some(*after)), ..said }
        }
        Outcome::Skip { why } => ReportItem { outcome: word("skip"), why: Some(why.clone()), ..said },
        Outcome::End { why } => ReportItem { outcome: word("end"), why: Some(why.clone()), ..said },
        Outcome::Stop { why } => ReportItem { outcome: word("stop"), why: Some(why.clone()), ..said },
        Outcome::Resolved { note } => {
            ReportItem { outcome: word("resolved"), why: Some(note.clone()), ..said }
        }
        Outcome::Continue { data, after } => {
            ReportItem { outcome: word("continue"), response: raw(data), after_ms: millis(after), ..said }
        }
        Outcome::Abort { why } => ReportItem { outcome: word("abort"), why: Some(why.clone()), ..said },
        Outcome::Fail { notify, .. } => ReportItem { outcome: word("fail"), notify: Some(*notify), ..said },
    }
}

fn told(failure: Option<&Failure>) -> (Option<String>, Option<String>) {
    failure.map_or((None, None), |f| (Some(f.message.clone()), f.trace.clone()))
}

/// A response is JSON; text that is none travels as a JSON string.
fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.into())
        .or_else(|_| to_raw_value(text))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}
