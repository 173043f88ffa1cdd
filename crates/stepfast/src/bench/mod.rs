//! `stepfast bench`: the engine's own figures, through the public runner, on durable settings.

mod bare;
mod brokers;
mod compensation;
mod drain;
mod enqueue;
mod fan_out;
mod fifo;
mod figures;
mod graph;
mod growth;
mod http;
mod latency;
mod limit;
mod page_times;
mod pages;
mod publish;
mod remote;
mod resolve;
mod rig;
mod served;
mod snapshot;
mod stuck;
mod timers;
mod tree;
mod waiting;
mod workflow;

pub use figures::Figures;
pub use rig::Rig;

use anyhow::Result;
use clap::ValueEnum;
use store::{Database, Listen};
use waiting::Waits;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Workload {
    /// How fast ready no-op steps are claimed, run and recorded.
    Drain,
    /// Drain of 1,000 message groups beside steps in no order, and short lines beside a long one.
    Fifo,
    /// Single creates from 8 clients, and bulk creates.
    Enqueue,
    /// From an acknowledged create to the start of the job, on an idle engine.
    Latency,
    /// Drain by a worker over loopback HTTP, beside the same in process.
    Remote,
    /// Creates over loopback HTTP from 8 clients, one and 100 a call, beside bulk creates in process.
    Http,
    /// Processor time of a busy server for n open overview pages.
    Pages,
    /// How long each page takes to answer beside n steps on record.
    PageTimes,
    /// Steps over a queue: published, received, begun, run and recorded.
    Publish,
    /// A parent with n children, and 1,000 trees 50 deep.
    Tree,
    /// Workflows of five no-op steps, many at once and one alone.
    Workflow,
    /// One workflow of n steps that follow four others each, beside steps in no order.
    Graph,
    /// A fan-out of 1,000 items and one of n, each in one workflow.
    FanOut,
    /// Drain with a million closed steps, and with a million waiting.
    Growth,
    /// Drain and latency while another session holds a snapshot open, on PostgreSQL.
    Snapshot,
    /// How long a look for what is stuck asks the database, beside n live and many closed steps.
    Stuck,
    /// What this machine can do at most, without an engine.
    Limit,
    /// How late what is due within one second begins: n steps, and n workflows that wait.
    Timers,
    /// Drain beside a million polls and pauses that wait, or beside paused workflows.
    Waiting,
    /// One workflow of n steps in a row, done and undone.
    Compensation,
    /// Live steps while n failed workflows are decided about in bulk.
    Resolve,
}

pub struct BenchArgs {
    pub workload: Workload,
    pub n: Option<usize>,
    pub concurrency: usize,
    /// Beside this file, or on this server.
    pub place: Option<Database>,
    pub closed: usize,
    pub nodes: usize,
    pub minutes: u64,
    pub listen: Listen,
    /// `embedded`, `activemq`, `sqs`, or the address of a queue.
    pub transport: String,
    /// Polls and pauses that wait; or, in place of them, paused workflows.
    pub waiting: usize,
    pub paused_workflows: Option<usize>,
}

pub async fn run(args: BenchArgs) -> Result<Figures> {
    let rig = Rig::new(args.place, args.concurrency, args.nodes.max(1), args.listen)?;
    let store = rig.store();
    let figures = match args.workload {
        Workload::Drain => drain::run(&rig, args.n.unwrap_or(100_000)).await,
        Workload::Enqueue => enqueue::run(&rig, args.n.unwrap_or(50_000)).await,
        Workload::Fifo => fifo::run(&rig, args.n.unwrap_or(100_000)).await,
        Workload::Latency => latency::run(&rig, args.n.unwrap_or(2_000)).await,
        Workload::Remote => remote::run(&rig, args.n.unwrap_or(100_000)).await,
        Workload::Http => http::run(&rig, args.n.unwrap_or(20_000)).await,
        Workload::Pages => pages::run(&rig, args.n.unwrap_or(200)).await,
        Workload::PageTimes => page_times::run(&rig, args.n.unwrap_or(1_000_000)).await,
        Workload::Publish => publish::run(&rig, args.n, &args.transport).await,
        Workload::Tree => tree::run(&rig, args.n.unwrap_or(100_000)).await,
        Workload::Workflow => workflow::run(&rig, args.n.unwrap_or(20_000)).await,
        Workload::Graph => graph::run(&rig, args.n.unwrap_or(5_000)).await,
        Workload::FanOut => fan_out::run(&rig, args.n.unwrap_or(100_000)).await,
        Workload::Growth => growth::run(&rig, args.n.unwrap_or(100_000), args.closed).await,
        Workload::Snapshot => snapshot::run(&rig, args.n.unwrap_or(100_000), args.minutes).await,
        Workload::Timers => {
            timers::run(&rig, args.n.unwrap_or(if store == "sqlite" { 10_000 } else { 2_000 })).await
        }
        Workload::Waiting => {
            let waits = args.paused_workflows.map_or(Waits::PollsAndPauses(args.waiting), Waits::Paused);
            waiting::run(&rig, args.n.unwrap_or(100_000), waits).await
        }
        Workload::Compensation => compensation::run(&rig, args.n.unwrap_or(1_000)).await,
        Workload::Resolve => resolve::run(&rig, args.n.unwrap_or(10_000)).await,
        Workload::Stuck => stuck::run(&rig, args.n.unwrap_or(1_000_000), args.closed).await,
        Workload::Limit => {
            let n = args.n.unwrap_or(100_000);
            tokio::task::spawn_blocking(move || limit::run(&rig, n)).await?
        }
    };
    figures.map(|figures| Figures { store, ..figures })
}
