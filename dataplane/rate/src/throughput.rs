//! How many bytes a virtual service may move: a bucket of tokens that all workers of an engine share.
//!
//! A worker takes tokens before its connections move bytes. The bucket says from when on it may use them, and never
//! refuses. So workers have their turns in the order in which they asked, and none of them waits for ever.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// A byte at 1 Mbit/s.
const NANOS_PER_BYTE: u64 = 8_000;
/// The burst is what moves in 100 ms.
const BURST_BYTES_PER_MBPS: u64 = 12_500;
const BURST_MIN: u64 = 64 * 1024;
/// What a worker takes at once. Little, so that others have their turn soon, but not so little that calls cost more than
/// the bytes.
const TAKEN_MIN: u64 = 4 * 1024;
const TAKEN_MAX: u64 = 256 * 1024;

/// A bucket of a rate that may change.
#[derive(Debug)]
pub struct Bucket {
    /// In Mbit/s; at least 1.
    mbps: AtomicU64,
    /// When all tokens that were taken will have come in, in nanoseconds.
    due: AtomicU64,
}

impl Bucket {
    pub fn new(mbps: u64) -> Self {
        Self { mbps: mbps.max(1).into(), due: AtomicU64::default() }
    }

    /// Has another rate from now on.
    pub fn change(&self, mbps: u64) {
        self.mbps.store(mbps.max(1), Relaxed);
    }

    /// Takes tokens. They may be used from the returned time on. `now` is in nanoseconds, as the returned time.
    fn take(&self, bytes: u64, now: u64) -> u64 {
        let mbps = self.mbps.load(Relaxed);
        let (time, burst) = (span(bytes, mbps), span(burst_bytes(mbps), mbps));
        let before = self.due.fetch_update(Relaxed, Relaxed, |due| Some(due.max(now).saturating_add(time)));
        before.unwrap_or_default().max(now).saturating_sub(burst).max(now)
    }

    /// Gives tokens back that nobody has used.
    fn give_back(&self, bytes: u64) {
        let time = span(bytes, self.mbps.load(Relaxed));
        let _ = self.due.fetch_update(Relaxed, Relaxed, |due| Some(due.saturating_sub(time)));
    }

    fn taken_at_once(&self) -> u64 {
        (burst_bytes(self.mbps.load(Relaxed)) / 16).clamp(TAKEN_MIN, TAKEN_MAX)
    }
}

fn span(bytes: u64, mbps: u64) -> u64 {
    bytes.saturating_mul(NANOS_PER_BYTE).div_ceil(mbps)
}

fn burst_bytes(mbps: u64) -> u64 {
    mbps.saturating_mul(BURST_BYTES_PER_MBPS).max(BURST_MIN)
}

/// The tokens of one worker.
#[derive(Debug)]
pub struct Ration {
    bucket: Arc<Bucket>,
    /// Tokens to be used now. Less than 0: more bytes have moved than it had, and it takes the more next time.
    left: i64,
    /// Tokens to be used later; 0: none.
    coming: u64,
    /// When.
    comes_at: u64,
}

impl Ration {
    pub fn of(bucket: Arc<Bucket>) -> Self {
        Self { bucket, left: 0, coming: 0, comes_at: 0 }
    }

    pub fn is_of(&self, bucket: &Arc<Bucket>) -> bool {
        Arc::ptr_eq(&self.bucket, bucket)
    }

    /// How many bytes may move now. `Err`: none before that time. `now` is in nanoseconds.
    pub fn ask(&mut self, now: u64) -> Result<u64, u64> {
        loop {
            if let Ok(left @ 1..) = u64::try_from(self.left) {
                return Ok(left);
            }
            if self.coming == 0 {
                self.coming = self.bucket.taken_at_once() + self.left.unsigned_abs();
                self.comes_at = self.bucket.take(self.coming, now);
            }
            if self.comes_at > now {
                return Err(self.comes_at);
            }
            self.left = self.left.saturating_add_unsigned(std::mem::take(&mut self.coming));
        }
    }

    /// So many bytes have moved.
    pub fn spend(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub_unsigned(bytes);
    }
}

impl Drop for Ration {
    fn drop(&mut self) {
        let unused = self.left.saturating_add_unsigned(self.coming);
        self.bucket.give_back(unused.try_into().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    /// How many bytes a worker moves until `until` if it asks each millisecond and moves at most `piece` at once.
    fn moved(ration: &mut Ration, from: u64, until: u64, piece: u64) -> u64 {
        let mut bytes = 0;
        for now in (from..until).step_by(MS as usize) {
            while let Ok(left) = ration.ask(now) {
                let piece = piece.min(left);
                ration.spend(piece);
                bytes += piece;
            }
        }
        bytes
    }

    #[test]
    fn bytes_move_at_the_rate_behind_a_burst() {
        for (mbps, burst) in [(1, 65_536), (8, 100_000), (100, 1_250_000), (10_000, 125_000_000)] {
            let bucket = Arc::new(Bucket::new(mbps));
            let rate = mbps * 125_000;
            let bytes = moved(&mut Ration::of(bucket.clone()), S, 11 * S, 9_000);
            let (least, most) = (10 * rate + burst - rate / 50, 10 * rate + burst + 2 * bucket.taken_at_once());
            assert!((least..=most).contains(&bytes), "{mbps} Mbit/s: {bytes}, not {least} to {most}");
        }
    }

    #[test]
    fn pause_saves_no_more_than_the_burst() {
        let mut ration = Ration::of(Arc::new(Bucket::new(8)));
        moved(&mut ration, S, 2 * S, 1_000);
        let at_once = moved(&mut ration, 60 * S, 60 * S + 1, 1_000);
        assert!((100_000..=100_000 + 2 * 6_250).contains(&at_once), "{at_once}");
    }

    #[test]
    fn workers_share_evenly_and_in_order() {
        let bucket = Arc::new(Bucket::new(8));
        let mut rations: Vec<_> = (0..3).map(|_| Ration::of(bucket.clone())).collect();
        let mut bytes = [0_u64; 3];
        for now in (S..11 * S).step_by(MS as usize) {
            for (ration, bytes) in rations.iter_mut().zip(&mut bytes) {
                *bytes += moved(ration, now, now + 1, 5_000);
            }
        }
        let total: u64 = bytes.iter().sum();
        assert!((10_000_000..10_250_000).contains(&total), "{total}");
        // The first has the burst.
        assert!(bytes.iter().all(|bytes| (3_200_000..=3_600_000).contains(bytes)), "{bytes:?}");
    }

    #[test]
    fn what_moves_beyond_a_ration_is_taken_next_time() {
        let mut ration = Ration::of(Arc::new(Bucket::new(8)));
        assert_eq!(ration.ask(S), Ok(6_250));
        ration.spend(1_000_000);
        assert_eq!(ration.ask(S), Ok(6_250), "the burst");
        ration.spend(6_250);
        assert_eq!(ration.ask(S), Err(S + 906_250 * MS / 1_000));
    }

    #[test]
    fn unused_tokens_go_back() {
        let bucket = Arc::new(Bucket::new(1));
        (0..1_000).for_each(|_| {
            let mut ration = Ration::of(bucket.clone());
            assert!(ration.ask(S).is_ok(), "each moves 10 bytes");
            ration.spend(10);
        });
        assert!(bucket.due.load(Relaxed) <= S + 10_000 * NANOS_PER_BYTE);
    }

    #[test]
    fn limit_changes_for_those_who_have_tokens() {
        let bucket = Arc::new(Bucket::new(1));
        let mut ration = Ration::of(bucket.clone());
        for (mbps, rate) in [(8, 1_000_000), (80, 10_000_000)] {
            bucket.change(mbps);
            let bytes = moved(&mut ration, mbps * S, (mbps + 1) * S, 5_000);
            assert!((rate..rate / 4 * 5).contains(&bytes), "{mbps} Mbit/s: {bytes}");
        }
    }
}
