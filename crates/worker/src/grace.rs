//! How long jobs may go on after a stop was asked for.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use std::fmt;
use std::time::Duration;

/// A span of time, or less where whoever asked for the stop does not wait any longer.
///
/// ```
/// # use std::time::Duration;
/// # use stepfast_worker::Grace;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let again = async {}; // a second Ctrl-C, say
/// Grace::of(Duration::from_secs(3_600)).unless(again).over().await;
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Grace {
    span: Duration,
    cut: Option<Shared<BoxFuture<'static, ()>>>,
}

impl Grace {
    pub fn of(span: Duration) -> Grace {
        Grace { span, cut: None }
    }
    /// It is over as soon as this has come.
    pub fn unless(self, cut: impl Future<Output = ()> + Send + 'static) -> Grace {
        Grace { cut: Some(cut.boxed().shared()), ..self }
    }
    pub async fn over(self) {
        let span = tokio::time::sleep(self.span);
        match self.cut {
            Some(cut) => {
                tokio::select! {
                    () = span => {}
                    () = cut => {}
                }
            }
            None => span.await,
        }
    }
}

impl From<Duration> for Grace {
    fn from(span: Duration) -> Grace {
        Grace::of(span)
    }
}

impl fmt::Debug for Grace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{}", self.span, if self.cut.is_some() { " or less" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1 << 30);

    #[tokio::test]
    async fn it_is_over_for_all_when_it_is_cut() {
        let (cut, is_cut) = tokio::sync::oneshot::channel::<()>();
        let grace = Grace::of(LONG).unless(is_cut.map(|_| ()));
        let two = tokio::spawn(futures_util::future::join(grace.clone().over(), grace.over()));
        cut.send(()).unwrap();
        two.await.unwrap();
    }

    #[tokio::test]
    async fn it_is_over_when_its_time_has_passed() {
        Grace::of(Duration::ZERO).unless(std::future::pending()).over().await;
        Grace::from(Duration::ZERO).over().await;
    }
}
