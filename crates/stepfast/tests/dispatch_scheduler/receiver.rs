//! A receiver of webhooks that remembers what came when, and answers as the test wants.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A delivery as it was seen here.
#[derive(Clone, Debug)]
pub struct Heard {
    pub path: String,
    pub body: String,
    pub attempt: u32,
    /// Places in the order of all that happened here.
    pub began: usize,
    pub ended: usize,
}

type Answer = dyn Fn(&str, &str) -> (u16, String) + Send + Sync;

#[derive(Clone)]
pub struct Receiver {
    pub place: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    /// Whether answers wait.
    gate: Arc<(Mutex<bool>, Condvar)>,
    moments: Arc<AtomicUsize>,
}

impl Receiver {
    pub fn new(answer: impl Fn(&str, &str) -> (u16, String) + Send + Sync + 'static) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let receiver =
            Receiver { place, heard: Arc::default(), gate: Arc::default(), moments: Arc::default() };
        let (mine, answer): (_, Arc<Answer>) = (receiver.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mine, answer) = (mine.clone(), answer.clone());
                std::thread::spawn(move || mine.hear(stream, &*answer));
            }
        });
        receiver
    }

    /// Everything is taken.
    pub fn glad() -> Receiver {
        Receiver::new(|_, _| (200, String::new()))
    }

    /// None where whoever called is gone before it has spoken.
    fn hear(&self, mut stream: TcpStream, answer: &Answer) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
        let path = lines.next()?.split(' ').nth(1)?.to_string();
        let (mut length, mut attempt) = (0, 0);
        for line in lines {
            let (name, value) = line.split_once(": ")?;
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "stepfast-attempt" => attempt = value.parse().ok()?,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let (began, body) = (self.moment(), String::from_utf8(body).ok()?);
        let (shut, opened) = &*self.gate;
        drop(opened.wait_while(shut.lock().unwrap(), |shut| *shut).unwrap());
        let (status, text) = answer(&path, &body);
        let heard = Heard { path, body, attempt, began, ended: self.moment() };
        self.heard.lock().unwrap().push(heard);
        let head = "Connection: close\r\nContent-Length";
        write!(stream, "HTTP/1.1 {status} X\r\n{head}: {}\r\n\r\n{text}", text.len()).ok()
    }

    fn moment(&self) -> usize {
        self.moments.fetch_add(1, Ordering::SeqCst)
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// Let answers wait, or go on.
    pub fn shut(&self, shut: bool) {
        *self.gate.0.lock().unwrap() = shut;
        self.gate.1.notify_all();
    }
}
