//! Triggers as callers send them: what was sent, who sent it, and what came of it.

use crate::request::Request;
use crate::{Engine, EngineError, chance};
use model::{Fault, TokenHash, TriggerAnswer, WorkflowId, WorkflowState, limits};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// Something that is sent to a trigger of a workflow, by somebody who has shown who they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggerOrder {
    pub workflow: WorkflowId,
    pub trigger: String,
    /// JSON.
    pub payload: String,
    /// The id that the sender gave it; the same again is the same message.
    #[serde(default)]
    pub webhook_id: Option<String>,
    /// The address it came from.
    #[serde(default)]
    pub source: Option<String>,
    pub identity: String,
    /// The run of the step that its token was made for; without a token, whichever waits.
    #[serde(default)]
    pub run: Option<u32>,
}

impl TriggerOrder {
    /// JSON for a trigger of a workflow, sent by somebody.
    pub fn of(workflow: WorkflowId, trigger: &str, payload: String, identity: &str) -> TriggerOrder {
        TriggerOrder {
            workflow,
            trigger: trigger.into(),
            payload,
            webhook_id: None,
            source: None,
            identity: identity.into(),
            run: None,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Triggered {
    pub workflow: WorkflowId,
    pub trigger: String,
    pub answer: TriggerAnswer,
    /// Where the workflow is now.
    pub state: WorkflowState,
}

/// The token of one pause. It is told once, and printed by nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct PauseToken(String);

impl fmt::Debug for PauseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PauseToken(..)")
    }
}

impl PauseToken {
    pub const PREFIX: &str = "pt_";
    /// Letters behind it, two for each byte.
    pub const LETTERS: usize = 64;
    /// A new one, by the operating system's dice.
    pub(crate) fn fresh() -> Result<PauseToken, EngineError> {
        let bytes: [u8; 32] = chance()?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(PauseToken(format!("{}{text}", PauseToken::PREFIX)))
    }
    pub fn of(text: &str) -> PauseToken {
        PauseToken(text.into())
    }
    /// The token itself, for the one who is to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }
    /// In a time that does not tell how far they agree.
    pub fn is(&self, kept: &TokenHash) -> bool {
        self.hash().0.ct_eq(&kept.0).into()
    }
}

/// Somebody asks for a new token of a pause that waits; the one before is worth nothing from then on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenOrder {
    pub workflow: WorkflowId,
    pub trigger: String,
    pub by: String,
}

impl Engine {
    /// Send something to a trigger. Whoever calls this has looked at who sent it.
    pub async fn trigger(&self, order: TriggerOrder) -> Result<Triggered, EngineError> {
        sound(&order)?;
        self.ask(|reply| Request::Trigger { order, reply }).await
    }
    /// A new token for a pause that waits for one. It is made here, so that whoever decides is told its hash alone.
    pub async fn pause_token(&self, order: TokenOrder) -> Result<PauseToken, EngineError> {
        crate::handle::storable([("by", &*order.by), ("trigger", &*order.trigger)])?;
        let token = PauseToken::fresh()?;
        let hash = token.hash();
        self.ask(|reply| Request::PauseToken { order, hash, reply }).await?;
        Ok(token)
    }
}

/// What can be said of it without its workflow.
fn sound(order: &TriggerOrder) -> Result<(), EngineError> {
    let webhook_id = order.webhook_id.as_deref().unwrap_or_default();
    let texts = [("identity", &*order.identity), ("trigger", &*order.trigger), ("webhook-id", webhook_id)];
    crate::handle::storable(texts)?;
    let fault = |field: &str, problem: String, fix: String| Fault { field: field.into(), problem, fix };
    let bytes = order.payload.len();
    let wrong = if bytes > limits::PAYLOAD_BYTES_MAX {
        let fix = format!("send at most {} bytes; keep large data elsewhere", limits::PAYLOAD_BYTES_MAX);
        Some(fault("payload", format!("is {bytes} bytes long"), fix))
    } else if webhook_id.len() > limits::WEBHOOK_ID_BYTES_MAX {
        let fix = format!("use at most {} bytes", limits::WEBHOOK_ID_BYTES_MAX);
        Some(fault("webhook-id", format!("is {} bytes long", webhook_id.len()), fix))
    } else if order.payload.contains("\\u0000") || order.payload.contains('\0') {
        Some(Fault::nul("payload"))
    } else {
        Fault::json("payload", &order.payload)
    };
    wrong.map_or(Ok(()), |fault| Err(EngineError::Invalid(vec![fault])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_and_printed_by_nothing() {
        let token = PauseToken::fresh().unwrap();
        assert!(PauseToken::of(token.reveal()).is(&token.hash()));
        assert!(!PauseToken::fresh().unwrap().is(&token.hash()));
        assert_eq!(format!("{token:?} {:?}", token.hash()), "PauseToken(..) TokenHash(..)");
        assert_eq!(token.reveal().len(), PauseToken::PREFIX.len() + PauseToken::LETTERS, "256 bits");
    }

    #[test]
    fn what_cannot_be_kept_is_told() {
        let told = |order: TriggerOrder| sound(&order).err().map(|e| e.to_string()).unwrap_or_default();
        let order = |payload: &str| TriggerOrder::of(WorkflowId::of(1), "boss", payload.into(), "test");
        assert_eq!(told(order("{}")), "");
        for text in ["{", "[1e400]", "\"\\ud800\"", &"[".repeat(200)] {
            assert!(told(order(text)).starts_with("payload: cannot be read as JSON: "), "{text}");
        }
        assert!(told(order("\"\\u0000\"")).starts_with("payload"));
        assert!(told(order(&" ".repeat(limits::PAYLOAD_BYTES_MAX + 1))).contains("bytes long"));
        let webhook_id = Some("x".repeat(limits::WEBHOOK_ID_BYTES_MAX + 1));
        assert!(told(TriggerOrder { webhook_id, ..order("1") }).starts_with("webhook-id"));
    }
}
