//! The network as the proxy sees it.

use std::{net::SocketAddr, time::Duration};

use weir_proxy::{
    buf::Buf,
    io::{After, Close, Conn, Io, Time},
};

use super::{BLOCK_BYTES, FLUSH_TIME, Network};
use crate::{
    agenda::Act,
    link::{Appetite, Link, Quality},
};

/// Sun, 06 Nov 1994 08:49:37 GMT.
const UNIX_S_AT_BEGIN: u64 = 784_111_777;

impl Network {
    fn note(&mut self, conn: Conn, deed: impl std::fmt::Display) {
        if let Some(deeds) = &mut self.deeds {
            deeds.push(format!("{}.{} {deed}", conn.slot, conn.generation));
        }
    }
}

impl Io for Network {
    fn now(&self) -> Time {
        self.now
    }

    fn unix_s(&self) -> u64 {
        UNIX_S_AT_BEGIN + self.now.nanos / 1_000_000_000
    }

    fn unix_us(&self) -> u64 {
        UNIX_S_AT_BEGIN * 1_000_000 + self.now.nanos / 1_000
    }

    fn random(&mut self) -> [u8; 16] {
        u128::from(self.rng.next()).to_be_bytes()
    }

    fn buffer(&mut self) -> Buf {
        self.buffers.take()
    }

    fn buffered_bytes(&self) -> usize {
        self.buffers.in_use() * BLOCK_BYTES
    }

    fn connect(&mut self, to: SocketAddr) -> Conn {
        let quality =
            Quality { latency: Duration::ZERO, shredded: false, window_bytes: usize::MAX, appetite: Appetite::AtOnce };
        self.links.push(Link::new(quality, None));
        let link = self.links.len() - 1;
        self.dials.push_back((link, to));
        let conn = self.open(link);
        self.note(conn, format_args!("connects to {to}"));
        conn
    }

    fn send(&mut self, conn: Conn, buf: Buf) {
        let Some(link) = self.link_of(conn) else { return };
        self.note(conn, format_args!("sends {} bytes", buf.len()));
        self.links[link].queue(buf);
        self.mark_dirty(link);
    }

    fn queued(&self, conn: Conn) -> usize {
        let Some(link) = self.link_of(conn) else { return 0 };
        let state = &self.links[link];
        state.seen_queued.set(state.seen_queued.get() || state.queued_bytes > 0);
        state.queued_bytes
    }

    fn round_trip(&self, conn: Conn) -> Option<Duration> {
        self.link_of(conn).map(|link| self.links[link].quality.latency * 2)
    }

    fn local_address(&self, _conn: Conn) -> Option<SocketAddr> {
        None
    }

    fn reading(&mut self, conn: Conn, on: bool) {
        let Some(link) = self.link_of(conn) else { return };
        self.note(conn, if on { "reads again" } else { "stops reading" });
        self.links[link].reading = on;
        if on && (!self.links[link].received.is_empty() || self.links[link].received_fin) {
            self.pump_later(link);
        }
        if self.links[link].leaves_unread() {
            self.agenda.add(self.now, Act::Leaving(link));
        }
    }

    fn relay(&mut self, from: Conn, to: Conn, bytes: u64, _after: After) {
        self.begin_relay(from, to, bytes);
    }

    fn finish(&mut self, conn: Conn) {
        let Some(link) = self.link_of(conn) else { return };
        self.note(conn, "finishes");
        self.links[link].finishing = true;
        self.mark_dirty(link);
    }

    fn deadline(&mut self, conn: Conn, at: Option<Time>) {
        let Some(link) = self.link_of(conn) else { return };
        self.links[link].deadline = at;
        if let Some(at) = at {
            self.agenda.add(at, Act::Deadline(conn, at));
        }
    }

    fn close(&mut self, conn: Conn, how: Close) {
        let Some(link) = self.link_of(conn) else { return };
        self.note(conn, format_args!("closes: {how:?}"));
        self.release(link);
        let unread = !self.links[link].received.is_empty();
        self.links[link].closed = Some(how);
        self.links[link].closed_at = Some(self.now);
        self.links[link].received.clear();
        match how {
            Close::Abort => self.answer_with_reset(link),
            Close::Flush if unread => self.answer_with_reset(link),
            Close::Cut if !self.links[link].connected => self.answer_with_reset(link),
            Close::Flush | Close::Linger | Close::Cut => {
                self.mark_dirty(link);
                self.at(FLUSH_TIME, Act::Forget(link));
                self.push_to_engine(link);
            }
        }
    }
}
