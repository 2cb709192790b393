//! Checks what was read on threads of its own, so that the worker goes on issuing: fio's `verify_async`.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iogauge_core::plan::WorkerPlan;
use iogauge_core::results::VerifyResult;
use iogauge_core::{Completion, Request};

use crate::affinity;
use crate::engines::content::Content;
use crate::engines::verify::Verifier;
use crate::error::Error;

/// A read that has returned, and whose data is to be checked.
struct Task {
    request: Request,
    completion: Completion,
    bytes: *mut u8,
}

// SAFETY: the bytes belong to the slot of the request. Nothing else uses them until the check is returned, since the
// worker keeps the slot until then.
unsafe impl Send for Task {}

/// A read whose data was checked.
#[derive(Debug)]
pub struct Checked {
    /// What was read.
    pub request: Request,
    /// How it returned.
    pub completion: Completion,
    /// What the check found; `None` if the thread that checked it panicked.
    pub result: Option<VerifyResult>,
}

/// Threads that check the reads of one worker.
#[derive(Debug)]
pub(crate) struct Pool {
    /// `None` once the threads are to end.
    tasks: Option<SyncSender<Task>>,
    checked: Receiver<Checked>,
    /// What was received while the worker waited.
    next: Option<Checked>,
    /// Reads that were handed over and are not yet taken.
    pending: u32,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts the threads that `plan` asks for; `None` if it asks for none.
    ///
    /// # Errors
    /// If the kernel starts no more threads, or refuses their CPUs.
    pub(crate) fn start(
        plan: &WorkerPlan,
        verifier: &Verifier,
        content: &Content,
    ) -> Result<Option<Self>, Error> {
        let Some(verify) = plan.verify.as_ref().filter(|verify| verify.threads > 0) else {
            return Ok(None);
        };
        let depth = plan.iodepth as usize;
        let (tasks, waiting) = sync_channel::<Task>(depth);
        let (done, checked) = sync_channel(depth);
        let waiting = Arc::new(Mutex::new(waiting));
        let described = Arc::new(AtomicUsize::new(0));
        let mut pool = Self {
            tasks: Some(tasks),
            checked,
            next: None,
            pending: 0,
            threads: Vec::new(),
        };
        for _ in 0..verify.threads {
            let (ready, started) = sync_channel(1);
            let cpus = verify.cpus.clone();
            let checker = Checker {
                verifier: verifier.clone(),
                content: content.clone(),
                waiting: waiting.clone(),
                done: done.clone(),
                described: described.clone(),
            };
            let thread = std::thread::Builder::new()
                .name("iogauge-verify".into())
                .spawn(move || {
                    let placed = affinity::run_on(&cpus);
                    let goes_on = placed.is_ok();
                    let _ = ready.send(placed);
                    if goes_on {
                        checker.work();
                    }
                })
                .map_err(|cause| Error::NoThread {
                    what: "verify_async".into(),
                    cause,
                })?;
            pool.threads.push(thread);
            started.recv().unwrap_or(Err(Error::Thread {
                what: "a thread that verifies ended at once",
            }))?;
        }
        Ok(Some(pool))
    }

    /// Hands a read over to be checked. `bytes` are those of its request, which nothing uses until
    /// [`Pool::take`] returns it.
    pub(crate) fn check(&mut self, request: &Request, completion: &Completion, bytes: *mut u8) {
        let task = Task {
            request: *request,
            completion: *completion,
            bytes,
        };
        let tasks = self.tasks.as_ref().expect("it is not being dropped");
        // There is room for each slot, so that this never waits.
        tasks.send(task).expect("its threads are there");
        self.pending += 1;
    }

    /// Returns a read that was checked, if there is one.
    pub(crate) fn take(&mut self) -> Option<Checked> {
        let checked = self.next.take().or_else(|| self.checked.try_recv().ok())?;
        self.pending -= 1;
        Some(checked)
    }

    /// Returns how many reads are not yet taken.
    pub(crate) fn pending(&self) -> u32 {
        self.pending
    }

    /// Waits until a read is checked, at most for `patience`.
    pub(crate) fn wait(&mut self, patience: Duration) {
        if self.next.is_none() {
            match self.checked.recv_timeout(patience) {
                Ok(checked) => self.next = Some(checked),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// What one thread works with.
struct Checker {
    verifier: Verifier,
    content: Content,
    waiting: Arc<Mutex<Receiver<Task>>>,
    done: SyncSender<Checked>,
    /// How many bad blocks the threads have described.
    described: Arc<AtomicUsize>,
}

impl Checker {
    /// Checks reads until no more come.
    fn work(mut self) {
        loop {
            let next = {
                let waiting = self.waiting.lock();
                waiting.unwrap_or_else(PoisonError::into_inner).recv()
            };
            let Ok(task) = next else { return };
            let (request, completion) = (task.request, task.completion);
            // What a panic leaves behind is not used again: the run ends.
            let result = catch_unwind(AssertUnwindSafe(|| self.check(&task))).ok();
            let checked = Checked {
                request,
                completion,
                result,
            };
            if self.done.send(checked).is_err() {
                return;
            }
        }
    }

    fn check(&mut self, task: &Task) -> VerifyResult {
        let request = &task.request;
        // SAFETY: the bytes are those of the request's slot, as long as the request. The worker reuses the slot only
        // after it has taken the check, and the mapping outlives the pool.
        let buffer =
            unsafe { std::slice::from_raw_parts_mut(task.bytes, request.length_bytes as usize) };
        let described = self.described.load(Ordering::Relaxed);
        self.verifier.describes = described < VerifyResult::MOST_DESCRIBED;
        let mut result = VerifyResult::default();
        let verifier = &mut self.verifier;
        verifier.check(buffer, request, &self.content, &mut result);
        self.described
            .fetch_add(result.mismatches.len(), Ordering::Relaxed);
        result
    }
}
