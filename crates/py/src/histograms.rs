//! Sums of many stored histograms.

use iogauge_core::recorder::{Batch, Sums};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// How many histograms are decoded before they are added: a lock is taken for many of them, not for each.
const AT_ONCE: usize = 128;

/// Adds up stored histograms by slot. Several threads may add at the same time.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct HistogramSums {
    sums: Sums,
}

#[pymethods]
impl HistogramSums {
    #[new]
    fn new(slots: usize) -> Self {
        Self {
            sums: Sums::new(slots),
        }
    }

    /// Adds a column of histograms, as Arrow stores it: `offsets` into `data`, one more than there are histograms.
    /// Those with a negative slot are left out. Raises ValueError if one cannot be read; some are added then.
    fn add(&self, py: Python<'_>, slots: &[u8], offsets: &[u8], data: &[u8]) -> PyResult<()> {
        py.detach(|| {
            let slots = int32(slots);
            let offsets = int32(offsets);
            if offsets.len() != slots.len() + 1 {
                return Err(PyValueError::new_err(
                    "there must be a slot for each histogram",
                ));
            }
            let histograms: Vec<_> = slots.iter().zip(offsets.windows(2)).collect();
            let mut batch = Batch::default();
            for part in histograms.chunks(AT_ONCE) {
                batch.clear();
                for &(&slot, ends) in part {
                    let Ok(slot) = usize::try_from(slot) else {
                        continue;
                    };
                    let bytes = usize::try_from(ends[0])
                        .ok()
                        .zip(usize::try_from(ends[1]).ok())
                        .and_then(|(start, end)| data.get(start..end))
                        .ok_or_else(|| PyValueError::new_err("it lies outside of its column"))?;
                    batch
                        .push(slot, bytes)
                        .map_err(|why| PyValueError::new_err(why.0))?;
                }
                self.sums
                    .add(&batch)
                    .map_err(|why| PyValueError::new_err(why.0))?;
            }
            Ok(())
        })
    }

    /// Returns the last nanosecond of the bucket of each rank, as int64; 0 for the rank 0. `ranks`: int64, counted from
    /// 1, as many for each slot, ascending in it.
    fn at_ranks<'py>(&self, py: Python<'py>, ranks: &[u8]) -> Bound<'py, PyBytes> {
        self.numbers(py, |sums| {
            let ranks: Vec<u64> = ranks
                .chunks_exact(8)
                .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
                .collect();
            let of_a_slot = (ranks.len() / sums.len().max(1)).max(1);
            let by_slot = ranks.chunks(of_a_slot).take(sums.len()).enumerate();
            by_slot
                .flat_map(|(slot, ranks)| sums.at_ranks(slot, ranks))
                .collect()
        })
    }

    /// Returns how much each slot counts, as int64.
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.numbers(py, Sums::counts)
    }

    /// Returns the counts of all slots together, one int64 for each of the recorder's buckets.
    fn total<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.numbers(py, Sums::total)
    }
}

impl HistogramSums {
    /// Returns what a function makes of the sums.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        of: impl Fn(&Sums) -> Vec<u64> + Send + Sync,
    ) -> Bound<'py, PyBytes> {
        let numbers = py.detach(|| {
            let numbers = of(&self.sums).into_iter();
            numbers.flat_map(u64::to_ne_bytes).collect::<Vec<u8>>()
        });
        PyBytes::new(py, &numbers)
    }
}

fn int32(bytes: &[u8]) -> Vec<i32> {
    let numbers = bytes.chunks_exact(4);
    numbers
        .map(|bytes| i32::from_ne_bytes(bytes.try_into().expect("four bytes")))
        .collect()
}
