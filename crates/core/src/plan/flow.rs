//! Workers that proceed in the proportion of their weights.

use serde::Deserialize;

use crate::time::Nanos;

/// One worker's part of a flow: fio's `flow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct FlowPlan {
    /// Workers of a stage with the same number form one flow.
    pub id: u32,
    /// How many requests it issues, relative to the weights of the others; positive.
    pub weight: u64,
    /// How long it pauses when it is ahead, after its requests in flight; 0: it does not pause.
    pub sleep_ns: Nanos,
}
