//! Consistent hashing by multi-probe (Appleton and O'Reilly, "Multi-probe consistent hashing", 2015): each server stands
//! at a few places on a ring, each key looks at many, and the server that follows one of them most closely has it.
//!
//! Chosen over rendezvous, which asks every server, over a plain ring, which needs hundreds of places for each server to be
//! as even, and over Maglev, whose table moves keys of servers that stay: here a server that leaves, is down, full or
//! excluded moves its own keys and no other, and a choice costs the same in a pool of 10,000 as in one of ten.

use crate::hash::HashKey;

/// Places of a server with a ratio of 1. With so many probes, the share of one has a standard deviation of 5 % of itself.
const PLACES: usize = 14;
/// Places at which a key looks. No server has more than (PROBES + 1) / PROBES of its fair share.
const PROBES: usize = 12;
/// Where to begin is kept for so many parts of the ring as there are places, times two or more.
const PARTS_OF_A_PLACE: usize = 2;
/// Servers that a choice steps over before it takes the best it has found.
const STEPS_MAX: usize = 4096;

/// A place of a server.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u32,
    /// Its position in the pool.
    server: u32,
}

#[derive(Default, Debug)]
pub(crate) struct Ring {
    /// Of every server, in their order around the ring.
    all: Vec<Place>,
    /// Of those that stand: their places and, apart from these so that more of them are near, their positions in the pool.
    standing: Vec<u32>,
    servers: Vec<u32>,
    /// By the first bits of a place where in `standing` to begin.
    begins: Vec<u32>,
    shift: u32,
}

impl Ring {
    /// The ring of servers with these keys and ratios. No server stands on it yet.
    pub fn of(servers: impl Iterator<Item = (HashKey, u32)>) -> Self {
        let (mut all, mut keys) = (Vec::new(), Vec::new());
        for (server, (key, ratio)) in servers.enumerate() {
            let places = key.places().take(PLACES * ratio as usize);
            all.extend(places.map(|at| Place { at, server: server as u32 }));
            keys.push(key);
        }
        // By key where two meet: the order of the pool may differ between engines.
        all.sort_unstable_by_key(|place| (place.at, keys[place.server as usize]));
        Self { all, ..Self::default() }
    }

    /// Sets which servers stand on the ring from now on, by position. It takes a step for each place.
    pub fn stand(&mut self, stands: impl Fn(usize) -> bool) {
        let standing = self.all.iter().filter(|place| stands(place.server as usize));
        (self.standing, self.servers) = standing.map(|place| (place.at, place.server)).unzip();
        let bits = (self.standing.len().max(1) * PARTS_OF_A_PLACE).next_power_of_two().trailing_zeros();
        self.shift = u32::BITS - bits;
        self.begins.clear();
        let mut begin = 0;
        for first_bits in 0..1u32 << bits {
            let from = first_bits << self.shift;
            begin += self.standing[begin..].iter().take_while(|place| **place < from).count();
            self.begins.push(begin as u32);
        }
    }

    /// The server for `key`, of those that stand on the ring and `may` be chosen.
    pub fn find(&self, key: HashKey, may: impl Fn(usize) -> bool) -> Option<usize> {
        let nearest = self.nearest(key)?;
        if may(nearest) { Some(nearest) } else { self.find_among(key, may) }
    }

    /// The server for `key`, of all that stand on the ring.
    pub fn nearest(&self, key: HashKey) -> Option<usize> {
        let first = *self.standing.first()?;
        let mut nearest = (u32::MAX, 0);
        for probe in key.probes().take(PROBES) {
            let at = self.after(probe);
            let distance = self.standing.get(at).unwrap_or(&first).wrapping_sub(probe);
            nearest = if distance < nearest.0 { (distance, at) } else { nearest };
        }
        self.servers.get(nearest.1).or(self.servers.first()).map(|server| *server as usize)
    }

    /// Where the first place is that is not before `probe`.
    #[inline]
    fn after(&self, probe: u32) -> usize {
        let begin = self.begins.get((probe >> self.shift) as usize).map_or(0, |begin| *begin as usize);
        let is_before = |at: usize| self.standing.get(at).is_some_and(|place| *place < probe);
        // It is mostly this one or the next, and nobody can foresee which. So there is no branch here.
        let mut at = begin + usize::from(is_before(begin));
        while is_before(at) {
            at += 1;
        }
        at
    }

    /// Asks one server after the other.
    fn find_among(&self, key: HashKey, may: impl Fn(usize) -> bool) -> Option<usize> {
        let mut steps_left = STEPS_MAX;
        let mut nearest: Option<(u32, u32)> = None;
        for probe in key.probes().take(PROBES) {
            let mut around = self.from(probe).take(steps_left.min(self.standing.len()));
            let Some(at) = around.find(|at| {
                steps_left -= 1;
                may(self.servers[*at] as usize)
            }) else {
                continue;
            };
            let distance = self.standing[at].wrapping_sub(probe);
            if nearest.is_none_or(|(least, _)| distance < least) {
                nearest = Some((distance, self.servers[at]));
            }
        }
        let server = nearest.map(|(_, server)| server);
        server.or_else(|| self.next_willing(key, may)).map(|server| server as usize)
    }

    /// Nearly all servers are full or excluded: take any other.
    fn next_willing(&self, key: HashKey, may: impl Fn(usize) -> bool) -> Option<u32> {
        let probe = key.probes().next()?;
        let mut around = self.from(probe).take(self.standing.len());
        around.find(|at| may(self.servers[*at] as usize)).map(|at| self.servers[at])
    }

    /// Every index, round and round, beginning with that of the first place that is not before `probe`.
    fn from(&self, probe: u32) -> impl Iterator<Item = usize> + use<> {
        let begin = self.after(probe);
        (begin..self.standing.len()).chain(0..begin)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn ring(servers: u32) -> Ring {
        let mut ring = Ring::of((0..servers).map(|number| (HashKey::of(&number.to_be_bytes()), 1)));
        ring.stand(|_| true);
        ring
    }

    fn asked(ring: &Ring, key: HashKey, may: impl Fn(usize) -> bool) -> (Option<usize>, usize) {
        let asked = Cell::new(0);
        let found = ring.find(key, |server| {
            asked.set(asked.get() + 1);
            may(server)
        });
        (found, asked.get())
    }

    #[test]
    fn choice_costs_the_same_however_many_servers_there_are() {
        for servers in [1, 10, 10_000] {
            let ring = ring(servers);
            assert_eq!(asked(&ring, HashKey::of(b"/"), |_| true).1, 1);
            let looked_at =
                |probe| ring.standing.iter().skip(begin(&ring, probe)).take_while(|at| **at < probe).count();
            let probes = (0..1000u32).flat_map(|key| HashKey::of(&key.to_be_bytes()).probes().take(PROBES));
            let all: usize = probes.map(looked_at).sum();
            assert!(all < 1000 * PROBES, "{all} places before where 12,000 probes look, of {servers} servers");
        }
    }

    fn begin(ring: &Ring, probe: u32) -> usize {
        ring.begins[(probe >> ring.shift) as usize] as usize
    }

    #[test]
    fn one_willing_server_among_ten_thousand_is_found_within_a_bound() {
        let ring = ring(10_000);
        for key in 0..100u32 {
            let (found, asked) = asked(&ring, HashKey::of(&key.to_be_bytes()), |server| server == 4711);
            assert_eq!(found, Some(4711));
            assert!(asked <= 1 + STEPS_MAX + ring.standing.len(), "{asked}");
        }
        assert_eq!(ring.find(HashKey::of(b"/"), |_| false), None);
    }

    #[test]
    fn whoever_sits_down_is_not_asked() {
        let mut ring = ring(100);
        ring.stand(|server| server % 2 == 0);
        assert!(ring.servers.iter().all(|server| server % 2 == 0));
        let keys = (0..1000u32).map(|key| HashKey::of(&key.to_be_bytes()));
        assert!(keys.filter_map(|key| ring.find(key, |_| true)).all(|server| server % 2 == 0));
        ring.stand(|_| false);
        assert_eq!(ring.find(HashKey::of(b"/"), |_| true), None);
    }
}
