//! Whether a virtual service lets a connection in.

use std::{net::SocketAddr, sync::Arc};

use weir_rate::Place;
use weir_rules::{Arriving, DecidedBy};
use weir_snapshot::{Entry, Gate, Turned, VirtualService};
use weir_telemetry::{Cause, Limited, record::Kind};

use crate::{
    client::Client,
    core::Core,
    error::Error,
    io::{Conn, Io, Time},
    records::Recorder,
};

/// How a client is let in.
pub(crate) struct Admitted {
    place: Option<Place>,
    /// It is beyond a limit that only reports.
    reported: bool,
    pub rule: Option<DecidedBy>,
}

/// If a rule bars the connection, `records` knows the rule for the record of that. If a limit does, it knows which.
#[cold]
#[inline(never)]
pub(crate) fn pass(gate: &Gate, arriving: &Arriving, now: Time, records: &mut Recorder) -> Result<Admitted, Error> {
    match gate.enter(arriving, now.nanos) {
        Entry::In { place, reported, rule } => Ok(Admitted { place, reported, rule }),
        Entry::Barred(barred, rule) => {
            records.barred = rule;
            Err(Error::Barred(barred))
        }
        Entry::TooOften(Turned { reset, by_client }) => {
            records.limited = Some(if by_client { Limited::ClientConnections } else { Limited::Connections });
            Err(Error::ConnectionLimited { reset })
        }
        Entry::Full => Err(Error::TooManyConnections),
    }
}

impl Admitted {
    /// Returns the rule that has let it in, if records may name it.
    #[cold]
    #[inline(never)]
    pub fn enter<I: Io>(
        self,
        io: &mut I,
        core: &mut Core,
        conn: Conn,
        service: &Arc<VirtualService>,
        ends: (SocketAddr, SocketAddr),
    ) -> Option<DecidedBy> {
        if let Some(place) = self.place {
            core.places.insert(conn, place);
        }
        if let Some(bucket) = service.bucket() {
            io.limit(conn, Some(bucket));
        }
        if self.reported {
            core.record_refusal(io, Kind::Connection, service, ends, Cause::ClientConnectionRate);
        }
        self.rule.filter(|_| service.analytics.is_some() || service.shares_listeners())
    }
}

impl Client {
    /// Lets in a client whose PROXY header says who it is.
    pub fn enter_introduced<I: Io>(&mut self, io: &mut I, core: &mut Core) -> Result<(), Error> {
        if let Some(gate) = &self.service.gate {
            let ends = (*self.facts.listener(), self.peer);
            let admitted = pass(gate, &core.arriving(ends), io.now(), &mut core.records)?;
            let rule = admitted.enter(io, core, self.connection.conn(), &self.service, ends);
            if rule.is_some() {
                self.entrance.get_or_insert_default().rule = rule;
            }
        }
        Ok(())
    }
}
