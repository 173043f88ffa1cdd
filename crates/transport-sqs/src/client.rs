//! A client of the service, with limits on how long and how often it tries.

use crate::address::Address;
use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{Builder, ProvideCredentials, SharedHttpClient};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(3);
/// One try, and all tries together.
const ATTEMPT: Duration = Duration::from_secs(8);
const OPERATION: Duration = Duration::from_secs(20);
/// Throttled and broken calls are tried again so often; whoever asked hears of it then.
const ATTEMPTS_MAX: u32 = 3;
const TRY_AGAIN: Duration = Duration::from_millis(100);
const TRY_AGAIN_MAX: Duration = Duration::from_secs(2);

pub async fn with_environment(address: &Address) -> Client {
    client(address, loader(address)).await
}

pub async fn with_credentials(address: &Address, credentials: impl ProvideCredentials + 'static) -> Client {
    client(address, loader(address).credentials_provider(credentials)).await
}

/// For a call that waits at the service.
pub fn patient(wait: Duration) -> Builder {
    Builder::new().timeout_config(timeouts(wait))
}

fn loader(address: &Address) -> ConfigLoader {
    let loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http());
    match &address.region {
        Some(region) => loader.region(Region::new(region.clone())),
        None => loader,
    }
}

/// Nobody is called yet.
async fn client(address: &Address, loader: ConfigLoader) -> Client {
    let retries = RetryConfig::standard()
        .with_max_attempts(ATTEMPTS_MAX)
        .with_initial_backoff(TRY_AGAIN)
        .with_max_backoff(TRY_AGAIN_MAX);
    let config = Builder::from(&loader.load().await)
        .endpoint_url(&address.endpoint)
        .retry_config(retries)
        .timeout_config(timeouts(Duration::ZERO));
    Client::from_conf(config.build())
}

fn timeouts(wait: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(ATTEMPT + wait)
        .operation_timeout(OPERATION + wait)
        .build()
}

/// The one provider of TLS that the rest of the program has.
fn http() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https()
}
