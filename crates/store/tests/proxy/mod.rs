//! Stands between the store and its server, and loses what it is told to lose.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

type Meanwhile = Box<dyn FnOnce() + Send>;

/// What happens once, when the store next says a word of a transaction.
pub enum Trouble {
    /// From this word on the server is not heard any more.
    Silence(&'static str),
    /// The word is not passed on, and the connection is cut.
    CutBefore(&'static str),
    /// The word is passed on; when it is answered something happens, and the connection is cut instead of telling.
    CutAfter(&'static str, Meanwhile),
}

#[derive(Default)]
struct Orders {
    trouble: Mutex<Option<Trouble>>,
    /// So many connections are cut as soon as they are made.
    refuse: AtomicUsize,
    refused: AtomicUsize,
    /// Times that the store said something.
    flights: AtomicUsize,
}

pub struct Proxy {
    orders: Arc<Orders>,
    address: SocketAddr,
    server: String,
}

impl Proxy {
    /// In front of the server that the address names.
    pub fn new(url: &str) -> Proxy {
        let server = url.split('@').nth(1).unwrap().split('/').next().unwrap().to_string();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let orders = Arc::<Orders>::default();
        let (shared, to) = (orders.clone(), server.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let left = shared.refuse.load(Ordering::SeqCst);
                if left > 0 {
                    shared.refuse.store(left - 1, Ordering::SeqCst);
                    shared.refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                pass(client.unwrap(), TcpStream::connect(&to).unwrap(), shared.clone());
            }
        });
        Proxy { orders, address, server }
    }
    pub fn url(&self, url: &str) -> String {
        url.replace(&self.server, &self.address.to_string())
    }
    pub fn next(&self, trouble: Trouble) {
        *self.orders.trouble.lock().unwrap() = Some(trouble);
    }
    pub fn refuse(&self, connections: usize) {
        self.orders.refuse.store(connections, Ordering::SeqCst);
    }
    pub fn flights(&self) -> usize {
        self.orders.flights.load(Ordering::SeqCst)
    }
    pub fn refused(&self) -> usize {
        self.orders.refused.load(Ordering::SeqCst)
    }
}

/// A word is a flight of its own, so it stands at the start of what is read; or it is a value of a statement that is one.
fn says(bytes: &[u8], word: &str) -> bool {
    let is_word = bytes.first() == Some(&b'Q') && bytes.get(5..5 + word.len()) == Some(word.as_bytes());
    let is_value = bytes.first() == Some(&b'B');
    is_word || is_value && bytes.windows(word.len()).any(|part| part == word.as_bytes())
}

fn pass(client: TcpStream, server: TcpStream, orders: Arc<Orders>) {
    let silent = Arc::new(AtomicBool::new(false));
    let at_answer: Arc<Mutex<Option<Meanwhile>>> = Arc::default();
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (hush, then) = (silent.clone(), at_answer.clone());
    std::thread::spawn(move || {
        each(&mut from, |bytes| {
            orders.flights.fetch_add(1, Ordering::SeqCst);
            let mut trouble = orders.trouble.lock().unwrap();
            match trouble.take() {
                Some(Trouble::Silence(word)) if says(bytes, word) => hush.store(true, Ordering::SeqCst),
                Some(Trouble::CutBefore(word)) if says(bytes, word) => return false,
                Some(Trouble::CutAfter(word, what)) if says(bytes, word) => {
                    *then.lock().unwrap() = Some(what);
                }
                other => *trouble = other,
            }
            to.write_all(bytes).is_ok()
        });
        cut(&from, &to);
    });
    let (mut from, mut to) = (server, client);
    std::thread::spawn(move || {
        each(&mut from, |bytes| {
            if let Some(what) = at_answer.lock().unwrap().take() {
                what();
                return false;
            }
            silent.load(Ordering::SeqCst) || to.write_all(bytes).is_ok()
        });
        cut(&from, &to);
    });
}

fn each(from: &mut TcpStream, mut take: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 65_536];
    while let Ok(n) = from.read(&mut buffer)
        && n > 0
        && take(&buffer[..n])
    {}
}

fn cut(one: &TcpStream, other: &TcpStream) {
    let _ = one.shutdown(Shutdown::Both);
    let _ = other.shutdown(Shutdown::Both);
}
