//! Servers in the order in which they are chosen: a heap that knows the place of each server, so that a change of one
//! of 10,000 moves seven entries. It holds only servers that can be chosen, and at most one entry for each position.

/// Children of a node. With four, a heap of 10,000 has seven levels, and keys that are compared lie side by side.
const ARITY: usize = 4;

/// Lower comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rank {
    load: u64,
    turn: u64,
    /// Behind the number of the last turn, so that of equal servers the one that has waited longest comes first.
    picked_and_position: u64,
}

const POSITION_BITS: u32 = 14;

/// More servers than these have no place in an order.
pub(crate) const POSITIONS_MAX: usize = 1 << POSITION_BITS;

impl Rank {
    /// `picked` is the number of the server's last turn: 50 bits are enough for 35 years with a million in a second.
    pub fn new(load: u64, turn: u64, picked: u64, position: usize) -> Self {
        Self { load, turn, picked_and_position: picked << POSITION_BITS | position as u64 }
    }

    pub fn position(&self) -> usize {
        self.picked_and_position as usize % POSITIONS_MAX
    }

    /// The order of its fields. Without branches, because nobody can foresee which of two servers comes first.
    #[inline(always)]
    fn comes_before(&self, other: &Rank) -> bool {
        let behind_load = |rank: &Rank| u128::from(rank.turn) << u64::BITS | u128::from(rank.picked_and_position);
        // Of equal loads, the rest decides. No load is the largest number.
        self.load < other.load + u64::from(behind_load(self) < behind_load(other))
    }
}

/// The place of a server that is not in the heap.
const NOWHERE: u32 = u32::MAX;

#[derive(Default, Debug)]
pub(crate) struct Order {
    heap: Vec<Rank>,
    /// By position in the pool: where in `heap`.
    places: Vec<u32>,
}

impl Order {
    pub fn with_positions(count: usize) -> Self {
        Self { heap: Vec::with_capacity(count), places: vec![NOWHERE; count] }
    }

    pub fn first(&self) -> Option<Rank> {
        self.heap.first().copied()
    }

    /// Puts a server where its rank is now.
    pub fn put(&mut self, rank: Rank) {
        let at = match self.places[rank.position()] {
            NOWHERE => {
                self.heap.push(rank);
                self.rise(self.heap.len() - 1, &rank)
            }
            at if self.heap[at as usize].comes_before(&rank) => self.sink(at as usize, &rank),
            at => self.rise(at as usize, &rank),
        };
        self.stand(at, rank);
    }

    pub fn remove(&mut self, position: usize) {
        let at = std::mem::replace(&mut self.places[position], NOWHERE);
        if at == NOWHERE {
            return;
        }
        let (at, Some(last)) = (at as usize, self.heap.pop()) else { return };
        if at < self.heap.len() {
            self.heap[at] = last;
            self.settle(at);
        }
    }

    fn settle(&mut self, at: usize) {
        let rank = self.heap[at];
        let at = self.rise(at, &rank);
        let at = self.sink(at, &rank);
        self.stand(at, rank);
    }

    /// Makes way from `at` upwards; returns where `rank` may stand.
    fn rise(&mut self, mut at: usize, rank: &Rank) -> usize {
        while at > 0 && rank.comes_before(&self.heap[(at - 1) / ARITY]) {
            let parent = (at - 1) / ARITY;
            self.stand(at, self.heap[parent]);
            at = parent;
        }
        at
    }

    /// The same downwards.
    fn sink(&mut self, mut at: usize, rank: &Rank) -> usize {
        while let Some((child, first)) = self.first_child(at).filter(|(_, child)| child.comes_before(rank)) {
            self.stand(at, first);
            at = child;
        }
        at
    }

    #[inline(always)]
    fn first_child(&self, at: usize) -> Option<(usize, Rank)> {
        let begin = at * ARITY + 1;
        let children = self.heap.get(begin..)?;
        let first_of = |a: (usize, Rank), b: (usize, Rank)| if b.1.comes_before(&a.1) { b } else { a };
        if let [a, b, c, d, ..] = children {
            let halves = (first_of((begin, *a), (begin + 1, *b)), first_of((begin + 2, *c), (begin + 3, *d)));
            return Some(first_of(halves.0, halves.1));
        }
        children.iter().enumerate().map(|(child, rank)| (begin + child, *rank)).reduce(first_of)
    }

    fn stand(&mut self, at: usize, rank: Rank) {
        self.places[rank.position()] = at as u32;
        self.heap[at] = rank;
    }
}
