//! The network as simulated clients and servers see it. What they send reaches the engine as the window allows. They
//! read at a rate of their own.

use super::{ENGINE_WINDOW_BYTES, Network, Step, Wake};
use crate::{
    agenda::{Act, LinkId},
    link::Appetite,
};

impl Network {
    pub fn peer_sends(&mut self, link: LinkId, bytes: &[u8]) {
        let state = &mut self.links[link];
        if state.peer_closed || state.peer_finish {
            return;
        }
        state.peer_outgoing.extend(bytes);
        self.push_to_engine(link);
    }

    /// The peer sends no more after what it has sent; it still reads.
    pub fn peer_finishes(&mut self, link: LinkId) {
        self.links[link].peer_finish = true;
        self.push_to_engine(link);
    }

    /// Like a process that calls close(2): what comes from now on is answered with a reset.
    pub fn peer_closes(&mut self, link: LinkId) {
        self.peer_finishes(link);
        self.links[link].peer_closed = true;
        self.links[link].peer_backlog.clear();
    }

    pub fn peer_resets(&mut self, link: LinkId) {
        if std::mem::replace(&mut self.links[link].peer_closed, true) {
            return;
        }
        self.links[link].peer_outgoing.clear();
        let at = self.links[link].arrival_at_engine(self.now);
        self.agenda.add(at, Act::EngineReset(link));
    }

    /// Puts on the way what the engine's window takes of what the peer has sent.
    pub(super) fn push_to_engine(&mut self, link: LinkId) {
        loop {
            let state = &mut self.links[link];
            let room = ENGINE_WINDOW_BYTES.saturating_sub(state.on_its_way + state.received.len());
            let len = state.peer_outgoing.len().min(room).min(self.rng.between(1, 20_000) as usize);
            if len == 0 {
                break;
            }
            let bytes: Vec<u8> = state.peer_outgoing.drain(..len).collect();
            state.on_its_way += len;
            let at = state.arrival_at_engine(self.now);
            self.agenda.add(at, Act::EngineBytes(link, bytes));
        }
        let state = &mut self.links[link];
        if state.peer_finish && state.peer_outgoing.is_empty() && !state.peer_fin_sent {
            state.peer_fin_sent = true;
            let at = state.arrival_at_engine(self.now);
            self.agenda.add(at, Act::EngineFin(link));
        }
    }

    pub(super) fn peer_bytes(&mut self, link: LinkId, bytes: Vec<u8>) -> Step {
        let state = &mut self.links[link];
        if state.peer_closed {
            state.unread_by_peer -= bytes.len();
            let at = state.arrival_at_engine(self.now);
            self.agenda.add(at, Act::EngineReset(link));
            return Step::Engine;
        }
        state.peer_backlog.extend(bytes);
        match state.quality.appetite {
            Appetite::AtOnce => self.peer_reads(link),
            Appetite::Slowly { every, .. } => {
                self.at(every, Act::PeerReads(link));
                Step::Engine
            }
            Appetite::Never => Step::Engine,
        }
    }

    pub(super) fn peer_reads(&mut self, link: LinkId) -> Step {
        let bytes = self.links[link].peer_reads();
        self.transmit(link);
        if !bytes.is_empty() {
            if let Appetite::Slowly { every, .. } = self.links[link].quality.appetite {
                self.at(every, Act::PeerReads(link));
            }
            return Step::Peer(link, Wake::Bytes(bytes));
        }
        if std::mem::take(&mut self.links[link].peer_backlog_fin) {
            return Step::Peer(link, Wake::Fin);
        }
        Step::Engine
    }

    pub(super) fn peer_fin(&mut self, link: LinkId) -> Step {
        let state = &mut self.links[link];
        if !state.peer_backlog.is_empty() {
            state.peer_backlog_fin = true;
            return Step::Engine;
        }
        if state.peer_closed { Step::Engine } else { Step::Peer(link, Wake::Fin) }
    }

    pub(super) fn peer_reset(&mut self, link: LinkId) -> Step {
        let state = &mut self.links[link];
        state.peer_backlog.clear();
        if std::mem::replace(&mut state.peer_closed, true) { Step::Engine } else { Step::Peer(link, Wake::Reset) }
    }
}
