//! What ends a worker besides its limits: other workers, and a steady state.

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
