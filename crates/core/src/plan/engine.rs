//! How requests reach a target: the engine and its settings.

use std::num::NonZeroU32;

use serde::Deserialize;

/// How requests reach the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum EngineKind {
    #[serde(rename = "io_uring")]
    IoUring,
    #[serde(rename = "io_uring_cmd")]
    IoUringCmd,
    Libaio,
    Pvsync2,
    Psync,
    Mmap,
    Posixaio,
    Null,
}

/// fio's `sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum SyncMode {
    None,
    Sync,
    Dsync,
}

/// The engine and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub struct EnginePlan {
    pub kind: EngineKind,
    pub direct: bool,
    pub sync: SyncMode,
    pub hipri: bool,
    pub fixedbufs: bool,
    pub registerfiles: bool,
    pub sqthread_poll: bool,
    pub sqthread_poll_cpu: Option<u32>,
    /// Buffered requests drop their pages from the page cache (RWF_DONTCACHE).
    pub uncached: bool,
    /// Requests fail instead of waiting (RWF_NOWAIT).
    pub nowait: bool,
    /// Writes are not torn by a power failure (RWF_ATOMIC).
    pub atomic: bool,
    /// Most requests of one submission.
    pub submit_batch: NonZeroU32,
    /// Most completions of one reap, positive.
    pub reap_batch: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_of_nothing_is_no_plan() {
        let engine = |submit_batch: u32| {
            let text = format!(
                r#"{{"kind": "null", "direct": false, "sync": "none", "hipri": false, "fixedbufs": false,
                "registerfiles": false, "sqthread_poll": false, "sqthread_poll_cpu": null,
                "uncached": false, "nowait": false, "atomic": false,
                "submit_batch": {submit_batch}, "reap_batch": 1}}"#
            );
            serde_json::from_str::<EnginePlan>(&text)
        };
        assert!(engine(1).is_ok());
        assert!(engine(0).is_err());
    }
}
