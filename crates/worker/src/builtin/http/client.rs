//! The client behind `http`: it connects to addresses that were looked at, and to no other.
//!
//! Why    a name is resolved once, and the addresses that were checked are the ones connected to; a name that answers
//!        differently the second time is never asked. The resolver is told no port, so each port that an entry is
//!        about has a client of its own. Proxies of the environment would connect for us, so they are ignored.

use super::allow::{HttpAllow, Refused};
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url, redirect};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const IDLE_PER_HOST_MAX: usize = 8;

/// Finds the addresses of a host.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The HTTP client could not be made.
#[derive(Debug)]
pub struct NoClient(Box<dyn Error + Send + Sync>);

impl fmt::Display for NoClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot make the client of the action `http`")
    }
}

impl Error for NoClient {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

pub struct Http {
    allow: Arc<HttpAllow>,
    on_any_port: Client,
    on_port: BTreeMap<u16, Client>,
}

impl Http {
    pub fn new(allow: HttpAllow) -> Result<Http, NoClient> {
        Http::with(allow, system_lookup(), system_roots())
    }

    pub fn with(allow: HttpAllow, lookup: Lookup, roots: RootCertStore) -> Result<Http, NoClient> {
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|problem| NoClient(problem.into()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let allow = Arc::new(allow);
        let client = |port| client(Guard { allow: allow.clone(), port, lookup: lookup.clone() }, tls.clone());
        let on_any_port = client(None)?;
        let on_port = allow.ports().into_iter().map(|port| Ok((port, client(Some(port))?)));
        let on_port = on_port.collect::<Result<_, NoClient>>()?;
        Ok(Http { allow, on_any_port, on_port })
    }

    /// The client for this address. One that names no host is never resolved, and is therefore checked here.
    pub fn client(&self, url: &Url) -> Result<&Client, Refused> {
        let port = url.port_or_known_default().unwrap_or_default();
        let literal = url.host_str().unwrap_or_default().trim_matches(['[', ']']).parse();
        if let Ok(address) = literal {
            self.allow.check(None, address, Some(port))?;
        }
        Ok(self.on_port.get(&port).unwrap_or(&self.on_any_port))
    }
}

fn client(guard: Guard, tls: ClientConfig) -> Result<Client, NoClient> {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(guard))
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .build()
        .map_err(|problem| NoClient(problem.into()))
}

/// Resolves a name, and gives its addresses only if every one of them may be called.
struct Guard {
    allow: Arc<HttpAllow>,
    port: Option<u16>,
    lookup: Lookup,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (allow, port, host) = (self.allow.clone(), self.port, name.as_str().to_string());
        let found = (self.lookup)(host.clone());
        Box::pin(async move {
            let addresses = found.await?;
            for address in &addresses {
                allow.check(Some(&host), *address, port)?;
            }
            let places = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(places) as Addrs)
        })
    }
}

fn system_lookup() -> Lookup {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|place| place.ip()).collect())
        })
    })
}

/// Those the machine trusts. One that has none can still call plain addresses.
fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for problem in &found.errors {
        debug!(target: "worker", %problem, "a certificate of this machine cannot be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}
