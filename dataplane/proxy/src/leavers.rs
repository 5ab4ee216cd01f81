//! Servers that lose what they still have at some time: those that were disabled or removed, and those that are down.

use std::net::SocketAddr;

use weir_snapshot::{Grace, Pool, Server};

use crate::io::Time;

/// There are as many as disabled and down servers in the pools, and removed ones that still have work.
#[derive(Default)]
pub(crate) struct Leavers {
    list: Vec<Leaver>,
    /// When the first of them is due.
    due: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaver {
    pub pool: u32,
    /// The dense id.
    pub server: u32,
    address: SocketAddr,
    why: Why,
    since: Time,
    /// `None`: it keeps its work until that ends.
    at: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// It was disabled or removed.
    Disabled,
    Down,
}

impl Leaver {
    fn new(pool: &Pool, (server, address): (u32, SocketAddr), why: Why, now: Time) -> Self {
        Self { pool: pool.id, server, address, why, since: now, at: due(&pool.grace, why, now) }
    }

    /// Whether it is this server of this pool, at this address.
    pub fn is(&self, pool: u32, server: u32, address: SocketAddr) -> bool {
        (self.pool, self.server, self.address) == (pool, server, address)
    }
}

fn due(grace: &Grace, why: Why, since: Time) -> Option<Time> {
    let kept = match why {
        Why::Disabled => grace.disabled,
        Why::Down => grace.down,
    };
    kept.map(|kept| since + kept)
}

impl Leavers {
    /// A pool was changed or is new. `has_work`: whether a server of the pool before has requests or connections.
    pub fn follow(&mut self, before: Option<&Pool>, pool: &Pool, has_work: impl Fn(u32) -> bool, now: Time) {
        self.list.retain_mut(|leaver| leaver.pool != pool.id || leaver.stays(pool));
        for (server, spec) in pool.servers.iter().zip(&pool.balance.servers) {
            let was_disabled = before.is_some_and(|before| {
                let position = before.position(&server.name);
                position.is_some_and(|position| !before.balance.servers[position].enabled)
            });
            if !spec.enabled && !was_disabled {
                self.list.push(Leaver::new(pool, (server.id, server.address), Why::Disabled, now));
            }
        }
        for server in before.into_iter().flat_map(|before| &before.servers) {
            let position = pool.position(&server.name);
            let is_gone = position.is_none_or(|position| pool.servers[position].address != server.address);
            if is_gone && pool.grace.disabled.is_some() && has_work(server.id) {
                self.list.push(Leaver::new(pool, (server.id, server.address), Why::Disabled, now));
            }
        }
        self.renew_due();
    }

    /// The monitors have judged a server of the pool.
    pub fn judged(&mut self, pool: &Pool, position: usize, up: bool, now: Time) {
        let server = &pool.servers[position];
        let is_listed = |leaver: &Leaver| {
            (leaver.pool, leaver.server, leaver.why) == (pool.id, server.id, Why::Down)
                && leaver.address == server.address
        };
        if up {
            self.list.retain(|leaver| !is_listed(leaver));
        } else if !self.list.iter().any(is_listed) {
            self.list.push(Leaver::new(pool, (server.id, server.address), Why::Down, now));
        }
        self.renew_due();
    }

    pub fn due(&self) -> Option<Time> {
        self.due
    }

    #[inline]
    pub fn are_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Takes those that are due.
    pub fn take(&mut self, now: Time) -> Vec<Leaver> {
        let is_due = |leaver: &mut Leaver| leaver.at.is_some_and(|at| at <= now);
        let taken = self.list.extract_if(.., is_due).collect();
        self.renew_due();
        taken
    }

    fn renew_due(&mut self) {
        self.due = self.list.iter().filter_map(|leaver| leaver.at).min();
    }
}

impl Leaver {
    /// Follows its pool. False: the server takes requests again, or nobody judges it any more.
    fn stays(&mut self, pool: &Pool) -> bool {
        // A server that was removed and is back has another id.
        let here = |server: &Server| server.address == self.address;
        let stays = match self.why {
            Why::Disabled => {
                let mut all = pool.servers.iter().zip(&pool.balance.servers);
                !all.any(|(server, spec)| here(server) && spec.enabled)
            }
            Why::Down => {
                pool.balance.monitored && pool.servers.iter().any(|server| server.id == self.server && here(server))
            }
        };
        self.at = due(&pool.grace, self.why, self.since);
        stays
    }
}
