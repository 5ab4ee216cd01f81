//! How many of something there are at once, over all workers. A copy counts with the others.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicU64>);

/// One of those that are counted, until it is dropped.
#[derive(Debug)]
pub struct Place(Arc<AtomicU64>);

impl Gauge {
    /// Counts one more; `None`: there are `most` already.
    pub fn enter(&self, most: u64) -> Option<Place> {
        let update = self.0.fetch_update(Relaxed, Relaxed, |count| (count < most).then_some(count + 1));
        update.is_ok().then(|| Place(self.0.clone()))
    }

    /// Whether one more would be counted.
    pub fn has_room(&self, most: u64) -> bool {
        self.0.load(Relaxed) < most
    }

    pub fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.0.load(Relaxed) == 0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_most_have_a_place_at_once() {
        let gauge = Gauge::default();
        let places: Vec<_> = (0..9).filter_map(|_| gauge.enter(3)).collect();
        assert_eq!((places.len(), gauge.count()), (3, 3));
        drop(places);
        assert!(gauge.enter(1).is_some_and(|_| true) && gauge.enter(1).is_some());
    }

    #[test]
    fn threads_never_have_more_places_than_there_are() {
        let (gauge, inside) = (Gauge::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        if let Some(_place) = gauge.enter(2) {
                            assert!(inside.fetch_add(1, Relaxed) < 2);
                            inside.fetch_sub(1, Relaxed);
                        }
                    }
                });
            }
        });
        assert!(gauge.enter(1).is_some(), "all have left");
    }
}
