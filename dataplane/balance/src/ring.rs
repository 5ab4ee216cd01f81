//! Consistent hashing by multi-probe (Appleton and O'Reilly, "Multi-probe consistent hashing", 2015): each server stands
//! at a few places on a ring, each key looks at many, and the server that follows one of them most closely has it.
//!
//! Chosen over rendezvous, which asks every server, over a plain ring, which needs hundreds of places for each server to be
//! as even, and over Maglev, whose table moves keys of servers that stay: here a server that leaves, is down, full or
//! excluded moves its own keys and no other, and a choice costs the same in a pool of 10,000 as in one of ten.

mod lines;

use crate::{hash::HashKey, order::POSITIONS_MAX};

use lines::Lines;

/// Places of a server with a ratio of 1. With so many probes, the share of one has a standard deviation of 5 % of itself.
const PLACES: usize = 14;
/// Places at which a key looks. No server has more than (PROBES + 1) / PROBES of its fair share.
const PROBES: usize = 12;
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
    servers: Vec<u16>,
    lines: Lines,
}

const _: () = assert!(POSITIONS_MAX <= 1 << u16::BITS);

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
        (self.standing, self.servers) = standing.map(|place| (place.at, place.server as u16)).unzip();
        self.lines = Lines::of(&self.standing);
    }

    /// The server for `key`, of those that stand on the ring and `may` be chosen.
    pub fn find(&self, key: HashKey, may: impl Fn(usize) -> bool) -> Option<usize> {
        let nearest = self.nearest(key)?;
        if may(nearest) { Some(nearest) } else { self.find_among(key, may) }
    }

    /// The server for `key`, of all that stand on the ring.
    #[inline]
    pub fn nearest(&self, key: HashKey) -> Option<usize> {
        let Some(at) = self.lines.nearest(key) else { return self.nearest_exactly(key) };
        self.servers.get(at).or_else(|| self.servers.get(at - self.servers.len())).map(|server| *server as usize)
    }

    /// The same, whatever the distances.
    #[cold]
    #[inline(never)]
    fn nearest_exactly(&self, key: HashKey) -> Option<usize> {
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
        let begin = self.lines.begin(probe);
        let before = self.standing[begin..].iter().take_while(|place| **place < probe);
        begin + before.count()
    }

    /// Asks one server after the other.
    fn find_among(&self, key: HashKey, may: impl Fn(usize) -> bool) -> Option<usize> {
        let mut steps_left = STEPS_MAX;
        let mut nearest: Option<(u32, u16)> = None;
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
    fn next_willing(&self, key: HashKey, may: impl Fn(usize) -> bool) -> Option<u16> {
        let probe = key.probes().at(0);
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

    use proptest::prelude::*;

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
                |probe| ring.standing.iter().skip(ring.lines.begin(probe)).take_while(|at| **at < probe).count();
            let probes = (0..1000u32).flat_map(|key| HashKey::of(&key.to_be_bytes()).probes().take(PROBES));
            let all: usize = probes.map(looked_at).sum();
            assert!(all < 1000 * PROBES, "{all} places before where 12,000 probes look, of {servers} servers");
        }
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

    /// The server whose place is the nearest ahead of a probe, found by looking at all places.
    fn nearest_of_all(ring: &Ring, key: HashKey) -> Option<usize> {
        let distance = |probe: u32| {
            let ahead = ring.standing.iter().enumerate().map(move |(at, place)| (place.wrapping_sub(probe), at));
            // Of places that meet, the first one.
            ahead.min()
        };
        let probes = key.probes().take(PROBES).map(distance);
        let least = probes.reduce(|nearest, next| match (nearest, next) {
            (Some(nearest), Some(next)) if next.0 < nearest.0 => Some(next),
            _ => nearest,
        });
        least.flatten().map(|(_, at)| ring.servers[at].into())
    }

    fn keys(count: u32, seed: u32) -> impl Iterator<Item = HashKey> {
        (0..count).map(move |number| HashKey::of_both(&seed.to_be_bytes(), &number.to_be_bytes()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn nearest_is_the_nearest_of_all_places(
            servers in prop::sample::select(vec![1u32, 2, 3, 10, 100, 400]),
            ratios in 1..=20u32,
            down in 1..5u32,
            seed in any::<u32>(),
        ) {
            let server = |number: u32| (HashKey::of_both(&seed.to_be_bytes(), &number.to_be_bytes()), 1 + number % ratios);
            let mut ring = Ring::of((0..servers).map(server));
            for stands in [|_, _| true, |number, down| number % down != 1] {
                ring.stand(|position| stands(position as u32, down));
                for key in keys(100, seed) {
                    let wanted = nearest_of_all(&ring, key);
                    prop_assert_eq!(ring.nearest(key), wanted);
                    prop_assert_eq!(ring.nearest_exactly(key), wanted);
                }
            }
        }

        /// Where places crowd, meet, or are far apart, and around the ends of lines.
        #[test]
        fn nearest_is_the_nearest_also_where_places_crowd(
            crowds in prop::collection::vec((any::<u32>(), 1..60usize, 0..26u32), 1..12),
            seed in any::<u32>(),
        ) {
            let crowd = |(from, count, apart): &(u32, usize, u32)| {
                let (from, apart) = (*from, *apart);
                (0..*count as u32).map(move |number| from.wrapping_add(number << apart >> 1))
            };
            let mut standing: Vec<u32> = crowds.iter().flat_map(crowd).chain([0, u32::MAX]).collect();
            standing.sort_unstable();
            let (lines, servers) = (Lines::of(&standing), (0..standing.len() as u16).collect());
            let ring = Ring { all: Vec::new(), standing, servers, lines };
            for key in keys(200, seed) {
                let wanted = nearest_of_all(&ring, key);
                prop_assert_eq!(ring.nearest(key), wanted);
                prop_assert_eq!(ring.nearest_exactly(key), wanted);
            }
            for place in ring.standing.iter().flat_map(|at| [at.wrapping_sub(1), *at, at.wrapping_add(1)]) {
                prop_assert_eq!(ring.after(place), ring.standing.partition_point(|at| *at < place));
            }
        }
    }

    #[test]
    fn few_choices_take_more_than_a_look_at_lines() {
        for servers in [1, 10, 1000] {
            let ring = ring(servers);
            let exact = keys(10_000, 1).filter(|key| ring.lines.nearest(*key).is_none()).count();
            assert!(exact < 300, "{exact} of 10,000 choices among {servers} servers");
        }
    }
}
