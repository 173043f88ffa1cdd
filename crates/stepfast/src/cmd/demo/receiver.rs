//! A receiver of notices inside the demo: it takes whatever it is told, and does nothing with it.

use anyhow::Result;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Of one call, more than any notice has.
const BYTES_MAX: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(5);
const TAKEN: &[u8] = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

/// Where it is, and what is to be ended with the demo.
pub async fn start() -> Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let taking = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(tokio::time::timeout(PATIENCE, take(stream)));
        }
    });
    Ok((address, taking))
}

async fn take(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    let mut head = (&mut stream).take(BYTES_MAX);
    while head.read_line(&mut line).await? > 0 && !line.trim().is_empty() {
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            _ => {}
        }
        line.clear();
    }
    let mut body = Vec::new();
    (&mut stream).take(BYTES_MAX.min(length)).read_to_end(&mut body).await?;
    stream.get_mut().write_all(TAKEN).await
}
