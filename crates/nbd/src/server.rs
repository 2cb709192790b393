//! A drive model, ready to be served.

use std::fs::File;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iogauge_model::{Device, DriveSpec};

use serde::Deserialize;

use crate::bias::{Bias, MOST_BIAS};
use crate::disk::Disk;
use crate::error::Error;
use crate::faults::{Faults, Faulty};
use crate::listen::{Listen, Listener};
use crate::pace;
use crate::protocol::{Export, SECTOR};
use crate::reactor::{Limits, Reactor};
use crate::store::{FileStore, MemoryStore, Store};
use crate::summary::Summary;
use crate::timely::Timely;
use crate::transport;

/// Most bytes of an export's name.
const LONGEST_NAME: usize = 255;

/// How to serve a model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where clients connect.
    pub listen: Listen,
    /// The export's name, at most 255 bytes. The empty name always means the same export.
    pub name: String,
    /// Bytes of the export, a multiple of 512; `None`: the drive's capacity.
    pub size_bytes: Option<u64>,
    /// Most bytes of data in memory, in pages of 4 KiB, if there is no file. Further writes fail for lack of space.
    pub memory_bytes: u64,
    /// Real nanoseconds for each nanosecond of the drive.
    pub dilate: NonZeroU32,
    /// Whether writes and trims are refused.
    pub read_only: bool,
    /// What goes wrong; `None`: nothing, and nothing is volatile.
    pub faults: Option<Faults>,
    /// Limits on clients.
    #[serde(skip)]
    pub limits: Limits,
}

impl Config {
    /// Creates a configuration that serves all of a drive, with up to 1 GiB of data in memory, a hundred times slower
    /// than the model.
    pub fn new(listen: Listen, name: impl Into<String>) -> Self {
        Self {
            listen,
            name: name.into(),
            size_bytes: None,
            memory_bytes: 1 << 30,
            dilate: NonZeroU32::new(100).expect("a hundred is not zero"),
            read_only: false,
            faults: None,
            limits: Limits::default(),
        }
    }
}

/// A drive model on a socket. Clients may already connect; they are answered once [`Server::serve`] runs.
pub struct Server {
    listener: Listener,
    reactor: Reactor<Device>,
    bias: Bias,
}

impl Server {
    /// Prepares a server and measures its bias, which takes up to half a second. It creates the drive twice: it serves
    /// one, and measures the time of a read on the other. `file` keeps the data, see [`FileStore::new`]; without a
    /// file, memory keeps it.
    ///
    /// # Errors
    /// If the drive's parameters are invalid, the socket or the data cannot be created, or the bias is too large.
    pub fn bind(
        config: &Config,
        spec: &DriveSpec,
        seed: u64,
        file: Option<File>,
    ) -> Result<Self, Error> {
        let make = || Device::new(spec, seed).map_err(|cause| Error::Model { cause });
        let drive = make()?;
        let capacity_bytes = drive.capacity_bytes();
        let size_bytes = config.size_bytes.unwrap_or(capacity_bytes);
        let in_sectors = size_bytes.is_multiple_of(SECTOR.into());
        if !in_sectors || size_bytes == 0 || size_bytes > capacity_bytes {
            return Err(Error::Size {
                size_bytes,
                capacity_bytes,
            });
        }
        if config.name.len() > LONGEST_NAME {
            return Err(Error::Name {
                length: config.name.len(),
            });
        }
        let listener = Listener::bind(&config.listen)?;
        let dilate = config.dilate.get();
        let spin = pace::lateness_of_polls();
        let bias = transport::measure(make()?, size_bytes, dilate, &config.listen, spin)?;
        if bias.fraction > MOST_BIAS {
            return Err(Error::TooBiased {
                bias,
                dilate,
                enough: bias.enough(MOST_BIAS),
            });
        }
        let store: Box<dyn Store> = match file {
            None => Box::new(MemoryStore::new(config.memory_bytes)),
            Some(file) => Box::new(FileStore::new(file, size_bytes, config.read_only)?),
        };
        let disk = match &config.faults {
            None => Disk::Sound(store),
            Some(faults) => Disk::Faulty(Box::new(Faulty::new(store, size_bytes, faults))),
        };
        let export = Arc::new(Export {
            name: config.name.clone(),
            size_bytes,
            read_only: config.read_only,
            most_payload: disk.most_payload(),
        });
        let reactor = Reactor {
            drive: Timely::new(drive),
            queue: spec.link.queue(),
            disk,
            injections: None,
            power_switch: Arc::default(),
            export,
            limits: config.limits,
            dilate,
            spin,
        };
        Ok(Self {
            listener,
            reactor,
            bias,
        })
    }

    /// Writes the faults to a file as they happen: a JSON object a line, see [`Injected`](crate::faults::Injected).
    pub fn note_faults(&mut self, file: File) {
        self.reactor.injections = Some(file);
    }

    /// Returns the switch that cuts the power when it is set. It is noticed within 50 ms.
    pub fn power_switch(&self) -> Arc<AtomicBool> {
        self.reactor.power_switch.clone()
    }

    /// Returns the measured bias.
    pub fn bias(&self) -> Bias {
        self.bias
    }

    /// Returns the export.
    pub fn export(&self) -> &Export {
        &self.reactor.export
    }

    /// Returns the TCP address, whose port the kernel may have chosen; `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.address()
    }

    /// Serves until `stop` is set, which it notices within 50 ms. Then it closes the connections and removes the
    /// socket. Virtual time begins with the call.
    ///
    /// # Errors
    /// If waiting for clients fails.
    pub fn serve(mut self, stop: &AtomicBool) -> Result<Summary, Error> {
        self.reactor.serve(Some(&self.listener), Vec::new(), stop)
    }
}
