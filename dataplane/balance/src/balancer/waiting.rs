//! Whether requests have to wait until servers have fewer connections.

use crate::{Balancer, Bound, HashKey};

/// What servers have for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// One takes it.
    Some,
    /// Each one that would take it has as many connections as it may have.
    Full,
    /// None would take it.
    None,
}

impl Balancer {
    /// What servers have for a request that was tried on some in vain.
    pub fn room(&self, exclude: &[u32]) -> Room {
        let mut standing = self.servers.iter().filter(|server| server.stands() && !exclude.contains(&server.spec.id));
        let mut room = Room::None;
        let has_room = standing.any(|server| {
            room = Room::Full;
            !server.is_full()
        });
        if has_room { Room::Some } else { room }
    }

    /// Whether a server would take a request that is bound to it, if it had fewer connections.
    pub fn is_only_full(&self, now_ns: u64, id: u32) -> bool {
        let is_only_full = |position: usize| {
            self.servers[position].is_full() && self.bound_beyond_limit(now_ns, position) == Bound::Server(position)
        };
        self.position(id).is_some_and(is_only_full)
    }

    /// The id of the server that a key binds a request to, if it was ever up.
    pub fn owner_id(&mut self, key: HashKey) -> Option<u32> {
        let owner = self.owner(key)?;
        let server = &self.servers[owner];
        server.was_up.then_some(server.spec.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, Cores, PoolSpec, ServerSpec, Tickets, Ties};

    fn pool(max_connections: u32, ties: Ties) -> Balancer {
        let server =
            |id: u32| ServerSpec { id, key: HashKey::of(&[id as u8]), ratio: 1, enabled: true, max_connections };
        Balancer::new(&PoolSpec {
            algorithm: if ties.by_key { Algorithm::ConsistentHash } else { Algorithm::LeastConnections },
            servers: (0..2).map(server).collect(),
            monitored: true,
            watches: false,
            offset: 0,
            ramp_ns: 0,
            slow_ns: 0,
            ties,
            cores: Cores::default(),
            tickets: Tickets::default(),
        })
    }

    #[test]
    fn pool_is_full_only_while_each_server_that_stands_is() {
        let mut balancer = pool(1, Ties::default());
        assert_eq!(balancer.room(&[]), Room::None);
        balancer.set_up(0, true);
        assert_eq!(balancer.room(&[]), Room::Some);
        balancer.opened(0);
        assert_eq!((balancer.room(&[]), balancer.room(&[0])), (Room::Full, Room::None));
        balancer.set_up(1, true);
        assert_eq!((balancer.room(&[]), balancer.room(&[1])), (Room::Some, Room::Full));
        balancer.closed(0);
        assert_eq!(balancer.room(&[1]), Room::Some);
        balancer.set_up(0, false);
        assert_eq!(balancer.room(&[1]), Room::None);
    }

    #[test]
    fn pool_without_limit_is_never_full() {
        let mut balancer = pool(0, Ties::default());
        balancer.set_up(0, true);
        (0..9).for_each(|_| balancer.opened(0));
        assert_eq!(balancer.room(&[]), Room::Some);
        assert!(!balancer.is_only_full(0, 0));
    }

    #[test]
    fn request_waits_for_the_server_of_its_key_only_while_that_would_take_it() {
        let mut balancer = pool(1, Ties { by_key: true, ..Ties::default() });
        let key = HashKey::of(b"client");
        assert_eq!(balancer.owner_id(key), None, "it was never up");
        (0..2).for_each(|id| balancer.set_up(id, true));
        let owner = balancer.owner_id(key).unwrap();
        assert!(!balancer.is_only_full(0, owner));
        balancer.opened(owner);
        assert!(balancer.is_only_full(0, owner));
        assert_eq!(balancer.room(&[]), Room::Some);
        balancer.set_up(owner, false);
        assert!(!balancer.is_only_full(0, owner));
        assert_eq!(balancer.owner_id(key), Some(owner));
    }
}
