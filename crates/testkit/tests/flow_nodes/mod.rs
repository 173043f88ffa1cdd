//! Tracked flows of several nodes: whoever says something, none of it is lost.

use engine::{Saying, StartFlow};
use model::{FlowName, FlowState, FlowStepState, NewFlowStep};
use stepfast_testkit::Nodes;

fn name() -> FlowName {
    FlowName { kind: "payment".into(), key: "7".into(), entity_type: String::new(), entity_id: String::new() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_steps_completed_at_once_by_three_nodes_none_is_lost() {
    let nodes = Nodes::start(["a", "b", "c"].map(Nodes::config).into()).await;
    let step = |n| NewFlowStep { name: format!("step {n}"), optional: false };
    let start = StartFlow { steps: (0..64).map(step).collect(), ..StartFlow::new(name(), "shop") };
    let flow = nodes.engine(0).flows().start(start).await.expect("it starts").flow.id;
    let mut callers = Vec::new();
    for n in 0..192 {
        let (flows, step) = (nodes.engine(n % 3).flows().clone(), format!("step {}", n / 3));
        let said = Saying { flow, message: None, by: format!("node {}", n % 3) };
        callers.push(tokio::spawn(
            async move { flows.complete(said, &step).await.expect("it is heard").changed },
        ));
    }
    let mut changed = 0;
    for caller in callers {
        changed += usize::from(caller.await.expect("it ends"));
    }
    assert_eq!(changed, 64, "every step once, though three nodes said each");
    let shown = nodes.browse().flow(flow).expect("a read").expect("it is there");
    assert_eq!((shown.flow.state, shown.history.len()), (FlowState::Completed, 65));
    assert!(shown.steps.iter().all(|step| step.state == FlowStepState::Completed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_three_nodes_that_start_one_flow_anew_the_last_run_goes_on() {
    let nodes = Nodes::start(["a", "b", "c"].map(Nodes::config).into()).await;
    let mut callers = Vec::new();
    for n in 0..24 {
        let flows = nodes.engine(n % 3).flows().clone();
        let start = StartFlow { again: model::FlowAgain::New, ..StartFlow::new(name(), "shop") };
        callers.push(tokio::spawn(async move { flows.start(start).await.expect("it starts").flow.run }));
    }
    let mut runs = Vec::new();
    for caller in callers {
        runs.push(caller.await.expect("it ends"));
    }
    runs.sort_unstable();
    assert_eq!(runs, (1..=24).collect::<Vec<u32>>(), "each has a run of its own");
}
