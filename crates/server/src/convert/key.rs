//! API keys as the API shows them; the secret once.

use super::{instant, maybe};
use engine::Secret;
use model::{Key, Timestamp};

pub fn key_view(key: &Key, now: Timestamp) -> wire::KeyView {
    let state = match (key.revoked_at, key.is_live(now)) {
        (Some(_), _) => "revoked",
        (None, true) => "live",
        (None, false) => "expired",
    };
    wire::KeyView {
        id: key.id.to_string(),
        name: key.name.clone(),
        role: key.role.to_string(),
        scope: key.scope.iter().map(ToString::to_string).collect(),
        state: state.into(),
        created_at: instant(key.created_at),
        created_by: key.created_by.clone(),
        expires_at: maybe(key.expires_at),
        revoked_at: maybe(key.revoked_at),
        last_used_at: maybe(key.last_used_at),
    }
}

/// The one time a key is shown.
pub fn key_made_view(key: &Key, secret: &Secret, now: Timestamp) -> wire::KeyMadeView {
    wire::KeyMadeView { key: secret.reveal().into(), about: key_view(key, now) }
}
