//! A resource that one request asks its server for, while others wait.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use weir_cache::Key;

use crate::exchange::table::ExchangeId;

pub(super) type Landed = Rc<RefCell<Vec<Rc<Flight>>>>;

/// A resource that one request asks its server for.
pub(crate) struct Flight {
    pub key: Key,
    pub followers: RefCell<Vec<ExchangeId>>,
    pub landing: Cell<Landing>,
}

/// What became of a flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Landing {
    /// The leader has got no whole response.
    Failed,
    Stored,
    NotStored,
}

/// Of the leader. The flight ends when it is dropped.
pub(crate) struct Lead {
    pub(super) flight: Rc<Flight>,
    pub(super) landed: Landed,
}

impl Lead {
    pub fn land(self, landing: Landing) {
        self.flight.landing.set(landing);
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.landed.borrow_mut().push(self.flight.clone());
    }
}
