//! The buses between controller and dies: each carries one transfer at a time.

/// All channels of a drive.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    ns_per_byte: f64,
    free: Box<[f64]>,
}

impl Channels {
    /// Creates `count` idle channels of `rate_Bps` bytes a second each.
    #[allow(non_snake_case)]
    pub(super) fn new(count: u32, rate_Bps: f64) -> Self {
        Self {
            ns_per_byte: 1e9 / rate_Bps,
            free: vec![0.0; count as usize].into(),
        }
    }

    /// Returns the channel of a die. Neighbouring dies are on different channels.
    #[inline]
    pub(super) fn of_die(&self, die: u32) -> u32 {
        die % self.free.len() as u32
    }

    /// Returns how long bytes take on a channel, ns.
    pub(super) fn time(&self, bytes: u32) -> f64 {
        f64::from(bytes) * self.ns_per_byte
    }

    /// Moves bytes over a channel, from `from` on at the earliest. Returns when they arrive.
    #[inline]
    pub(super) fn transfer(&mut self, channel: u32, from: f64, bytes: u32) -> f64 {
        let free = &mut self.free[channel as usize];
        *free = free.max(from) + f64::from(bytes) * self.ns_per_byte;
        *free
    }
}
