//! What passes between the control thread and the workers.

use std::{
    os::fd::OwnedFd,
    sync::{Arc, mpsc},
};

use weir_api::dataplane::v1::ServerState;
use weir_reactor::{Waker, process::Thread};
use weir_snapshot::Snapshot;
use weir_telemetry::Counters;

use crate::up::Up;

/// Orders that may wait for one worker; giving one more waits.
pub const ORDERS_MAX: usize = 1024;

/// What the health monitors found, shared by all workers.
pub type States = Arc<[ServerState]>;

pub enum Order {
    /// Serve by this from now on, listening where it says; `sockets` are those not listened on yet, or renewed.
    /// Answered by [`Answer::Applied`].
    Apply {
        snapshot: Arc<Snapshot>,
        sockets: Vec<OwnedFd>,
    },
    ServerStates(States),
    /// Answered by [`Answer::Counted`].
    Count,
    /// End each connection with its next response.
    LetGo,
    /// Accept no more, end each connection with its response. Answered by [`Answer::Drained`] when none is left.
    Drain,
}

pub enum Answer {
    Applied { revision: u64 },
    Counted(Box<Counted>),
    Drained,
}

pub struct Counted {
    pub counters: Counters,
    pub up: Up,
    /// Dense ids of the servers that are suspect: each of them once for each worker that suspects it.
    pub suspect: Vec<u32>,
}

/// How the control thread reaches a worker.
pub struct WorkerLink {
    pub orders: mpsc::SyncSender<Order>,
    pub waker: Waker,
    pub thread: Thread,
}

impl WorkerLink {
    /// False when the worker is no more.
    pub fn give(&self, order: Order) -> bool {
        let given = self.orders.send(order).is_ok();
        self.waker.wake();
        given
    }
}
