//! Where the queue is, as one URL: its own with another scheme, `sqs://sqs.eu-west-1.amazonaws.com/123456789012/steps.fifo`.
//!
//! Why    `sqs+http` is the same without TLS, for servers on this machine. Requests go to the host of the queue unless
//!        `endpoint` says otherwise.

use std::time::Duration;
use transport::AddressFault;
use url::Url;

const VISIBILITY: Duration = Duration::from_secs(60);
const VISIBILITY_SECONDS_MAX: u64 = 12 * 60 * 60;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub queue_url: String,
    pub endpoint: String,
    /// None for what the environment says.
    pub region: Option<String>,
    /// How long a received message is hidden.
    pub visibility: Duration,
}

impl Address {
    pub fn parse(text: &str) -> Result<Address, AddressFault> {
        let fault = |problem: String| AddressFault(problem);
        let url = Url::parse(text).map_err(|problem| fault(problem.to_string()))?;
        let scheme = match url.scheme() {
            "sqs" | "sqs+https" => "https",
            "sqs+http" => "http",
            other => return Err(fault(format!("`{other}` is none of `sqs`, `sqs+http`"))),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fault("credentials come from the environment, not from the address".into()));
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| fault("it names no host".into()))?;
        let origin = match url.port() {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        };
        if !url.path().ends_with(".fifo") {
            return Err(fault("it names no FIFO queue, whose name ends with `.fifo`".into()));
        }
        let mut address = Address {
            queue_url: format!("{origin}{}", url.path()),
            endpoint: origin,
            region: region_of(host),
            visibility: VISIBILITY,
        };
        for (name, value) in url.query_pairs() {
            match name.as_ref() {
                "region" => address.region = Some(value.into_owned()),
                "endpoint" => address.endpoint = value.into_owned(),
                "visibility-seconds" => {
                    let seconds = value.parse().ok().filter(|n| (1..=VISIBILITY_SECONDS_MAX).contains(n));
                    let told = || fault(format!("`{name}` is a number from 1 to {VISIBILITY_SECONDS_MAX}"));
                    address.visibility = Duration::from_secs(seconds.ok_or_else(told)?);
                }
                _ => {
                    let known = "`region`, `endpoint`, `visibility-seconds`";
                    return Err(fault(format!("`{name}` is none of {known}")));
                }
            }
        }
        Ok(address)
    }
}

/// `sqs.<region>.amazonaws.com`, and the same in other partitions.
fn region_of(host: &str) -> Option<String> {
    let (region, rest) = host.strip_prefix("sqs.")?.split_once('.')?;
    rest.starts_with("amazonaws.com").then(|| region.into())
}

#[cfg(test)]
mod tests {
    use super::Address;
    use std::time::Duration;

    #[test]
    fn a_queue_of_the_service_needs_nothing_else() {
        let address = Address::parse("sqs://sqs.eu-west-1.amazonaws.com/123456789012/steps.fifo").unwrap();
        assert_eq!(address.queue_url, "https://sqs.eu-west-1.amazonaws.com/123456789012/steps.fifo");
        assert_eq!(address.endpoint, "https://sqs.eu-west-1.amazonaws.com");
        assert_eq!(address.region.as_deref(), Some("eu-west-1"));
        assert_eq!(address.visibility, Duration::from_secs(60));
    }

    #[test]
    fn a_server_of_ones_own_says_more() {
        let text = "sqs+http://127.0.0.1:4566/000000000000/s.fifo?region=r&visibility-seconds=5";
        let address = Address::parse(text).unwrap();
        assert_eq!(address.queue_url, "http://127.0.0.1:4566/000000000000/s.fifo");
        assert_eq!(
            (address.endpoint.as_str(), address.region.as_deref()),
            ("http://127.0.0.1:4566", Some("r"))
        );
        let text = "sqs://sqs.eu-west-1.amazonaws.com/1/s.fifo?endpoint=https%3A%2F%2Fvpce.example.com";
        assert_eq!(Address::parse(text).unwrap().endpoint, "https://vpce.example.com");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let check = |text: &str, says: &str| {
            let said = Address::parse(text).unwrap_err().to_string();
            assert!(said.contains(says) && !said.contains("secret"), "{text}: {said}");
        };
        check("stomp://host/q.fifo", "`stomp` is none of");
        check("sqs://host/1/steps", "names no FIFO queue");
        check("sqs://key:secret@host/1/s.fifo", "credentials come from the environment");
        check("sqs://host/1/s.fifo?visibility-seconds=0", "a number from 1 to 43200");
        check("sqs://host/1/s.fifo?wait=3", "`wait` is none of");
    }
}
