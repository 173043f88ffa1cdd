//! Where `http` may go beyond the public internet.

use super::network::{Network, special};
use reqwest::Url;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Each entry is looked at for each address.
const ENTRIES_MAX: usize = 256;

/// What an operator opened: `10.0.0.0/8`, `127.0.0.1`, `127.0.0.1:8080`, `host.name`, `host.name:8080`.
#[derive(Clone, Debug, Default)]
pub struct HttpAllow {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    target: Target,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Network(Network),
    Host(String),
}

/// An address that nobody allowed.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    host: Option<String>,
    address: IpAddr,
    kind: &'static str,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { host, address, kind } = self;
        match host {
            Some(host) => write!(f, "`{host}` leads to {address}, a {kind} address")?,
            None => write!(f, "{address} is a {kind} address")?,
        }
        let allowed = host.clone().unwrap_or_else(|| address.to_string());
        write!(
            f,
            "; `http` goes there only if the server's configuration says `[actions.http] allow = [\"{allowed}\"]`"
        )
    }
}

impl std::error::Error for Refused {}

impl HttpAllow {
    /// Every fault is told at once.
    pub fn read(texts: &[String]) -> Result<HttpAllow, Vec<String>> {
        if texts.len() > ENTRIES_MAX {
            return Err(vec![format!("{} entries; write at most {ENTRIES_MAX}", texts.len())]);
        }
        let mut faults = Vec::new();
        let read = texts.iter().filter_map(|text| Entry::read(text).map_err(|f| faults.push(f)).ok());
        let entries = read.collect();
        if faults.is_empty() { Ok(HttpAllow { entries }) } else { Err(faults) }
    }

    /// One more place, and nothing else there.
    #[must_use]
    pub fn and(mut self, place: SocketAddr) -> HttpAllow {
        self.entries
            .push(Entry { target: Target::Network(Network::only(place.ip())), port: Some(place.port()) });
        self
    }

    /// The ports that some entry is about.
    pub fn ports(&self) -> BTreeSet<u16> {
        self.entries.iter().filter_map(|entry| entry.port).collect()
    }

    /// Whether a call to this host, found at this address, may be made. Without a port only entries for all ports count.
    pub fn check(&self, host: Option<&str>, address: IpAddr, port: Option<u16>) -> Result<(), Refused> {
        let Some(kind) = special(address) else { return Ok(()) };
        let host = host.map(plain);
        let meets = |entry: &Entry| {
            (entry.port.is_none() || entry.port == port)
                && match &entry.target {
                    Target::Network(network) => network.contains(address),
                    Target::Host(name) => host.as_ref() == Some(name),
                }
        };
        if self.entries.iter().any(meets) { Ok(()) } else { Err(Refused { host, address, kind }) }
    }
}

impl Entry {
    fn read(text: &str) -> Result<Entry, String> {
        if text.contains('/') {
            return Ok(Entry { target: Target::Network(Network::read(text)?), port: None });
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Entry { target: Target::Network(Network::only(address)), port: None });
        }
        if let Ok(place) = text.parse::<SocketAddr>() {
            return Ok(Entry {
                target: Target::Network(Network::only(place.ip())),
                port: Some(place.port()),
            });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| unknown(text))?)),
            None => (text, None),
        };
        if host.is_empty() || host.contains(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_')))
        {
            return Err(unknown(text));
        }
        // Names are compared as addresses write them: in lower case, and in ASCII.
        let url = Url::parse(&format!("http://{host}/")).map_err(|_| unknown(text))?;
        let name = url.domain().ok_or_else(|| unknown(text))?;
        Ok(Entry { target: Target::Host(plain(name)), port })
    }
}

/// `host.name.` is `host.name`.
fn plain(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn unknown(text: &str) -> String {
    format!(
        "`{text}` is no place; write `10.0.0.0/8`, `127.0.0.1:8080`, `[::1]:8080`, `host.name` or `host.name:8080`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(entries: &[&str]) -> HttpAllow {
        HttpAllow::read(&entries.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    fn goes(allow: &HttpAllow, host: &str, address: &str, port: u16) -> bool {
        let host = Some(host).filter(|h| !h.is_empty());
        allow.check(host, address.parse().unwrap(), Some(port)).is_ok()
    }

    #[test]
    fn nothing_special_is_open_until_an_entry_says_so() {
        let none = allow(&[]);
        assert!(goes(&none, "", "8.8.8.8", 80));
        assert!(!goes(&none, "", "127.0.0.1", 80));
        assert!(!goes(&none, "localhost", "127.0.0.1", 80));
    }

    #[test]
    fn an_entry_opens_exactly_what_it_names() {
        let some =
            allow(&["10.0.0.0/8", "127.0.0.1:8080", "Inner.Example.", "[::1]:9", "dev.test:3000", "fd00::7"]);
        assert!(goes(&some, "", "10.9.9.9", 1));
        assert!(!goes(&some, "", "172.16.0.1", 1));
        assert!(goes(&some, "", "127.0.0.1", 8080));
        assert!(!goes(&some, "", "127.0.0.1", 8081));
        assert!(!goes(&some, "", "127.0.0.2", 8080));
        assert!(!goes(&some, "", "::ffff:10.0.0.1", 1), "a translated address is another address");
        assert!(goes(&some, "inner.example", "192.168.0.1", 1));
        assert!(goes(&some, "INNER.example.", "192.168.0.1", 1));
        assert!(!goes(&some, "other.example", "192.168.0.1", 1));
        assert!(!goes(&some, "x.inner.example", "192.168.0.1", 1));
        assert!(goes(&some, "", "::1", 9));
        assert!(goes(&some, "dev.test", "127.0.0.1", 3000));
        assert!(!goes(&some, "dev.test", "127.0.0.1", 3001));
        assert!(goes(&some, "", "fd00::7", 1));
        assert!(
            some.check(None, "127.0.0.1".parse().unwrap(), None).is_err(),
            "no port meets no port's entry"
        );
        assert_eq!(some.ports().into_iter().collect::<Vec<_>>(), [9, 3000, 8080]);
    }

    #[test]
    fn every_bad_entry_is_told() {
        let bad = ["10.0.0.1/8", "http://x", "*.example", "a:b", "127.1", "", "user@host", "a:99999"];
        let faults = HttpAllow::read(&bad.map(String::from)).unwrap_err();
        assert_eq!(faults.len(), bad.len(), "{faults:?}");
        assert!(faults[0].contains("write `10.0.0.0/8`"), "{}", faults[0]);
        assert!(faults[2].contains("`*.example` is no place; write `10.0.0.0/8`"), "{}", faults[2]);
        assert!(HttpAllow::read(&vec!["a".to_string(); 257]).is_err());
    }
}
