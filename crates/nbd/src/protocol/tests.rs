//! The session fed with good, bad and broken bytes.
