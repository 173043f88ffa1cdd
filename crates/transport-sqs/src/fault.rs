//! What an error of the service means to whoever asked.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use std::error::Error;
use transport::TransportError;

/// Codes of a receipt whose delivery is over.
const GONE: [&str; 5] = [
    "ReceiptHandleIsInvalid",
    "InvalidIdFormat",
    "MessageNotInflight",
    "AWS.SimpleQueueService.MessageNotInflight",
    "AWS.SimpleQueueService.ReceiptHandleIsInvalid",
];

pub fn unavailable<E>(error: &SdkError<E>) -> TransportError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    TransportError::Unavailable(told(error))
}

pub fn gone_or_unavailable<E>(error: &SdkError<E>) -> TransportError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    if is_gone(error.code().unwrap_or_default(), error.message().unwrap_or_default()) {
        TransportError::Gone
    } else {
        unavailable(error)
    }
}

/// An expired receipt of a FIFO queue is told as a wrong value.
fn is_gone(code: &str, message: &str) -> bool {
    let expired = code == "InvalidParameterValue" && message.to_lowercase().contains("receipt");
    GONE.contains(&code) || expired
}

/// One message of a batch was not taken; if that is not for what it is, it is tried again.
pub fn refused_or_unavailable(entry: &BatchResultErrorEntry) -> TransportError {
    let (code, message) = (entry.code.as_str(), entry.message.as_deref().unwrap_or_default());
    let told = format!("{code}: {message}");
    if entry.sender_fault && !code.contains("Throttl") && !code.starts_with("Kms") {
        TransportError::Refused(told)
    } else {
        TransportError::Unavailable(told)
    }
}

/// What the service said, or else why it could not be asked, to the last cause.
fn told<E>(error: &SdkError<E>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    if let (Some(code), message) = (error.code(), error.message().unwrap_or_default()) {
        return format!("{code}: {message}");
    }
    let causes = std::iter::successors(Some(error as &dyn Error), |&cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::{is_gone, refused_or_unavailable};
    use aws_sdk_sqs::types::BatchResultErrorEntry;
    use transport::TransportError;

    #[test]
    fn an_expired_receipt_is_gone_however_it_is_told() {
        assert!(is_gone("ReceiptHandleIsInvalid", ""));
        let told =
            "Value AQEB for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.";
        assert!(is_gone("InvalidParameterValue", told));
        assert!(!is_gone("InvalidParameterValue", "Value 99999 for parameter VisibilityTimeout is invalid."));
        assert!(!is_gone("AccessDenied", "receipt"));
    }

    #[test]
    fn only_what_is_wrong_with_the_message_refuses_it() {
        let entry = |code: &str, sender_fault| {
            let entry = BatchResultErrorEntry::builder().id("0").code(code).sender_fault(sender_fault);
            refused_or_unavailable(&entry.build().unwrap())
        };
        assert!(matches!(entry("InvalidMessageContents", true), TransportError::Refused(_)));
        assert!(matches!(entry("InternalError", false), TransportError::Unavailable(_)));
        assert!(matches!(entry("ThrottlingException", true), TransportError::Unavailable(_)));
        assert!(matches!(entry("KmsThrottled", true), TransportError::Unavailable(_)));
    }
}
