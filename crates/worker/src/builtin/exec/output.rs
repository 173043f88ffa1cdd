//! What passes between a program and its step, and no more of it than the step asked for.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

const CHUNK_BYTES: usize = 8 << 10;

/// How a passing came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// Nothing holds the other ends any more.
    Closed,
    /// The program wrote more than it may.
    TooMuch,
}

pub struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    unwritten: Vec<u8>,
    pub written_out: Vec<u8>,
    pub written_err: Vec<u8>,
}

impl Pipes {
    pub fn new(
        (stdin, stdout, stderr): (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>),
        feed: Option<String>,
    ) -> Pipes {
        let unwritten = feed.unwrap_or_default().into_bytes();
        Pipes { stdin, stdout, stderr, unwritten, written_out: Vec::new(), written_err: Vec::new() }
    }

    /// Write and read until all is closed. May be left at any moment and taken up again.
    pub async fn pass(&mut self, bytes_max: usize) -> Passed {
        let (mut out, mut err) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
        loop {
            tokio::select! {
                read = read(&mut self.stdout, &mut out), if self.stdout.is_some() => {
                    take(read, &out, &mut self.stdout, &mut self.written_out);
                }
                read = read(&mut self.stderr, &mut err), if self.stderr.is_some() => {
                    take(read, &err, &mut self.stderr, &mut self.written_err);
                }
                written = write(&mut self.stdin, &self.unwritten), if self.stdin.is_some() => {
                    match written {
                        Ok(n) if n > 0 => drop(self.unwritten.drain(..n)),
                        // All is written, or the program does not want the rest.
                        _ => self.stdin = None,
                    }
                }
                else => return Passed::Closed,
            }
            if self.written_out.len() + self.written_err.len() > bytes_max {
                return Passed::TooMuch;
            }
        }
    }
}

async fn read<R: AsyncRead + Unpin>(from: &mut Option<R>, chunk: &mut [u8]) -> io::Result<usize> {
    match from {
        Some(from) => from.read(chunk).await,
        None => Ok(0),
    }
}

async fn write(into: &mut Option<ChildStdin>, unwritten: &[u8]) -> io::Result<usize> {
    match into {
        Some(into) if !unwritten.is_empty() => into.write(unwritten).await,
        _ => Ok(0),
    }
}

fn take<R>(read: io::Result<usize>, chunk: &[u8], from: &mut Option<R>, into: &mut Vec<u8>) {
    match read {
        Ok(n) if n > 0 => into.extend_from_slice(&chunk[..n]),
        _ => *from = None,
    }
}
