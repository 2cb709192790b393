//! Why a drive model cannot be served, each reason with its remedy.
//!
//! A client's mistakes are not errors here: the server answers them or closes the connection.

use std::io;
use std::net::SocketAddr;

use crate::bias::Bias;

/// Why a model cannot be served. [`Error::hint`] has the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The socket cannot be created.
    #[error("{address}: cannot listen there: {cause}")]
    Listen {
        /// Path or address.
        address: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The path of the socket exists and is not a socket.
    #[error("{path}: exists and is not a socket")]
    NotASocket {
        /// Where.
        path: String,
    },
    /// Another server listens there.
    #[error("{path}: another server listens there")]
    InUse {
        /// Where.
        path: String,
    },
    /// Other machines could reach the address, but the configuration does not allow that.
    #[error("{address}: other machines could reach it")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The drive's parameters are invalid.
    #[error("drive: {cause}")]
    Model {
        /// Which parameter, and why.
        cause: String,
    },
    /// The export's size does not fit the drive.
    #[error(
        "the export's size of {size_bytes} bytes is not a positive multiple of 512 up to the drive's {capacity_bytes}"
    )]
    Size {
        /// The export's size.
        size_bytes: u64,
        /// The drive's.
        capacity_bytes: u64,
    },
    /// The export's name is too long.
    #[error("the export's name is too long: {length} bytes")]
    Name {
        /// Its length.
        length: usize,
    },
    /// The file for the data has another size.
    #[error("the data file has {file_bytes} bytes, but the export has {size_bytes}")]
    DataSize {
        /// The file's.
        file_bytes: u64,
        /// The export's.
        size_bytes: u64,
    },
    /// The file for the data cannot be used.
    #[error("the data file: {cause}")]
    Data {
        /// What the kernel said.
        cause: io::Error,
    },
    /// The log of faults cannot be written.
    #[error("the log of faults: {cause}")]
    Injections {
        /// What the kernel said.
        cause: io::Error,
    },
    /// A program would wait much longer than the model says.
    #[error(
        "at a dilation of {dilate}, a program would see latencies {:.0} % above the model's {} ns a read, because it waits {} ns longer",
        bias.fraction * 100.0, bias.drive_ns, bias.overhead_ns
    )]
    TooBiased {
        /// The bias.
        bias: Bias,
        /// The configured dilation.
        dilate: u32,
        /// A dilation that suffices.
        enough: u32,
    },
    /// A system call failed that should never fail.
    #[error("{call} failed: {cause}")]
    Call {
        /// What failed.
        call: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
}

impl Error {
    /// Returns the remedy.
    ///
    /// ```
    /// let refused = iogauge_nbd::Error::InUse { path: "socket".into() };
    /// assert!(refused.hint().unwrap().contains("another path"));
    /// ```
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Error::Listen { cause, .. } => match cause.kind() {
                io::ErrorKind::NotFound => "make the directory first".into(),
                io::ErrorKind::PermissionDenied => "choose a directory that you may write to".into(),
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => "the path of a socket has at most 107 bytes: choose a shorter one".into(),
                io::ErrorKind::AddrInUse => "choose another port".into(),
                io::ErrorKind::AddrNotAvailable => "name an address of this machine".into(),
                _ => "choose another path or address".into(),
            },
            Error::NotASocket { .. } => "choose another path, or move that file away".into(),
            Error::InUse { .. } => "choose another path, or stop that server".into(),
            Error::NotLoopback { .. } => {
                "use 127.0.0.1 or a Unix socket; or, if every machine that reaches the port may read and write, allow remote clients".into()
            }
            Error::Size { capacity_bytes, .. } => format!("use a size of {capacity_bytes} bytes or less, a multiple of 512"),
            Error::Name { .. } => "use a name of at most 255 bytes".into(),
            Error::DataSize { .. } => "name a new file, or one that held the data of an export of this size".into(),
            Error::Data { cause } => match cause.kind() {
                io::ErrorKind::WouldBlock => "another server uses it: stop that server, or name another file".into(),
                _ => "name another file".into(),
            },
            Error::Injections { .. } => "free some space, or name another file".into(),
            Error::TooBiased { enough, .. } => {
                format!("use a dilation of {enough}, and divide what the program measures by it")
            }
            Error::Model { .. } => "correct the model's file".into(),
            Error::Call { .. } => return None,
        };
        Some(text)
    }
}
