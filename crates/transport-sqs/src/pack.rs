//! Messages in batches that the service takes: so many, and together so large.

use transport::Message;

pub enum Part {
    /// With their bodies.
    Batch(Vec<(Message, String)>),
    /// One message, of so many bytes.
    TooLarge(usize),
}

/// In their order: the answers of the parts are the answers of the messages.
pub fn pack(messages: Vec<Message>, n_max: usize, bytes_max: usize) -> Vec<Part> {
    let (mut parts, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0);
    for message in messages {
        let body = body(&message);
        let size = body.len();
        if size > bytes_max || batch.len() == n_max || bytes + size > bytes_max {
            finish(&mut batch, &mut parts);
            bytes = 0;
        }
        if size > bytes_max {
            parts.push(Part::TooLarge(size));
            continue;
        }
        bytes += size;
        batch.push((message, body));
    }
    finish(&mut batch, &mut parts);
    parts
}

fn finish(batch: &mut Vec<(Message, String)>, parts: &mut Vec<Part>) {
    if !batch.is_empty() {
        parts.push(Part::Batch(std::mem::take(batch)));
    }
}

/// The service takes no text with these two, but JSON can write them otherwise.
fn body(message: &Message) -> String {
    message.pointer.to_json().replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
}

#[cfg(test)]
mod tests {
    use super::{Part, body, pack};
    use transport::{MediationType, Message, MessagePointer};

    fn message(bytes: usize) -> Message {
        let pointer = MessagePointer {
            id: "id".into(),
            pool_code: "x".repeat(bytes),
            auth_token: String::new(),
            mediation_type: MediationType::Http,
            mediation_target: "t".into(),
            message_group_id: None,
        };
        Message { pointer, attempt: 1 }
    }

    /// Sizes of the messages, and of the batches that become of them.
    fn check(sizes: &[usize], expected: &str) {
        let frame = body(&message(0)).len();
        let parts = pack(sizes.iter().map(|size| message(*size)).collect(), 3, 100 + 3 * frame);
        let told = parts.iter().map(|part| match part {
            Part::Batch(batch) => batch.len().to_string(),
            Part::TooLarge(_) => "large".into(),
        });
        assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{sizes:?}");
    }

    #[test]
    fn batches_are_neither_too_many_nor_too_large() {
        check(&[], "");
        check(&[1, 1, 1], "3");
        check(&[1, 1, 1, 1], "3 1");
        check(&[90, 90, 1], "2 1");
        check(&[1, 5000, 1, 1], "1 large 2");
        check(&[5000], "large");
    }

    #[test]
    fn text_that_the_service_refuses_is_written_otherwise() {
        let mut odd = message(0);
        odd.pointer.pool_code = "a\u{fffe}b\u{ffff}".into();
        let body = body(&odd);
        assert!(!body.contains(['\u{fffe}', '\u{ffff}']));
        assert_eq!(MessagePointer::parse(body.as_bytes()).unwrap(), odd.pointer);
    }
}
