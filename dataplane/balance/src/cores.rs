//! Which servers of a pool each worker of an engine uses. Servers lie on a ring, in an order that follows from their
//! names, and a server is as long as its ratio. Workers begin on the ring at even distances, and each uses the servers of
//! the next `nonaffinity` such distances. So each point of the ring belongs to `nonaffinity` workers, each server is used,
//! and each gets its ratio of the requests, if the workers have equally many.

use crate::hash::HashKey;

/// The worker of a balancer, among those of its engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cores {
    pub worker: u32,
    /// At least 1.
    pub workers: u32,
    /// So many workers share each server, at least 1.
    pub nonaffinity: u32,
}

impl Default for Cores {
    fn default() -> Self {
        Self { worker: 0, workers: 1, nonaffinity: 1 }
    }
}

/// What a worker has of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// How many workers further on the server is used first; 0: this one uses it.
    pub distance: u32,
    /// In place of its ratio.
    pub ratio: u32,
}

impl Cores {
    /// Of servers with these keys and ratios, in this order. Those with ratio 0 have no place on the ring.
    pub(crate) fn parts(self, servers: &[(HashKey, u32)]) -> Vec<Part> {
        let workers = u64::from(self.workers.max(1));
        let step: u64 = servers.iter().map(|(_, ratio)| u64::from(*ratio)).sum();
        let (ring, used) = (step * workers, step * u64::from(self.nonaffinity.max(1)).min(workers));
        let begin = step * (u64::from(self.worker) % workers);
        let mut order: Vec<(HashKey, usize)> = servers.iter().map(|(key, _)| *key).zip(0..).collect();
        order.sort_unstable();
        let mut parts = vec![Part { distance: self.workers, ratio: 1 }; servers.len()];
        let mut at = 0;
        for (_, position) in order {
            let length = u64::from(servers[position].1) * workers;
            if length > 0 {
                parts[position] = part((at + ring - begin) % ring, length, (ring, step, used));
            }
            at += length;
        }
        parts
    }
}

/// Of a server that begins so far behind the worker.
fn part(from: u64, length: u64, (ring, step, used): (u64, u64, u64)) -> Part {
    let to = from + length;
    let within = |begin: u64, end: u64| to.min(end).saturating_sub(from.max(begin));
    let here = within(0, used) + within(ring, ring + used);
    match here {
        0 => {
            let distance = (from + step - used) / step;
            Part { distance: distance as u32, ratio: within(step * distance, step * distance + used).max(1) as u32 }
        }
        here => Part { distance: 0, ratio: here as u32 },
    }
}
