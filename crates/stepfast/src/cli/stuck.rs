//! What is stuck, and alerts: what can be typed about them.

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub enum Stuck {
    /// Look for what is stuck now, and tell it
    Detect(Detect),
    /// The rules that hold, and where they come from
    Rules,
    /// Make a rule, or change one; what is not named stays as it is
    SetRule(Box<SetRule>),
    /// Take a rule off the record; one from the start is as it was
    RemoveRule {
        name: String,
        /// Who, for the audit
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
    /// Switch all remedies on or off, on every node
    Auto {
        #[arg(value_enum)]
        switch: OnOff,
        /// Who, for the audit
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
}

#[derive(Args)]
pub struct SetRule {
    pub name: String,
    /// What it looks at: step, workflow, message_group, flow and so on
    #[arg(long)]
    pub entity: Option<String>,
    /// Only in these states, separated by commas
    #[arg(long = "state", value_name = "STATES", value_delimiter = ',')]
    pub states: Vec<String>,
    #[arg(long)]
    pub action: Option<String>,
    /// Only workflows of this definition
    #[arg(long, value_name = "KEY")]
    pub definition: Option<String>,
    /// How long it stands still, as 30m or 2h
    #[arg(long, value_name = "SPAN")]
    pub older_than: Option<String>,
    /// Since when that is counted: created, state or progress
    #[arg(long)]
    pub clock: Option<String>,
    /// low, medium, high or critical
    #[arg(long)]
    pub severity: Option<String>,
    /// What is done about it: retry, cancel, escalate or notify
    #[arg(long)]
    pub remedy: Option<String>,
    /// Whether that is done by itself
    #[arg(long, value_enum)]
    pub auto: Option<OnOff>,
    /// Whether it holds at all
    #[arg(long, value_enum)]
    pub enabled: Option<OnOff>,
    /// Who, for the audit
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum OnOff {
    On,
    Off,
}

#[derive(Args)]
pub struct Detect {
    /// Apply the remedies of rules that say so
    #[arg(long)]
    pub auto_resolve: bool,
    /// Only tell what would be done; nothing at all is written
    #[arg(long)]
    pub dry_run: bool,
    /// Also show the alerts that wait for a person
    #[arg(long)]
    pub show_queue: bool,
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Subcommand)]
pub enum Alerts {
    /// Alerts, the newest first; those that are open, unless it is said otherwise
    List(ListAlerts),
    /// One alert with its history
    Show { id: u64 },
    /// It was seen: it is not told again
    Ack(ReviewAlert),
    /// It is somebody's from now on
    Assign {
        id: u64,
        /// To whom; nobody without it
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
        /// Who, for the audit
        #[arg(long, env = "STEPFAST_BY")]
        by: Option<String>,
    },
    /// Write something down about it; no remedy runs by itself any more
    Note(SayAlert),
    /// Close it, with what was done
    Resolve(SayAlert),
    /// Open it again, until a person resolves it
    Reopen(SayAlert),
    /// How many are open, how many resolved themselves, and how long it took
    Figures,
}

#[derive(Args)]
pub struct ReviewAlert {
    pub id: u64,
    /// Who, for the audit
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args)]
pub struct SayAlert {
    pub id: u64,
    /// The words
    pub text: String,
    /// Who, for the audit
    #[arg(long, env = "STEPFAST_BY")]
    pub by: Option<String>,
}

#[derive(Args, Default)]
pub struct ListAlerts {
    /// Closed ones instead
    #[arg(long, conflicts_with = "all")]
    pub closed: bool,
    /// Open and closed ones
    #[arg(long)]
    pub all: bool,
    /// Only those that wait for a person
    #[arg(long)]
    pub queue: bool,
    /// low, medium, high or critical
    #[arg(long)]
    pub severity: Option<String>,
    /// Those of this person; with an empty name, nobody's
    #[arg(long, value_name = "NAME")]
    pub assigned: Option<String>,
    /// step, workflow, message_group, or one of yours
    #[arg(long)]
    pub entity: Option<String>,
    #[arg(long, value_name = "ID")]
    pub entity_id: Option<String>,
    #[arg(long)]
    pub rule: Option<String>,
    #[arg(long, default_value_t = 100)]
    pub limit: usize,
    #[arg(long, value_name = "ID")]
    pub after: Option<u64>,
}
