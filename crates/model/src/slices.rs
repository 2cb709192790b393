//! The slices of one worker's recorder, on their way between the recorder and the account of its stage.

use std::cell::RefCell;
use std::collections::VecDeque;

use iogauge_core::recorder::{Handover, Slice, SliceSource};

#[derive(Debug, Default)]
struct Exchange {
    full: VecDeque<Box<Slice>>,
    empty: VecDeque<Box<Slice>>,
}

/// Full slices on their way out, and empty ones to replace them.
#[derive(Debug, Default)]
pub(crate) struct Slices(RefCell<Exchange>);

impl SliceSource for Slices {
    fn next_full(&self) -> Option<Box<Slice>> {
        self.0.borrow_mut().full.pop_front()
    }

    fn give_back(&self, slice: Box<Slice>) {
        self.0.borrow_mut().empty.push_back(slice);
    }
}

impl Handover for Slices {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        let exchange = &mut *self.0.borrow_mut();
        let spare = exchange.empty.pop_front();
        let next = spare.unwrap_or_else(|| Box::new(slice.touched()));
        exchange.full.push_back(std::mem::replace(slice, next));
        true
    }
}
