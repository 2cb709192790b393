//! The media of one controller: 3D XPoint, flash, a hard disk, memory.

pub mod disk;
pub mod nand;
mod placement;
pub mod ram;
pub mod xpoint;

use iogauge_core::Nanos;
use serde::{Deserialize, Serialize};

use crate::drive::{Access, Active, Drive, Returned};
use crate::explain::Spent;
use crate::link::Link;
use disk::{Disk, DiskSpec};
use nand::{Nand, NandSpec};
use ram::{Ram, RamSpec};
use xpoint::{Xpoint, XpointSpec};

/// Kind and parameters of the media.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "family", rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum MediaSpec {
    Xpoint(XpointSpec),
    Nand(NandSpec),
    Disk(DiskSpec),
    Ram(RamSpec),
}

impl MediaSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        let checked = match self {
            Self::Xpoint(spec) => spec.check(),
            Self::Nand(spec) => spec.check(),
            Self::Disk(spec) => spec.check(),
            Self::Ram(spec) => spec.check(),
        };
        checked.map_err(|cause| format!("media.{cause}"))
    }
}

/// The media of one controller.
#[derive(Debug)]
pub(crate) enum Media {
    Xpoint(Box<Xpoint>),
    Nand(Box<Nand>),
    Disk(Box<Disk>),
    Ram(Ram),
}

impl Media {
    /// Creates `capacity_bytes` of media behind `link`, at rest.
    pub(crate) fn new(spec: &MediaSpec, capacity_bytes: u64, link: Link, seed: u64) -> Self {
        match spec {
            MediaSpec::Xpoint(spec) => {
                Self::Xpoint(Box::new(Xpoint::new(spec.clone(), link, seed)))
            }
            MediaSpec::Nand(spec) => Self::Nand(Box::new(Nand::new(
                spec.clone(),
                capacity_bytes,
                link,
                seed,
            ))),
            MediaSpec::Disk(spec) => Self::Disk(Box::new(Disk::new(*spec, capacity_bytes, link))),
            MediaSpec::Ram(spec) => Self::Ram(Ram::new(*spec, link)),
        }
    }
}

/// Calls a method on media of any kind.
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

    fn explain(&mut self) {
        for_media!(self, media => media.explain())
    }

    fn is_explained(&self) -> bool {
        for_media!(self, media => media.is_explained())
    }

    fn take_spent(&mut self, ticket: u64, at: Nanos) -> Option<Spent> {
        for_media!(self, media => media.take_spent(ticket, at))
    }
}
