//! Ids are UUIDv7, one type per noun, so that a block cannot be passed where a step is meant.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            pub fn bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                $name(Uuid::from_bytes(bytes))
            }
            /// A readable id for tests and fixtures: the number in its last bytes.
            pub fn of(n: u64) -> Self {
                $name(Uuid::from_u64_pair(0, n))
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(s).map($name)
            }
        }
    };
}

id!(
    /// One unit of work.
    StepId
);
id!(
    /// An ordered list of steps.
    BlockId
);
id!(
    /// One run of a definition.
    WorkflowId
);
id!(
    /// One running worker process, random per start.
    SessionId
);
id!(
    /// Something that reaches a node from another.
    SignalId
);
id!(
    /// An API key; its secret is not part of it.
    KeyId
);
id!(
    /// Somebody who is told of what happens to workflows.
    SubscriptionId
);
id!(
    /// A flow that runs elsewhere and is tracked here.
    FlowId
);
id!(
    /// One running engine, random per boot, never the host's name.
    NodeId
);
id!(
    /// Who began an execution: the fence of its end.
    OwnerToken
);

impl SessionId {
    /// Nobody's session: a step that it holds is in the queue outside, and whoever the queue sends for it may begin it.
    pub const OUTBOX: SessionId = SessionId(Uuid::nil());
}

impl OwnerToken {
    /// Another for every run of a step, and for everything that it does once.
    pub fn of_run(step: StepId, attempt: u32, nth: u32) -> OwnerToken {
        let run = u128::from(attempt) << 64 | u128::from(nth) << 96;
        OwnerToken(uuid::Uuid::from_u128(step.0.as_u128() ^ run))
    }
}
