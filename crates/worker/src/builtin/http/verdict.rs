//! What a status means for the step.

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// No server makes a step ask again at once, or sleep for ever.
const WAIT_MIN: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Complete,
    /// Again at no cost: the server is there and asks for patience.
    Throttle(Duration),
    /// Again, as long as the step has attempts left.
    Retry(Option<Duration>),
    Fail,
}

/// What the step says of a status goes first.
pub fn judge(status: u16, retry_on: &[u16], fail_on: &[u16], wait: Option<Duration>) -> Verdict {
    if fail_on.contains(&status) {
        return Verdict::Fail;
    }
    if retry_on.contains(&status) {
        return Verdict::Retry(wait);
    }
    match (status, wait) {
        (200..=299, _) => Verdict::Complete,
        (429 | 503, Some(wait)) => Verdict::Throttle(wait),
        (408 | 429 | 500..=599, wait) => Verdict::Retry(wait),
        _ => Verdict::Fail,
    }
}

/// How long the server asks to be left alone. A date is counted from the server's own `Date`, where it has one: two
/// clocks need not agree.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than a number can hold is long enough too.
        text.parse().map_or(WAIT_MAX, Duration::from_secs)
    } else {
        let until = httpdate::parse_http_date(text).ok()?;
        let date = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
        until.duration_since(date.unwrap_or_else(machine_time)).unwrap_or_default()
    };
    Some(wait.clamp(WAIT_MIN, WAIT_MAX))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a date from outside means the time of day; nothing is decided by it"
)]
fn machine_time() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_meaning() {
        use Verdict::*;
        let wait = Duration::from_secs(7);
        let plain = |status| judge(status, &[], &[], None);
        let asked = |status| judge(status, &[], &[], Some(wait));
        for status in [200, 201, 202, 204, 226, 299] {
            assert_eq!((plain(status), asked(status)), (Complete, Complete), "{status}");
        }
        for status in [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 410, 418, 422, 425, 451] {
            assert_eq!((plain(status), asked(status)), (Fail, Fail), "{status}");
        }
        for status in [408, 500, 501, 502, 504, 505, 511, 599] {
            assert_eq!((plain(status), asked(status)), (Retry(None), Retry(Some(wait))), "{status}");
        }
        for status in [429, 503] {
            assert_eq!((plain(status), asked(status)), (Retry(None), Throttle(wait)), "{status}");
        }
        assert_eq!(plain(600), Fail);
    }

    #[test]
    fn what_the_step_says_of_a_status_goes_first() {
        let wait = Some(Duration::from_secs(7));
        assert_eq!(judge(404, &[404], &[], None), Verdict::Retry(None));
        assert_eq!(judge(429, &[429], &[], wait), Verdict::Retry(wait));
        assert_eq!(judge(503, &[], &[503], wait), Verdict::Fail);
        assert_eq!(judge(202, &[], &[202], None), Verdict::Fail);
        assert_eq!(judge(202, &[202], &[], None), Verdict::Retry(None));
    }

    fn asked(retry_after: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, retry_after.parse().unwrap());
        if let Some(date) = date {
            headers.insert(DATE, date.parse().unwrap());
        }
        super::retry_after(&headers).map(|wait| wait.as_secs())
    }

    #[test]
    fn retry_after_is_read_in_both_forms_and_bounded() {
        let date = Some("Mon, 16 Nov 2026 07:00:00 GMT");
        assert_eq!(asked("120", None), Some(120));
        assert_eq!(asked(" 5 ", None), Some(5));
        assert_eq!(asked("0", None), Some(1));
        assert_eq!(asked("99999999", None), Some(86_400));
        assert_eq!(asked("99999999999999999999999999", None), Some(86_400));
        assert_eq!(asked("Mon, 16 Nov 2026 07:01:30 GMT", date), Some(90));
        assert_eq!(asked("Monday, 16-Nov-26 07:01:30 GMT", date), Some(90), "the old form is still allowed");
        assert_eq!(asked("Mon, 16 Nov 2026 06:00:00 GMT", date), Some(1), "a date that has passed");
        assert_eq!(asked("Sat, 16 Nov 2126 07:00:00 GMT", date), Some(86_400));
        assert_eq!(asked("Sat, 16 Nov 2126 07:00:00 GMT", None), Some(86_400));
        assert_eq!(asked("Thu, 01 Jan 1970 00:00:00 GMT", None), Some(1));
        for unreadable in ["soon", "-1", "1.5", "", "1e3"] {
            assert_eq!(asked(unreadable, date), None, "{unreadable}");
        }
    }
}
