//! Servers in the order in which they shall be picked: a heap that knows where each of them stands, so that a change of
//! one of 10,000 moves seven. Holds those that can be picked and nobody else; at most one entry for each position.

/// Children of a node: four keep a heap of 10,000 seven levels deep and the keys that are compared side by side.
const ARITY: usize = 4;

/// Lower comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Rank {
    pub load: u64,
    /// Wide enough never to wrap: 64 bits would, within days.
    pub turn: u128,
    /// Number of the pick that it had last: among equals, who has waited longest.
    pub picked: u64,
    pub position: u32,
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
            Some(at) => at,
            None => {
                self.heap.push(rank);
                self.heap.len() - 1
            }
        };
        self.heap[at] = rank;
        self.settle(at);
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
        let at = self.rise(at);
        self.sink(at);
    }

    fn rise(&mut self, mut at: usize) -> usize {
        let rank = self.heap[at];
        while at > 0 && rank < self.heap[(at - 1) / ARITY] {
            let parent = (at - 1) / ARITY;
            self.stand(at, self.heap[parent]);
            at = parent;
        }
        self.stand(at, rank);
        at
    }

    fn sink(&mut self, mut at: usize) {
        let rank = self.heap[at];
        while let Some(child) = self.first_child(at).filter(|child| self.heap[*child] < rank) {
            self.stand(at, self.heap[child]);
            at = child;
        }
        self.stand(at, rank);
    }

    fn first_child(&self, at: usize) -> Option<usize> {
        let children = at * ARITY + 1..(at * ARITY + 1 + ARITY).min(self.heap.len());
        children.min_by_key(|child| self.heap[*child])
    }

    fn stand(&mut self, at: usize, rank: Rank) {
        self.heap[at] = rank;
        self.places[rank.position as usize] = Some(at as u32);
    }
}
