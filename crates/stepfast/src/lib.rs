//! Stepfast: multi-step work that must not be lost, doubled or forgotten. Embed the engine with this library.

pub use engine::{Config, Engine, EngineError, EngineThread, Operation};
pub use model::{NewStep, Outcome, State, StepId};
pub use store::sqlite;
pub use worker::{Registry, Runner, RunnerConfig, register_builtin};

mod local;

pub use local::{Local, LocalConfig, host_name};
