//! Goodness of fit. Seeds are fixed, so a test always passes or always fails. One in ten thousand correct generators
//! would miss a threshold.

/// Two-sided: a fit that is too good is as suspicious as a bad one.
const LIMIT: f64 = 3.9;
/// Expected counts below this are too few for the statistic to follow chi-square.
const SMALLEST_CLASS: f64 = 10.0;

/// Asserts by Pearson's chi-square that `counts` come from a distribution that expects `expected` of them. Pools
/// classes with small expectations.
#[track_caller]
pub(in crate::generate) fn assert_chi_square(counts: &[u64], expected: &[f64]) {
    assert_eq!(counts.len(), expected.len());
    let drawn: u64 = counts.iter().sum();
    let total: f64 = expected.iter().sum();
    assert!(
        (total / drawn as f64 - 1.0).abs() < 1e-6,
        "{drawn} drawn, {total} expected"
    );
    let mut classes: Vec<(f64, f64)> = Vec::new();
    let mut open = false;
    for (drawn, mean) in counts.iter().zip(expected) {
        match classes.last_mut() {
            Some(class) if open => *class = (class.0 + *drawn as f64, class.1 + mean),
            _ => classes.push((*drawn as f64, *mean)),
        }
        open = classes.last().is_some_and(|class| class.1 < SMALLEST_CLASS);
    }
    if open && classes.len() > 1 {
        let rest = classes.pop().expect("there are two");
        let class = classes.last_mut().expect("there is one");
        *class = (class.0 + rest.0, class.1 + rest.1);
    }
    if classes.len() < 2 {
        return;
    }
    let statistic: f64 = classes
        .iter()
        .map(|(count, mean)| (count - mean) * (count - mean) / mean)
        .sum();
    let freedom = (classes.len() - 1) as f64;
    // Wilson and Hilferty: the cube root of a chi-square over its degrees of freedom is nearly normal.
    let variance = 2.0 / (9.0 * freedom);
    let z = (libm::cbrt(statistic / freedom) - (1.0 - variance)) / variance.sqrt();
    assert!(
        z.abs() < LIMIT,
        "chi-square {statistic:.1} with {freedom} degrees of freedom: {z:.2} sigma"
    );
}

/// Asserts that all counts come from equally likely classes.
#[track_caller]
pub(in crate::generate) fn assert_uniform(counts: &[u64]) {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    assert_chi_square(counts, &vec![mean; counts.len()]);
}

/// Asserts by Kolmogorov-Smirnov that the sample comes from the given distribution function.
#[track_caller]
pub(in crate::generate) fn assert_distributed(mut sample: Vec<f64>, below: impl Fn(f64) -> f64) {
    sample.sort_unstable_by(f64::total_cmp);
    let size = sample.len() as f64;
    let distance = sample
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let expected = below(*value);
            (expected - index as f64 / size)
                .abs()
                .max((expected - (index + 1) as f64 / size).abs())
        })
        .fold(0.0, f64::max);
    // P(distance * sqrt(size) > 2.22) = 2 exp(-2 * 2.22^2) = 0.0001.
    let scaled = distance * size.sqrt();
    assert!(scaled < 2.22, "distance {distance:.5}, scaled {scaled:.2}");
}
