use std::sync::Arc;
use weir_snapshot::Snapshot;
use weir_telemetry::Counters;
use crate::{io::{Event, Handler, Io}, limits::Limits};

/// One worker's proxy.
pub struct Proxy {}

impl Proxy {
    pub fn new(_snapshot: Arc<Snapshot>, _limits: Limits) -> Self { todo!() }
    /// Serves by `snapshot` from the next request of each client on.
    pub fn replace<I: Io>(&mut self, _io: &mut I, _snapshot: Arc<Snapshot>) { todo!() }
    /// The verdict of the health monitors. Unknown names are ignored: the Plan may be ahead of the monitors or behind.
    pub fn set_server_up<I: Io>(&mut self, _io: &mut I, _pool_uuid: &str, _server_name: &str, _up: bool) { todo!() }
    /// By the dense id of the snapshot.
    pub fn server_is_up(&self, _pool_id: u32, _server_id: u32) -> bool { todo!() }
    /// Ends each client connection with its response; the driver stops accepting.
    pub fn drain<I: Io>(&mut self, _io: &mut I) { todo!() }
    /// No connection is left.
    pub fn is_idle(&self) -> bool { todo!() }
    pub fn counters(&self) -> &Counters { todo!() }
}

impl Handler for Proxy {
    fn handle<I: Io>(&mut self, _io: &mut I, _events: &mut Vec<Event>) { todo!() }
}
