//! Draws exponential times from a table, because computing a logarithm would take most of a request's time.
//!
//! The table cuts the unit interval into equal cells. A draw in a cell returns the cell's mean; the last cell, with the
//! tail, is drawn exactly. Mean and tail are those of the exponential distribution; only the shape within a cell is
//! lost.

use std::sync::OnceLock;

use iogauge_core::generate::Rng;

const CELLS: usize = 1 << 10;

/// Returns the mean of an exponential variable of mean one between two of its quantiles.
fn mean_between(low: f64, high: f64) -> f64 {
    // The integral of -ln(1 - u) is (1 - u) ln(1 - u) + u.
    let integral = |u: f64| (1.0 - u) * libm::log(1.0 - u) + u;
    (integral(high) - integral(low)) / (high - low)
}

fn table() -> &'static [f64; CELLS] {
    static TABLE: OnceLock<[f64; CELLS]> = OnceLock::new();
    TABLE.get_or_init(|| {
        std::array::from_fn(|cell| {
            if cell + 1 == CELLS {
                return 0.0;
            }
            mean_between(cell as f64 / CELLS as f64, (cell + 1) as f64 / CELLS as f64)
        })
    })
}

/// Draws lengths of mean one.
#[derive(Clone, Debug)]
pub(crate) struct Exponential {
    rng: Rng,
    table: &'static [f64; CELLS],
}

impl Exponential {
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            rng,
            table: table(),
        }
    }

    /// Draws a length.
    #[inline]
    pub(crate) fn draw(&mut self) -> f64 {
        let cell = self.rng.bits() as usize % CELLS;
        if cell + 1 == CELLS {
            return self.tail();
        }
        self.table[cell]
    }

    /// Draws from the tail: beyond the last cell's edge the distribution is memoryless.
    #[cold]
    fn tail(&mut self) -> f64 {
        libm::log(CELLS as f64) + self.rng.exponential()
    }
}

#[cfg(test)]
mod tests {
    use iogauge_core::generate::Stream;

    use super::*;

    #[test]
    fn has_the_moments_and_the_tail_of_the_exponential() {
        let mut lengths = Exponential::new(Rng::new(3, Stream::Mix));
        let drawn: Vec<f64> = (0..4_000_000).map(|_| lengths.draw()).collect();
        let count = drawn.len() as f64;
        let moment = |power: i32| drawn.iter().map(|x| x.powi(power)).sum::<f64>() / count;
        assert!((moment(1) - 1.0).abs() < 0.003, "{}", moment(1));
        assert!((moment(2) - 2.0).abs() < 0.015, "{}", moment(2));
        let beyond = drawn.iter().filter(|&&x| x > 10.0).count() as f64 / count;
        // e^-10 is 4.5e-5: 182 are expected.
        assert!((beyond / 4.54e-5 - 1.0).abs() < 0.25, "{beyond}");
    }
}
