//! How often times of each length occurred.
//!
//! Times are counted in ticks of 2⁻²⁰ s, and a bucket is wider than the one before by a factor of 2^⅛. These are the buckets
//! of exponential histograms of scale 3, which Prometheus and OpenTelemetry know. So whoever adds histograms up, over
//! workers, engines or time, loses nothing, and a percentile is wrong by 4.4 % at most.

/// Bucket 0 counts times of at most 1 tick, bucket i those of at most 2^(i/8), and the last one those of more than 64 s.
pub const BUCKETS: usize = OCTAVES * STEPS + 2;
/// From 1 tick to 64 s.
const OCTAVES: usize = 26;
/// Buckets of an octave.
const STEPS: usize = 8;

/// 2^(k/8) in units of 2⁻³⁰, rounded down.
const BOUNDS: [u32; STEPS + 1] = [
    1_073_741_824,
    1_170_923_761,
    1_276_901_416,
    1_392_470_868,
    1_518_500_249,
    1_655_936_264,
    1_805_811_301,
    1_969_251_187,
    2_147_483_648,
];

/// How many of the bounds are below 1 + j/16. At most one is between this and the next sixteenth.
const BELOW: [u8; 16] = below();

/// Cumulative. A count begins again at 0 after 2³².
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    sum_ticks: u64,
    first: usize,
    /// Of a run of buckets; the others are 0.
    counts: Vec<u32>,
}

impl Histogram {
    #[inline]
    pub fn count(&mut self, ticks: u64) {
        self.sum_ticks += ticks;
        let bucket = bucket(ticks);
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count = count.wrapping_add(1),
            None => {
                self.cover(bucket..bucket + 1);
                self.counts[bucket - self.first] += 1;
            }
        }
    }

    pub fn copy(&mut self, other: &Self) {
        (self.sum_ticks, self.first) = (other.sum_ticks, other.first);
        self.counts.clone_from(&other.counts);
    }

    pub fn add(&mut self, other: &Self) {
        self.sum_ticks += other.sum_ticks;
        if other.counts.is_empty() {
            return;
        }
        self.cover(other.first..other.first + other.counts.len());
        for (mine, theirs) in self.counts[other.first - self.first..].iter_mut().zip(&other.counts) {
            *mine = mine.wrapping_add(*theirs);
        }
    }

    pub fn sum_ticks(&self) -> u64 {
        self.sum_ticks
    }

    /// The run of buckets that covers all counts: the first bucket, and the counts.
    pub fn run(&self) -> (usize, &[u32]) {
        (self.first, &self.counts)
    }

    /// Makes room for counts of these buckets, and of the octaves that they are in.
    #[cold]
    fn cover(&mut self, buckets: std::ops::Range<usize>) {
        if self.first <= buckets.start && buckets.end <= self.first + self.counts.len() {
            return;
        }
        let mut first = buckets.start / STEPS * STEPS;
        let mut end = buckets.end.next_multiple_of(STEPS).min(BUCKETS);
        if !self.counts.is_empty() {
            (first, end) = (first.min(self.first), end.max(self.first + self.counts.len()));
        }
        let mut counts = vec![0; end - first];
        if !self.counts.is_empty() {
            let before = self.first - first;
            counts[before..before + self.counts.len()].copy_from_slice(&self.counts);
        }
        (self.first, self.counts) = (first, counts);
    }
}

/// Buckets of [`Coarse`]. Bucket 0 counts times of at most 1 tick, bucket i those of at most 2^(i/2), and the last one those
/// of more than 64 s.
pub const COARSE_BUCKETS: usize = OCTAVES * STEPS / COARSER + 2;
/// So many buckets of scale 3 are one of scale 1.
const COARSER: usize = 4;

/// The same of scale 1, for what there are many of: a bucket is wider than the one before by a factor of √2, and a
/// percentile is wrong by 19 % at most. It has all buckets from the begin on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coarse {
    sum_ticks: u64,
    counts: [u32; COARSE_BUCKETS],
}

impl Default for Coarse {
    fn default() -> Self {
        Self { sum_ticks: 0, counts: [0; COARSE_BUCKETS] }
    }
}

impl Coarse {
    #[inline]
    pub fn count(&mut self, ticks: u64) {
        self.sum_ticks += ticks;
        let count = &mut self.counts[bucket(ticks).div_ceil(COARSER)];
        *count = count.wrapping_add(1);
    }

    pub fn copy(&mut self, other: &Self) {
        (self.sum_ticks, self.counts) = (other.sum_ticks, other.counts);
    }

    pub fn add(&mut self, other: &Self) {
        self.sum_ticks += other.sum_ticks;
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.wrapping_add(*theirs);
        }
    }

    pub fn sum_ticks(&self) -> u64 {
        self.sum_ticks
    }

    /// Of all buckets.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }
}

/// Nanoseconds in ticks, rounded down. What is longer than two hours counts as two hours.
#[inline]
pub fn ticks(nanos: u64) -> u64 {
    (nanos.min(1 << 43) * 1_125_900) >> 30
}

#[inline]
fn bucket(ticks: u64) -> usize {
    if ticks <= 1 {
        return 0;
    }
    let octave = ticks.ilog2();
    // 1 to 2, in units of 2⁻³⁰.
    let within = ((ticks << (63 - octave)) >> 33) as u32;
    let below = usize::from(BELOW[(within >> 26) as usize & 15]);
    let step = below + usize::from(within > BOUNDS[below]);
    (octave as usize * STEPS + step).min(BUCKETS - 1)
}

const fn below() -> [u8; 16] {
    let mut all = [0; 16];
    let mut at = 0;
    while at < 16 {
        let start = BOUNDS[0] + ((at as u32) << 26);
        while BOUNDS[all[at] as usize] < start {
            all[at] += 1;
        }
        at += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest bucket whose bound is not below.
    fn searched(ticks: u64) -> usize {
        (0..BUCKETS - 1).find(|bucket| ticks as f64 <= (*bucket as f64 / 8.0).exp2()).unwrap_or(BUCKETS - 1)
    }

    #[test]
    fn time_counts_in_the_first_bucket_that_is_long_enough() {
        let longest = 1 << 26;
        for ticks in (0..5000).chain((0..5000).map(|n| n * n * 3)).chain(longest - 9..longest + 9) {
            assert_eq!(bucket(ticks), searched(ticks), "{ticks} ticks");
        }
        assert_eq!((bucket(longest), bucket(longest + 1), bucket(u64::MAX)), (208, 209, 209));
    }

    #[test]
    fn coarse_bucket_is_the_first_that_is_long_enough() {
        let bucket_of = |ticks| {
            let mut coarse = Coarse::default();
            coarse.count(ticks);
            coarse.counts().iter().position(|count| *count > 0).unwrap()
        };
        let searched = |ticks| (0..53).find(|at| ticks as f64 <= (*at as f64 / 2.0).exp2()).unwrap_or(53);
        for ticks in (0..5000).chain((0..5000).map(|n| n * n * 3)).chain([1 << 26, (1 << 26) + 1, 1 << 40]) {
            assert_eq!(bucket_of(ticks), searched(ticks), "{ticks} ticks");
        }
    }

    #[test]
    fn coarse_histograms_add_up_and_begin_again_after_their_last_number() {
        let mut sum = Coarse::default();
        sum.count(9000);
        sum.counts[0] = u32::MAX;
        sum.count(1);
        assert_eq!((sum.counts()[0], sum.sum_ticks()), (0, 9001));
        let mut other = Coarse { counts: [u32::MAX; COARSE_BUCKETS], sum_ticks: 9 };
        other.add(&sum);
        assert_eq!((other.counts()[27], other.counts()[0], other.sum_ticks()), (0, u32::MAX, 9010));
    }

    #[test]
    fn bounds_are_those_of_scale_3() {
        for (step, bound) in BOUNDS.into_iter().enumerate() {
            assert_eq!(f64::from(bound), ((30.0 + step as f64 / 8.0).exp2()).floor(), "step {step}");
        }
    }

    #[test]
    fn second_has_2_to_the_20_ticks() {
        assert_eq!([0, 953, 954, 1_000_000_000, 64_000_000_000].map(ticks), [0, 0, 1, 1_048_576, 67_108_869]);
        assert_eq!(ticks(u64::MAX), ticks(1 << 43));
    }

    #[test]
    fn run_covers_the_octaves_with_counts() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.run(), (0, &[][..]));
        histogram.count(1 << 10);
        assert_eq!((histogram.run().0, histogram.run().1.len()), (80, 8));
        histogram.count(1 << 20);
        histogram.count(3);
        let (first, counts) = histogram.run();
        assert_eq!((first, counts.len()), (8, 160));
        let counted: Vec<_> = counts.iter().enumerate().filter(|(_, count)| **count > 0).collect();
        assert_eq!(counted, [(bucket(3) - 8, &1), (80 - 8, &1), (160 - 8, &1)]);
        histogram.count(u64::MAX >> 20);
        assert_eq!(histogram.run().0 + histogram.run().1.len(), BUCKETS);
    }

    #[test]
    fn adding_histograms_equals_counting_everything_in_one() {
        let of = |times: &[u64]| {
            let mut histogram = Histogram::default();
            times.iter().for_each(|ticks| histogram.count(*ticks));
            histogram
        };
        let parts: [&[u64]; 4] = [&[5, 7, 9000], &[], &[1, 1 << 30], &[9000, 8]];
        let mut sum = Histogram::default();
        parts.iter().for_each(|part| sum.add(&of(part)));
        assert_eq!(sum, of(&parts.concat()));
    }

    #[test]
    fn count_begins_again_after_its_last_number() {
        let mut histogram = Histogram { sum_ticks: 5, first: 0, counts: vec![u32::MAX; 8] };
        histogram.count(1);
        assert_eq!(histogram.run().1[0], 0);
        histogram.add(&Histogram { sum_ticks: 5, first: 0, counts: vec![3; 8] });
        assert_eq!(histogram.run().1[..2], [3, 2]);
    }
}
