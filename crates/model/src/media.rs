//! What stores the data of one controller.

use iogauge_core::Nanos;
use iogauge_core::generate::child_seed;

use crate::disk::Disk;
use crate::drive::{Access, Active, Drive, Returned};
use crate::link::Link;
use crate::nand::Nand;
use crate::ram::Ram;
use crate::spec::{DriveSpec, MediaSpec};
use crate::xpoint::Xpoint;

/// See the module's text.
#[derive(Debug)]
pub(crate) enum Media {
    Xpoint(Box<Xpoint>),
    Nand(Box<Nand>),
    Disk(Box<Disk>),
    Ram(Ram),
}

impl Media {
    /// The media of one controller of a drive, at rest.
    pub(crate) fn new(drive: &DriveSpec, controller: u32, seed: u64) -> Self {
        let link = Link::new(&drive.link);
        let seed = child_seed(seed, u64::from(controller));
        // Whole stripes: the last row of them may be one that not all controllers fill.
        let row = drive.stripe_bytes * u64::from(drive.controllers);
        let capacity = match drive.controllers {
            1 => drive.capacity_bytes,
            _ => drive.capacity_bytes.div_ceil(row) * drive.stripe_bytes,
        };
        match &drive.media {
            MediaSpec::Xpoint(spec) => {
                Self::Xpoint(Box::new(Xpoint::new(spec.clone(), link, seed)))
            }
            MediaSpec::Nand(spec) => {
                Self::Nand(Box::new(Nand::new(spec.clone(), capacity, link, seed)))
            }
            MediaSpec::Disk(spec) => Self::Disk(Box::new(Disk::new(*spec, capacity, link))),
            MediaSpec::Ram(spec) => Self::Ram(Ram::new(*spec, link)),
        }
    }
}

/// Calls a method of the media, whatever they are.
macro_rules! for_media {
    ($media:expr, $inner:ident => $call:expr) => {
        match $media {
            Media::Xpoint($inner) => $call,
            Media::Nand($inner) => $call,
            Media::Disk($inner) => $call,
            Media::Ram($inner) => $call,
        }
    };
}

impl Drive for Media {
    #[inline]
    fn submit(&mut self, now: Nanos, access: Access) -> Option<Nanos> {
        for_media!(self, media => media.submit(now, access))
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        for_media!(self, media => media.next_event())
    }

    fn advance(&mut self, now: Nanos, returned: &mut Vec<Returned>) {
        for_media!(self, media => media.advance(now, returned))
    }

    fn volatile(&self) -> bool {
        for_media!(self, media => media.volatile())
    }

    #[inline]
    fn active(&self) -> Active {
        for_media!(self, media => media.active())
    }
}
