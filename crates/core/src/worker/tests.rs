//! The worker over virtual time, against a simulated target: no engine, no thread, no clock.

mod burst;
mod depth;
mod ends;
mod invariants;
mod limits;
mod scheduled;
mod sim;
mod stalls;
mod thinking;
