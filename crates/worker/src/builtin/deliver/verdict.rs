//! What a target's answer means for the step.
//!
//! Why    a target that asks for patience is well, so waiting for it costs no attempt; whatever else is not a plain yes does, and
//!        the step's own policy decides when and how often it is tried again.

use serde_json::Value;
use std::time::Duration;

/// How long a step waits for a target that says no for now, by how often it was put off already.
const CURVE: [u64; 5] = [5, 10, 20, 40, 60];
const TOO_MANY: Duration = Duration::from_secs(30);
/// No target makes a step sleep for ever.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Complete,
    Defer(Duration),
    Fail,
}

/// `retry_after` is what the head says, `body` the answer if it came whole.
pub fn judge(status: u16, retry_after: Option<Duration>, body: Option<&[u8]>, deferrals: u32) -> Verdict {
    match status {
        200..=299 => match body.and_then(not_acknowledged) {
            Some(floor) => Verdict::Defer(curve(deferrals).max(floor)),
            None => Verdict::Complete,
        },
        429 => Verdict::Defer(retry_after.unwrap_or(TOO_MANY)),
        _ => Verdict::Fail,
    }
}

/// `{"ack": false, "delaySeconds": 7}` asks to come again, not before so long; anything else is a yes.
fn not_acknowledged(body: &[u8]) -> Option<Duration> {
    let said: Value = serde_json::from_slice(body).ok()?;
    if said.get("ack")? != &Value::Bool(false) {
        return None;
    }
    let seconds = said.get("delaySeconds").and_then(Value::as_f64).unwrap_or_default();
    Some(Duration::try_from_secs_f64(seconds.clamp(0.0, WAIT_MAX.as_secs_f64())).unwrap_or_default())
}

fn curve(deferrals: u32) -> Duration {
    let at = CURVE.len().saturating_sub(1).min(deferrals as usize);
    Duration::from_secs(CURVE[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, what the head asks for, body and deferrals in, the verdict out.
    const TABLE: &str = r#"
        200 -  ""                                     0   complete
        204 -  ""                                     0   complete
        299 7  "hello"                                3   complete
        200 -  {"ack":true}                           0   complete
        200 -  {"ok":1}                               0   complete
        200 -  {"ack":"false"}                        0   complete
        200 -  {"ack":null}                           0   complete
        200 -  [false]                                0   complete
        200 -  {"ack":false                           0   complete
        200 -  {"ack":false}                          0   defer 5
        202 9  {"ack":false}                          1   defer 10
        200 -  {"ack":false}                          2   defer 20
        200 -  {"ack":false}                          3   defer 40
        200 -  {"ack":false}                          4   defer 60
        200 -  {"ack":false}                 4294967295   defer 60
        200 -  {"ack":false,"delaySeconds":7}         0   defer 7
        200 -  {"ack":false,"delaySeconds":7}         1   defer 10
        200 -  {"ack":false,"delaySeconds":-7}        0   defer 5
        200 -  {"ack":false,"delaySeconds":"7"}       0   defer 5
        200 -  {"ack":false,"delaySeconds":1e300}     0   defer 86400
        200 -  {"ack":true,"delaySeconds":7}          0   complete
        429 -  {"ack":true}                           9   defer 30
        429 7  ""                                     9   defer 7
        301 7  ""                                     0   fail
        304 -  ""                                     0   fail
        400 -  {"ack":false}                          0   fail
        401 -  ""                                     0   fail
        404 -  ""                                     0   fail
        408 7  ""                                     0   fail
        500 -  ""                                     0   fail
        503 7  ""                                     0   fail
        599 -  ""                                     0   fail"#;

    #[test]
    fn every_answer_has_its_meaning() {
        for line in TABLE.lines().filter(|line| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let asked = words[1].parse().ok().map(Duration::from_secs);
            let body = words[2].trim_matches('"').as_bytes();
            let told = match judge(words[0].parse().unwrap(), asked, Some(body), words[3].parse().unwrap()) {
                Verdict::Complete => "complete".into(),
                Verdict::Defer(wait) => format!("defer {}", wait.as_secs()),
                Verdict::Fail => "fail".into(),
            };
            assert_eq!(told, words[4..].join(" "), "{line}");
        }
        assert_eq!(judge(200, None, None, 0), Verdict::Complete, "an answer that was cut says nothing");
    }
}
