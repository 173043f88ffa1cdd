//! JSON whose texts and numbers are replaced in place; everything else stays to the letter.
//!
//! Why    what a job answered is kept as it was written: the order of its keys, and numbers that no type of ours can hold.

/// What stands in JSON where a value is looked at.
pub enum Scalar<'t> {
    /// A text as it is meant, without its escapes; keys are texts too.
    Text(&'t str),
    /// A number as it is written.
    Number(&'t str),
}

/// The JSON with what `with` answers, itself JSON, in the place of what it was asked about; none if nothing changes.
pub fn replace(json: &str, mut with: impl FnMut(Scalar) -> Option<String>) -> Option<String> {
    let (mut made, mut kept, mut at) = (String::new(), 0, 0);
    let bytes = json.as_bytes();
    while at < bytes.len() {
        let (end, instead) = match bytes[at] {
            b'"' => {
                let end = text_end(bytes, at);
                let text = serde_json::from_str::<String>(&json[at..end]).ok();
                (end, text.and_then(|text| with(Scalar::Text(&text))))
            }
            b'-' | b'0'..=b'9' => {
                let end = number_end(bytes, at);
                (end, with(Scalar::Number(&json[at..end])))
            }
            _ => (at + 1, None),
        };
        if let Some(instead) = instead {
            made.push_str(&json[kept..at]);
            made.push_str(&instead);
            kept = end;
        }
        at = end;
    }
    (kept > 0).then(|| made + &json[kept..])
}

/// Behind the closing sign of the text that begins there.
fn text_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let is_part = |b: &&u8| matches!(**b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    start + bytes[start..].iter().take_while(is_part).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shouted(json: &str) -> Option<String> {
        replace(json, |scalar| match scalar {
            Scalar::Text("ü\"x") => Some("\"Ü\"".into()),
            Scalar::Number("12") => Some("\"twelve\"".into()),
            _ => None,
        })
    }

    #[test]
    fn what_is_not_meant_stays_to_the_letter() {
        let json = r#"{"b" : 1.10, "a":[ "\u00fc\"x", 12 ,123,-12, "12" ],"ü\"x":1e400}"#;
        let wanted = r#"{"b" : 1.10, "a":[ "Ü", "twelve" ,123,-12, "12" ],"Ü":1e400}"#;
        assert_eq!(shouted(json).as_deref(), Some(wanted));
        assert_eq!(shouted(r#"{"a":[1,true,null,"x\\"]}"#), None);
    }

    #[test]
    fn what_is_not_json_does_no_harm() {
        for text in ["", "\"", "\"\\", "\"ü", "12", "{{\"a\"", "ü12ü"] {
            let _ = shouted(text);
        }
    }
}
