//! Sessions with servers that may be resumed, by server and name. rustls stores them by the name alone, which all
//! servers of a pool share; but a session is useless to another server.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustls::{
    ClientConfig, NamedGroup,
    client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue},
    pki_types::ServerName,
};

use crate::bounded::Bounded;

/// The limit of servers, and of servers with a name, in one configuration. A server that was dropped gets a full
/// handshake again.
const PEERS_MAX: usize = 1024;
/// The limit of TLS 1.3 tickets of each. A ticket serves once. Beyond the limit the oldest is dropped.
const TICKETS_MAX: usize = 4;

/// The sessions of one configuration, and so of one worker. rustls requires the lock, but nobody ever waits for it.
#[derive(Debug)]
pub(crate) struct Sessions(Mutex<Bounded<Peer, Kept>>);

impl Default for Sessions {
    fn default() -> Self {
        Self(Mutex::new(Bounded::new(PEERS_MAX)))
    }
}

type Peer = (u32, ServerName<'static>);

#[derive(Debug, Default)]
struct Kept {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tickets: VecDeque<Tls13ClientSessionValue>,
}

/// A configuration for each server, which differs only in its sessions. It is stored, because to look it up costs less
/// than to copy it for each connection.
pub(crate) struct Towards {
    sessions: Arc<Sessions>,
    configs: Mutex<Bounded<u32, Arc<ClientConfig>>>,
}

impl Default for Towards {
    fn default() -> Self {
        Self { sessions: Arc::default(), configs: Mutex::new(Bounded::new(PEERS_MAX)) }
    }
}

impl Towards {
    /// What `base` is for one server.
    pub fn config(&self, base: &ClientConfig, server: u32) -> Arc<ClientConfig> {
        let make = || {
            let mut config = base.clone();
            config.resumption = Resumption::store(Arc::new(SessionsWith { server, all: self.sessions.clone() }));
            Arc::new(config)
        };
        lock(&self.configs).find_or_put(server, make).clone()
    }
}

/// What rustls sees: the sessions with one server.
#[derive(Debug)]
pub(crate) struct SessionsWith {
    pub server: u32,
    pub all: Arc<Sessions>,
}

impl SessionsWith {
    fn lock(&self) -> MutexGuard<'_, Bounded<Peer, Kept>> {
        lock(&self.all.0)
    }

    fn keep<T>(&self, name: ServerName<'static>, change: impl FnOnce(&mut Kept) -> T) -> T {
        change(self.lock().find_or_put((self.server, name), Kept::default))
    }

    fn peer(&self, name: &ServerName<'_>) -> Peer {
        (self.server, name.to_owned())
    }
}

impl ClientSessionStore for SessionsWith {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.keep(name, |kept| kept.group = Some(group));
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock().find(&self.peer(name))?.group
    }

    fn set_tls12_session(&self, name: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.keep(name, |kept| kept.tls12 = Some(session));
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock().find(&self.peer(name))?.tls12.clone()
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        if let Some(kept) = self.lock().find(&self.peer(name)) {
            kept.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.keep(name, |kept| {
            if kept.tickets.len() >= TICKETS_MAX {
                kept.tickets.pop_front();
            }
            kept.tickets.push_back(ticket);
        });
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.lock().find(&self.peer(name))?.tickets.pop_back()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_session_goes_when_there_are_too_many() {
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
