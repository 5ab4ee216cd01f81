//! Whom a snapshot is built for.

#[derive(Debug)]
pub struct Worker {
    pub provider: weir_tls::Provider,
    /// How many workers there are: limits that hold for an engine are divided by it.
    pub workers: u32,
    /// Another one for each worker, and for each engine: with which servers of a pool it begins.
    pub offset: u32,
}

impl Worker {
    /// The workers of one process. `offset` is that of the first.
    pub fn all(workers: u32, offset: u32) -> Vec<Self> {
        let worker = |index| Self { provider: weir_tls::Provider::new(), workers, offset: offset.wrapping_add(index) };
        (0..workers).map(worker).collect()
    }
}
