//! A server that requests with a key of a script go to: the tables of the virtual service know it as `address-port`.

use std::net::SocketAddr;

use crate::store::{Key, Store};

/// A script binds requests with a key to one server.
#[derive(PartialEq, Eq, Debug)]
pub struct Persist {
    key: Key,
    life_s: u32,
    /// That has got the last request with the key.
    pub server: Option<SocketAddr>,
}

/// More than the text of a server.
pub(crate) const SERVER_BYTES_MAX: usize = 64;

impl Persist {
    pub(crate) fn of(key: Key, life_s: u32, store: &Store, now_ns: u64) -> Self {
        let server = store.look_up(&key, 0, now_ns).and_then(|found| read(&found.value));
        Self { key, life_s, server }
    }

    /// A server gets a request with the key.
    pub fn bind(&self, store: &Store, server: SocketAddr, now_ns: u64) {
        let known = store.look_up(&self.key, self.life_s, now_ns).and_then(|found| read(&found.value));
        if known != Some(server) {
            store.remove(&self.key);
            let text = format!("{}-{}", server.ip().to_canonical(), server.port());
            // Without room the next request is as free as this one was.
            store.insert(&self.key, text.as_bytes(), self.life_s, now_ns);
        }
    }
}

/// What scripts have put there may be something else.
fn read(value: &[u8]) -> Option<SocketAddr> {
    let (ip, port) = str::from_utf8(value).ok()?.rsplit_once('-')?;
    Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?))
}
