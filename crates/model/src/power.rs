//! Computes a drive's power, its low-power states, and its temperature.
//!
//! Power is an idle floor plus a part proportional to how busy the media are. After a while without requests the drive
//! enters states that draw less; leaving one takes time. Power warms one thermal node; above a limit the drive
//! throttles the rate of data until it has cooled.
//!
//! Source: NVM Express Base Specification (power states with entry and exit latency, non-operational states).

use iogauge_core::Nanos;
use serde::{Deserialize, Serialize};

use crate::drive::Active;

/// A low-power state.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct LowPowerSpec {
    /// Time without requests after which the drive enters it, ns, positive.
    pub after_ns: f64,
    /// Time to enter it, ns. Requests that come meanwhile wait for the end of this, too.
    pub entry_ns: f64,
    /// Time to leave it, ns.
    pub exit_ns: f64,
    /// Power in it, W.
    pub idle_W: f64,
}

/// The power of a drive, W.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct PowerSpec {
    /// Power when ready, without requests.
    pub idle_W: f64,
    /// Power with all of the media busy reading.
    pub read_W: f64,
    /// Power with all of the media busy writing.
    pub write_W: f64,
    /// States from shallow to deep, each after a longer time than the one before.
    pub states: Vec<LowPowerSpec>,
}

/// How the drive warms and throttles. Temperatures in degrees Celsius.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct ThermalSpec {
    /// Temperature of the air, and of the drive when a run begins.
    pub ambient_C: f64,
    /// Final rise of temperature for each watt.
    pub rise_C_per_W: f64,
    /// Time to 63 % of the final rise, s, positive.
    pub time_constant_s: f64,
    /// Throttling begins here.
    pub throttle_C: f64,
    /// Throttling ends here.
    pub resume_C: f64,
    /// Rate of data while throttled, bytes a second, positive.
    pub throttled_Bps: f64,
}

impl PowerSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        let states = self
            .states
            .iter()
            .map(|state| ("states.idle_W", state.idle_W));
        let watts = [
            ("idle_W", self.idle_W),
            ("read_W", self.read_W),
            ("write_W", self.write_W),
        ];
        for (name, value) in watts.into_iter().chain(states) {
            if !(0.0..=1e4).contains(&value) {
                return Err(format!("power.{name} is {value}, not in [0, 1e4]"));
            }
        }
        if self.read_W.min(self.write_W) < self.idle_W {
            return Err("power.idle_W is more than read_W or write_W".into());
        }
        let mut after = 0.0;
        for state in &self.states {
            if state.after_ns.is_nan() || state.after_ns <= after {
                return Err("power.states do not come one after the other".into());
            }
            after = state.after_ns + state.entry_ns;
            if !(state.entry_ns >= 0.0 && state.exit_ns >= 0.0) {
                return Err("power.states has a negative time".into());
            }
        }
        Ok(())
    }
}

impl ThermalSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("time_constant_s", self.time_constant_s),
            ("throttled_Bps", self.throttled_Bps),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(format!("thermal.{name} is {value}, not positive"));
            }
        }
        if !(self.rise_C_per_W >= 0.0 && self.resume_C <= self.throttle_C) {
            return Err("thermal.resume_C is above throttle_C, or rise_C_per_W negative".into());
        }
        Ok(())
    }
}

/// A drive's energy and temperature over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(non_snake_case)]
pub struct Drawn {
    /// Total energy, J.
    pub energy_J: f64,
    /// Time in low-power states, ns.
    pub low_power_ns: f64,
    /// Temperature at the end; `None` if the model has no thermal node.
    pub temperature_C: Option<f64>,
    /// Highest temperature.
    pub hottest_C: Option<f64>,
    /// Time of throttling, ns.
    pub throttled_ns: f64,
}

/// The power, sleep and heat of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Power {
    spec: PowerSpec,
    thermal: Option<ThermalSpec>,
    /// Idle time after which the first state begins; infinite without states.
    first_after: f64,
    /// That time in whole nanoseconds, the longest after which the drive is still awake.
    awake_for: Nanos,
    /// Until then, a drive that is awake lets every request in at once; 0 while it is throttled.
    calm_until: Nanos,
    /// Energy saved in low-power states, J, and the time spent there, ns.
    saved: f64,
    low_ns: f64,
    node: Node,
}

/// The thermal node, updated at intervals.
#[derive(Clone, Copy, Debug)]
struct Node {
    celsius: f64,
    hottest: f64,
    throttled: bool,
    throttled_ns: f64,
    /// When it was last updated, and the energy drawn by then.
    at: f64,
    energy: f64,
    /// When to update it next.
    next: f64,
    /// When data may pass again, while throttled.
    gate: f64,
}

/// Interval of updates: far below any time constant, far above any request.
const LOOK_NS: f64 = 10e6;

impl Power {
    pub(crate) fn new(spec: PowerSpec, thermal: Option<ThermalSpec>) -> Self {
        let celsius = thermal.map_or(0.0, |thermal| {
            thermal.ambient_C + thermal.rise_C_per_W * spec.idle_W
        });
        let first = spec.states.first();
        let first_after = first.map_or(f64::INFINITY, |state| state.after_ns);
        let mut power = Self {
            calm_until: 0,
            awake_for: first_after as Nanos,
            first_after,
            node: Node {
                celsius,
                hottest: celsius,
                throttled: false,
                throttled_ns: 0.0,
                at: 0.0,
                energy: 0.0,
                next: if thermal.is_some() {
                    LOOK_NS
                } else {
                    f64::INFINITY
                },
                gate: 0.0,
            },
            spec,
            thermal,
            saved: 0.0,
            low_ns: 0.0,
        };
        power.set_calm();
        power
    }

    /// Notes until when requests need no look at the thermal node.
    fn set_calm(&mut self) {
        self.calm_until = if self.node.throttled {
            0
        } else {
            libm::ceil(self.node.next) as Nanos
        };
    }

    /// Works as [`Power::admit`] in whole nanoseconds. `active` is called only if the drive may sleep or throttle.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: Nanos,
        idle_since: Nanos,
        bytes: u32,
        active: impl FnOnce() -> Active,
    ) -> Nanos {
        if now < self.calm_until && now - idle_since <= self.awake_for {
            return now;
        }
        libm::ceil(self.admit(now as f64, idle_since as f64, bytes, active())) as Nanos
    }

    /// Admits a request of `bytes` at `now`, after the drive was idle since `idle_since` (`now` if it was busy).
    /// Returns when the request enters.
    #[cold]
    fn admit(&mut self, now: f64, idle_since: f64, bytes: u32, active: Active) -> f64 {
        let mut at = now;
        if now - idle_since > self.first_after {
            at = self.wake(now, idle_since);
        }
        if at >= self.node.next {
            self.look(at, active);
        }
        if self.node.throttled {
            at = at.max(self.node.gate);
            let rate = self
                .thermal
                .map_or(f64::INFINITY, |thermal| thermal.throttled_Bps);
            self.node.gate = at + f64::from(bytes) * 1e9 / rate;
        }
        at
    }

    /// Whether the drive limits its rate since it is hot.
    pub(crate) fn is_throttled(&self) -> bool {
        self.node.throttled
    }

    /// Returns when the drive is awake.
    #[cold]
    fn wake(&mut self, now: f64, idle_since: f64) -> f64 {
        let gap = now - idle_since;
        let deepest = self.save(gap);
        let Some(state) = deepest else {
            return now;
        };
        let entered = idle_since + state.after_ns + state.entry_ns;
        now.max(entered) + state.exit_ns
    }

    /// Accounts for an idle time of `gap`. Returns the drive's state at its end.
    fn save(&mut self, gap: f64) -> Option<LowPowerSpec> {
        let mut deepest = None;
        for (index, state) in self.spec.states.iter().enumerate() {
            if gap <= state.after_ns {
                break;
            }
            let next = self.spec.states.get(index + 1);
            let until = next.map_or(gap, |next| gap.min(next.after_ns));
            let time = (until - state.after_ns - state.entry_ns).max(0.0);
            self.low_ns += time;
            self.saved += time * 1e-9 * (self.spec.idle_W - state.idle_W);
            deepest = Some(*state);
        }
        deepest
    }

    /// Returns the energy drawn by `now`, J.
    fn energy(&self, now: f64, active: Active) -> f64 {
        let spec = &self.spec;
        let working = active.read_ns * (spec.read_W - spec.idle_W)
            + active.write_ns * (spec.write_W - spec.idle_W);
        (now * spec.idle_W + working) * 1e-9 - self.saved
    }

    #[cold]
    fn look(&mut self, now: f64, active: Active) {
        let energy = self.energy(now, active);
        let Some(thermal) = self.thermal else {
            return;
        };
        let node = &mut self.node;
        let passed = now - node.at;
        if passed <= 0.0 {
            return;
        }
        // The media's work is counted when it is scheduled, at most some ms ahead, which is too little to matter here.
        let watts = ((energy - node.energy) * 1e9 / passed).max(0.0);
        let settles = thermal.ambient_C + thermal.rise_C_per_W * watts;
        let left = libm::exp(-passed * 1e-9 / thermal.time_constant_s);
        node.celsius = settles + (node.celsius - settles) * left;
        node.hottest = node.hottest.max(node.celsius);
        if node.throttled {
            node.throttled_ns += passed;
        }
        if node.celsius >= thermal.throttle_C {
            node.throttled = true;
        } else if node.celsius <= thermal.resume_C {
            node.throttled = false;
        }
        (node.at, node.energy, node.next) = (now, energy, now + LOOK_NS);
        self.set_calm();
    }

    /// Returns what was drawn by `now`. The drive has been idle since `idle_since`.
    pub(crate) fn drawn(&self, now: Nanos, idle_since: f64, active: Active) -> Drawn {
        let now = now as f64;
        let mut at_end = self.clone();
        at_end.save((now - idle_since).max(0.0));
        at_end.look(now, active);
        let celsius = |value| self.thermal.map(|_| value);
        Drawn {
            energy_J: at_end.energy(now, active),
            low_power_ns: at_end.low_ns,
            temperature_C: celsius(at_end.node.celsius),
            hottest_C: celsius(at_end.node.hottest),
            throttled_ns: at_end.node.throttled_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: f64 = 1e9;

    fn spec() -> PowerSpec {
        let state = |after_ns, watts| LowPowerSpec {
            after_ns,
            entry_ns: 0.1 * S,
            exit_ns: 0.05 * S,
            idle_W: watts,
        };
        PowerSpec {
            idle_W: 2.0,
            read_W: 6.0,
            write_W: 10.0,
            states: vec![state(1.0 * S, 0.5), state(5.0 * S, 0.1)],
        }
    }

    #[test]
    fn a_drive_draws_power_by_its_work() {
        let power = Power::new(spec(), None);
        let active = Active {
            read_ns: 2.0 * S,
            write_ns: 1.0 * S,
        };
        let drawn = power.drawn(10_000_000_000, 10.0 * S, active);
        assert!((drawn.energy_J - (10.0 * 2.0 + 2.0 * 4.0 + 8.0)).abs() < 1e-9);
    }

    #[test]
    fn sleeps_deeper_and_takes_time_to_wake() {
        let mut power = Power::new(spec(), None);
        let none = Active::default();
        assert_eq!(power.admit(0.5 * S, 0.0, 4096, none), 0.5 * S);
        // Asleep: the time to leave. While it falls asleep: also the rest of the time to enter.
        assert_eq!(power.admit(4.0 * S, 0.5 * S, 4096, none), 4.05 * S);
        assert_eq!(power.admit(5.05 * S, 4.0 * S, 4096, none), 5.15 * S);
        let drawn = power.drawn(25_000_000_000, 15.0 * S, none);
        // 2.4 s in the first state by then; 3.9 s there and 4.9 s in the second of the last ten.
        assert!((drawn.low_power_ns / S - (2.4 + 3.9 + 4.9)).abs() < 1e-9);
        let expected = 25.0 * 2.0 - (2.4 + 3.9) * 1.5 - 4.9 * 1.9;
        assert!((drawn.energy_J - expected).abs() < 1e-9);
    }

    #[test]
    fn throttles_when_hot_and_resumes_when_cooler() {
        let thermal = ThermalSpec {
            ambient_C: 30.0,
            rise_C_per_W: 5.0,
            time_constant_s: 10.0,
            throttle_C: 70.0,
            resume_C: 60.0,
            throttled_Bps: 100e6,
        };
        let mut power = Power::new(spec(), Some(thermal));
        // Busy writing: it would settle at 80 C and passes 70 C after 10 s * ln(40 / 10).
        let (mut now, mut active, mut first) = (0.0, Active::default(), None);
        while now < 60.0 * S {
            let at = power.admit(now, now, 1_000_000, active);
            if at > now && first.is_none() {
                first = Some(now / S);
            }
            now += 1e6;
            active.write_ns = now;
        }
        let first = first.unwrap();
        assert!((first - 13.86).abs() < 0.1, "{first}");
        // Idle: it cools towards 40 C and stops throttling.
        while now < 120.0 * S {
            power.admit(now, now, 0, active);
            now += 1e6;
        }
        assert_eq!(power.admit(now, now, 1_000_000, active), now);
        assert_eq!(power.admit(now, now, 1_000_000, active), now);
        let drawn = power.drawn(now as Nanos, now, active);
        assert!(drawn.hottest_C.unwrap() > 70.0 && drawn.temperature_C.unwrap() < 60.0);
        assert!(drawn.throttled_ns > 40.0 * S);
    }
}
