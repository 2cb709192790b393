//! A value of one thread that another thread can take away while the owner is inside a call that may never return.
//!
//! The owner holds a [`Guard`] except during such a call. Acquiring and releasing it costs two plain stores: the
//! owner's side of the barrier is free, and the revoking side pays for both.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::run::barrier::Light;

/// A cell whose value another thread can take away from its owner.
#[derive(Debug)]
pub struct Revocable<T> {
    /// Whether the owner has the value or is about to see that it was revoked.
    held: AtomicBool,
    revoked: AtomicBool,
    barrier: Light,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through `Guard` and `revoke`. Each sets its own flag, passes the barrier, and
// continues only if the other's flag is not set. The barrier makes at least one of the two see the other's flag.
unsafe impl<T: Send> Sync for Revocable<T> {}

impl<T> Revocable<T> {
    /// Creates a cell whose value is not held yet.
    pub fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            revoked: AtomicBool::new(false),
            barrier: Light::get(),
            value: UnsafeCell::new(value),
        }
    }

    /// Acquires the value, unless it was revoked. Only the owner may call it, and only without another guard.
    #[inline]
    pub fn acquire(&self) -> Option<Guard<'_, T>> {
        self.held.store(true, Ordering::Relaxed);
        self.barrier.pass();
        if self.revoked.load(Ordering::Relaxed) {
            self.held.store(false, Ordering::Release);
            return None;
        }
        Some(Guard { cell: self })
    }

    /// Takes the value for ever. Returns `None` if its owner holds it now; the caller may then try again.
    #[allow(clippy::mut_from_ref)] // `revoked` stays set once this has succeeded, so it succeeds only once.
    pub fn revoke(&self) -> Option<&mut T> {
        if self.revoked.swap(true, Ordering::AcqRel) {
            return None;
        }
        self.barrier.heavy();
        if self.held.load(Ordering::Acquire) {
            self.revoked.store(false, Ordering::Release);
            return None;
        }
        // SAFETY: the owner does not hold the value, and will see `revoked` before it acquires the value again.
        Some(unsafe { &mut *self.value.get() })
    }
}

/// Gives its owner the value until it is dropped.
#[derive(Debug)]
pub struct Guard<'a, T> {
    cell: &'a Revocable<T>,
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.cell.held.store(false, Ordering::Release);
    }
}

impl<T> std::ops::Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value cannot be revoked while a `Guard` lives, so no other reference to it exists.
        unsafe { &*self.cell.value.get() }
    }
}

impl<T> std::ops::DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { &mut *self.cell.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_revoked_only_between_two_guards_and_only_once() {
        let cell = Revocable::new(1);
        let mut guard = cell.acquire().unwrap();
        *guard = 2;
        assert_eq!(cell.revoke(), None);
        drop(guard);
        assert_eq!(
            cell.acquire().as_deref(),
            Some(&2),
            "a try leaves it to its owner"
        );
        assert_eq!(cell.revoke(), Some(&mut 2));
        assert_eq!(cell.revoke(), None);
        assert!(cell.acquire().is_none());
    }
}
