//! Text from outside as part of an address.

/// Whatever would mean something in an address stands in percent signs.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b',' => {
                escaped.push(char::from(byte))
            }
            _ => escaped += &format!("%{byte:02X}"),
        }
    }
    escaped
}

/// A path with what is asked of it.
pub fn query(path: &str, pairs: &[(&str, String)]) -> String {
    let mut text = String::from(path);
    for (i, (name, value)) in pairs.iter().enumerate() {
        text += if i == 0 { "?" } else { "&" };
        text += name;
        text.push('=');
        text += &escaped(value);
    }
    text
}

/// The page of a message group.
pub fn message_group(name: &str) -> String {
    format!("/message-groups/{}", escaped(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_leaves_its_place() {
        assert_eq!(message_group("straße 7/b?#%"), "/message-groups/stra%C3%9Fe%207%2Fb%3F%23%25");
        assert_eq!(query("/x", &[("after", "a&b".into()), ("limit", "5".into())]), "/x?after=a%26b&limit=5");
        assert_eq!(query("/x", &[]), "/x");
    }
}
