//! Compares both stores with a plain vector, and checks their refusals.

use std::fs::File;
use std::path::Path;

use proptest::prelude::*;

use super::{FileStore, MemoryStore, Store};
use crate::error::Error;
use crate::protocol::wire::Refusal;

const SIZE: usize = 64 << 10;

/// Opens a file of this size, and creates it if it is missing.
fn sized(path: &Path, size_bytes: u64) -> File {
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false);
    let file = file.open(path).unwrap();
    file.set_len(size_bytes).unwrap();
    file
}

#[derive(Clone, Debug)]
enum Op {
    Write(usize, usize, u8),
    Zero(usize, usize, bool),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let range = (0..SIZE, 0..SIZE).prop_map(|(a, b)| (a.min(b), a.max(b) + 1));
    let write = (range.clone(), 1u8..).prop_map(|((from, to), byte)| Op::Write(from, to, byte));
    let zero = (range, any::<bool>()).prop_map(|((from, to), hold)| Op::Zero(from, to, hold));
    prop::collection::vec(prop_oneof![write, zero], 1..20)
}

fn agrees(store: &mut dyn Store, ops: &[Op]) {
    let mut plain = vec![0u8; SIZE];
    for op in ops {
        match *op {
            Op::Write(from, to, byte) => {
                plain[from..to].fill(byte);
                store.write(from as u64, &plain[from..to]).unwrap();
            }
            Op::Zero(from, to, provision) => {
                plain[from..to].fill(0);
                store
                    .zero(from as u64, (to - from) as u32, provision)
                    .unwrap();
            }
        }
        let mut seen = vec![0xee; SIZE];
        store.read(0, &mut seen).unwrap();
        assert!(seen == plain);
    }
}

proptest! {
    #[test]
    fn both_stores_equal_a_vector(ops in ops()) {
        agrees(&mut MemoryStore::new(SIZE as u64), &ops);
        let place = tempfile::tempdir().unwrap();
        let file = sized(&place.path().join("data"), SIZE as u64);
        agrees(&mut FileStore::new(file, SIZE as u64, false).unwrap(), &ops);
    }
}

#[test]
fn memory_holds_no_more_than_its_limit() {
    let mut store = MemoryStore::new(8192);
    store.write(1 << 40, &[1; 8192]).unwrap();
    assert_eq!(store.write(0, &[1; 512]), Err(Refusal::NoSpace));
    assert_eq!(store.zero(0, 4096, true), Err(Refusal::NoSpace));
    store.zero(0, u32::MAX, false).unwrap();
    store.write(1 << 40, &[2; 8192]).unwrap();
    assert_eq!(store.held_bytes(), 8192);
    // After a trim it has room again.
    store.zero(1 << 40, 4096, false).unwrap();
    store.write(0, &[1; 512]).unwrap();
    assert_eq!(store.held_bytes(), 8192);
}

#[test]
fn a_file_is_sparse_kept_and_served_once() {
    use std::os::unix::fs::MetadataExt;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    let size = 1 << 30;
    let mut store = FileStore::new(sized(&path, size), size, false).unwrap();
    store.write(size - 512, &[7; 512]).unwrap();
    assert!(std::fs::metadata(&path).unwrap().blocks() * 512 < 1 << 20);
    let refused = FileStore::new(sized(&path, size), size, false).unwrap_err();
    assert!(matches!(refused, Error::Data { .. }), "{refused}");
    assert!(refused.hint().unwrap().contains("another server"));
    drop(store);
    let mut bytes = [0; 512];
    let again = FileStore::new(sized(&path, size), size, false).unwrap();
    again.read(size - 512, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 512]);
}

#[test]
fn a_file_of_another_size_holds_other_data() {
    let place = tempfile::tempdir().unwrap();
    let file = sized(&place.path().join("data"), 1024);
    let refused = FileStore::new(file, 512, false).unwrap_err();
    assert!(matches!(refused, Error::DataSize { .. }), "{refused}");
    assert!(refused.hint().unwrap().contains("new file"));
}
