//! One session: a client's address and port at a listener, and the server that its datagrams go to.

use std::{net::SocketAddr, sync::Arc};

use weir_rules::DecidedBy;
use weir_snapshot::{Udp, VirtualService};
use weir_telemetry::Cause;

use super::io::{ListenerId, ServerSocket};
use crate::{io::Time, pool::Place};

/// What a session is found by. A client of a service that chooses a server per datagram has a session for each server
/// that it uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    pub listener: ListenerId,
    pub peer: SocketAddr,
    /// The dense id of the server, or [`Key::ANY`].
    pub server: u32,
}

impl Key {
    /// The session has one server at a time.
    pub const ANY: u32 = u32::MAX;
}

pub(crate) struct Session {
    pub key: Key,
    /// Where the client sends to; the listener may be gone before the session.
    pub listener: SocketAddr,
    pub service: Arc<VirtualService>,
    pub place: Place,
    pub socket: ServerSocket,
    /// Since when it has this server.
    pub begun: Time,
    /// When the last datagram came, in either direction.
    pub active: Time,
    /// The number of the last change after which it was found to be in order.
    pub checked: u32,
    /// Datagrams of the client that the server has not answered.
    pub unanswered: u32,
    pub progress: Progress,
    pub history: History,
}

/// What a record shows of a session.
#[derive(Default)]
pub(crate) struct History {
    pub begun: Time,
    /// When the first answer came.
    pub answered: Option<Time>,
    /// From and to the client.
    pub up_bytes: u64,
    pub down_bytes: u64,
    pub servers_tried: usize,
    pub cause: Option<Cause>,
    /// The rule for connections that has let it in.
    pub rule: Option<DecidedBy>,
}

/// How far client and server have got in hearing each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Asked,
    Answered,
    /// The client has sent a datagram after an answer.
    AskedAgain,
    /// The server has answered that, too.
    Established,
}

/// What an answer is to its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    First,
    /// The session is established by it.
    Establishing,
    Other,
}

impl Session {
    pub fn udp(&self) -> Option<&Udp> {
        self.service.udp.as_ref()
    }

    /// The server got a datagram.
    pub fn asked(&mut self, now: Time) {
        self.active = now;
        self.unanswered = self.unanswered.saturating_add(1);
        if self.progress == Progress::Answered {
            self.progress = Progress::AskedAgain;
        }
    }

    /// The server sent a datagram.
    pub fn answered(&mut self, now: Time) -> Answer {
        self.active = now;
        self.unanswered = self.unanswered.saturating_sub(1);
        let (progress, answer) = match self.progress {
            Progress::Asked => (Progress::Answered, Answer::First),
            Progress::AskedAgain => (Progress::Established, Answer::Establishing),
            stays => (stays, Answer::Other),
        };
        self.progress = progress;
        answer
    }

    /// No other answer is to come.
    pub fn is_over(&self) -> bool {
        self.unanswered == 0 && self.udp().is_some_and(|udp| udp.counts_answers)
    }
}
