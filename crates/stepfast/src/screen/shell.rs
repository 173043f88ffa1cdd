//! Words as a shell takes them: for lines that somebody copies.

/// As it stands where a shell reads nothing into it, and quoted elsewhere.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_a_shell_would_read_something_into_is_quoted() {
        assert_eq!(quoted("sqlite:/tmp/a-b_1/demo.db"), "sqlite:/tmp/a-b_1/demo.db");
        assert_eq!(quoted("postgres://a@b/c?sslmode=require"), "'postgres://a@b/c?sslmode=require'");
        assert_eq!(quoted("/it's $HOME"), "'/it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
