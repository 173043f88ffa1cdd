//! The token of a message pointer, `attempt.expiry.hex(HMAC-SHA256)`: whoever calls with it was sent by us, for this attempt.
//!
//! Why    a queue is readable by more people than may run steps. The signature covers step, attempt and expiry, so no
//!        token fits another step or another attempt; an old attempt verifies, and the caller sees that it is old.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq;

/// As long as the hash itself.
pub const KEY_BYTES_MIN: usize = 32;

const MAC_BYTES: usize = 32;
/// A key that signs something else too can never sign a token by accident.
const PURPOSE: &[u8] = b"stepfast message pointer 1";

/// The secret that the nodes share; printed by nothing.
#[derive(Clone)]
pub struct TokenKey(Hmac<Sha256>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key for tokens has {0} bytes, at least {KEY_BYTES_MIN} are needed")]
pub struct KeyTooShort(pub usize);

impl TokenKey {
    pub fn new(secret: &[u8]) -> Result<TokenKey, KeyTooShort> {
        if secret.len() < KEY_BYTES_MIN {
            return Err(KeyTooShort(secret.len()));
        }
        Ok(TokenKey(Hmac::new_from_slice(secret).expect("HMAC takes a key of any length")))
    }

    fn mac(&self, step: &str, attempt: u32, expires_at: u64) -> [u8; MAC_BYTES] {
        let mut mac = self.0.clone();
        mac.update(PURPOSE);
        // With its length in front, no part of the id can be read as a part of the numbers.
        mac.update(&(step.len() as u64).to_be_bytes());
        mac.update(step.as_bytes());
        mac.update(&attempt.to_be_bytes());
        mac.update(&expires_at.to_be_bytes());
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey")
    }
}

/// Whose signature is good and still valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Not necessarily the step's current one.
    pub attempt: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    #[error("the token is none of ours")]
    Malformed,
    #[error("the signature of the token is wrong")]
    Forged,
    #[error("the token has expired")]
    Expired,
}

/// Instants are whole seconds since 1970.
pub fn sign(key: &TokenKey, step: &str, attempt: u32, expires_at: u64) -> String {
    let mac: String = key.mac(step, attempt, expires_at).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{attempt}.{expires_at}.{mac}")
}

/// The signature is looked at before the date, so that a forger learns nothing.
pub fn verify(key: &TokenKey, step: &str, token: &str, now: u64) -> Result<Verified, TokenFault> {
    let (attempt, expires_at, given) = split(token).ok_or(TokenFault::Malformed)?;
    if !bool::from(key.mac(step, attempt, expires_at).ct_eq(&given)) {
        return Err(TokenFault::Forged);
    }
    if expires_at <= now {
        return Err(TokenFault::Expired);
    }
    Ok(Verified { attempt })
}

fn split(token: &str) -> Option<(u32, u64, [u8; MAC_BYTES])> {
    let mut parts = token.split('.');
    let (attempt, expires_at, mac) = (parts.next()?, parts.next()?, parts.next()?);
    let over = parts.next().is_none();
    over.then_some((number(attempt)?.try_into().ok()?, number(expires_at)?, bytes(mac)?))
}

/// Written in the one way that `sign` writes it.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn bytes(hex: &str) -> Option<[u8; MAC_BYTES]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if hex.len() != MAC_BYTES * 2 {
        return None;
    }
    let mut out = [0; MAC_BYTES];
    for (byte, pair) in out.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{KeyTooShort, TokenFault, TokenKey, Verified, sign, verify};
    use proptest::prelude::*;

    const STEP: &str = "01997c6e-7d3f-7c5e-8a44-6a1f0f3f2b11";
    const NOW: u64 = 1_800_000_000;

    fn key(byte: u8) -> TokenKey {
        TokenKey::new(&[byte; 32]).unwrap()
    }

    #[test]
    fn a_token_reads_as_attempt_expiry_and_signature() {
        let token = sign(&key(1), STEP, 3, NOW + 60);
        let (front, mac) = token.rsplit_once('.').unwrap();
        assert_eq!((front, mac.len()), ("3.1800000060", 64));
        assert_eq!(verify(&key(1), STEP, &token, NOW), Ok(Verified { attempt: 3 }));
    }

    /// Computed with another implementation (Python's `hmac`), so that two versions of ours agree with each other.
    #[test]
    fn the_signature_is_fixed() {
        let told = sign(&key(7), "step", 2, 5);
        assert_eq!(told, "2.5.e6447e172cf571cbb69b656cdf0fa7b34a0f64b0678e48d3a79f78c2081544ea");
    }

    #[test]
    fn every_fault_has_its_name() {
        let good = sign(&key(1), STEP, 3, NOW + 60);
        let mac = good.rsplit_once('.').unwrap().1;
        let check = |token: &str, fault| assert_eq!(verify(&key(1), STEP, token, NOW), Err(fault), "{token}");
        check("", TokenFault::Malformed);
        check("..", TokenFault::Malformed);
        check(&good[..good.len() - 1], TokenFault::Malformed);
        check(&good[..20], TokenFault::Malformed);
        check(&format!("{good}0"), TokenFault::Malformed);
        check(&format!("{good}.0"), TokenFault::Malformed);
        check(&format!(" {good}"), TokenFault::Malformed);
        check(&format!("03.1800000060.{mac}"), TokenFault::Malformed);
        check(&format!("+3.1800000060.{mac}"), TokenFault::Malformed);
        check(&format!("-3.1800000060.{mac}"), TokenFault::Malformed);
        check(&format!("4294967296.1800000060.{mac}"), TokenFault::Malformed);
        check(&format!("3.18446744073709551616.{mac}"), TokenFault::Malformed);
        check(&good.to_uppercase(), TokenFault::Malformed);
        check(&format!("3.1800000060.{}", "é".repeat(32)), TokenFault::Malformed);
        check(&format!("٣.1800000060.{mac}"), TokenFault::Malformed);
        check(&format!("4.1800000060.{mac}"), TokenFault::Forged);
        check(&format!("3.1800000061.{mac}"), TokenFault::Forged);
        check(&format!("3.1800000060.{}", "0".repeat(64)), TokenFault::Forged);
        check(&sign(&key(2), STEP, 3, NOW + 60), TokenFault::Forged);
        check(&sign(&key(1), "another", 3, NOW + 60), TokenFault::Forged);
        check(&sign(&key(1), STEP, 3, NOW), TokenFault::Expired);
        check(&sign(&key(1), STEP, 3, 0), TokenFault::Expired);
        check(&sign(&key(2), STEP, 3, 0), TokenFault::Forged);
    }

    #[test]
    fn the_largest_numbers_pass() {
        let token = sign(&key(1), STEP, u32::MAX, u64::MAX);
        assert_eq!(verify(&key(1), STEP, &token, NOW), Ok(Verified { attempt: u32::MAX }));
        assert_eq!(verify(&key(1), STEP, &token, u64::MAX), Err(TokenFault::Expired));
    }

    #[test]
    fn a_key_is_long_and_not_printed() {
        assert_eq!(TokenKey::new(&[1; 31]).unwrap_err(), KeyTooShort(31));
        assert_eq!(format!("{:?}", key(9)), "TokenKey");
    }

    proptest! {
        #[test]
        fn only_what_was_signed_verifies(
            step in ".*", other in ".*", attempt: u32, another: u32, expires_at in NOW + 1.., later: u64,
        ) {
            let token = sign(&key(1), &step, attempt, expires_at);
            prop_assert_eq!(verify(&key(1), &step, &token, NOW), Ok(Verified { attempt }));
            prop_assert_eq!(verify(&key(1), &other, &token, NOW).is_ok(), step == other);
            let (_, mac) = token.rsplit_once('.').unwrap();
            let moved = format!("{another}.{later}.{mac}");
            let same = (another, later) == (attempt, expires_at);
            prop_assert_eq!(verify(&key(1), &step, &moved, NOW).is_ok(), same);
        }

        #[test]
        fn a_changed_byte_is_noticed(at in 0usize..78, byte: u8) {
            let mut token = sign(&key(1), STEP, 10, NOW + 60).into_bytes();
            let before = std::mem::replace(&mut token[at], byte);
            if let Ok(text) = std::str::from_utf8(&token) {
                prop_assert_eq!(verify(&key(1), STEP, text, NOW).is_ok(), before == byte);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            prop_assert!(verify(&key(1), STEP, &text, NOW).is_err());
        }
    }
}
