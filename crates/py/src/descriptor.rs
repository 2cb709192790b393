//! Files that Python has opened: it alone decides which may be written, so the core is given no path.

use std::fs::{File, OpenOptions};

use pyo3::prelude::*;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Append,
}

/// The file behind a descriptor, opened anew.
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
