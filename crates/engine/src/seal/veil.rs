//! What a run was told in clear, covered again in whatever it says.
//!
//! Why    a job answers, logs and fails with what it was given. Each value goes back under the text that stands for it, so that a
//!        later step is given it again; a part of a larger value is sealed as a value of its own.

use super::json::{self, Scalar};
use super::{Keyring, Opened, SealError, Values};
use aho_corasick::{AhoCorasick, MatchKind};
use model::{Failure, HIDDEN, NewStep, Outcome, Report, Sealed};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use uuid::Uuid;

/// Shorter values would be found in everything.
const SOUGHT_BYTES_MIN: usize = 4;
/// Texts are cut to no less than this where they are told in short.
const CUT_CHARS: usize = 60;

pub struct Veil {
    keys: Keyring,
    sought: Vec<Sought>,
    /// Which of them a pattern is of.
    of_pattern: Vec<usize>,
    patterns: AhoCorasick,
    numbers: HashMap<String, usize>,
}

struct Sought {
    value: Opened,
    owner: Uuid,
    /// None: a part of a value, which has no such text yet.
    sealed: Option<String>,
}

impl std::fmt::Debug for Veil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Veil({} values)", self.sought.len())
    }
}

impl Veil {
    pub fn of(values: Values, keys: &Keyring) -> Veil {
        let mut sought = Vec::new();
        for (value, sealed) in values {
            let Some(owner) = Sealed::read(&sealed).map(|sealed| sealed.owner) else { continue };
            parts(&value, owner, &mut sought);
            sought.push(Sought { value, owner, sealed: Some(sealed) });
        }
        Veil::over(sought, keys)
    }

    /// Over values that nothing stands for yet: they are hidden, not sealed.
    pub fn of_clear(values: Vec<Opened>) -> Veil {
        let (mut sought, owner) = (Vec::new(), Uuid::nil());
        for value in values {
            parts(&value, owner, &mut sought);
            sought.push(Sought { value, owner, sealed: None });
        }
        sought.iter_mut().for_each(|one| one.sealed = Some(HIDDEN.into()));
        Veil::over(sought, &Keyring::default())
    }

    fn over(sought: Vec<Sought>, keys: &Keyring) -> Veil {
        let (mut texts, mut of_pattern, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
        for (n, one) in sought.iter().enumerate() {
            for form in forms(&one.value) {
                texts.push(form);
                of_pattern.push(n);
            }
            if let Opened::Json(json) = &one.value {
                numbers.insert(json.clone(), n);
            }
        }
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&texts);
        let patterns = built.expect("a payload has fewer bytes than there may be states");
        Veil { keys: keys.clone(), sought, of_pattern, patterns, numbers }
    }

    /// The text that stands for one of them.
    fn instead(&self, n: usize) -> Result<String, SealError> {
        let Sought { value, owner, sealed } = &self.sought[n];
        sealed.clone().map_or_else(|| self.keys.seal_value(*owner, value), Ok)
    }

    pub fn text(&self, text: &str) -> Result<Option<String>, SealError> {
        let (mut made, mut from) = (String::new(), 0);
        for found in self.patterns.find_iter(text) {
            made.push_str(&text[from..found.start()]);
            made.push_str(&self.instead(self.of_pattern[found.pattern().as_usize()])?);
            from = found.end();
        }
        Ok((from > 0).then(|| made + &text[from..]))
    }

    pub fn json(&self, json: &str) -> Result<Option<String>, SealError> {
        let mut problem = None;
        let made = json::replace(json, |scalar| {
            let covered = match scalar {
                Scalar::Text(text) => self.text(text),
                Scalar::Number(number) => {
                    let known = self.numbers.get(number).filter(|_| number.len() >= SOUGHT_BYTES_MIN);
                    known.map(|n| self.instead(*n)).transpose()
                }
            };
            let covered = covered.map_err(|refused| problem = Some(refused)).ok().flatten();
            covered.map(|text| Value::from(text).to_string())
        });
        problem.map_or(Ok(made), Err)
    }

    /// Whatever a report tells.
    pub fn report(&self, report: &mut Report) -> Result<(), SealError> {
        self.outcome(&mut report.outcome)?;
        for line in &mut report.log {
            self.cover(&mut line.text)?;
        }
        report.delivery.iter_mut().try_for_each(|delivery| self.cover_some(&mut delivery.response_body))
    }

    fn outcome(&self, outcome: &mut Outcome) -> Result<(), SealError> {
        match outcome {
            Outcome::Complete { response } => self.answer(response),
            Outcome::Children { response, children, .. } => {
                self.answer(response)?;
                children.iter_mut().try_for_each(|child| self.child(child))
            }
            Outcome::Retry { failure, .. } => {
                failure.iter_mut().try_for_each(|failure| self.failure(failure))
            }
            Outcome::LookAgain { response, failure, .. } => {
                self.answer(response)?;
                failure.iter_mut().try_for_each(|failure| self.failure(failure))
            }
            Outcome::Fail { failure, .. } => self.failure(failure),
            Outcome::Skip { why } | Outcome::End { why } | Outcome::Stop { why } => self.cover(why),
            Outcome::Abort { why } => self.cover(why),
            Outcome::Continue { data, .. } => self.answer(data),
            Outcome::Resolved { note } => self.cover(note),
            Outcome::Throttle { .. } => Ok(()),
        }
    }

    fn child(&self, step: &mut NewStep) -> Result<(), SealError> {
        if let Some(arguments) = &mut step.arguments
            && let Some(covered) = self.json(arguments.get())?
        {
            *arguments = RawValue::from_string(covered).expect("texts took the place of texts and numbers");
        }
        let NewStep { step_key, label, relatable_type, relatable_id, message_group, .. } = step;
        for text in [step_key, label, relatable_type, relatable_id, message_group] {
            self.cover_some(text)?;
        }
        step.children.iter_mut().try_for_each(|child| self.child(child))
    }

    fn answer(&self, response: &mut Option<String>) -> Result<(), SealError> {
        let Some(text) = response else { return Ok(()) };
        if let Some(covered) = self.json(text)? {
            *text = covered;
        }
        Ok(())
    }

    fn failure(&self, failure: &mut Failure) -> Result<(), SealError> {
        self.cover(&mut failure.message)?;
        self.cover_some(&mut failure.trace)
    }

    fn cover_some(&self, text: &mut Option<String>) -> Result<(), SealError> {
        text.iter_mut().try_for_each(|text| self.cover(text))
    }

    fn cover(&self, text: &mut String) -> Result<(), SealError> {
        if let Some(covered) = self.text(text)? {
            *text = covered;
        }
        Ok(())
    }
}

/// The texts and numbers inside a larger value.
fn parts(value: &Opened, owner: Uuid, sought: &mut Vec<Sought>) {
    let Opened::Json(json) = value else { return };
    let mut part = |value| sought.push(Sought { value, owner, sealed: None });
    // Keys are no secrets: they are words that stand everywhere.
    texts(&serde_json::from_str(json).unwrap_or_default(), &mut |text| part(Opened::Text(text.into())));
    json::replace(json, |scalar| {
        if let Scalar::Number(number) = scalar
            && number != json
        {
            part(Opened::Json(number.into()));
        }
        None
    });
}

fn texts(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(entries) => entries.values().for_each(|value| texts(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A value as it may stand in texts: as it is, as JSON has it, and cut where errors cut long ones.
fn forms(value: &Opened) -> Vec<String> {
    let plain = value.text();
    if plain.len() < SOUGHT_BYTES_MIN {
        return Vec::new();
    }
    let mut forms = vec![plain.to_string()];
    let quoted = Value::from(plain).to_string();
    let quoted = &quoted[1..quoted.len() - 1];
    if quoted != plain {
        forms.push(quoted.into());
    }
    if let Some((end, _)) = plain.char_indices().nth(CUT_CHARS) {
        forms.push(plain[..end].into());
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::super::SealKey;
    use super::*;

    const OWNER: Uuid = Uuid::from_u64_pair(0, 7);

    fn veil(values: &[&str]) -> (Keyring, Veil) {
        let keys = Keyring::of(vec![SealKey::new("k1", [1; 32])]);
        let sealed = values.iter().map(|json| {
            let value = Opened::of(json);
            let text = keys.seal_value(OWNER, &value).unwrap();
            (value, text)
        });
        let veil = Veil::of(sealed.collect(), &keys);
        (keys, veil)
    }

    fn covered(values: &[&str], json: &str) -> (String, String) {
        let (keys, veil) = veil(values);
        let covered = veil.json(json).unwrap().unwrap_or_else(|| json.into());
        let opened = super::super::opened(&covered, &[OWNER], &keys).unwrap();
        (covered.clone(), opened.map_or(covered, |(made, _)| made))
    }

    #[test]
    fn what_an_answer_repeats_is_covered_and_comes_back_as_it_was() {
        for (secret, answer) in [
            (r#""hunter2""#, r#"{"a":"hunter2","hunter2":["no hunter2!"]}"#),
            ("123456", r#"{"n":123456,"m":1234567,"t":"its 123456"}"#),
            (r#"{"number":"4111222","code":98765}"#, r#"["4111222",98765,"4111222/98765"]"#),
            (r#""line\n\"two\" ü""#, r#"{"a":"line\n\"two\" \u00fc"}"#),
        ] {
            let (covered, opened) = covered(&[secret], answer);
            for clear in ["hunter2", "4111222", "98765", "two"] {
                assert!(!covered.contains(clear), "{clear} in {covered}");
            }
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(read(&opened), read(answer));
        }
    }

    #[test]
    fn texts_are_covered_in_the_forms_that_they_have() {
        let long = format!("\"{}\"", "t".repeat(200));
        let (_, veil) = veil(&[r#""hunt\"er2""#, "4444", &long, r#""abc""#]);
        let told = veil.text("hunt\"er2, {\"a\":\"hunt\\\"er2\"} 4444").unwrap().unwrap();
        assert_eq!(model::hide_sealed(&told).unwrap(), "[secret], {\"a\":\"[secret]\"} [secret]");
        let cut = veil.text(&format!("it was {}…", "t".repeat(60))).unwrap().unwrap();
        assert_eq!(model::hide_sealed(&cut).unwrap(), "it was [secret]…");
        assert_eq!(veil.text("abc is too short to be sought").unwrap(), None);
    }

    #[test]
    fn whatever_a_report_tells_is_covered() {
        let (_, veil) = veil(&[r#""hunter2""#]);
        let failure = Failure { message: "bad hunter2".into(), trace: Some("at hunter2".into()) };
        let child = model::NewStep {
            arguments: serde_json::value::to_raw_value("hunter2").ok(),
            ..model::NewStep::default()
        };
        for outcome in [
            Outcome::Complete { response: Some("\"hunter2\"".into()) },
            Outcome::Fail { failure: failure.clone(), notify: true },
            Outcome::Retry { after: None, failure: Some(failure) },
            Outcome::Stop { why: "hunter2".into() },
            Outcome::Resolved { note: "hunter2".into() },
            Outcome::Children { response: None, children: vec![child], success: model::Success::All },
        ] {
            let mut report = Report {
                session: model::SessionId::of(1),
                step: model::StepId::of(2),
                attempt: 1,
                outcome,
                log: vec![model::LogLine { at: model::Timestamp(1), text: "said hunter2".into() }],
                delivery: None,
            };
            veil.report(&mut report).unwrap();
            let told = serde_json::to_string(&report).unwrap();
            assert!(!told.contains("hunter2") && told.matches(model::SEALED).count() >= 2, "{told}");
        }
    }
}
