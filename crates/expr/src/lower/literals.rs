//! Values that are written out.

use super::Lowering;
use crate::fault::Fault;
use crate::node::{Literal, Node};
use cel::common::ast::LiteralValue;

impl Lowering<'_> {
    pub(super) fn literal(&self, id: u64, literal: &LiteralValue) -> Result<Node, Fault> {
        Ok(Node::Literal(match literal {
            LiteralValue::Null => Literal::Null,
            LiteralValue::Boolean(value) => Literal::Bool(*value.inner()),
            LiteralValue::Int(value) => Literal::Int(*value.inner()),
            LiteralValue::UInt(value) => Literal::UInt(*value.inner()),
            LiteralValue::Double(value) => Literal::Double(*value.inner()),
            LiteralValue::String(value) => Literal::Text(value.inner().into()),
            LiteralValue::Bytes(_) => {
                return self.fault(id, "there are no bytes in JSON", "write a text without the b before it");
            }
        }))
    }
}
