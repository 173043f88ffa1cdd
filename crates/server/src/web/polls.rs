//! Polls on the pages of steps and workflows.

use crate::words::clock;
use maud::{Markup, html};
use wire::{PollView, PollsView};

/// How far they are, in a line, and the last of them.
pub fn brief(polls: &PollsView) -> Markup {
    html! {
        p { (told(polls)) }
        @if let Some(last) = polls.last.last() { p.aside { "Last: " (one(last)) } }
    }
}

/// All that are on record.
pub fn section(polls: &PollsView) -> Markup {
    html! {
        section {
            h2 { "Polls" }
            p { (told(polls)) "; since " (clock(&polls.started_at)) }
            div.scroll tabindex="0" role="region" aria-label="Polls" { table {
                thead { tr { th.n { "Poll" } th { "At" } th { "Verdict" } th.n { "Attempt" } th { "What it said" } } }
                tbody {
                    @for poll in &polls.last {
                        tr {
                            td.n { (poll.number) } td.when { (clock(&poll.at)) } td { (verdict(poll)) } td.n { (poll.attempt) }
                            td.mono { (poll.data.as_deref().unwrap_or("")) }
                        }
                    }
                }
            } }
        }
    }
}

fn told(polls: &PollsView) -> String {
    let made = if polls.made == 1 { "Polled once".into() } else { format!("Polled {} times", polls.made) };
    let next = polls.next_at.as_deref().map(|at| format!(", next {}", clock(at)));
    made + &next.unwrap_or_default()
}

fn one(poll: &PollView) -> String {
    let data = poll.data.as_ref().map(|data| format!(": {}", data.chars().take(100).collect::<String>()));
    format!("{}, {}{}", clock(&poll.at), verdict(poll), data.unwrap_or_default())
}

fn verdict(poll: &PollView) -> String {
    match poll.next_interval_ms {
        Some(wait) => format!("{}, asked for {} s", poll.verdict, wait as f64 / 1_000.0),
        None => poll.verdict.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_told_and_what_they_said_is_never_markup() {
        let poll = PollView {
            number: 2,
            attempt: 3,
            at: "2027-01-15T08:00:00.000000Z".into(),
            verdict: "continue".into(),
            next_interval_ms: Some(1_500),
            data: Some("<b>open</b>".into()),
        };
        let polls = PollsView {
            made: 2,
            started_at: "2027-01-15T07:00:00.000000Z".into(),
            next_at: Some("2027-01-15T08:00:01.500000Z".into()),
            last: vec![poll],
        };
        for html in [brief(&polls).into_string(), section(&polls).into_string()] {
            assert!(html.contains("Polled 2 times, next "), "{html}");
            assert!(html.contains("continue, asked for 1.5 s"), "{html}");
            assert!(html.contains("&lt;b&gt;open&lt;/b&gt;") && !html.contains("<b>open"), "{html}");
        }
        let once = PollsView { made: 1, next_at: None, last: Vec::new(), ..polls };
        assert!(brief(&once).into_string().contains("<p>Polled once</p>"));
    }
}
