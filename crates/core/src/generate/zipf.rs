//! Draws Zipf-distributed ranks: rank k in `[0, n)` has a probability exactly proportional to `(k + 1)^-theta`, for any
//! n.
//!
//! It uses rejection-inversion. A curve covers the probabilities; the inverse of its integral turns a uniform number
//! into a rank. A point between the curve and the probability is rejected, in less than half of the draws. Nothing is
//! summed, so neither set-up nor memory grows with n. (fio sums at most 10 million terms and draws 32-bit uniforms.)
//!
//! `spread` maps ranks to blocks.
//!
//! Source: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
//! ACM TOMACS 6 (1996).

use super::rng::Rng;

/// Draws ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    ranks: f64,
    theta: f64,
    /// The integral at half a rank above the last rank, where the curve ends.
    integral_end: f64,
    /// The integral where the first rank begins, as wide as its probability, 1.
    integral_start: f64,
    /// A point at most this far below its rank's number is accepted without computing the probability.
    sure: f64,
}

impl Zipf {
    /// Draws from `[0, ranks)`; `ranks` in `[1, 2^52]`, `theta` positive; 1 is allowed.
    pub(super) fn new(ranks: u64, theta: f64) -> Self {
        let mut zipf = Self {
            ranks: ranks as f64,
            theta,
            integral_end: 0.0,
            integral_start: 0.0,
            sure: 0.0,
        };
        zipf.integral_end = zipf.integral(zipf.ranks + 0.5);
        zipf.integral_start = zipf.integral(1.5) - 1.0;
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// Draws a rank.
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.integral_end + rng.unit() * (self.integral_start - self.integral_end);
            let point = self.inverse(area);
            let number = libm::floor(point + 0.5).clamp(1.0, self.ranks);
            if number - point <= self.sure
                || area >= self.integral(number + 0.5) - self.density(number)
            {
                return number as u64 - 1;
            }
        }
    }

    /// Computes `x^-theta`.
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// Computes the integral of the density from 1 to x: `(x^(1-theta) - 1) / (1 - theta)`, or log x if theta is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        log * exp_minus_1_over((1.0 - self.theta) * log)
    }

    /// Computes where the integral equals `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may carry the argument past the pole at -1.
        let scaled = (area * (1.0 - self.theta)).max(-1.0);
        libm::exp(area * log_of_1_plus_over(scaled))
    }
}

/// Computes `(e^x - 1) / x`, and 1 at 0.
fn exp_minus_1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::expm1(x) / x
    } else {
        1.0 + x / 2.0
    }
}

/// Computes `log(1 + x) / x`, and 1 at 0.
fn log_of_1_plus_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::log1p(x) / x
    } else {
        1.0 - x / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::rng::Stream;
    use super::super::tests::statistics::assert_chi_square;
    use super::*;

    /// Sums `k^-theta` for k from `first` to `last`, by the Euler-Maclaurin formula if there are many terms.
    fn weight(first: u64, last: u64, theta: f64) -> f64 {
        const SUMMED: u64 = 2000;
        let exact = first..=last.min(first.saturating_add(SUMMED));
        let rest = *exact.end() + 1;
        let sum: f64 = exact.map(|k| libm::pow(k as f64, -theta)).sum();
        if rest > last {
            return sum;
        }
        let (low, high) = (rest as f64, last as f64);
        let integral = if theta == 1.0 {
            libm::log(high / low)
        } else {
            (libm::pow(high, 1.0 - theta) - libm::pow(low, 1.0 - theta)) / (1.0 - theta)
        };
        let term = |x: f64| libm::pow(x, -theta);
        let slope = |x: f64| -theta * libm::pow(x, -theta - 1.0);
        sum + integral + (term(low) + term(high)) / 2.0 + (slope(high) - slope(low)) / 12.0
    }

    #[test]
    fn few_ranks_follow_the_exact_probabilities() {
        for ranks in [1, 2, 3, 10, 50] {
            for theta in [0.01, 0.5, 0.99, 1.0, 1.2, 2.5, 8.0] {
                let zipf = Zipf::new(ranks, theta);
                let mut rng = Rng::new(ranks, Stream::Offsets);
                let mut counts = vec![0; ranks as usize];
                for _ in 0..100_000 {
                    counts[zipf.draw(&mut rng) as usize] += 1;
                }
                let total = weight(1, ranks, theta);
                let expected: Vec<f64> = (1..=ranks)
                    .map(|k| 1e5 * weight(k, k, theta) / total)
                    .collect();
                assert_chi_square(&counts, &expected);
            }
        }
    }

    #[test]
    fn many_ranks_follow_them_to_the_last() {
        // With more than 10 million ranks, fio's generator is no longer Zipf. The far tail is checked separately here.
        for ranks in [1 << 24, 1 << 34, 1 << 40] {
            for theta in [0.5, 0.9, 1.0, 1.2] {
                let zipf = Zipf::new(ranks, theta);
                let mut rng = Rng::new(17, Stream::Offsets);
                let edges: Vec<u64> = (0..=ranks.ilog2()).map(|power| 1u64 << power).collect();
                let mut counts = vec![0; edges.len()];
                for _ in 0..200_000 {
                    let number = zipf.draw(&mut rng) + 1;
                    assert!(number <= ranks);
                    counts[edges.partition_point(|edge| *edge < number)] += 1;
                }
                let total = weight(1, ranks, theta);
                let mut first = 1;
                let expected: Vec<f64> = edges
                    .iter()
                    .map(|&edge| {
                        let share = 2e5 * weight(first, edge, theta) / total;
                        first = edge + 1;
                        share
                    })
                    .collect();
                assert_chi_square(&counts, &expected);
            }
        }
    }
}
