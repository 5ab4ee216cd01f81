//! Whether a session may keep its server. After a change of its service, each session is asked about. After a verdict on
//! a server, the next datagram of each client asks.

use weir_snapshot::Udp;

use super::{
    io::DatagramIo,
    session::{Key, Session},
};
use crate::{core::Core, proxy::Proxy};

impl Proxy {
    /// Whether the session is served as before: by the same service, whose pool still has its server, and the server is
    /// up. A disabled server keeps its sessions. A service that has changed takes effect for the session.
    #[inline]
    pub(super) fn is_in_order<I: DatagramIo>(&mut self, io: &I, id: u32) -> bool {
        let changes = self.sessions.changes;
        let Some(session) = self.sessions.at_mut(id) else { return false };
        if session.checked == changes {
            return true;
        }
        session.checked = changes;
        follow(&mut self.core, io, session)
    }

    /// Ends the sessions that the current snapshot does not allow to go on. Call it after each replacement. Sessions of
    /// services that have not changed are not looked at.
    ///
    /// Such a session may be one that no datagram asks for any more, because the client's sessions have other keys now.
    /// While it stood, no other could have the client's address towards the same server.
    pub fn end_displaced_sessions<I: DatagramIo>(&mut self, io: &mut I) {
        if self.sessions.len() == 0 {
            return;
        }
        let snapshot = self.core.snapshot.clone();
        let difference = snapshot.difference();
        let changed = difference.services.iter().map(|service| service.id);
        let gone = difference.services_gone.iter().map(|service| service.id);
        for id in changed.chain(gone).flat_map(|service| self.sessions.of_service(service)).collect::<Vec<_>>() {
            if !self.is_in_order(io, id) {
                self.end_session(io, id);
            }
        }
    }
}

#[cold]
fn follow<I: DatagramIo>(core: &mut Core, io: &I, session: &mut Session) -> bool {
    let Some(at) = io.bound_to(session.key.listener) else { return false };
    let Some(service) = core.snapshot.listener(at).map(|listener| listener.service.clone()) else { return false };
    let per_datagram = session.key.server != Key::ANY;
    let keeps_address = session.udp().is_some_and(|udp| udp.keeps_client_address);
    let same_udp = |udp: &Udp| udp.per_datagram == per_datagram && udp.keeps_client_address == keeps_address;
    let same = service.id == session.service.id && service.udp.as_ref().is_some_and(same_udp) && {
        let aim = service.aim(session.key.peer, session.listener.port());
        aim.pool.is_some_and(|pool| pool.id == session.place.pool) || core.leads_to(aim, session.place.pool)
    };
    // A session stays in the list of the service that it began in.
    if service.id == session.service.id {
        session.service = service;
    }
    same && core.pools.keeps_work(session.place)
}
