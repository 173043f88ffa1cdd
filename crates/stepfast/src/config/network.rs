//! `[server]` and `[tls]`: how the server meets the network.

use super::{reachable, unknown};
use model::{Rate, limits};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

pub const SERVER_KEYS: [&str; 4] = ["https", "connections", "key_rate", "key_burst"];
pub const TLS_KEYS: [&str; 2] = ["certificate", "key"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawServer {
    https: Option<bool>,
    connections: Option<usize>,
    key_rate: Option<String>,
    key_burst: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawTls {
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// What the file says; the certificate is read by whoever serves, for others may not be allowed to.
#[derive(Debug, Clone, Default)]
pub struct Network {
    tls: Option<(PathBuf, PathBuf)>,
    https: bool,
    connections: usize,
    key_rate: Option<Rate>,
}

/// Keys that are not settings.
pub fn strange(table: &toml::Table) -> Vec<String> {
    let known: [(&str, &[&str]); 2] = [("server", &SERVER_KEYS), ("tls", &TLS_KEYS)];
    let mut faults = Vec::new();
    for (name, keys) in known {
        match table.get(name) {
            None => {}
            Some(toml::Value::Table(inner)) => faults.extend(unknown(inner, keys, &format!("{name}."))),
            Some(_) => faults.push(format!("{name} holds settings, as [{name}]: {}", keys.join(", "))),
        }
    }
    faults
}

impl Network {
    pub fn check(server: RawServer, tls: RawTls, faults: &mut Vec<String>) -> Network {
        let RawServer { https, connections, key_rate, key_burst } = server;
        let tls = match (tls.certificate, tls.key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (Some(_), None) => {
                faults.push("tls.key: it is missing; write the path of the key beside `certificate`".into());
                None
            }
            (None, Some(_)) => {
                faults
                    .push("tls.certificate: it is missing; write the path of the chain beside `key`".into());
                None
            }
        };
        if connections.is_some_and(|n| n == 0 || n > limits::CONNECTIONS_MAX) {
            faults.push(format!("server.connections: write a number from 1 to {}", limits::CONNECTIONS_MAX));
        }
        let key_rate = rate(key_rate.as_deref(), key_burst).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        let connections = connections.unwrap_or(limits::CONNECTIONS_DEFAULT);
        Network { tls, https: https.unwrap_or(false), connections, key_rate }
    }

    /// With the certificate read, or what is wrong with it.
    pub fn open(&self) -> Result<server::Network, String> {
        let read = |(certificate, key): &(PathBuf, PathBuf)| server::Tls::read(certificate, key);
        let usual = server::Network::default();
        Ok(server::Network {
            tls: self.tls.as_ref().map(read).transpose()?,
            https: self.https,
            connections: self.connections,
            key_rate: self.key_rate,
            ..usual
        })
    }

    /// Where commands and workers of this machine find the server: on loopback in clear, which needs nobody's certificate.
    pub fn url(&self, bound: SocketAddr) -> String {
        let address = reachable(bound);
        let in_clear = self.tls.is_none() || address.ip().is_loopback();
        format!("{}://{address}", if in_clear { "http" } else { "https" })
    }

    /// Where a person finds it.
    pub fn shown(&self, bound: SocketAddr) -> String {
        format!("{}://{}", if self.tls.is_some() { "https" } else { "http" }, reachable(bound))
    }
}

/// As many at once as in the span, unless it says otherwise.
fn rate(text: Option<&str>, burst: Option<u32>) -> Result<Option<Rate>, String> {
    let Some(text) = text else {
        let alone = "server.key_burst: there is no rate to burst; write `key_rate` too";
        return if burst.is_some() { Err(alone.into()) } else { Ok(None) };
    };
    let rate: Rate = text.parse().map_err(|problem| format!("server.key_rate: {problem}"))?;
    let rate = Rate { burst: burst.unwrap_or(rate.starts), ..rate };
    let most = limits::KEY_CALLS_MAX;
    if rate.burst == 0 || rate.burst > most || rate.starts > most {
        return Err(format!("server.key_rate, server.key_burst: write numbers from 1 to {most}"));
    }
    Ok(Some(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Network, Vec<String>> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Raw {
            server: RawServer,
            tls: RawTls,
        }
        let mut faults = strange(&text.parse().unwrap());
        if !faults.is_empty() {
            return Err(faults);
        }
        let Raw { server, tls } = toml::from_str(text).unwrap();
        let network = Network::check(server, tls, &mut faults);
        if faults.is_empty() { Ok(network) } else { Err(faults) }
    }

    #[test]
    fn what_the_file_says_is_what_the_server_does() {
        let plain = checked("").unwrap().open().unwrap();
        assert!(plain.tls.is_none() && !plain.https && plain.key_rate.is_none());
        assert_eq!(plain.connections, limits::CONNECTIONS_DEFAULT);
        let text = "[server]\nhttps = true\nconnections = 7\nkey_rate = \"100/s\"";
        let set = checked(text).unwrap().open().unwrap();
        assert_eq!((set.https, set.connections), (true, 7));
        assert_eq!(set.key_rate.map(|rate| (rate.to_string(), rate.burst)), Some(("100/s".into(), 100)));
        let burst = checked("[server]\nkey_rate = \"100/s\"\nkey_burst = 5").unwrap();
        assert_eq!(burst.key_rate.map(|rate| rate.burst), Some(5));
    }

    #[test]
    fn whatever_is_wrong_is_told_at_once() {
        let faults = |text: &str| checked(text).unwrap_err().join("\n");
        let wrong = faults("[server]\nconnections = 0\nkey_rate = \"often\"\n[tls]\nkey = \"k.pem\"");
        for part in [
            "server.connections: write",
            "server.key_rate: `often` is no rate",
            "tls.certificate: it is missing",
        ] {
            assert!(wrong.contains(part), "{part} in {wrong}");
        }
        assert!(faults("[tls]\ncertificate = \"c.pem\"").starts_with("tls.key: it is missing"));
        assert!(faults("[server]\nkey_burst = 5").contains("write `key_rate` too"));
        assert!(
            faults("[tls]\ncert = \"c.pem\"")
                .contains("tls.cert is not a setting; did you mean `certificate`?")
        );
        assert!(faults("server = \"here\"").starts_with("server holds settings, as [server]"));
        let gone = checked("[tls]\ncertificate = \"/nowhere/c.pem\"\nkey = \"/nowhere/k.pem\"").unwrap();
        assert!(gone.open().unwrap_err().starts_with("tls.certificate: cannot read /nowhere/c.pem"));
    }

    #[test]
    fn this_machine_finds_it_in_clear_and_people_by_tls() {
        let [any, one]: [SocketAddr; 2] = ["0.0.0.0:7837", "10.0.0.5:7837"].map(|text| text.parse().unwrap());
        let plain = Network::default();
        assert_eq!(
            (plain.url(any), plain.shown(one)),
            ("http://127.0.0.1:7837".into(), "http://10.0.0.5:7837".into())
        );
        let tls = Network { tls: Some(("c".into(), "k".into())), ..Network::default() };
        assert_eq!(
            (tls.url(any), tls.url(one)),
            ("http://127.0.0.1:7837".into(), "https://10.0.0.5:7837".into())
        );
        assert_eq!(tls.shown(any), "https://127.0.0.1:7837");
    }
}
