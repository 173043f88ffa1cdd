//! A broker of the bench's own: what the tests install, started for one measurement on a free port and gone with it.

use crate::Refused;
use crate::scheduler::connect;
use anyhow::Result;
use std::sync::Arc;
use transport::Transport;
use transport::embedded::EmbeddedQueue;

/// The queue of one measurement.
pub enum Broker {
    Embedded(EmbeddedQueue),
    /// Somebody else's, or the bench's own, which ends when it is dropped.
    At {
        url: String,
        _own: Own,
    },
}

pub enum Own {
    No,
    #[cfg(feature = "brokers")]
    ActiveMq {
        _server: transport::conformance::activemq::ActiveMqServer,
    },
    #[cfg(feature = "brokers")]
    MiniStack {
        _server: transport::conformance::ministack::MiniStack,
    },
}

impl Broker {
    /// `embedded`, `activemq` and `sqs` (those that the tests install), or the address of a queue.
    pub async fn of(word: &str) -> Result<Broker> {
        match word {
            "embedded" => Ok(Broker::Embedded(EmbeddedQueue::default())),
            "activemq" | "sqs" => own(word).await,
            url => Ok(Broker::At { url: url.into(), _own: Own::No }),
        }
    }

    pub async fn connect(&self) -> Result<Arc<dyn Transport>> {
        match self {
            Broker::Embedded(queue) => Ok(Arc::new(queue.connect())),
            Broker::At { url, .. } => connect(url).await,
        }
    }

    /// How many steps are worth a measurement: a broker outside is some hundred times slower.
    pub fn usual_n(&self) -> usize {
        match self {
            Broker::Embedded(_) => 100_000,
            Broker::At { .. } => 5_000,
        }
    }
}

#[cfg(feature = "brokers")]
async fn own(word: &str) -> Result<Broker> {
    use transport::conformance::{activemq::ActiveMqServer, ministack::MiniStack};
    if word == "activemq" {
        let server = ActiveMqServer::start().await;
        return Ok(Broker::At { url: server.url("bench", ""), _own: Own::ActiveMq { _server: server } });
    }
    let named = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(std::env::var);
    if named.iter().any(std::result::Result::is_err) {
        let how = "the client of SQS signs what it says; write AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=thing before the command";
        return Err(Refused(how.into()).into());
    }
    let server = MiniStack::start().await;
    Ok(Broker::At { url: server.make_queue("bench.fifo"), _own: Own::MiniStack { _server: server } })
}

#[cfg(not(feature = "brokers"))]
async fn own(word: &str) -> Result<Broker> {
    let how = format!(
        "this program starts no broker; write the address of one as --transport, or build it with `--features brokers`, \
         which starts the {word} that the tests install"
    );
    Err(Refused(how).into())
}
