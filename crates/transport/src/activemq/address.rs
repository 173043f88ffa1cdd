//! Where the broker is, as one URL: `stomp://user:password@host:61613/queue?heart-beat-ms=5000`.

use crate::AddressFault;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

const PORT: u16 = 61613;
const TLS_PORT: u16 = 61614;
const HEART_BEAT: Duration = Duration::from_secs(5);
/// Below this the timers of both sides are too coarse.
const HEART_BEAT_MIN: Duration = Duration::from_millis(500);
const CONSUMERS_MAX: usize = 256;

#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub protection: Protection,
    /// User and password.
    pub login: Option<(String, String)>,
    pub queue: String,
    /// How often each side says that it lives.
    pub heart_beat: Duration,
    /// The most messages that are held at once, handed out or deferred.
    pub consumers_max: usize,
    /// Whose certificates are trusted instead of those the system trusts.
    pub ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    Plain,
    Tls,
}

impl Address {
    pub fn parse(text: &str) -> Result<Address, AddressFault> {
        let fault = |problem: &str| AddressFault(problem.into());
        let url = Url::parse(text).map_err(|problem| AddressFault(problem.to_string()))?;
        let (protection, port) = match url.scheme() {
            "stomp" => (Protection::Plain, PORT),
            "stomp+ssl" => (Protection::Tls, TLS_PORT),
            other => return Err(fault(&format!("`{other}` is none of `stomp`, `stomp+ssl`"))),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| fault("it names no host"))?;
        let queue = plain("queue", url.path().trim_start_matches('/'))?;
        if queue.is_empty() {
            return Err(fault("it names no queue"));
        }
        let mut address = Address {
            // A literal IPv6 address stands in brackets.
            host: host.trim_matches(['[', ']']).into(),
            port: url.port().unwrap_or(port),
            protection,
            login: login(&url)?,
            queue,
            heart_beat: HEART_BEAT,
            consumers_max: CONSUMERS_MAX,
            ca_file: None,
        };
        for (name, value) in url.query_pairs() {
            let number = || value.parse::<u32>().map_err(|_| fault(&format!("`{name}` is no number")));
            match name.as_ref() {
                "heart-beat-ms" => address.heart_beat = Duration::from_millis(number()?.into()),
                "consumers-max" => address.consumers_max = number()? as usize,
                "ca-file" => address.ca_file = Some(PathBuf::from(value.as_ref())),
                _ => {
                    let known = "`heart-beat-ms`, `consumers-max`, `ca-file`";
                    return Err(fault(&format!("`{name}` is none of {known}")));
                }
            }
        }
        if address.heart_beat < HEART_BEAT_MIN {
            return Err(fault("`heart-beat-ms` is at least 500"));
        }
        if address.consumers_max == 0 {
            return Err(fault("`consumers-max` is at least 1"));
        }
        Ok(address)
    }
}

fn login(url: &Url) -> Result<Option<(String, String)>, AddressFault> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let user = plain("user", url.username())?;
    Ok(Some((user, plain("password", url.password().unwrap_or_default())?)))
}

/// Decoded. The first frame knows no escapes, so a line break would end its header.
fn plain(what: &str, text: &str) -> Result<String, AddressFault> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| AddressFault(format!("the {what} is no UTF-8")))?;
    if text.chars().any(char::is_control) {
        return Err(AddressFault(format!("the {what} has a control character")));
    }
    Ok(text.into_owned())
}

/// Without user and password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.port, self.queue)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Protection};
    use std::time::Duration;

    #[test]
    fn every_part_is_read() {
        let text = "stomp://us%40er:p%3Aw@[::1]:7000/a%2Fb.c?heart-beat-ms=700&consumers-max=9";
        let address = Address::parse(text).unwrap();
        assert_eq!((address.host.as_str(), address.port, address.queue.as_str()), ("::1", 7000, "a/b.c"));
        assert_eq!(address.login, Some(("us@er".into(), "p:w".into())));
        assert_eq!((address.heart_beat, address.consumers_max), (Duration::from_millis(700), 9));
        assert_eq!(format!("{address:?}"), "Address(::1:7000/a/b.c)");
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let address = Address::parse("stomp://broker/steps").unwrap();
        assert_eq!((address.port, address.login, address.protection), (61613, None, Protection::Plain));
        let address = Address::parse("stomp+ssl://broker/steps").unwrap();
        assert_eq!((address.port, address.protection), (61614, Protection::Tls));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        let check = |text: &str, says: &str| {
            let said = Address::parse(text).unwrap_err().to_string();
            assert!(said.contains(says) && !said.contains("secret"), "{text}: {said}");
        };
        check("nonsense", "relative URL");
        check("amqp://u:secret@host/q", "`amqp` is none of");
        check("stomp://u:secret@host", "names no queue");
        check("stomp://u:secret@host/", "names no queue");
        check("stomp://u:secret%0Ax@host/q", "the password has a control character");
        check("stomp://host/q?prefetch=2", "`prefetch` is none of");
        check("stomp://host/q?consumers-max=many", "`consumers-max` is no number");
        check("stomp://host/q?consumers-max=0", "at least 1");
        check("stomp://host/q?heart-beat-ms=10", "at least 500");
    }
}
