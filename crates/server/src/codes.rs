//! Every code that a refusal may carry, with its status, its title and the page that explains it.
//!
//! Why    a program compares codes, so they never change; a person follows the `type` of the problem to the page.

use axum::http::StatusCode;

/// A kind of refusal.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    pub status: StatusCode,
    /// What a program may compare.
    pub word: &'static str,
    pub title: &'static str,
    /// What it means, an example, and what to do, as Markdown.
    pub page: &'static str,
}

impl Code {
    /// Where the page is served.
    pub fn address(&self) -> String {
        format!("/docs/errors/{}", self.word)
    }
}

macro_rules! codes {
    ($($name:ident: $status:ident $word:literal $title:literal,)*) => {
        $(pub const $name: &Code = &Code {
            status: StatusCode::$status,
            word: $word,
            title: $title,
            page: include_str!(concat!("../../../docs/errors/", $word, ".md")),
        };)*
        pub const ALL: &[&Code] = &[$($name),*];
    };
}

codes! {
    MALFORMED: BAD_REQUEST "malformed_json" "Malformed JSON",
    BAD_REQUEST: BAD_REQUEST "invalid_request" "Invalid request",
    INVALID: UNPROCESSABLE_ENTITY "invalid_request" "Invalid request",
    INVALID_DEFINITION: UNPROCESSABLE_ENTITY "invalid_definition" "Invalid definition",
    UNAUTHORIZED: UNAUTHORIZED "unauthorized" "Unauthorized",
    FORBIDDEN: FORBIDDEN "forbidden" "Forbidden",
    NOT_FOUND: NOT_FOUND "not_found" "Not found",
    NOT_ALLOWED: METHOD_NOT_ALLOWED "method_not_allowed" "Method not allowed",
    REFUSED: CONFLICT "refused" "Refused",
    DEFINITION_DIFFERS: CONFLICT "definition_differs" "This version says something else",
    NO_TRIGGER: CONFLICT "no_such_trigger" "It never waits for this",
    NO_SESSION: CONFLICT "no_session" "The session is over",
    UNKNOWN_STEP: CONFLICT "unknown_step" "The flow has no such step",
    IN_PROGRESS: CONFLICT "in_progress" "In progress",
    GIVEN_UP: CONFLICT "given_up" "Given up",
    LEASE_LOST: CONFLICT "lease_lost" "The lease was lost",
    ALREADY_ENDED: CONFLICT "already_ended" "It has ended already",
    ANSWER_NOT_KEPT: CONFLICT "answer_not_kept" "The answer was not kept",
    LATE: GONE "late" "Too late",
    CHANGED: PRECONDITION_FAILED "changed" "It has changed since",
    TOO_LARGE: PAYLOAD_TOO_LARGE "too_large" "Too large",
    MEDIA_TYPE: UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" "Unsupported media type",
    PAYLOAD_REJECTED: UNPROCESSABLE_ENTITY "payload_rejected" "Not what is waited for",
    KEY_CONFLICT: UNPROCESSABLE_ENTITY "key_conflict" "The key was used for something else",
    TOO_MANY: TOO_MANY_REQUESTS "too_many" "Too many",
    NOT_STORABLE: INTERNAL_SERVER_ERROR "not_storable" "The database refuses it",
    CORRUPT: INTERNAL_SERVER_ERROR "corrupt" "A row is not understood",
    INTERNAL: INTERNAL_SERVER_ERROR "internal" "Something is wrong here",
    UNAVAILABLE: SERVICE_UNAVAILABLE "unavailable" "Try again later",
    NOT_READY: SERVICE_UNAVAILABLE "not_ready" "Not ready",
}

/// The codes of this word; one word may come with two statuses.
pub fn named(word: &str) -> Option<&'static Code> {
    ALL.iter().find(|code| code.word == word).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_page_has_a_code_and_every_code_its_page() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let pages: BTreeSet<String> = files
            .map(|name| name.to_string_lossy().replace(".md", ""))
            .filter(|name| name != "README")
            .collect();
        let codes: BTreeSet<String> = ALL.iter().map(|code| code.word.to_string()).collect();
        assert_eq!(pages, codes, "docs/errors/ holds one page for each code of codes.rs, and no other");
    }

    #[test]
    fn a_page_says_what_it_means_with_an_example_and_what_to_do() {
        for code in ALL {
            assert!(code.page.starts_with(&format!("# {}\n", code.word)), "{}", code.word);
            let (before, after) = code.page.split_once("```json\n").expect(code.word);
            assert!(before.contains("\n## Example\n"), "{}", code.word);
            let (example, after) = after.split_once("```").expect(code.word);
            assert!(after.contains("\n## What to do\n\n"), "{}", code.word);
            let problem: wire::Problem = serde_json::from_str(example).expect(code.word);
            assert_eq!((problem.code.as_str(), problem.title.as_str()), (code.word, code.title));
            assert_eq!(problem.kind, code.address());
            let fits = |known: &&&Code| known.word == code.word && known.status.as_u16() == problem.status;
            assert!(ALL.iter().any(|known| fits(&known)), "{}: status {}", code.word, problem.status);
        }
    }
}
