//! Channels, through a server or in this process.

use super::alerts::listed;
use super::{Door, post, send, under};
use anyhow::Result;
use engine::EngineError;
use server::{answers, convert};
use wire::{ChannelBody, ChannelMadeView, ChannelPage, ChannelTestBody, StepShow, TellingView};

impl Door {
    pub async fn channels(&self) -> Result<ChannelPage> {
        match self {
            Door::Local { database, .. } => Ok(answers::channels(&database.browse()?)?),
            Door::Remote { url, http } => {
                let url = format!("{url}/v1/channels");
                send(http.get(&url), &url).await
            }
        }
    }

    /// Make a channel, or give the one of this name other values.
    pub async fn put_channel(&self, mut body: ChannelBody) -> Result<ChannelMadeView> {
        match self {
            Door::Local { local, database } => {
                let by = body.by.take().unwrap_or_default();
                let order = convert::channel(body).map_err(|faults| crate::Refused(listed(&faults)))?;
                let (put, secret) = local.engine.put_channel(order, None, by).await?;
                let about = answers::channel(&database.browse()?, &put.name)?;
                let about = about.ok_or_else(|| EngineError::NoChannel(put.name.clone()))?;
                Ok(convert::channel_made_view(about, secret.as_ref()))
            }
            Door::Remote { url, http } => post(http, &format!("{url}/v1/channels"), &body).await,
        }
    }

    pub async fn test_channel(&self, name: &str, body: &ChannelTestBody) -> Result<TellingView> {
        match self {
            Door::Local { local, database } => {
                let known = answers::channel(&database.browse()?, name)?;
                let least = known.ok_or_else(|| EngineError::NoChannel(name.into()))?.min_severity;
                let severity = convert::severity(body.severity.as_deref().unwrap_or(&least));
                let severity = severity.map_err(|fault| crate::Refused(fault.to_string()))?;
                let by = body.by.clone().unwrap_or_default();
                Ok(convert::telling_view(name, local.engine.test_channel(name, severity, &by).await?))
            }
            Door::Remote { url, http } => {
                post(http, under(url, &["v1", "channels", name, "test"])?.as_str(), body).await
            }
        }
    }

    pub async fn remove_channel(&self, name: &str, by: String) -> Result<()> {
        match self {
            Door::Local { local, .. } => match local.engine.remove_channel(name.into(), None, by).await? {
                true => Ok(()),
                false => Err(EngineError::NoChannel(name.into()).into()),
            },
            Door::Remote { url, http } => {
                let url = under(url, &["v1", "channels", name, "remove"])?;
                let _: serde_json::Value = post(http, url.as_str(), &serde_json::json!({ "by": by })).await?;
                Ok(())
            }
        }
    }

    /// A step with its last attempts.
    pub async fn step(&self, id: &str) -> Result<Option<StepShow>> {
        match self {
            Door::Local { database, .. } => {
                let now = store::Clock::now(&store::SystemClock::default());
                let id = id.parse().map_err(|_| crate::Refused(format!("`{id}` is not an id")))?;
                Ok(answers::step(&database.browse()?, id, now)?)
            }
            Door::Remote { url, http } => {
                let url = format!("{url}/v1/steps/{id}");
                send(http.get(&url), &url).await.map(Some)
            }
        }
    }
}
