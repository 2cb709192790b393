//! Which of several equal places, such as dies or channels, a piece of the drive's capacity is on.

/// Returns the place of a piece of data that was written in order: neighbours are on neighbouring places, and each
/// round over all places begins at another one, so that no stride stays on one place.
#[inline]
pub(super) fn striped(piece: u64, places: u64) -> u32 {
    // A division of 64 bits takes several times as long as one of 32.
    let (round, place) = match (u32::try_from(piece), u32::try_from(places)) {
        (Ok(piece), Ok(places)) => (u64::from(piece / places), u64::from(piece % places)),
        _ => (piece / places, piece % places),
    };
    let hash = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let place = place + ((hash * places) >> 32);
    (if place >= places {
        place - places
    } else {
        place
    }) as u32
}

/// Returns the place of a piece of data that was written at random: a hash of the piece.
#[inline]
pub(super) fn scattered(piece: u64, places: u64) -> u32 {
    // The finalizer of splitmix64.
    let hash = (piece ^ (piece >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let hash = hash ^ (hash >> 31);
    (((hash >> 32) * places) >> 32) as u32
}
