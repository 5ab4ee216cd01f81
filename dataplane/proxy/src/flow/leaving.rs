//! Ends what servers still have that were disabled, removed or went down so long ago.

use weir_telemetry::{Cause, Happening};

use crate::{
    datagrams::io::DatagramIo,
    error::Error,
    io::{Io, Time},
    pool::Place,
    proxy::Proxy,
};

impl Proxy {
    /// When [`handle`](crate::io::Handler::handle) and [`handle_datagrams`](Self::handle_datagrams) have to be called
    /// even if nothing has come.
    pub fn due(&self) -> Option<Time> {
        let queues = self.core.pools.admits_at.filter(|_| !self.core.queues.are_empty());
        let due = [self.sessions.due(), self.core.pools.leavers.due(), queues];
        due.into_iter().flatten().min()
    }

    /// The same for [`handle_datagrams`](Self::handle_datagrams) alone, after the other.
    pub fn datagrams_due(&self) -> Option<Time> {
        if self.sessions.leaving.is_empty() { self.sessions.due() } else { Some(Time::default()) }
    }

    /// A request that nothing was answered to goes to another server if it came to this one on a connection that had served
    /// others before, and may be sent twice; another one gets a 503.
    #[cold]
    pub(crate) fn end_leavers<I: Io>(&mut self, io: &mut I) {
        let leavers = self.core.pools.take_leavers(io.now());
        let has_to = |place: &Place| leavers.iter().any(|leaver| leaver.is(place.pool, place.server, place.address));
        let conns = self.servers.iter().filter(|(_, server)| has_to(&server.place)).map(|(conn, _)| conn);
        let conns: Vec<_> = conns.collect();
        let mut leaving = self.sessions.ids();
        leaving.retain(|id| self.sessions.at(*id).is_some_and(|session| has_to(&session.place)));
        self.sessions.leaving.extend(leaving);
        for conn in conns {
            self.server_lost(io, conn, Error::ServerWithdrawn);
        }
    }

    /// Ends the sessions of such servers.
    #[cold]
    pub(crate) fn end_leaving_sessions<I: DatagramIo>(&mut self, io: &mut I) {
        for id in std::mem::take(&mut self.sessions.leaving) {
            let Some(session) = self.sessions.at_mut(id) else { continue };
            session.history.cause = Some(Cause::ServerWithdrawn);
            let service = session.service.id;
            self.core.counters.note(Happening::Failed { service, cause: Cause::ServerWithdrawn });
            self.end_session(io, id);
        }
    }
}
