//! Serves a drive model to other programs by NBD. Requests take as long as the model says, times a factor.
//!
//! A request arrives at the drive in virtual time, and its reply is sent when real time reaches its virtual end. On a
//! shared machine, a sleeping program takes tens of microseconds to wake, longer than a fast drive takes for a request.
//! So time is dilated by a factor, by which a program's measurements must be divided. The remaining bias is measured at
//! the start.
//!
//! One thread owns drive, data and connections. Its memory is bounded, whatever clients send: see [`Limits`]. The data
//! is real: reads return what was written, unless [`faults`] are asked for.
//!
//! It has no TLS, no structured replies and only one export. Handling signals is left to the caller.
//!
//! Source: doc/proto.md in github.com/NetworkBlockDevice/nbd.

#![forbid(unsafe_code)]

mod bias;
pub mod client;
mod connection;
mod disk;
mod error;
pub mod faults;
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
