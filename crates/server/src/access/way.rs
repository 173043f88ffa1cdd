//! By which way a call came: in clear, by TLS, or by a proxy that speaks TLS for us.

use crate::app::App;
use crate::network::{Encrypted, Network};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderValue, header};
use std::convert::Infallible;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nobody said otherwise; a proxy may have decrypted it.
    Clear,
    Tls,
    /// A proxy is said to speak TLS with everybody but this machine.
    Proxied,
}

impl Way {
    pub fn of(network: &Network, call: &Extensions) -> Way {
        match call.get::<Encrypted>() {
            Some(Encrypted) => Way::Tls,
            None if network.https => Way::Proxied,
            None => Way::Clear,
        }
    }

    /// Browsers are told to come by TLS alone, and to send a cookie by TLS alone.
    pub fn is_encrypted(self) -> bool {
        self != Way::Clear
    }

    /// What an address of our own begins with, for a page of this machine and for one from elsewhere.
    pub fn schemes(self, of: Page) -> &'static [&'static str] {
        match (self, of) {
            (Way::Tls, _) | (Way::Proxied, Page::Elsewhere) => &["https"],
            (Way::Clear | Way::Proxied, Page::Here) => &["http"],
            (Way::Clear, Page::Either | Page::Elsewhere) | (Way::Proxied, Page::Either) => &["http", "https"],
        }
    }
}

/// Where a page is that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// On this machine, without a key.
    Here,
    /// It comes from this machine and has a key: a proxy may speak for it.
    Either,
    Elsewhere,
}

/// A cookie for this call is to be sent by TLS alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookies {
    ByTlsAlone,
    InClear,
}

impl FromRequestParts<Arc<App>> for Cookies {
    type Rejection = Infallible;

    /// A browser that says it came by TLS did, also where nobody told us: the guard has compared the rest of the origin.
    async fn from_request_parts(call: &mut Parts, app: &Arc<App>) -> Result<Self, Infallible> {
        let is_https = |origin: &HeaderValue| origin.as_bytes().starts_with(b"https://");
        let is_encrypted = Way::of(&app.site.network, &call.extensions).is_encrypted()
            || call.headers.get(header::ORIGIN).is_some_and(is_https);
        Ok(if is_encrypted { Cookies::ByTlsAlone } else { Cookies::InClear })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_counts_more_than_what_the_configuration_says() {
        let (plain, behind) = (Network::default(), Network { https: true, ..Network::default() });
        let mut call = Extensions::new();
        assert_eq!((Way::of(&plain, &call), Way::of(&behind, &call)), (Way::Clear, Way::Proxied));
        call.insert(Encrypted);
        assert_eq!((Way::of(&plain, &call), Way::of(&behind, &call)), (Way::Tls, Way::Tls));
    }

    #[test]
    fn our_own_page_is_where_it_can_be() {
        let table =
            |way: Way| [Page::Here, Page::Either, Page::Elsewhere].map(|page| way.schemes(page).join(" "));
        assert_eq!(table(Way::Clear), ["http", "http https", "http https"]);
        assert_eq!(table(Way::Tls), ["https", "https", "https"]);
        assert_eq!(table(Way::Proxied), ["http", "http https", "https"]);
    }
}
