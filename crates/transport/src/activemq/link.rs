//! One connection to the broker, from its first frame to its death.
//!
//! Why    one task reads and one writes, so that a broker that stops taking frames is still heard. Whatever ends the
//!        connection ends both, so that the broker gives its messages to others, and answers everybody who waits on it.

use super::address::Address;
use super::decode::Decoder;
use super::frame::Frame;
use super::inbox::Inbox;
use super::socket;
use crate::TransportError;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// How long the first frames may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long a receipt may take before the connection is given up.
const PATIENCE: Duration = Duration::from_secs(15);
/// Frames that wait to be written.
const OUTGOING_MAX: usize = 64;
/// Bytes that are written at once.
const TOGETHER: usize = 64 << 10;

pub struct Link {
    pub inbox: Arc<Inbox>,
    pub session: String,
    outgoing: mpsc::Sender<Vec<u8>>,
    life: Arc<Life>,
    tasks: [AbortHandle; 2],
}

/// What both tasks and all callers know of the connection.
struct Life {
    /// Who waits for which receipt; none once the connection is dead.
    receipts: Mutex<Option<HashMap<u64, oneshot::Sender<()>>>>,
    next_number: AtomicU64,
    /// Why it ended.
    ended: watch::Sender<Option<String>>,
}

/// A place among the frames that wait to be written.
pub struct Room<'a> {
    place: mpsc::Permit<'a, Vec<u8>>,
    life: &'a Arc<Life>,
}

/// A frame that is on its way, until the broker says that it has it.
pub struct Pending {
    receipt: oneshot::Receiver<()>,
    life: Arc<Life>,
}

impl Link {
    /// Must be called on a runtime, where its two tasks live until it is dropped.
    pub async fn open(address: &Address) -> Result<Link, TransportError> {
        let opened = timeout(HANDSHAKE, shake_hands(address)).await;
        let (stream, decoder, connected) = opened.map_err(|_| {
            TransportError::Unavailable(format!("{address} did not answer within {HANDSHAKE:?}"))
        })??;
        let session = connected.header("session").unwrap_or_default().to_string();
        let (sends_every, hears_every) = heart_beats(address.heart_beat, connected.header("heart-beat"));
        let life = Arc::new(Life {
            receipts: Mutex::new(Some(HashMap::new())),
            next_number: AtomicU64::new(1),
            ended: watch::Sender::new(None),
        });
        let inbox = Arc::new(Inbox::new(&session));
        let (outgoing, frames) = mpsc::channel(OUTGOING_MAX);
        let (reading, writing) = tokio::io::split(stream);
        // The other side may be as late again as it may be silent.
        let silence = hears_every.map(|every| every * 2);
        let reader = tokio::spawn(read(life.clone(), inbox.clone(), reading, decoder, silence));
        // And it may count a beat as missing that is on its way.
        let writer = tokio::spawn(write(life.clone(), writing, frames, sends_every.map(|every| every / 2)));
        let tasks = [reader.abort_handle(), writer.abort_handle()];
        Ok(Link { inbox, session, outgoing, life, tasks })
    }

    /// Why it is dead, if it is.
    pub fn end(&self) -> Option<String> {
        self.life.ended.borrow().clone()
    }

    /// Returns when it is dead, with the reason.
    pub async fn ended(&self) -> TransportError {
        let mut ended = self.life.ended.subscribe();
        let why = ended.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        TransportError::Unavailable(why.unwrap_or_else(|| "the connection was given up".into()))
    }

    /// Room for one frame. Having it, a caller decides and sends without waiting, so nothing is decided in vain.
    pub async fn room(&self) -> Result<Room<'_>, TransportError> {
        match timeout(PATIENCE, self.outgoing.reserve()).await {
            Ok(Ok(place)) => Ok(Room { place, life: &self.life }),
            Ok(Err(_)) => Err(self.life.why()),
            Err(_) => {
                self.life.die(&format!("the broker took nothing for {PATIENCE:?}"));
                Err(self.life.why())
            }
        }
    }

    /// Send, and wait until the broker has it.
    pub async fn ask(&self, frame: Frame) -> Result<(), TransportError> {
        self.room().await?.send(frame).confirmed().await
    }

    /// A number that is given once.
    pub fn number(&self) -> u64 {
        self.life.number()
    }

    pub fn give_up(&self) {
        self.life.die("the connection was given up");
    }
}

impl Room<'_> {
    /// Send without asking whether it arrives.
    pub fn tell(self, frame: &Frame) {
        self.place.send(frame.encode());
    }

    /// Send, and have the broker confirm it.
    pub fn send(self, frame: Frame) -> Pending {
        let (answer, receipt) = oneshot::channel();
        let number = self.life.number();
        let life = self.life.clone();
        if let Some(receipts) = &mut *life.receipts.lock().unwrap_or_else(PoisonError::into_inner) {
            receipts.insert(number, answer);
        }
        self.tell(&frame.with("receipt", number.to_string()));
        Pending { receipt, life }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.give_up();
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Pending {
    pub async fn confirmed(self) -> Result<(), TransportError> {
        match timeout(PATIENCE, self.receipt).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.life.why()),
            Err(_) => {
                self.life.die(&format!("the broker confirmed nothing for {PATIENCE:?}"));
                Err(self.life.why())
            }
        }
    }
}

impl Life {
    fn number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// The first reason stays.
    fn die(&self, why: &str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(|| why.into());
            first
        });
        // Dropping the senders tells everybody who waits.
        self.receipts.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn why(&self) -> TransportError {
        let why = self.ended.borrow().clone();
        TransportError::Unavailable(why.unwrap_or_else(|| "the connection is ending".into()))
    }

    /// What a frame of the broker means; an error ends the connection.
    fn take(&self, inbox: &Inbox, frame: &Frame) -> Result<(), String> {
        match frame.command.as_str() {
            "MESSAGE" => inbox.arrive(frame),
            "RECEIPT" => {
                let number = frame.header("receipt-id").and_then(|text| text.parse().ok());
                let mut receipts = self.receipts.lock().unwrap_or_else(PoisonError::into_inner);
                let waits = number.and_then(|number: u64| receipts.as_mut()?.remove(&number));
                // Whoever asked may have stopped waiting.
                waits.map(|waits| waits.send(()).ok());
                Ok(())
            }
            "ERROR" => Err(complaint(frame)),
            other => Err(format!("the broker sent a frame `{other}`")),
        }
    }
}

async fn shake_hands(address: &Address) -> Result<(Box<dyn socket::Stream>, Decoder, Frame), TransportError> {
    let failed = |problem: String| TransportError::Unavailable(format!("{address}: {problem}"));
    let mut stream = socket::connect(address).await.map_err(|error| match error {
        TransportError::Unavailable(problem) => failed(problem),
        other => other,
    })?;
    let every = address.heart_beat.as_millis();
    let mut connect = Frame::new("CONNECT")
        .with("accept-version", "1.2")
        .with("host", &address.host)
        .with("heart-beat", format!("{every},{every}"));
    if let Some((user, password)) = &address.login {
        connect = connect.with("login", user).with("passcode", password);
    }
    stream.write_all(&connect.encode()).await.map_err(|problem| failed(problem.to_string()))?;
    let mut decoder = Decoder::default();
    loop {
        match decoder.next().map_err(|fault| failed(fault.to_string()))? {
            Some(frame) if frame.command == "CONNECTED" && frame.header("version") == Some("1.2") => {
                return Ok((stream, decoder, frame));
            }
            Some(frame) if frame.command == "ERROR" => return Err(failed(complaint(&frame))),
            Some(_) => return Err(failed("it does not speak STOMP 1.2".into())),
            None => match stream.read_buf(decoder.buffer()).await {
                Ok(0) => return Err(failed("the broker closed the connection at once".into())),
                Ok(_) => {}
                Err(problem) => return Err(failed(problem.to_string())),
            },
        }
    }
}

/// What the broker says is wrong; its body is a stack trace, of which only the header is for people.
fn complaint(frame: &Frame) -> String {
    let body = String::from_utf8_lossy(&frame.body);
    let said = frame.header("message").or(body.lines().next()).unwrap_or_default();
    format!("the broker said: {said}")
}

/// How often we must be heard, and it. A side that says 0, or nothing, never beats.
fn heart_beats(ours: Duration, theirs: Option<&str>) -> (Option<Duration>, Option<Duration>) {
    let (sends, wants) = theirs.and_then(|text| text.split_once(',')).unwrap_or_default();
    let agreed = |text: &str| {
        let millis: u64 = text.trim().parse().unwrap_or(0);
        (millis > 0).then(|| ours.max(Duration::from_millis(millis)))
    };
    (agreed(wants), agreed(sends))
}

async fn read(
    life: Arc<Life>,
    inbox: Arc<Inbox>,
    mut stream: impl AsyncRead + Unpin,
    mut decoder: Decoder,
    silence: Option<Duration>,
) {
    let mut ended = life.ended.subscribe();
    let reading = async {
        loop {
            match decoder.next() {
                Err(fault) => return fault.to_string(),
                Ok(Some(frame)) => match life.take(&inbox, &frame) {
                    Ok(()) => continue,
                    Err(why) => return why,
                },
                Ok(None) => {}
            }
            match within(silence, stream.read_buf(decoder.buffer())).await {
                None => return format!("the broker was silent for {:?}", silence.unwrap_or_default()),
                Some(Ok(0)) => return "the broker closed the connection".into(),
                Some(Ok(_)) => {}
                Some(Err(problem)) => return problem.to_string(),
            }
        }
    };
    tokio::select! {
        why = reading => life.die(&why),
        _ = ended.wait_for(Option::is_some) => {}
    }
}

async fn write(
    life: Arc<Life>,
    mut stream: impl AsyncWrite + Unpin,
    mut frames: mpsc::Receiver<Vec<u8>>,
    beat: Option<Duration>,
) {
    let mut ended = life.ended.subscribe();
    let writing = async {
        loop {
            let mut bytes = match within(beat, frames.recv()).await {
                None => b"\n".to_vec(),
                Some(None) => return "the connection was given up".into(),
                Some(Some(frame)) => frame,
            };
            while bytes.len() < TOGETHER
                && let Ok(frame) = frames.try_recv()
            {
                bytes.extend(frame);
            }
            if let Err(problem) = stream.write_all(&bytes).await {
                return problem.to_string();
            }
            // With TLS what was written may still lie here.
            if let Err(problem) = stream.flush().await {
                return problem.to_string();
            }
        }
    };
    tokio::select! {
        why = writing => life.die(&why),
        _ = ended.wait_for(Option::is_some) => {}
    }
}

/// None when it took longer; without a limit it may take for ever.
async fn within<T>(limit: Option<Duration>, what: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => timeout(limit, what).await.ok(),
        None => Some(what.await),
    }
}

#[cfg(test)]
mod tests {
    use super::heart_beats;
    use std::time::Duration;

    #[test]
    fn the_slower_side_sets_the_beat() {
        let check = |theirs: Option<&str>, sends: Option<u64>, hears: Option<u64>| {
            let told = heart_beats(Duration::from_millis(700), theirs);
            assert_eq!(told, (sends.map(Duration::from_millis), hears.map(Duration::from_millis)));
        };
        check(None, None, None);
        check(Some("0,0"), None, None);
        check(Some("nonsense"), None, None);
        check(Some("500,900"), Some(900), Some(700));
        check(Some("0,100"), Some(700), None);
    }
}
