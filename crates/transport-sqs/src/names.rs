//! Names as the service takes them: at most 128 letters, digits and punctuation.

use sha2::{Digest, Sha256};
use std::borrow::Cow;

const LETTERS_MAX: usize = 128;

/// The name itself, or a hash of one that does not fit.
pub fn fit(name: &str) -> Cow<'_, str> {
    let fits = (1..=LETTERS_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        return Cow::Borrowed(name);
    }
    let hash = Sha256::digest(name.as_bytes());
    Cow::Owned(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn what_fits_stays_and_what_does_not_is_hashed() {
        assert_eq!(fit("order-service:customer-12345"), "order-service:customer-12345");
        let long = "x".repeat(129);
        for name in ["", "two words", "größe", "a\nb", &long] {
            let fitted = fit(name);
            assert!(fitted.len() == 64 && fitted.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
        }
        assert_ne!(fit("two words"), fit("two  words"));
    }
}
