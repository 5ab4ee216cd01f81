//! The connection to a server that a client has for itself, if it has one. It takes less memory than an `Option`, and a
//! worker holds tens of thousands of idle clients.

use crate::io::Conn;

#[derive(Clone, Copy)]
pub(crate) struct Reserved(Conn);

/// No driver has so many connections, and no stream has this slot.
const NONE: Conn = Conn { slot: u32::MAX, generation: u32::MAX };

impl Reserved {
    pub const NONE: Self = Self(NONE);

    pub fn get(self) -> Option<Conn> {
        (self.0 != NONE).then_some(self.0)
    }

    pub fn set(&mut self, conn: Conn) {
        self.0 = conn;
    }

    #[inline]
    pub fn take(&mut self) -> Option<Conn> {
        std::mem::replace(self, Self::NONE).get()
    }
}
