//! Files that Python has opened. Python alone decides which may be written, so the core gets no path to write to.

use std::fs::{File, OpenOptions};

use pyo3::prelude::*;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Append,
}

/// Opens the file behind a descriptor anew.
pub(crate) fn reopen(descriptor: Option<i32>, access: Access) -> PyResult<Option<File>> {
    let open = |number| {
        OpenOptions::new()
            .read(access != Access::Append)
            .write(access == Access::Write)
            .append(access == Access::Append)
            .open(format!("/proc/self/fd/{number}"))
    };
    Ok(descriptor.map(open).transpose()?)
}
