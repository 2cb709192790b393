//! What ends a worker besides its limits: other workers, a steady state, and the depth that keeps a latency.

use serde::Deserialize;

use crate::time::Nanos;

/// Which workers end with one that has `exitall`: fio's `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitWhat {
    /// Those of its group.
    Group,
    /// Those of its stage.
    Stonewall,
    /// Those of its stage; later stages do not begin.
    All,
}

/// What a steady state is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum SteadyFigure {
    Iops,
    Bw,
    Lat,
}

/// When a row is steady and its workers end: fio's `steadystate`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct SteadyPlan {
    /// What it is judged by.
    pub figure: SteadyFigure,
    /// By the slope of a line through the samples instead of their largest deviation.
    pub slope: bool,
    /// The limit is a percentage of the mean.
    pub percent: bool,
    /// Below this it is steady: in I/Os or bytes a second, in ns, or in percent.
    pub limit: f64,
    /// Time that the samples cover.
    pub duration_ns: Nanos,
    /// Time before the first sample.
    pub ramp_ns: Nanos,
    /// Length of a sample, positive.
    pub interval_ns: Nanos,
}

/// The latency that a worker keeps by its depth: fio's `latency_target`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct LatencyTargetPlan {
    /// The most that a request may take from its start to its end.
    pub limit_ns: Nanos,
    /// Time for which a depth is tried.
    pub window_ns: Nanos,
    /// How many percent of the requests must keep the limit. With 100, one miss lowers the depth at once.
    pub percent: f64,
    /// Whether it adjusts its depth to its end, and everything counts. Otherwise it measures one more window at the
    /// depth that it arrives at, and ends.
    pub keeps_adjusting: bool,
}
