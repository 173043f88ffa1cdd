//! Where the database is and how one gets there: the address as a person writes it, checked before the first connection.

use super::link::{Prepared, spawn, within};
use super::tls::{self, Trust};
use crate::{Result, StoreError};
use futures_util::StreamExt;
use model::limits;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A statement that takes longer is given up.
const STATEMENT_TIMEOUT: &str = "30s";
/// A network that says nothing for this long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A silent connection is asked this often, and this many times, before it is given up.
const PROBE_EVERY: Duration = Duration::from_secs(3);
const PROBES: u32 = 3;
/// From the first packet until the server has let us in.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Address {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    mode: String,
}

/// What the address says about TLS; the driver does not know all of it.
#[derive(Debug, Default, PartialEq)]
struct Wanted {
    mode: Option<String>,
    root: Option<PathBuf>,
}

impl Address {
    pub fn parse(url: &str) -> Result<Address> {
        let (rest, wanted) = take_tls(url).map_err(StoreError::Refused)?;
        let mut config: Config = rest.parse().map_err(|e: tokio_postgres::Error| {
            let why = std::error::Error::source(&e).map_or(e.to_string(), ToString::to_string);
            StoreError::Refused(format!("this is not the address of a database: {why}"))
        })?;
        let standstill = format!("{}s", limits::STANDSTILL_MAX.as_secs());
        let options = format!(
            "-c search_path=stepfast -c statement_timeout={STATEMENT_TIMEOUT} \
             -c idle_in_transaction_session_timeout={standstill} -c plan_cache_mode=force_generic_plan"
        );
        config.options(&options).application_name("stepfast").connect_timeout(CONNECT_TIMEOUT);
        config.tcp_user_timeout(SILENCE_MAX).keepalives_idle(SILENCE_MAX);
        config.keepalives_interval(PROBE_EVERY).keepalives_retries(PROBES);
        let mode = wanted.mode.unwrap_or_else(|| "prefer".into());
        let tls = match trust(&mode, wanted.root)? {
            None => None,
            Some(trust) => Some(tls::connector(trust)?),
        };
        config.ssl_mode(match mode.as_str() {
            "disable" => SslMode::Disable,
            "prefer" => SslMode::Prefer,
            _ => SslMode::Require,
        });
        Ok(Address { config, tls, mode })
    }

    pub async fn connect(&self) -> Result<Prepared> {
        Ok(Prepared::new(within(HANDSHAKE_MAX, self.knock()).await?))
    }

    async fn knock(&self) -> Result<Client> {
        let Some(tls) = &self.tls else {
            let (client, connection) = self.config.connect(NoTls).await?;
            spawn(attend(connection));
            return Ok(client);
        };
        let made = self.config.connect(tls.clone()).await;
        let (client, connection) = made.map_err(|error| self.explained(error))?;
        spawn(attend(connection));
        Ok(client)
    }

    /// A connection that only listens.
    pub async fn listen(&self, channel: &str) -> Result<Heard> {
        let (send, texts) = mpsc::unbounded_channel();
        let client = within(HANDSHAKE_MAX, async {
            let Some(tls) = &self.tls else {
                let (client, connection) = self.config.connect(NoTls).await?;
                spawn(overhear(connection, send));
                return Ok::<Client, StoreError>(client);
            };
            let made = self.config.connect(tls.clone()).await;
            let (client, connection) = made.map_err(|error| self.explained(error))?;
            spawn(overhear(connection, send));
            Ok(client)
        });
        let client = client.await?;
        client.batch_execute(&format!("listen {channel}")).await?;
        Ok(Heard { texts, _client: client })
    }

    /// What is wrong with TLS does not pass by itself, and the address says what was asked for.
    fn explained(&self, error: tokio_postgres::Error) -> StoreError {
        let Some(cause) = std::error::Error::source(&error) else { return error.into() };
        let (cause, mode) = (cause.to_string(), &self.mode);
        if cause == "server does not support TLS" {
            return StoreError::Refused(format!(
                "the server does not offer TLS, and the address asks for it with sslmode={mode}; \
                 turn `ssl` on at the server, or write sslmode=disable"
            ));
        }
        if cause.contains("invalid peer certificate") {
            return StoreError::Refused(format!("with sslmode={mode} the server is not trusted: {cause}"));
        }
        error.into()
    }
}

async fn attend(connection: impl Future<Output = std::result::Result<(), tokio_postgres::Error>>) {
    if let Err(problem) = connection.await {
        tracing::warn!(%problem, "a connection to PostgreSQL ended");
    }
}

/// What a listening connection hears; it ends with the connection.
pub struct Heard {
    texts: mpsc::UnboundedReceiver<String>,
    /// Listening ends when the client goes.
    _client: Client,
}

impl Heard {
    pub async fn next(&mut self) -> Option<String> {
        self.texts.recv().await
    }
}

async fn overhear<S, T>(mut connection: Connection<S, T>, send: mpsc::UnboundedSender<String>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut messages = futures_util::stream::poll_fn(|cx| connection.poll_message(cx));
    while let Some(Ok(message)) = messages.next().await {
        if let AsyncMessage::Notification(told) = message
            && send.send(told.payload().to_string()).is_err()
        {
            return;
        }
    }
}

/// The address without what it says about TLS, and that apart.
fn take_tls(url: &str) -> std::result::Result<(String, Wanted), String> {
    let mut wanted = Wanted::default();
    let Some((address, query)) = url.split_once('?') else { return Ok((url.into(), wanted)) };
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => wanted.mode = Some(mode.into()),
            Some(("sslrootcert", path)) => wanted.root = Some(decoded(path)?.into()),
            _ => rest.push(pair),
        }
    }
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{address}{query}"), wanted))
}

/// `%2F` is a slash.
fn decoded(text: &str) -> std::result::Result<String, String> {
    let wrong = || format!("`{text}` is not written as an address writes it");
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let code = part.get(..2).ok_or_else(wrong)?;
        bytes.push(u8::from_str_radix(code, 16).map_err(|_| wrong())?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// Whom a mode trusts; `disable` does without TLS.
fn trust(mode: &str, root: Option<PathBuf>) -> Result<Option<Trust>> {
    let needs = || {
        StoreError::Refused(format!(
            "sslmode={mode} needs to know whom to trust: add sslrootcert=FILE with the certificate of the authority"
        ))
    };
    match (mode, root) {
        ("disable", _) => Ok(None),
        ("prefer", _) | ("require", None) => Ok(Some(Trust::Anyone)),
        // As libpq has it: who names an authority wants it asked.
        ("require", Some(root)) => Ok(Some(Trust::SignedBy(root))),
        ("verify-ca", root) => Ok(Some(Trust::SignedBy(root.ok_or_else(needs)?))),
        ("verify-full", root) => Ok(Some(Trust::SignedByForHost(root.ok_or_else(needs)?))),
        _ => Err(StoreError::Refused(format!(
            "sslmode={mode} is not known; write disable, prefer, require, verify-ca or verify-full"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        Address::parse(url).err().expect("it is refused").to_string()
    }

    #[test]
    fn what_is_said_of_tls_is_taken_out() {
        let (rest, wanted) =
            take_tls("postgres://a@h/x?sslmode=verify-full&connect_timeout=3&sslrootcert=%2Fetc%2Fca.pem")
                .unwrap();
        assert_eq!(rest, "postgres://a@h/x?connect_timeout=3");
        assert_eq!(wanted, Wanted { mode: Some("verify-full".into()), root: Some("/etc/ca.pem".into()) });
        assert_eq!(take_tls("postgres://h?sslmode=disable").unwrap().0, "postgres://h");
        assert!(take_tls("postgres://h?sslrootcert=%2").is_err());
    }

    #[test]
    fn a_wrong_address_says_what_is_wrong_and_keeps_the_password() {
        assert!(refused("postgres://h/x?sslmode=maybe").contains("write disable, prefer, require"));
        assert!(refused("postgres://h/x?sslmode=verify-full").contains("add sslrootcert=FILE"));
        let none = refused("postgres://h/x?sslmode=verify-ca&sslrootcert=/no/such.pem");
        assert!(none.contains("/no/such.pem"), "{none}");
        let told = refused("postgres://me:secret@h:port/x");
        assert!(
            told.starts_with("this is not the address of a database") && !told.contains("secret"),
            "{told}"
        );
        assert_eq!(Address::parse("postgres://h/x").unwrap().mode, "prefer");
    }
}
