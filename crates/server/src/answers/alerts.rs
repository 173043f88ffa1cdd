//! Alerts and rules as they are on record.

use crate::convert;
use engine::stuck_rules_over as overlaid;
use model::Timestamp;
use std::collections::HashMap;
use std::time::Duration;
use store::stuck::StoredRule;
use store::{AlertFilter, Browse, Result};

/// Days that the figures look back.
const FIGURE_DAYS: u64 = 30;

/// The newest first.
pub fn alerts(browse: &Browse, filter: &AlertFilter, now: Timestamp) -> Result<wire::AlertPage> {
    // One row more than wanted tells whether there is a next page.
    let mut rows = browse.alerts(&AlertFilter { limit: filter.limit + 1, ..filter.clone() })?;
    let more = rows.len() > filter.limit;
    rows.truncate(filter.limit);
    let next = rows.last().filter(|_| more).map(|row| row.id);
    Ok(wire::AlertPage { alerts: rows.iter().map(|row| convert::alert_view(row, now)).collect(), next })
}

/// One, with what happened to it.
pub fn alert(browse: &Browse, id: u64, now: Timestamp) -> Result<Option<wire::AlertShow>> {
    let Some(alert) = browse.alert(id)? else { return Ok(None) };
    let history = browse.alert_history(&alert)?.iter().map(convert::alert_moment_view).collect();
    Ok(Some(wire::AlertShow { alert: convert::alert_view(&alert, now), history }))
}

pub fn alert_figures(browse: &Browse, now: Timestamp) -> Result<wire::AlertFiguresView> {
    let since = now - Duration::from_secs(FIGURE_DAYS * 24 * 3600);
    Ok(convert::alert_figures_view(&browse.alert_figures(since)?, FIGURE_DAYS))
}

/// Every rule that holds, by name.
pub fn stuck_rules(browse: &Browse) -> Result<wire::StuckRulePage> {
    let stored: HashMap<String, StoredRule> =
        browse.stuck_rules()?.into_iter().map(|stored| (stored.rule.name.clone(), stored)).collect();
    let mut faults: HashMap<String, String> =
        browse.stuck_asks()?.into_iter().filter_map(|ask| Some((ask.rule, ask.fault?))).collect();
    let all = overlaid(stored.values().map(|stored| stored.rule.clone()).collect());
    let rules = all
        .iter()
        .map(|rule| convert::stuck_rule_view(rule, stored.get(&rule.name), faults.remove(&rule.name)))
        .collect();
    Ok(wire::StuckRulePage { auto: browse.stuck_auto()?, rules, next: None })
}

/// The rule of a name as it holds now.
pub fn stuck_rule(browse: &Browse, name: &str) -> Result<Option<model::StuckRule>> {
    let stored = browse.stuck_rules()?.into_iter().map(|stored| stored.rule).collect();
    Ok(overlaid(stored).into_iter().find(|rule| rule.name == name))
}
