//! What is wrong with a file.

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// `line 12` or `byte 480`.
    pub place: String,
    /// What is wrong.
    pub problem: String,
}

impl Damage {
    pub(crate) fn line(number: u64, problem: impl Into<String>) -> Self {
        Self {
            place: format!("line {number}"),
            problem: problem.into(),
        }
    }

    pub(crate) fn byte(position: u64, problem: impl Into<String>) -> Self {
        Self {
            place: format!("byte {position}"),
            problem: problem.into(),
        }
    }
}
