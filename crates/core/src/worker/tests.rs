//! The worker over virtual time, against a simulated target: no engine, no thread, no clock.

mod burst;
mod depth;
mod depth_search;
mod ends;
mod flowing;
mod invariants;
mod limits;
mod max_latency;
mod ranges;
mod replaying;
mod scheduled;
mod sim;
mod stalls;
mod thinking;
mod verifying;
