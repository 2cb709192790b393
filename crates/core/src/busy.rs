//! Measures how busy a worker's loop is: calls, batches, depth.

use crate::time::Nanos;

/// Counts by powers of two.
#[derive(Clone, Copy, Debug, Default)]
pub struct Powers([u64; 21]);

impl Powers {
    /// Counts a value in entry n where it lies in `[2^n, 2^(n+1))`; zero is not counted.
    #[inline]
    pub fn count_level(&mut self, value: u32) {
        if value > 0 {
            self.0[(31 - value.leading_zeros()).min(20) as usize] += 1;
        }
    }

    /// Counts a value in entry n where it lies in `(2^(n-1), 2^n]`; zero is not counted.
    #[inline]
    pub fn count_batch(&mut self, value: u32) {
        if value > 0 {
            self.0[(32 - (value - 1).leading_zeros()).min(20) as usize] += 1;
        }
    }

    /// Returns the counts up to the last one that is not zero.
    pub fn to_vec(self) -> Vec<u64> {
        let end = self
            .0
            .iter()
            .rposition(|&count| count > 0)
            .map_or(0, |last| last + 1);
        self.0[..end].to_vec()
    }
}

/// How busy a worker's loop was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Busy {
    /// Calls of the engine's `submit`.
    pub submit_calls: u64,
    /// Reaps that returned completions.
    pub reap_calls: u64,
    /// Requests of a submission.
    pub submit_batch: Powers,
    /// Completions of a reap.
    pub reap_batch: Powers,
    /// Requests in flight after a submission.
    pub depth: Powers,
    /// Requests in flight, integrated over time, request-nanoseconds.
    pub depth_area: u64,
    /// Time that `depth_area` covers.
    pub depth_time: Nanos,
    /// Time in which nothing was issued because the request log was full.
    pub log_wait: Nanos,
}

impl Busy {
    /// Notes that `in_flight` requests were in flight for `time`.
    #[inline]
    pub fn in_flight(&mut self, in_flight: u32, time: Nanos) {
        self.depth_area += u64::from(in_flight) * time;
        self.depth_time += time;
    }

    /// Notes that a submission took `requests`, and that `in_flight` were in flight after it.
    #[inline]
    pub fn submitted(&mut self, calls: u64, requests: u32, in_flight: u32) {
        self.submit_calls += calls;
        self.submit_batch.count_batch(requests);
        self.depth.count_level(in_flight);
    }

    /// Notes that a reap returned `completions`.
    #[inline]
    pub fn reaped(&mut self, completions: u32) {
        self.reap_calls += 1;
        self.reap_batch.count_batch(completions);
    }

    /// Returns the mean number of requests in flight.
    pub fn depth_mean(&self) -> f64 {
        if self.depth_time > 0 {
            self.depth_area as f64 / self.depth_time as f64
        } else {
            0.0
        }
    }
}
