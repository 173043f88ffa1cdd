//! Tracked flows in a test's world.

use super::World;
use model::{FlowAgain, FlowAsk, FlowId, FlowName, FlowStepState, NewFlowStep, limits};
use stepfast_store::executions::{Order, Told};
use stepfast_store::flows::{FlowOrder, FlowWord};

impl World {
    /// A flow with two steps that it needs and one that it does not.
    pub fn start_flow(&self, kind: &str, id: u64, again: FlowAgain) {
        let name = FlowName {
            kind: kind.into(),
            key: "7".into(),
            entity_type: "payment".into(),
            entity_id: "7".into(),
        };
        let step = |name: &str, optional| NewFlowStep { name: name.into(), optional };
        let ask = FlowAsk {
            id: FlowId::of(id),
            name,
            user: Some("ann".into()),
            steps: vec![step("debited", false), step("credited", false), step("mailed", true)],
            open: false,
            timeout: limits::FLOW_TIMEOUT_DEFAULT,
            message: None,
            retry: None,
            cancel: None,
            again,
            by: "test".into(),
        };
        self.flow_order(FlowOrder::Start(Box::new(ask)));
    }

    pub fn mark_flow(&self, id: u64, step: &str, to: FlowStepState) {
        self.say_of_flow(id, FlowWord::Mark { step: step.into(), to });
    }

    pub fn say_of_flow(&self, id: u64, word: FlowWord) {
        let (flow, by) = (FlowId::of(id), "test".into());
        self.flow_order(FlowOrder::Say { flow, word, message: None, by });
    }

    fn flow_order(&self, order: FlowOrder) {
        match self.order(Order::Flow(order)) {
            Told::Flow(Ok(now)) => assert!(now.changed, "{now:?}"),
            other => panic!("{other:?}"),
        }
    }
}
