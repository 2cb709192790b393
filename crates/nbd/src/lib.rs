//! Serves a drive model to other programs by NBD: they wait as long as the model says, times a factor.
//!
//! A request reaches the drive at its virtual arrival, and its reply leaves when real time has come as far. Programs on
//! a shared machine sleep and wake within tens of microseconds, longer than a fast drive takes. So time is dilated, and
//! what a program measures is divided by the factor again. The remaining bias is measured at the start.
//!
//! One thread owns drive, data and connections. What a client can make it hold is bounded, whatever the client sends:
//! see [`Limits`]. The data is real: reads return what was written.
//!
//! It has no TLS, no structured replies and only one export. The caller catches signals.
//!
//! Source: doc/proto.md in github.com/NetworkBlockDevice/nbd.

#![forbid(unsafe_code)]

mod bias;
pub mod client;
mod connection;
mod error;
mod line;
mod listen;
mod pace;
pub mod protocol;
mod reactor;
mod server;
pub mod store;
mod summary;
mod timely;
mod transport;

pub use bias::{Bias, MOST_BIAS};
pub use error::Error;
pub use listen::Listen;
pub use reactor::Limits;
pub use server::{Config, Server};
pub use summary::Summary;
