//! Servers in the order in which they are chosen: a heap that knows the place of each server, so that a change of one
//! of 10,000 moves seven entries. It holds only servers that can be chosen, and at most one entry for each position.

/// Children of a node. With four, a heap of 10,000 has seven levels, and keys that are compared lie side by side.
const ARITY: usize = 4;

/// Lower comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rank {
    pub load: u64,
    /// Wide enough never to wrap: 64 bits would, within days.
    pub turn: u128,
    /// The number of its last turn: of equal servers, the one that has waited longest comes first.
    pub picked: u64,
    pub position: u32,
}

impl Rank {
    /// The order of its fields; loads and turns are nearly always enough.
    #[inline]
    fn comes_before(&self, other: &Rank) -> bool {
        if self.load != other.load {
            return self.load < other.load;
        }
        if self.turn != other.turn {
            return self.turn < other.turn;
        }
        (self.picked, self.position) < (other.picked, other.position)
    }
}

#[derive(Default, Debug)]
pub(crate) struct Order {
    heap: Vec<Rank>,
    /// By position in the pool: where in `heap`.
    places: Vec<Option<u32>>,
}

impl Order {
    pub fn with_positions(count: usize) -> Self {
        Self { heap: Vec::with_capacity(count), places: vec![None; count] }
    }

    pub fn first(&self) -> Option<Rank> {
        self.heap.first().copied()
    }

    /// Puts a server where its rank is now.
    pub fn put(&mut self, rank: Rank) {
        let at = match self.place(rank.position) {
            Some(at) if self.heap[at].comes_before(&rank) => self.sink(at, &rank),
            Some(at) => self.rise(at, &rank),
            None => {
                self.heap.push(rank);
                self.rise(self.heap.len() - 1, &rank)
            }
        };
        self.stand(at, rank);
    }

    pub fn remove(&mut self, position: u32) {
        let Some(at) = self.place(position) else { return };
        self.places[position as usize] = None;
        let Some(last) = self.heap.pop() else { return };
        if at < self.heap.len() {
            self.heap[at] = last;
            self.settle(at);
        }
    }

    fn place(&self, position: u32) -> Option<usize> {
        self.places[position as usize].map(|at| at as usize)
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
        while let Some(child) = self.first_child(at).filter(|child| self.heap[*child].comes_before(rank)) {
            self.stand(at, self.heap[child]);
            at = child;
        }
        at
    }

    fn first_child(&self, at: usize) -> Option<usize> {
        let first = at * ARITY + 1;
        let children = self.heap.get(first..(first + ARITY).min(self.heap.len()))?;
        let mut best = 0;
        for (child, rank) in children.iter().enumerate().skip(1) {
            if rank.comes_before(&children[best]) {
                best = child;
            }
        }
        (!children.is_empty()).then_some(first + best)
    }

    fn stand(&mut self, at: usize, rank: Rank) {
        self.places[rank.position as usize] = Some(at as u32);
        self.heap[at] = rank;
    }
}
