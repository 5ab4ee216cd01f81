//! Draws servers in proportion to their weights, in two steps whatever their number: the alias method (Walker, "An
//! efficient method for generating discrete random variables", 1977; Vose 1991). The numbers come in, so the same numbers
//! draw the same servers.

use crate::hash::mixed;

/// A column is as high as all others. The lower part of it is one server's, the upper part another one's.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// Positions in the pool.
    server: u32,
    other: u32,
    /// Where the upper part begins, of 2^32.
    border: u32,
}

#[derive(Default, Debug)]
pub(crate) struct Lots {
    columns: Vec<Column>,
}

impl Lots {
    /// Of servers with these positions and weights; a weight is at least 1.
    pub fn of(servers: impl Iterator<Item = (usize, u64)>) -> Self {
        let servers: Vec<(u32, u64)> = servers.map(|(position, weight)| (position as u32, weight)).collect();
        let count = servers.len() as u64;
        let height: u64 = servers.iter().map(|(_, weight)| weight).sum();
        let mut columns: Vec<_> =
            servers.iter().map(|(server, _)| Column { server: *server, other: *server, border: u32::MAX }).collect();
        // What each server has still to place, where a column takes `height`.
        let mut left: Vec<u64> = servers.iter().map(|(_, weight)| weight * count).collect();
        let (mut low, mut high): (Vec<usize>, Vec<usize>) = (0..columns.len()).partition(|at| left[*at] < height);
        while let (Some(small), Some(large)) = (low.pop(), high.last().copied()) {
            columns[small].border = ((left[small] << 32) / height) as u32;
            columns[small].other = servers[large].0;
            left[large] -= height - left[small];
            if left[large] < height {
                high.pop();
                low.push(large);
            }
        }
        Self { columns }
    }

    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// The position of the server that the number draws.
    #[inline]
    pub fn draw(&self, number: u64) -> Option<usize> {
        let column = self.columns.get(self.column(number))?;
        let server = if (number as u32) < column.border { column.server } else { column.other };
        Some(server as usize)
    }

    /// All servers, beginning at the one that the number chooses without weights.
    pub fn around(&self, number: u64) -> impl Iterator<Item = usize> {
        let (then, first) = self.columns.split_at(self.column(number));
        first.iter().chain(then).map(|column| column.server as usize)
    }

    fn column(&self, number: u64) -> usize {
        (((number >> 32) * self.columns.len() as u64) >> 32) as usize
    }
}

/// The numbers of one worker, one after the other (SplitMix64).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    state: u64,
}

impl Numbers {
    pub fn of(seed: u32) -> Self {
        Self { state: mixed(u64::from(seed)) }
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_drawn_in_proportion_to_their_weights() {
        for weights in [&[1][..], &[1, 1], &[1, 2, 5], &[20, 1, 10, 9, 1, 1], &[3; 40]] {
            let lots = Lots::of(weights.iter().copied().enumerate().map(|(at, weight)| (at + 10, weight)));
            let (mut numbers, mut counts) = (Numbers::of(7), vec![0u32; weights.len()]);
            for _ in 0..100_000 {
                counts[lots.draw(numbers.next()).unwrap_or_default() - 10] += 1;
            }
            let sum: u64 = weights.iter().sum();
            for (count, weight) in counts.iter().zip(weights) {
                let fair = 100_000.0 * *weight as f64 / sum as f64;
                assert!((f64::from(*count) - fair).abs() < 5.0 * fair.sqrt() + 1.0, "{count} of {fair} in {weights:?}");
            }
        }
    }

    #[test]
    fn nobody_is_drawn_from_nothing_and_all_stand_around() {
        assert_eq!(Lots::default().draw(1), None);
        assert_eq!(Lots::default().around(1).count(), 0);
        let lots = Lots::of((0..5).map(|at| (at, 1)));
        let mut around: Vec<_> = lots.around(u64::MAX / 2).collect();
        assert_eq!(around[0], 2);
        around.sort_unstable();
        assert_eq!(around, [0, 1, 2, 3, 4]);
    }
}
