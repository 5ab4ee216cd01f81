//! The worker that a snapshot is built for.

#[derive(Debug)]
pub struct Worker {
    pub provider: weir_tls::Provider,
    /// The number of workers. A limit of the engine is divided by it.
    pub workers: u32,
    /// Differs between workers and between engines. It determines with which servers of a pool the worker begins.
    pub offset: u32,
}

impl Worker {
    /// All workers of one process. `offset` is that of the first.
    pub fn all(workers: u32, offset: u32) -> Vec<Self> {
        let worker = |index| Self { provider: weir_tls::Provider::new(), workers, offset: offset.wrapping_add(index) };
        (0..workers).map(worker).collect()
    }
}
