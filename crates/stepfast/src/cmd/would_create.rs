//! `steps create --dry-run`: whether these steps would be made.

use super::output;
use crate::Refused;
use crate::cli::Common;
use crate::config::Settings;
use crate::door::listed;
use crate::window::Window;
use anyhow::{Result, bail};
use model::{Count, NewStep};
use serde_json::json;
use std::process::ExitCode;
use store::{Clock, SystemClock};
use wire::WouldCreateView;

pub async fn look(settings: &Settings, common: &Common, steps: Vec<NewStep>) -> Result<ExitCode> {
    let would = match Window::open(settings, common)? {
        Window::Database(browse) => {
            let known = (&*settings.engine.groups, &*settings.engine.known_queues());
            let now = SystemClock::default().now();
            match engine::would_create(&browse, &steps, known, now)? {
                Ok(steps) => WouldCreateView { steps: steps as u64, dry_run: true },
                Err(faults) => bail!(Refused(listed(&faults))),
            }
        }
        window @ Window::Server { .. } => {
            window.try_out(&["v1", "steps"], &json!({ "steps": steps })).await?
        }
    };
    match common.json {
        true => output::line(&would),
        false => output::text(format_args!("{} would be created", Count(would.steps, "step"))),
    }
    Ok(ExitCode::SUCCESS)
}
