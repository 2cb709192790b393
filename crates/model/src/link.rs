//! The link between host and drive: full duplex, with a rate for each direction, or half duplex, with one rate for
//! both.
//!
//! PCIe carries data in packets, each with a header, in both directions at once. SATA encodes eight bits as ten and is
//! half duplex. A transfer begins when its direction is free and ends when its last byte arrives.
//!
//! Source: PCI Express 3.0 (128b/130b from generation 3 on, 8b/10b before), Serial ATA 3.0 (8b/10b).

use serde::{Deserialize, Serialize};

/// Kind and rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum LinkSpec {
    /// PCI Express.
    Pcie {
        /// In `[1, 6]`.
        generation: u32,
        /// In `[1, 16]`.
        lanes: u32,
        /// Share of the encoded rate that is data, in `(0, 1]`. The rest is packet headers and flow control.
        efficiency: f64,
        /// Time that a PCIe switch adds to each request, ns, in `[0, 1e6]`.
        switch_ns: f64,
    },
    /// Serial ATA.
    Sata {
        /// In `[1, 3]`.
        generation: u32,
        /// As with PCIe.
        efficiency: f64,
        /// Requests that the drive may hold at a time, in `[1, 32]`: native command queueing has 32 tags.
        queue: u32,
    },
}

impl LinkSpec {
    /// Returns the bytes of data a second that the link carries in one direction.
    #[allow(non_snake_case)]
    pub fn rate_Bps(&self) -> f64 {
        match *self {
            Self::Pcie {
                generation,
                lanes,
                efficiency,
                ..
            } => {
                let transfers = [2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9][generation as usize - 1];
                let coding = match generation {
                    1 | 2 => 8.0 / 10.0,
                    _ => 128.0 / 130.0,
                };
                transfers * coding / 8.0 * f64::from(lanes) * efficiency
            }
            Self::Sata {
                generation,
                efficiency,
                ..
            } => [1.5e9, 3e9, 6e9][generation as usize - 1] * 0.8 / 8.0 * efficiency,
        }
    }

    /// Returns the time that a switch adds to each request, ns.
    pub fn switch_ns(&self) -> f64 {
        match *self {
            Self::Pcie { switch_ns, .. } => switch_ns,
            Self::Sata { .. } => 0.0,
        }
    }

    /// Returns how many requests may be in the drive at a time; `None` without a limit.
    pub fn queue(&self) -> Option<u32> {
        match *self {
            Self::Pcie { .. } => None,
            Self::Sata { queue, .. } => Some(queue),
        }
    }

    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        let (generation, newest, efficiency) = match *self {
            Self::Pcie {
                generation,
                efficiency,
                ..
            } => (generation, 6, efficiency),
            Self::Sata {
                generation,
                efficiency,
                ..
            } => (generation, 3, efficiency),
        };
        if !(1..=newest).contains(&generation) {
            return Err(format!(
                "link.generation is {generation}, not in [1, {newest}]"
            ));
        }
        if !(efficiency > 0.0 && efficiency <= 1.0) {
            return Err(format!("link.efficiency is {efficiency}, not in (0, 1]"));
        }
        match *self {
            Self::Pcie { lanes, .. } if !(1..=16).contains(&lanes) => {
                Err(format!("link.lanes is {lanes}, not in [1, 16]"))
            }
            Self::Pcie { switch_ns, .. } if !(0.0..=1e6).contains(&switch_ns) => {
                Err(format!("link.switch_ns is {switch_ns}, not in [0, 1e6]"))
            }
            Self::Sata { queue, .. } if !(1..=32).contains(&queue) => {
                Err(format!("link.queue is {queue}, not in [1, 32]"))
            }
            _ => Ok(()),
        }
    }
}

/// The direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the host to the drive.
    In,
    /// From the drive to the host.
    Out,
}

/// When a transfer began and ended, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// When its first byte leaves.
    pub begins: f64,
    /// When its last byte arrives.
    pub ends: f64,
}

/// A link in use. Instants are fractions of a nanosecond, so that a rate is not rounded.
#[derive(Clone, Debug)]
pub struct Link {
    ns_per_byte: f64,
    half_duplex: bool,
    switch_ns: f64,
    /// When each direction is free: in, out.
    free: [f64; 2],
}

impl Link {
    /// Creates an idle link.
    pub fn new(spec: &LinkSpec) -> Self {
        Self {
            ns_per_byte: 1e9 / spec.rate_Bps(),
            half_duplex: matches!(spec, LinkSpec::Sata { .. }),
            switch_ns: spec.switch_ns(),
            free: [0.0; 2],
        }
    }

    /// Moves bytes in one direction, from `from` on at the earliest.
    #[inline]
    pub fn transfer(&mut self, way: Way, from: f64, bytes: u32) -> Transfer {
        let way = if self.half_duplex { 0 } else { way as usize };
        let begins = from.max(self.free[way]);
        let ends = begins + f64::from(bytes) * self.ns_per_byte;
        self.free[way] = ends;
        Transfer { begins, ends }
    }

    /// Moves data that becomes ready in pieces, the first at `first` and the last, of `piece` bytes, at `last`. The
    /// transfer has no gaps and begins as late as the last piece allows; before it, the link carries other data.
    #[inline]
    pub fn stream(&mut self, way: Way, first: f64, last: f64, piece: u32, bytes: u32) -> Transfer {
        let before_last = f64::from(bytes.saturating_sub(piece)) * self.ns_per_byte;
        self.transfer(way, first.max(last - before_last), bytes)
    }

    /// Returns how long a byte takes.
    #[inline]
    pub fn ns_per_byte(&self) -> f64 {
        self.ns_per_byte
    }

    /// Returns the time that a command takes on the link besides its data, ns.
    #[inline]
    pub fn switch_ns(&self) -> f64 {
        self.switch_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PCIE: LinkSpec = LinkSpec::Pcie {
        generation: 3,
        lanes: 4,
        efficiency: 1.0,
        switch_ns: 0.0,
    };
    const SATA: LinkSpec = LinkSpec::Sata {
        generation: 3,
        efficiency: 1.0,
        queue: 32,
    };

    #[test]
    fn rates_are_those_of_the_standards() {
        // 985 MB/s a lane of generation 3, 600 MB/s of SATA.
        assert!((PCIE.rate_Bps() / 4.0 - 984.6e6).abs() < 0.1e6);
        assert_eq!(SATA.rate_Bps(), 600e6);
    }

    #[test]
    fn both_ways_at_once_or_one() {
        for (spec, expected) in [(PCIE, 1.0), (SATA, 2.0)] {
            let mut link = Link::new(&spec);
            let out = link.transfer(Way::Out, 0.0, 4096);
            let back = link.transfer(Way::In, 0.0, 4096);
            assert_eq!(back.ends / out.ends, expected);
        }
    }

    #[test]
    fn pieces_leave_as_they_become_ready() {
        let byte = 1e9 / PCIE.rate_Bps();
        let ends = |first: f64, last: f64| {
            let mut link = Link::new(&PCIE);
            link.stream(Way::Out, first, last, 4096, 65536).ends
        };
        // If all pieces are ready: the time of the link. If they come more slowly than that: the last piece, and its
        // transfer.
        assert!((ends(0.0, 100.0) - 65536.0 * byte).abs() < 1e-6);
        assert!((ends(0.0, 1e6) - (1e6 + 4096.0 * byte)).abs() < 1e-6);
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        assert_eq!(PCIE.check(), Ok(()));
        let wide = LinkSpec::Pcie {
            generation: 3,
            lanes: 40,
            efficiency: 0.9,
            switch_ns: 0.0,
        };
        assert!(wide.check().unwrap_err().contains("link.lanes is 40"));
    }
}
