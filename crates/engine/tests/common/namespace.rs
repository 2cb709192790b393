//! A block device whose contents may be lost, and the namespace behind it, named by environment variables.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;

use iogauge_core::plan::{FilePlan, NamespacePlan};

use super::BLOCK;

/// The block device of `IOGAUGE_TEST_DEVICE`.
pub struct Device {
    pub file: File,
    pub plan: FilePlan,
    /// The character device of `IOGAUGE_TEST_NAMESPACE`, held open.
    commands: Option<File>,
}

impl Device {
    pub fn block() -> Device {
        let path =
            std::env::var("IOGAUGE_TEST_DEVICE").expect("a block device in IOGAUGE_TEST_DEVICE");
        let file = open(&path);
        let plan = FilePlan {
            path,
            fd: file.as_raw_fd(),
            writable: true,
            is_block_device: true,
            file_bytes: 8 * BLOCK as u64,
            region_offset_bytes: 0,
            region_bytes: 8 * BLOCK as u64,
            namespace: None,
        };
        Device {
            file,
            plan,
            commands: None,
        }
    }

    /// Returns the device with a plan for commands.
    pub fn namespace() -> Device {
        let mut device = Device::block();
        let path = std::env::var("IOGAUGE_TEST_NAMESPACE").expect("its character device");
        let name = device.plan.path.rsplit('/').next().unwrap();
        let number = |attribute: &str| -> u32 {
            let text =
                std::fs::read_to_string(format!("/sys/class/block/{name}/{attribute}")).unwrap();
            text.trim().parse().unwrap()
        };
        let commands = open(&path);
        device.plan.namespace = Some(NamespacePlan {
            fd: commands.as_raw_fd(),
            nsid: number("nsid"),
            block_bytes: number("queue/logical_block_size"),
            largest_bytes: 1024 * number("queue/max_hw_sectors_kb"),
        });
        device.commands = Some(commands);
        device
    }
}

fn open(path: &str) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap()
}
