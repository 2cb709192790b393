//! Numbers in the text of traces, exactly: no floating point.

/// Returns how far a decimal number is above `origin`, times `unit`, rounded down. `None` for other text, or a result
/// that does not fit. `1.5` above 1, times 1000, is 500.
pub(crate) fn scaled(text: &[u8], unit: i64, origin: i64) -> Option<i64> {
    let (units, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    if units.is_empty() && fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let unit = i128::from(unit);
    let mut value = (i128::from(integer(units)?) - i128::from(origin)) * unit;
    // Digits behind the 18th change no whole number of nanoseconds.
    let digits = &fraction[..fraction.len().min(18)];
    if !digits.is_empty() {
        value += i128::from(integer(digits)?) * unit / 10i128.pow(digits.len() as u32);
    }
    i64::try_from(value).ok()
}

/// Returns a non-negative whole number; `None` for other text or one that does not fit. Nothing is 0.
pub(crate) fn integer(text: &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Returns text without the spaces around it, and without quotes around that.
pub(crate) fn trimmed(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    match text {
        [b'"', inner @ .., b'"'] => inner,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(scaled(b"1.5", 1000, 0), Some(1500));
        assert_eq!(scaled(b"0.000000001", 1_000_000_000, 0), Some(1));
        assert_eq!(scaled(b".25", 1_000_000_000, 0), Some(250_000_000));
        assert_eq!(scaled(b"7.", 10, 5), Some(20));
        for wrong in ["", ".", "-1", "1e3", "1.2.3", "1.x", "99999999999999999999"] {
            assert_eq!(scaled(wrong.as_bytes(), 1, 0), None, "{wrong}");
        }
    }

    #[test]
    fn a_time_of_windows_fits_from_its_origin() {
        // Ticks of 100 ns since 1601. The MSR traces begin in February 2007.
        let origin = 116_444_736_000_000_000;
        let unix_ns = scaled(b"128166372003061629", 100, origin);
        assert_eq!(unix_ns, Some(1_172_163_600_306_162_900));
        assert_eq!(scaled(b"128166372003061629", 100, 0), None);
    }

    proptest! {
        #[test]
        fn integers_are_those_of_the_standard_library(value: u64) {
            prop_assert_eq!(integer(value.to_string().as_bytes()), Some(value));
        }
    }
}
