//! Sessions with servers that may be resumed, by server and name: rustls goes by the name alone, which all servers of a
//! pool share, and a session is worth nothing to another server.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustls::{
    NamedGroup,
    client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue},
    pki_types::ServerName,
};

/// Servers and names of one configuration; one more takes the place of the oldest, which then gets a full handshake.
const PEERS_MAX: usize = 1024;
/// Of TLS 1.3, for each: each serves once, and what servers issue beyond is dropped, oldest first.
const TICKETS_MAX: usize = 4;

/// Those of one configuration, and so of one worker: the lock, which rustls wants, is never waited for.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<ByPeer>);

#[derive(Debug, Default)]
struct ByPeer {
    kept: HashMap<Peer, Kept>,
    /// Oldest first.
    order: VecDeque<Peer>,
}

type Peer = (u32, ServerName<'static>);

#[derive(Debug, Default)]
struct Kept {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl ByPeer {
    fn of(&mut self, peer: Peer) -> &mut Kept {
        if !self.kept.contains_key(&peer) {
            if self.order.len() >= PEERS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.kept.remove(&oldest);
            }
            self.order.push_back(peer.clone());
        }
        self.kept.entry(peer).or_default()
    }
}

/// What rustls sees: the sessions with one server.
#[derive(Debug)]
pub(crate) struct SessionsWith {
    pub server: u32,
    pub all: Arc<Sessions>,
}

impl SessionsWith {
    fn lock(&self) -> MutexGuard<'_, ByPeer> {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn peer(&self, name: &ServerName<'_>) -> Peer {
        (self.server, name.to_owned())
    }
}

impl ClientSessionStore for SessionsWith {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.lock().of((self.server, name)).group = Some(group);
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock().kept.get(&self.peer(name))?.group
    }

    fn set_tls12_session(&self, name: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.lock().of((self.server, name)).tls12 = Some(session);
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock().kept.get(&self.peer(name))?.tls12.clone()
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        if let Some(kept) = self.lock().kept.get_mut(&self.peer(name)) {
            kept.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut sessions = self.lock();
        let tickets = &mut sessions.of((self.server, name)).tickets;
        if tickets.len() >= TICKETS_MAX {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.lock().kept.get_mut(&self.peer(name))?.tickets.pop_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomer_takes_the_place_of_the_oldest() {
        let all = Arc::new(Sessions::default());
        let with = |server| SessionsWith { server, all: all.clone() };
        let name = || ServerName::try_from("a.test").unwrap();
        for server in 0..=PEERS_MAX as u32 {
            with(server).set_kx_hint(name(), NamedGroup::X25519);
        }
        let known = |server| with(server).kx_hint(&name()).is_some();
        assert_eq!([known(0), known(1), known(PEERS_MAX as u32)], [false, true, true]);
    }
}
