//! Stands between a node and PostgreSQL byte by byte, and cuts connections where it hurts: before, inside and after `commit`.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How a commit is told: a query of its own, so the word ends with a zero, which `commit_stamps` does not.
const COMMIT: &[u8] = b"commit\0";
/// The kind and the length of the message stand before the word.
const HEADER: usize = 5;

/// Where a connection breaks, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Every connection, after so many more bytes of the node.
    Bytes(usize),
    BeforeCommit,
    /// So many bytes of the word arrive.
    InsideCommit(usize),
    /// The word arrives, and the connection is closed behind it.
    AfterCommit,
    /// The server has answered, and the node does not hear it.
    BeforeAnswer,
}

#[derive(Default)]
struct Orders {
    cut: Mutex<Option<Cut>>,
    cuts: AtomicU64,
    closed: AtomicBool,
    open: Mutex<Vec<(TcpStream, TcpStream)>>,
}

pub struct Proxy {
    orders: Arc<Orders>,
    address: SocketAddr,
    server: String,
}

impl Proxy {
    /// In front of the server that the address names.
    pub fn start(url: &str) -> Result<Proxy> {
        let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next());
        let server = server.with_context(|| format!("{url} names no server"))?.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").context("could not listen for the proxy")?;
        let address = listener.local_addr()?;
        let orders = Arc::<Orders>::default();
        let (shared, to) = (orders.clone(), server.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(|client| client.ok()) {
                if shared.closed.load(Ordering::SeqCst) {
                    return;
                }
                // A server that is away refuses, and so does its proxy.
                if let Ok(server) = TcpStream::connect(&to) {
                    let _ = pass(client, server, &shared);
                }
            }
        });
        Ok(Proxy { orders, address, server })
    }

    pub fn url(&self, url: &str) -> String {
        url.replace(&self.server, &self.address.to_string())
    }

    /// The next chance is used.
    pub fn order(&self, cut: Cut) {
        *held(&self.orders.cut) = Some(cut);
    }

    /// It did not come to it.
    pub fn call_off(&self) {
        *held(&self.orders.cut) = None;
    }

    pub fn cuts(&self) -> u64 {
        self.orders.cuts.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.orders.closed.store(true, Ordering::SeqCst);
        // Whoever waits for the next connection gets one, and ends.
        drop(TcpStream::connect(self.address));
        self.orders.sever();
    }
}

impl Orders {
    fn sever(&self) {
        held(&self.open).drain(..).for_each(|(client, server)| close(&client, &server));
    }

    /// How much of what the node says is passed on, and what happens then.
    fn judge(&self, said: &[u8]) -> (usize, Then) {
        let mut order = held(&self.cut);
        let Some(cut) = *order else { return (said.len(), Then::GoOn) };
        if let Cut::Bytes(left) = cut {
            if said.len() < left {
                *order = Some(Cut::Bytes(left - said.len()));
                return (said.len(), Then::GoOn);
            }
            *order = None;
            return (left, Then::CutAll);
        }
        let Some(at) = said.windows(COMMIT.len()).position(|word| word == COMMIT) else {
            return (said.len(), Then::GoOn);
        };
        *order = None;
        match cut {
            Cut::BeforeCommit => (at.saturating_sub(HEADER), Then::Cut),
            Cut::InsideCommit(bytes) => (at + bytes.min(COMMIT.len() - 1), Then::Cut),
            Cut::AfterCommit => (said.len(), Then::Cut),
            Cut::BeforeAnswer | Cut::Bytes(_) => (said.len(), Then::CutAtAnswer),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Then {
    GoOn,
    Cut,
    CutAll,
    CutAtAnswer,
}

fn pass(client: TcpStream, server: TcpStream, orders: &Arc<Orders>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    held(&orders.open).push((client.try_clone()?, server.try_clone()?));
    let at_answer = Arc::new(AtomicBool::new(false));
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let (shared, mute) = (orders.clone(), at_answer.clone());
    thread::spawn(move || {
        each(&mut from, |said| {
            let (passed, then) = shared.judge(said);
            // Before the word is passed on, or the answer could be faster than the order.
            mute.fetch_or(then == Then::CutAtAnswer, Ordering::SeqCst);
            let written = to.write_all(&said[..passed]).is_ok();
            if matches!(then, Then::Cut | Then::CutAll) {
                shared.cuts.fetch_add(1, Ordering::SeqCst);
            }
            if then == Then::CutAll {
                shared.sever();
            }
            written && !matches!(then, Then::Cut | Then::CutAll)
        });
        close(&from, &to);
    });
    let (mut from, mut to) = (server, client);
    let shared = orders.clone();
    thread::spawn(move || {
        each(&mut from, |told| {
            let mute = at_answer.load(Ordering::SeqCst);
            shared.cuts.fetch_add(u64::from(mute), Ordering::SeqCst);
            !mute && to.write_all(told).is_ok()
        });
        close(&from, &to);
    });
    Ok(())
}

fn each(from: &mut TcpStream, mut take: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 65_536];
    while let Ok(n) = from.read(&mut buffer)
        && n > 0
        && take(&buffer[..n])
    {}
}

fn close(one: &TcpStream, other: &TcpStream) {
    // A connection that is closed already is as it should be.
    let _ = one.shutdown(Shutdown::Both);
    let _ = other.shutdown(Shutdown::Both);
}

/// Nobody leaves half a change behind, so a thread that panicked does not matter.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &[u8] = b"into commit_stamps;Q\0\0\0\x0bcommit\0";

    fn judged(cut: Cut) -> (usize, Then) {
        let orders = Orders { cut: Mutex::new(Some(cut)), ..Orders::default() };
        let judged = orders.judge(SAID);
        assert_eq!(orders.judge(SAID), (SAID.len(), Then::GoOn), "an order is carried out once");
        judged
    }

    #[test]
    fn a_commit_is_cut_where_it_was_ordered() {
        let word = SAID.len() - COMMIT.len();
        assert_eq!(judged(Cut::BeforeCommit), (word - HEADER, Then::Cut));
        assert_eq!(judged(Cut::InsideCommit(3)), (word + 3, Then::Cut));
        assert_eq!(judged(Cut::AfterCommit), (SAID.len(), Then::Cut));
        assert_eq!(judged(Cut::BeforeAnswer), (SAID.len(), Then::CutAtAnswer));
    }

    #[test]
    fn bytes_are_counted_over_what_is_said() {
        let orders = Orders { cut: Mutex::new(Some(Cut::Bytes(5))), ..Orders::default() };
        assert_eq!(orders.judge(b"abc"), (3, Then::GoOn));
        assert_eq!(orders.judge(b"defg"), (2, Then::CutAll));
        assert_eq!(orders.judge(b"hi"), (2, Then::GoOn));
    }

    #[test]
    fn what_is_said_arrives_until_the_cut() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://me@{}/here", server.local_addr().unwrap());
        let proxy = Proxy::start(&url).unwrap();
        let address = proxy.url(&url).split(['@', '/']).nth(3).unwrap().to_owned();
        let mut client = TcpStream::connect(address).unwrap();
        let (mut heard, _) = server.accept().unwrap();
        proxy.order(Cut::BeforeAnswer);
        client.write_all(SAID).unwrap();
        let mut buffer = [0; 64];
        assert_eq!(heard.read(&mut buffer).unwrap(), SAID.len());
        heard.write_all(b"done").unwrap();
        assert!(matches!(client.read(&mut buffer), Ok(0) | Err(_)), "the answer was cut off");
        assert_eq!(proxy.cuts(), 1);
    }
}
