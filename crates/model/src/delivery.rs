//! What came of one delivery to a target, kept for people also when it went well.

use crate::state::{UnknownWord, words};
use crate::{Timestamp, limits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// How a delivery ended.
    DeliveryStatus, "delivery status" {
        Success = "SUCCESS",
        Failure = "FAILURE",
        /// The target asked for patience; it cost no attempt.
        Deferred = "DEFERRED",
    }
);

words!(
    /// What stood in the way of a delivery.
    DeliveryError, "delivery error" {
        Connection = "CONNECTION",
        Timeout = "TIMEOUT",
        /// The target answered, and not that it is well.
        HttpError = "HTTP_ERROR",
        /// It was not sent: its arguments, its target or its signing key are not as they must be.
        Validation = "VALIDATION",
        Unknown = "UNKNOWN",
    }
);

/// One delivery, as whoever made it tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub status: DeliveryStatus,
    pub http_code: Option<u16>,
    pub error_type: Option<DeliveryError>,
    /// How the answer begins.
    pub response_body: Option<String>,
    pub started_at: Timestamp,
    pub duration_ms: u64,
}

impl Delivery {
    /// As a row can hold it: the body is cut, and what is told lies in the past.
    pub fn bounded(mut self, now: Timestamp) -> Delivery {
        if let Some(body) = &mut self.response_body {
            if body.contains('\0') {
                *body = body.replace('\0', "\u{fffd}");
            }
            body.truncate(body.floor_char_boundary(limits::DELIVERY_BODY_BYTES_MAX));
        }
        self.started_at = self.started_at.clamp(Timestamp(0), now);
        self.duration_ms = self.duration_ms.min(limits::WAIT_MAX.as_millis() as u64);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_told_fits_a_row() {
        let told = Delivery {
            status: DeliveryStatus::Success,
            http_code: Some(200),
            error_type: None,
            response_body: Some("\0ż".repeat(50_000)),
            started_at: Timestamp(i64::MAX),
            duration_ms: u64::MAX,
        };
        let bounded = told.bounded(Timestamp(7));
        let body = bounded.response_body.unwrap();
        assert!(body.len() <= limits::DELIVERY_BODY_BYTES_MAX && body.len() > 65_000 && !body.contains('\0'));
        assert_eq!((bounded.started_at, bounded.duration_ms), (Timestamp(7), 366 * 24 * 3_600_000));
    }

    #[test]
    fn its_words_are_read_as_they_are_written() {
        for status in DeliveryStatus::ALL {
            assert_eq!(status.word().parse(), Ok(*status));
        }
        assert_eq!("HTTP_ERROR".parse(), Ok(DeliveryError::HttpError));
        assert!("http".parse::<DeliveryError>().is_err());
    }
}
