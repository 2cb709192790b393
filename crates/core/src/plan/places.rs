//! How offsets are spread over a region.

use serde::Deserialize;

/// One zone of a zoned distribution.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Zone {
    /// Share of the I/Os, in `[0, 100]`.
    pub access_percent: f64,
    /// Share of the region, in `[0, 100]`.
    pub size_percent: f64,
}

/// How random offsets are spread over the region.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Distribution {
    Random,
    Zipf {
        theta: f64,
        center: Option<f64>,
    },
    Pareto {
        h: f64,
        center: Option<f64>,
    },
    Normal {
        deviation_percent: f64,
        center: Option<f64>,
    },
    Zoned {
        zones: Vec<Zone>,
    },
}

/// Zones that a job goes through: fio's `zonemode=strided`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct StridesPlan {
    /// Bytes issued in a zone before the next one, positive.
    pub size_bytes: u64,
    /// Bytes of the file that a zone covers, positive.
    pub range_bytes: u64,
    /// Bytes of the file between two zones.
    pub skip_bytes: u64,
}
