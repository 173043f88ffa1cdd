//! A program and all it starts, as one thing that ends together.
//!
//! Why    a program that is killed alone leaves its children running, with nobody to end them. So it leads a process
//!        group of its own, and the group is signalled before its leader is reaped: until then its number can belong to
//!        nobody else. A group that is dropped, because its step was cancelled, is ended by a task of its own; where no
//!        task can run any more, because the process stops, it is killed at once.

use super::task::Task;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

/// What a program finds where the server itself has none.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const LANG: &str = "C.UTF-8";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    Ending,
}

pub struct Group {
    /// Until it is reaped.
    leader: Option<Child>,
    stage: Stage,
    /// How long the program may take to end once it was asked to.
    grace: Duration,
}

impl Group {
    pub fn start(task: &Task, grace: Duration) -> io::Result<Group> {
        let inherited = |name, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.into());
        let leader = Command::new(&task.program)
            .args(&task.arguments)
            .env_clear()
            .env("PATH", inherited("PATH", PATH))
            .env("LANG", inherited("LANG", LANG))
            .envs(&task.env)
            .current_dir(&task.cwd)
            .stdin(if task.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        Ok(Group { leader: Some(leader), stage: Stage::Running, grace })
    }

    pub fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        match &mut self.leader {
            Some(leader) => (leader.stdin.take(), leader.stdout.take(), leader.stderr.take()),
            None => (None, None, None),
        }
    }

    /// Until the program itself has ended. It is not reaped yet.
    pub async fn ended(&self) -> io::Result<()> {
        let Some(leader) = self.leader.as_ref().and_then(number) else { return Ok(()) };
        let mut children = signal(SignalKind::child())?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(leader), look)?.is_none() {
            children.recv().await;
        }
        Ok(())
    }

    /// Ask it to end, and make it end.
    pub async fn end(&mut self) {
        self.stage = Stage::Ending;
        self.send(Signal::TERM);
        let _ = tokio::time::timeout(self.grace, self.ended()).await;
        let _ = self.reap().await;
    }

    /// Kill what is left of the group.
    pub fn kill(&mut self) {
        self.stage = Stage::Ending;
        self.send(Signal::KILL);
    }

    /// Kill what is left of the group and say how the program ended.
    pub async fn reap(&mut self) -> io::Result<ExitStatus> {
        self.kill();
        let Some(leader) = &mut self.leader else {
            return Err(io::Error::other("it was reaped before"));
        };
        let status = leader.wait().await;
        self.leader = None;
        status
    }

    /// A group whose leader is reaped gets no more signals: its number may be someone else's by now.
    fn send(&self, signal: Signal) {
        if let Some(leader) = self.leader.as_ref().and_then(number) {
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.leader.is_none() {
            return;
        }
        match (self.stage, Handle::try_current()) {
            (Stage::Running, Ok(runtime)) => {
                let mut rest = Group { leader: self.leader.take(), stage: Stage::Ending, grace: self.grace };
                runtime.spawn(async move { rest.end().await });
            }
            _ => self.kill(),
        }
    }
}

fn number(leader: &Child) -> Option<Pid> {
    leader.id().and_then(|id| Pid::from_raw(id.cast_signed()))
}
