//! Whether a virtual service lets a connection in.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use weir_rate::Place;
use weir_snapshot::{Entry, Gate, VirtualService};
use weir_telemetry::{Cause, record::Kind};

use crate::{
    client::Client,
    core::Core,
    error::Error,
    io::{Conn, Io, Time},
};

/// How a client is let in.
pub(super) struct Admitted {
    place: Option<Place>,
    /// It is beyond a limit that only reports.
    reported: bool,
}

#[cold]
#[inline(never)]
pub(super) fn pass(gate: &Gate, client: IpAddr, now: Time) -> Result<Admitted, Error> {
    match gate.enter(client, now.nanos) {
        Entry::In { place, reported } => Ok(Admitted { place, reported }),
        Entry::TooOften(turned) => Err(Error::ConnectionLimited { reset: turned.reset }),
        Entry::Full => Err(Error::TooManyConnections),
    }
}

impl Admitted {
    #[cold]
    #[inline(never)]
    pub fn enter<I: Io>(
        self,
        io: &I,
        core: &mut Core,
        conn: Conn,
        service: &Arc<VirtualService>,
        ends: (SocketAddr, SocketAddr),
    ) {
        if let Some(place) = self.place {
            core.places.insert(conn, place);
        }
        if self.reported {
            core.record_refusal(io, Kind::Connection, service, ends, Cause::ClientConnectionRate);
        }
    }
}

impl Client {
    /// Lets in a client whose PROXY header says who it is.
    pub fn enter_introduced<I: Io>(&self, io: &I, core: &mut Core) -> Result<(), Error> {
        if let Some(gate) = &self.service.gate {
            let admitted = pass(gate, self.peer.ip(), io.now())?;
            let ends = (*self.facts.listener(), self.peer);
            admitted.enter(io, core, self.connection.conn(), &self.service, ends);
        }
        Ok(())
    }
}
