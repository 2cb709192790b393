//! Files as other programs lay them out, and reading them whole or in pieces.

use iogauge_trace::{Damage, Format, Parser, Row};

/// Reads a file in pieces of these lengths, the last of which repeats.
pub fn read(
    format: &str,
    file: &[u8],
    pieces: &[usize],
) -> Result<(Vec<Row>, Vec<String>), Damage> {
    let format: Format = serde_json::from_str(format).unwrap();
    let mut parser = Parser::new(format, false);
    let mut rows = Vec::new();
    let mut rest = file;
    let mut pieces = pieces.iter().copied().cycle();
    while !rest.is_empty() {
        let length = pieces.next().unwrap_or(rest.len()).clamp(1, rest.len());
        parser.feed(&rest[..length], &mut rows)?;
        rest = &rest[length..];
    }
    parser.end(&mut rows)?;
    Ok((rows, parser.devices().to_vec()))
}

/// A record of blktrace: its fields in the kernel's order, and what a driver adds.
pub fn blktrace_record(
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    added: &[u8],
) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407u32.to_le_bytes());
    record.extend(1u32.to_le_bytes()); // sequence
    record.extend(time.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(action.to_le_bytes());
    record.extend(77u32.to_le_bytes()); // process
    record.extend(device.to_le_bytes());
    record.extend(0u32.to_le_bytes()); // CPU
    record.extend(0u16.to_le_bytes()); // error
    record.extend((added.len() as u16).to_le_bytes());
    record.extend(added);
    record
}
