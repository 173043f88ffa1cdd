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

/// What `escaped` wrote; none if it did not.
pub fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = match first {
            b'%' => {
                let (code, behind) = behind.split_at_checked(2)?;
                (u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?, behind)
            }
            byte => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
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
        assert_eq!(unescaped(&escaped("straße 7/b?#%")).as_deref(), Some("straße 7/b?#%"));
        assert_eq!(
            (unescaped("%"), unescaped("%4"), unescaped("%zz"), unescaped("%ff")),
            (None, None, None, None)
        );
    }
}
