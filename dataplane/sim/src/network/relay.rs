//! Relaying as a driver may do it: some bytes at a time, with a stop at any byte, and after the bytes that are queued
//! already.

use weir_proxy::io::{Conn, Event};

use super::{BLOCK_BYTES, Network};
use crate::agenda::LinkId;

impl Network {
    pub(super) fn begin_relay(&mut self, from: Conn, to: Conn, bytes: u64) {
        let Some(source) = self.link_of(from) else { return };
        // A driver may always be out of what it needs.
        if self.links[source].relay.is_some() || self.rng.chance(25) {
            return;
        }
        self.links[source].relay = Some((to, bytes));
        self.pump_later(source);
    }

    /// Moves some of what has arrived. False: there is no relay, or no more of it.
    pub(super) fn relay_some(&mut self, source: LinkId, batch: &mut Vec<Event>) -> bool {
        let (Some((to, left)), Some(conn)) = (self.links[source].relay, self.links[source].conn) else { return false };
        let Some(receiver) = self.link_of(to).filter(|_| left > 0 && !self.rng.chance(5)) else {
            self.links[source].relay = None;
            return false;
        };
        if self.links[receiver].queued_bytes > 0 {
            self.links[receiver].fed_by = Some(source);
            batch.push(Event::Relayed { conn, bytes: 0 });
            return true;
        }
        let most = self.rng.between(1, BLOCK_BYTES as u64).min(left) as usize;
        let len = most.min(self.links[source].received.len());
        if len == 0 {
            return !self.links[source].received_fin && !self.links[source].received_reset;
        }
        let mut buf = self.buffers.take();
        let bytes: Vec<u8> = self.links[source].received.drain(..len).collect();
        buf.append(&bytes);
        self.links[source].relay = Some((to, left - len as u64));
        self.links[receiver].queue(buf);
        self.mark_dirty(receiver);
        batch.push(Event::Relayed { conn, bytes: len as u64 });
        let state = &self.links[source];
        if !state.received.is_empty() || state.received_fin || state.received_reset {
            self.pump_later(source);
        }
        true
    }
}
