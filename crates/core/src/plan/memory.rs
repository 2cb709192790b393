//! Where a worker's memory comes from.

use serde::Deserialize;

/// How the kernel chooses the node of new memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumaMode {
    /// By its own rule.
    Default,
    /// The node of the CPU that touches it.
    Local,
    /// The first of the nodes, if it has room.
    Prefer,
    /// The nodes alone.
    Bind,
    /// The nodes in turn, page by page.
    Interleave,
}

/// Where a worker's memory lies: fio's `numa_mem_policy`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NumaPlan {
    /// How the kernel chooses.
    pub mode: NumaMode,
    /// Among which nodes; empty for the first two modes.
    pub nodes: Vec<u32>,
}

/// A worker's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MemoryPlan {
    /// Size of the huge pages that its buffers are made of; 0: pages as the kernel chooses.
    pub huge_page_bytes: u64,
    /// Bytes that it locks beside its buffers, so that the machine has less.
    pub locked_bytes: u64,
    /// Where it lies; absent: unchanged.
    pub numa: Option<NumaPlan>,
}
