//! The round trip to clients: the driver is asked about some connections, once, because that costs a system call.

use weir_telemetry::Happening;

use crate::{client::Client, connection::channel::Channel, core::Core, io::Io};

/// The driver is asked about one of so many connections.
const ASKED_OF: u32 = 8;

/// Whether the driver will be asked about the connection that is accepted now.
pub(super) fn is_next_asked(core: &mut Core) -> bool {
    core.accepted = core.accepted.wrapping_add(1);
    core.accepted % ASKED_OF == 1
}

impl Client {
    /// A response was handed to the connection.
    ///
    /// A plain connection is asked about with a later response, or when it ends. Until the client has acknowledged
    /// something, the kernel may only know how long it took from the connect to the request.
    #[inline]
    pub fn note_round_trip<I: Io>(&mut self, io: &I, core: &mut Core) {
        if self.connection.line.asks_round_trip
            && !(self.requests == 1 && matches!(self.connection.channel, Channel::Plain))
        {
            self.ask_round_trip(io, core);
        }
    }

    /// The connection ends. Without a request, it may have been a probe.
    #[inline]
    pub fn end_round_trip<I: Io>(&mut self, io: &I, core: &mut Core) {
        if self.connection.line.asks_round_trip && self.requests > 0 && !self.is_tunnel() {
            self.ask_round_trip(io, core);
        }
    }

    /// The same for a record, if it would show none, or an old one.
    #[cold]
    pub fn ask_for_record<I: Io>(&mut self, io: &I) {
        let now = io.now();
        let is_known_to_kernel = self.requests > 1 || !matches!(self.connection.channel, Channel::Plain);
        if let Some(seen) = self.seen.as_mut().filter(|seen| is_known_to_kernel && !seen.knows_rtt(now))
            && let Some(took) = io.round_trip(self.connection.conn())
        {
            seen.rtt_nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            seen.rtt_at = now;
        }
    }

    #[cold]
    fn ask_round_trip<I: Io>(&mut self, io: &I, core: &mut Core) {
        self.connection.line.asks_round_trip = false;
        // A stream has that of the connection which carries it.
        let conn = self.connection.carrier().unwrap_or(self.connection.conn());
        if let Some(took) = io.round_trip(conn) {
            let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            if let Some(seen) = &mut self.seen {
                (seen.rtt_nanos, seen.rtt_at) = (nanos, io.now());
            }
            core.counters.note(Happening::ClientRoundTrip { service: self.service.id, nanos });
        }
    }
}
