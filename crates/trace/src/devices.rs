//! Numbers the devices of a trace in the order of their first appearance.

use std::collections::HashMap;

/// The names of devices and their numbers.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    names: Vec<String>,
    numbers: HashMap<Vec<u8>, u32>,
    last: Option<(Vec<u8>, u32)>,
}

impl Devices {
    /// Returns the number of a device. Most requests are to the device of the request before.
    pub(crate) fn number(&mut self, name: &[u8]) -> u32 {
        if let Some((last, number)) = &self.last
            && last == name
        {
            return *number;
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(String::from_utf8_lossy(name).into_owned());
                self.numbers.insert(name.to_vec(), number);
                number
            }
        };
        self.last = Some((name.to_vec(), number));
        number
    }

    /// Returns the names in the order of their numbers.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}
