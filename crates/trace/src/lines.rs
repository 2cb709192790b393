//! Cuts pieces of a text file into lines, wherever the pieces end.

/// The longest line. No format has lines of more than some hundred bytes; a file without line ends is no such file.
const LONGEST: usize = 1 << 16;

/// What was read of a line that has not ended, and how many lines ended before.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    rest: Vec<u8>,
    ended: u64,
}

impl Lines {
    /// Calls `read` with every line that ends in `bytes`, and its number from 1, until it fails.
    ///
    /// A line has neither its end nor a carriage return before it. Fails with the number of a line that is too long.
    pub(crate) fn feed<E>(
        &mut self,
        mut bytes: &[u8],
        too_long: impl FnOnce(u64) -> E,
        mut read: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.ended += 1;
            if self.rest.is_empty() {
                read(self.ended, without_return(&bytes[..end]))?;
            } else {
                self.rest.extend_from_slice(&bytes[..end]);
                read(self.ended, without_return(&self.rest))?;
                self.rest.clear();
            }
            bytes = &bytes[end + 1..];
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() > LONGEST {
            return Err(too_long(self.ended + 1));
        }
        Ok(())
    }

    /// Calls `read` with the last line, if no line end follows it.
    pub(crate) fn end<E>(
        &mut self,
        read: impl FnOnce(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.rest);
        if line.is_empty() {
            return Ok(());
        }
        self.ended += 1;
        read(self.ended, without_return(&line))
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
