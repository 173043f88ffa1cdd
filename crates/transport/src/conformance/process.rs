//! A server of a test: a process with a directory of its own, killed when the test ends, however that ends.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

pub struct Process {
    child: Mutex<Option<Child>>,
}

impl Process {
    pub fn none() -> Process {
        Process { child: Mutex::new(None) }
    }

    pub fn spawn(&self, command: &mut Command) {
        let started = command.stdin(Stdio::null()).spawn();
        let child = started.unwrap_or_else(|problem| panic!("could not start {command:?}: {problem}"));
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    }

    /// What it ended with, if it has.
    pub fn ended(&self) -> Option<String> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = child.as_mut()?.try_wait().ok().flatten();
        ended.map(|status| status.to_string())
    }

    /// Politely, and it is waited for.
    pub fn stop(&self) {
        if let Some(mut child) = self.child.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let told = Command::new("kill").arg(child.id().to_string()).status();
            assert!(told.is_ok_and(|status| status.success()), "a server that runs can be told to stop");
            child.wait().expect("a server that was told to stop ends");
        }
    }

    /// Without a word, as a power cut would.
    pub fn kill(&self) {
        if let Some(mut child) = self.child.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // One that has ended already is as dead.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port of this machine that nobody listens at.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("this machine has a loopback address");
    listener.local_addr().expect("a bound socket has an address").port()
}
