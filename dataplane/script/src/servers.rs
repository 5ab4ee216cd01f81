//! What the servers of pools do at the moment: the worker that runs the scripts knows.

/// Of the pools that the scripts of an event may name. The first number is the place of the set among those of the virtual
/// service, the second that of the pool among those of the set.
pub trait Servers {
    fn census(&self, set: usize, pool: usize) -> Census;

    /// Whether a server takes requests. `named` as in [`Chosen`](crate::Chosen). No server of the pool does not.
    fn is_up(&self, set: usize, pool: usize, named: &str) -> bool;
}

/// How many servers a pool has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Census {
    /// That are up and enabled.
    pub up: usize,
    pub all: usize,
}
