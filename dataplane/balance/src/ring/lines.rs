//! Which place of a ring is the nearest ahead of some probes, of all that stand on it, with one cache line for each probe.
//!
//! The ring is cut into lines of equal length. A line holds where in it places are, to 15 bits, and those at the begin of
//! the next line, too. So the distances to all places ahead of a probe are a subtraction, and the least of all probes is
//! found in vectors. What 15 bits do not decide is left to who knows the places exactly.

use wide::i16x8;

use super::PROBES;
use crate::hash::HashKey;

const LANES: usize = 8;
/// The last lane of the first vector says whether the line is crowded.
const FLAG: usize = LANES - 1;
/// Places of two lines, in the mean. Of lines so long, one in 1,400 is crowded.
const PLACES_OF_TWO: usize = 11;
/// Where in a line something is has so many bits.
const BITS: u32 = 15;
/// The length of a line.
const SPAN: u32 = 1 << BITS;
/// What a line knows of the next one. With so many places, one choice in 4,000 looks further.
const AHEAD: u32 = SPAN / 8;
/// More than any other number in a line. What is subtracted from it is positive, as what is subtracted from a place
/// behind: so both are further than all that is ahead.
const NOTHING: i16 = i16::MAX;

/// Where places are, [`stored`] and in their order, then [`NOTHING`].
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Line([i16x8; 2]);

#[derive(Default, Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    /// By line, the index of its first place; one more than there are lines.
    firsts: Vec<u32>,
}

/// So that the distance to what is ahead begins at the least number.
fn stored(at: u32) -> i16 {
    (at as u16).wrapping_add(1 << BITS) as i16
}

impl Line {
    const EMPTY: Self = Self([i16x8::new([NOTHING; LANES]); 2]);

    /// It has more places than it has room for, and knows of none. Nothing is subtracted from its flag: so it is the
    /// least distance there is.
    const CROWDED: Self = {
        let mut lanes = [NOTHING; LANES];
        lanes[FLAG] = i16::MIN;
        Self([i16x8::new(lanes), Self::EMPTY.0[1]])
    };

    /// Places in order.
    fn of(places: impl Iterator<Item = u32>) -> Self {
        let mut line = Self::EMPTY;
        for (number, at) in places.enumerate() {
            // None is where the flag is.
            let lane = number + usize::from(number >= FLAG);
            let Some(half) = line.0.get_mut(lane / LANES) else { return Self::CROWDED };
            half.as_mut_array()[lane % LANES] = stored(at);
        }
        line
    }

    /// The distances to its places, less [`SPAN`]: of the nearer one of each two. What is behind comes last.
    #[inline(always)]
    fn distances(&self, from: u32) -> i16x8 {
        const MASK: i16x8 = i16x8::new([-1, -1, -1, -1, -1, -1, -1, 0]);
        let from = i16x8::splat(from as i16);
        (self.0[0] - (from & MASK)).min(self.0[1] - from)
    }

    /// How many of its places are before `at`, if it is not crowded.
    #[inline(always)]
    fn places_before(&self, at: i16) -> usize {
        let at = i16x8::splat(at);
        sum(-(self.0[0].simd_lt(at) + self.0[1].simd_lt(at)))
    }
}

/// Of numbers whose sum no lane could exceed.
#[inline(always)]
fn sum(lanes: i16x8) -> usize {
    lanes.dot(i16x8::splat(1)).reduce_add() as usize
}

impl Lines {
    /// Of places in order.
    pub fn of(places: &[u32]) -> Self {
        let count = (places.len() * 2).div_ceil(PLACES_OF_TWO);
        let mut this = Self { lines: vec![Line::EMPTY; count], firsts: Vec::with_capacity(count + 1) };
        for (index, place) in places.iter().enumerate() {
            let (line, _) = this.whither(*place);
            this.firsts.resize(this.firsts.len().max(line + 1), index as u32);
        }
        this.firsts.resize(count + 1, places.len() as u32);
        for line in 0..count {
            let within = |line: usize| {
                let places = &places[this.firsts[line] as usize..this.firsts[line + 1] as usize];
                places.iter().map(|place| this.whither(*place).1)
            };
            let ahead = within((line + 1) % count).take_while(|at| *at < AHEAD).map(|at| at + SPAN);
            this.lines[line] = Line::of(within(line).chain(ahead));
        }
        this
    }

    /// The line of a place or a probe, and where in it.
    #[inline(always)]
    fn whither(&self, place: u32) -> (usize, u32) {
        let product = u64::from(place) * self.lines.len() as u64;
        ((product >> u32::BITS) as usize, product as u32 >> (u32::BITS - BITS))
    }

    /// The index of the place that is nearest ahead of one of the probes, of all places in their order; it goes on at their
    /// end. `None`: that is to be decided exactly.
    #[inline(always)]
    pub fn nearest(&self, key: HashKey) -> Option<usize> {
        let probes = key.probes();
        // One after the other, with an end for each: so the loads of all of them are under way at once.
        let of = |number| {
            let (line, from) = self.whither(probes.at(number));
            Some(self.lines.get(line)?.distances(from))
        };
        let nearest: [i16x8; PROBES] =
            [of(0)?, of(1)?, of(2)?, of(3)?, of(4)?, of(5)?, of(6)?, of(7)?, of(8)?, of(9)?, of(10)?, of(11)?];
        let least = nearest.iter().fold(i16x8::splat(NOTHING), |least, each| least.min(*each)).reduce_min();
        let mut sums = i16x8::splat(0);
        for (number, each) in nearest.iter().enumerate() {
            let one = i16x8::splat((number << 8 | 1) as i16);
            sums += each.simd_lt(i16x8::splat(least.wrapping_add(2))) & one;
        }
        let sums = sum(sums);
        let (distance, number, rivals) = (stored(0) ^ least, sums >> 8, sums & 0xff);
        let is_known = distance > 0 && distance < AHEAD as i16 - 1;
        if !(is_known && rivals == 1) {
            return None;
        }
        let (line, from) = self.whither(probes.at(number));
        let first = *self.firsts.get(line)?;
        Some(first as usize + self.lines.get(line)?.places_before(least.wrapping_add(from as i16)))
    }

    /// The index of a place that is at most the first one that is not before `probe`, and mostly is that.
    #[inline(always)]
    pub fn begin(&self, probe: u32) -> usize {
        let (line, from) = self.whither(probe);
        let (Some(first), Some(line)) = (self.firsts.get(line), self.lines.get(line)) else { return 0 };
        let is_crowded = line.0[0].as_array()[FLAG] == i16::MIN;
        let before = if is_crowded { 0 } else { line.places_before(stored(from)) };
        *first as usize + before
    }
}
