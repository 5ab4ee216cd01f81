//! Streams that are tunnels: WebSockets of a client that speaks HTTP/2 (RFC 8441). A [`Stream`] is their end, as on a
//! connection of its own.

use weir_wire::{head::Overflow, http2::Code};

use super::{Browser, Task};
use crate::{
    breach::block,
    network::Wake,
    peer::{Deed, Desk, Peer},
    stream::{self, Stream},
};

/// One that was asked for.
pub struct Tunnel {
    end: Stream,
    is_open: bool,
    /// Its end sends no more than it has sent.
    pub has_said_all: bool,
    /// Its end takes no more.
    is_closed: bool,
    heard_all: bool,
}

impl Browser {
    pub(super) fn ask_for_tunnel(&mut self, id: u32, mut plan: stream::Plan, desk: &mut Desk<'_>) {
        let path = plan.asks.take().unwrap_or_default();
        desk.tell(&self.plan.name, format_args!("{id}: asks for WebSocket at {path}"));
        if let Some(ask) = self.connection.kept(id) {
            let end = Stream::new(plan);
            ask.tunnel = Some(Tunnel { end, is_open: false, has_said_all: false, is_closed: false, heard_all: false });
            // It counts as no request.
            ask.is_answered = true;
        }
        let block = block(&[
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "http"),
            (":authority", "sim.test"),
            (":path", &path),
            ("sec-websocket-version", "13"),
        ]);
        self.write_head(id, false, desk, |room| {
            room.get_mut(..block.len()).ok_or(Overflow)?.copy_from_slice(&block);
            Ok(block.len())
        });
    }

    /// The answer has come. Returns false if there is no tunnel.
    pub(super) fn answers_tunnel(&mut self, id: u32, status: u16, desk: &mut Desk<'_>) -> bool {
        let Some(tunnel) = self.connection.kept(id).and_then(|ask| ask.tunnel.as_mut()) else { return false };
        if status == 200 && !std::mem::replace(&mut tunnel.is_open, true) {
            desk.ledger.tally.stream_sockets += 1;
            self.wake_tunnel(id, Wake::Connected, desk);
            return true;
        }
        if self.plan.calm {
            desk.ledger.violation(&self.plan.name, format_args!("{id}: got {status} for a WebSocket"));
        }
        self.connection.end(id, Code::Cancel);
        true
    }

    /// Something has come for a tunnel. Returns false if there is none.
    pub(super) fn tunnel_hears(&mut self, id: u32, content: &[u8], is_all: bool, desk: &mut Desk<'_>) -> bool {
        let Some(tunnel) = self.connection.kept(id).and_then(|ask| ask.tunnel.as_mut()) else { return false };
        tunnel.heard_all |= is_all;
        if !content.is_empty() {
            self.wake_tunnel(id, Wake::Bytes(content.to_vec()), desk);
        }
        if is_all {
            self.wake_tunnel(id, Wake::Fin, desk);
        }
        self.end_tunnel(id);
        true
    }

    /// The end of a tunnel acts; what it does goes on its stream.
    pub(super) fn wake_tunnel(&mut self, id: u32, wake: Wake, desk: &mut Desk<'_>) {
        let Some(tunnel) = self.connection.kept(id).and_then(|ask| ask.tunnel.as_mut()) else { return };
        let before = std::mem::take(&mut desk.deeds);
        tunnel.end.wake(wake, desk);
        for deed in std::mem::replace(&mut desk.deeds, before) {
            let Some(ask) = self.connection.kept(id) else { return };
            let Some(tunnel) = ask.tunnel.as_mut() else { return };
            match deed {
                Deed::Send(bytes) => ask.body.extend(bytes),
                Deed::Finish => tunnel.has_said_all = true,
                Deed::Close => (tunnel.has_said_all, tunnel.is_closed) = (true, true),
                Deed::Reset => _ = self.connection.end(id, Code::Cancel),
                Deed::WakeAfter(span) => self.later(span, Task::Wake(id), desk),
            }
        }
    }

    /// Ends the stream of a tunnel that both sides have ended, or whose end takes no more.
    pub(super) fn end_tunnel(&mut self, id: u32) {
        let Some(ask) = self.connection.kept(id) else { return };
        let Some(tunnel) = &ask.tunnel else { return };
        if ask.said_all && (tunnel.heard_all || tunnel.is_closed) {
            self.connection.end(id, Code::Cancel);
        }
    }
}
