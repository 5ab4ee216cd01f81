//! How long a worker needs for a batch: from when its events were ready until all that it has to send is sent. Every client
//! of the worker waits that long at most.

use std::time::Duration;

#[derive(Default)]
pub struct Pace {
    total: Duration,
    /// Since it was told last.
    longest: Duration,
}

impl Pace {
    pub fn note(&mut self, took: Duration) {
        self.total += took;
        self.longest = self.longest.max(took);
    }

    /// All batches together, and the longest since this was asked last, in ticks of 2⁻²⁰ s.
    pub fn told(&mut self) -> (u64, u64) {
        (ticks(self.total), ticks(std::mem::take(&mut self.longest)))
    }
}

fn ticks(time: Duration) -> u64 {
    ((time.as_nanos() << 20) / 1_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_batch_is_that_since_it_was_asked_last() {
        let mut pace = Pace::default();
        [1000, 250, 500].into_iter().for_each(|ms| pace.note(Duration::from_millis(ms)));
        assert_eq!(pace.told(), (1_835_008, 1 << 20));
        pace.note(Duration::from_millis(250));
        assert_eq!(pace.told(), (1 << 21, 1 << 18));
        assert_eq!(pace.told(), (1 << 21, 0));
    }
}
