//! Cuts pieces of a binary file into records, wherever the pieces end.

/// What was read of a record that is not complete, and where it begins.
#[derive(Debug, Default)]
pub(crate) struct Records {
    rest: Vec<u8>,
    position: u64,
}

impl Records {
    /// Calls `read` with the bytes from a record on and its place in the file. It returns the record's length, or `None`
    /// if it needs more bytes.
    pub(crate) fn feed<E>(
        &mut self,
        bytes: &[u8],
        mut read: impl FnMut(u64, &[u8]) -> Result<Option<usize>, E>,
    ) -> Result<(), E> {
        let mut bytes = bytes;
        // Completes the record that the last piece began, in as few bytes as it takes.
        while !self.rest.is_empty() && !bytes.is_empty() {
            let kept = self.rest.len();
            let more = bytes.len().min(kept.max(64));
            self.rest.extend_from_slice(&bytes[..more]);
            if let Some(length) = read(self.position, &self.rest)? {
                self.position += length as u64;
                self.rest.clear();
                bytes = &bytes[length - kept..];
            } else {
                bytes = &bytes[more..];
            }
        }
        while let Some(length) = read(self.position, bytes)? {
            self.position += length as u64;
            bytes = &bytes[length..];
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns where a record begins that the file does not complete.
    pub(crate) fn cut(&self) -> Option<u64> {
        (!self.rest.is_empty()).then_some(self.position)
    }
}
