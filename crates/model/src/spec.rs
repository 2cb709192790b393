//! The parameters of a drive model, as in its file.

use serde::{Deserialize, Serialize};

use crate::link::LinkSpec;
use crate::media::MediaSpec;
use crate::power::{PowerSpec, ThermalSpec};

/// A drive model.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Bytes that can be addressed, positive.
    pub capacity_bytes: u64,
    /// Controllers, each with a link and media of its own. The capacity is striped over them; in `[1, 16]`.
    pub controllers: u32,
    /// Bytes of one stripe on one controller, positive.
    pub stripe_bytes: u64,
    /// Most bytes of one command, positive. The host splits larger requests.
    pub max_transfer_bytes: u32,
    /// The link between the host and each controller.
    pub link: LinkSpec,
    /// The media of each controller.
    pub media: MediaSpec,
    /// The power of the entire drive.
    pub power: PowerSpec,
    /// The heat of the entire drive; `None`: it never throttles.
    pub thermal: Option<ThermalSpec>,
}

impl DriveSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        if self.capacity_bytes == 0 {
            return Err("capacity_bytes is 0, not positive".into());
        }
        if !(1..=16).contains(&self.controllers) {
            return Err(format!(
                "controllers is {}, not in [1, 16]",
                self.controllers
            ));
        }
        if self.stripe_bytes == 0 || !self.stripe_bytes.is_multiple_of(4096) {
            let stripe = self.stripe_bytes;
            return Err(format!("stripe_bytes is {stripe}, not a multiple of 4096"));
        }
        if self.max_transfer_bytes < 4096 {
            let most = self.max_transfer_bytes;
            return Err(format!("max_transfer_bytes is {most}, less than 4096"));
        }
        self.link.check()?;
        self.media.check()?;
        self.power.check()?;
        self.thermal.as_ref().map_or(Ok(()), ThermalSpec::check)
    }

    /// Returns the bytes of each controller's media, in entire stripes. Some controllers may not fill the last one.
    pub(crate) fn controller_bytes(&self) -> u64 {
        let row = self.stripe_bytes * u64::from(self.controllers);
        match self.controllers {
            1 => self.capacity_bytes,
            _ => self.capacity_bytes.div_ceil(row) * self.stripe_bytes,
        }
    }
}
