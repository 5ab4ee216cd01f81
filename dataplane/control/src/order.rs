//! Messages between the control thread and the workers.

use std::{
    os::fd::OwnedFd,
    sync::{Arc, mpsc},
};

pub use weir_api::dataplane::v1::WorkerCounters;
use weir_api::dataplane::v1::{Explanation, ServerState};
use weir_proxy::{explain::Question, records::Batch};
use weir_reactor::{Waker, process::Thread};
use weir_snapshot::Snapshot;
use weir_telemetry::Counters;

use crate::up::Up;

/// How many orders may wait for one worker. The sender of another one waits.
pub const ORDERS_MAX: usize = 1024;

/// The results of the health monitors, shared by all workers.
pub type States = Arc<[ServerState]>;

pub enum Order {
    /// Serve by this snapshot from now on. `sockets` are those for new listeners, and those that the agent has
    /// replaced. The answer is [`Answer::Applied`].
    Apply {
        snapshot: Arc<Snapshot>,
        sockets: Vec<OwnedFd>,
    },
    ServerStates(States),
    /// The answer is [`Answer::Counted`], behind the records until now. With an earlier one, which is written anew.
    Count(Option<Box<Counted>>),
    /// Say what would happen to a request. The answer is [`Answer::Explained`].
    Explain(Box<Asked>),
    /// A batch of records comes back, which an agent has taken.
    Records(Box<Batch>),
    /// Hand over the last batch of records, whatever is still open. The answer is [`Answer::Drained`], behind the batch.
    End,
    /// End each connection with its next response.
    LetGo,
    /// Accept no more, and end each connection with its response. The answer, when none is left, is
    /// [`Answer::Drained`].
    Drain,
}

pub enum Answer {
    Applied {
        revision: u64,
    },
    Counted(Box<Counted>),
    Explained(Box<Explanation>),
    /// Records since the last ones. They come back with [`Order::Records`].
    Records {
        worker: u32,
        batch: Box<Batch>,
    },
    Drained,
}

/// A question, and the worker that is asked.
pub struct Asked {
    pub id: u64,
    pub question: Question,
    /// By which to answer, instead of by the one in force.
    pub draft: Option<Arc<Snapshot>>,
    /// Its number, and how many there are.
    pub worker: (u32, u32),
}

#[derive(Default)]
pub struct Counted {
    /// What the workers did themselves, one after the other.
    pub workers: Vec<WorkerCounters>,
    pub counters: Counters,
    pub up: Up,
    /// Ids of the suspect servers, once per worker that suspects them.
    pub suspect: Vec<u32>,
    /// The same for those of them whose responses are errors.
    pub ejected: Vec<u32>,
}

/// The control thread's link to a worker.
pub struct WorkerLink {
    pub orders: mpsc::SyncSender<Order>,
    pub waker: Waker,
    pub thread: Thread,
}

impl WorkerLink {
    /// Returns false if the worker has ended.
    pub fn give(&self, order: Order) -> bool {
        let given = self.orders.send(order).is_ok();
        self.waker.wake();
        given
    }
}
