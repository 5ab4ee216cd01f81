//! Which clients the sockets with a client's address have, and to which server. The kernel allows several sockets with
//! one address and port. With the same server, too, it could not tell whose answers come: two listeners may have
//! clients with the same address and port. So each pair belongs to one session of the process, of any worker.
//!
//! Workers share nothing else. A lock is taken when a session begins and ends, and held for one look into a table, which
//! has as many entries as there are such sockets.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    io,
    net::SocketAddr,
    sync::{LazyLock, Mutex, PoisonError},
};

/// So many that workers rarely wait for each other.
const PARTS: usize = 64;

static CLAIMED: LazyLock<Claimed> = LazyLock::new(Claimed::default);

struct Claimed {
    parts: [Mutex<HashSet<Ends>>; PARTS],
    hasher: RandomState,
}

impl Default for Claimed {
    fn default() -> Self {
        Self { parts: std::array::from_fn(|_| Mutex::default()), hasher: RandomState::new() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Ends {
    client: SocketAddr,
    server: SocketAddr,
}

/// A client and a server. No other of these is equal to it.
pub(super) struct Pair(Ends);

impl Pair {
    /// The error is `AddrInUse` if another socket of this process has this pair, and `AddrNotAvailable` if no socket can
    /// have the client's address and port.
    pub fn claim(client: SocketAddr, server: SocketAddr) -> io::Result<Box<Self>> {
        if !can_be_kept(&client) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let ends = Ends { client, server };
        match in_part(&ends, |part| part.insert(ends)) {
            true => Ok(Box::new(Self(ends))),
            false => Err(io::ErrorKind::AddrInUse.into()),
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        in_part(&self.0, |part| part.remove(&self.0));
    }
}

/// Port 0 asks the kernel to choose one, and a link-local address means another host on each link.
fn can_be_kept(client: &SocketAddr) -> bool {
    let of_one_link = matches!(client, SocketAddr::V6(client) if client.ip().is_unicast_link_local());
    client.port() != 0 && !of_one_link
}

fn in_part<T>(ends: &Ends, act: impl FnOnce(&mut HashSet<Ends>) -> T) -> T {
    let part = CLAIMED.hasher.hash_one(ends) as usize % PARTS;
    act(&mut CLAIMED.parts[part].lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(client: &str, server: &str) -> Result<Box<Pair>, io::ErrorKind> {
        Pair::claim(client.parse().unwrap(), server.parse().unwrap()).map_err(|err| err.kind())
    }

    #[test]
    fn pair_belongs_to_one_socket_of_any_thread_until_it_is_given_up() {
        let first = claim("198.51.100.1:514", "198.51.100.9:514").unwrap();
        let other = std::thread::spawn(|| claim("198.51.100.1:514", "198.51.100.9:514").err());
        assert_eq!(other.join().unwrap(), Some(io::ErrorKind::AddrInUse));
        let _to_another_server = claim("198.51.100.1:514", "198.51.100.8:514").unwrap();
        let _to_another_port = claim("198.51.100.1:514", "198.51.100.9:515").unwrap();
        drop(first);
        assert!(claim("198.51.100.1:514", "198.51.100.9:514").is_ok());
    }

    #[test]
    fn neither_port_0_nor_an_address_of_one_link_can_be_kept() {
        for (client, server) in [("[fe80::1]:514", "[2001:db8::1]:514"), ("198.51.100.1:0", "198.51.100.9:514")] {
            assert_eq!(claim(client, server).err(), Some(io::ErrorKind::AddrNotAvailable));
        }
    }
}
