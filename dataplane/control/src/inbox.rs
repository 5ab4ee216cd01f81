//! What the control thread is told, and where.

use std::{
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::{Arc, mpsc},
};

use weir_api::dataplane::v1::to_dataplane;

use crate::{Answer, Error};

pub enum Message {
    AgentCame { agent: u64, stream: Arc<UnixStream> },
    Frame(Box<Received>),
    AgentGone { agent: u64, why: Error },
    Answer(Answer),
    Terminate,
}

/// A frame of an agent. While `_busy` lives, the agent's next frame is not read.
pub struct Received {
    pub agent: u64,
    pub frame: to_dataplane::Frame,
    pub fds: Vec<OwnedFd>,
    pub _busy: mpsc::Sender<()>,
}

/// Where the control thread is told things, from any thread.
///
/// What waits in it is bounded by who may tell: an agent's next frame is read when the one before has been dealt with,
/// and a worker owes at most one answer of a kind.
#[derive(Clone)]
pub struct Inbox(mpsc::Sender<Message>);

impl Inbox {
    /// With the end that the control thread reads.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Message>) {
        let (sender, messages) = mpsc::channel();
        (Self(sender), messages)
    }

    /// False after the control thread's end.
    pub(crate) fn tell(&self, message: Message) -> bool {
        self.0.send(message).is_ok()
    }

    /// A worker's answer. After the control thread's end nobody needs it.
    pub fn answer(&self, answer: Answer) {
        self.tell(Message::Answer(answer));
    }

    /// Drain and end, as on SIGTERM; the second time: end at once.
    pub fn terminate(&self) {
        self.tell(Message::Terminate);
    }
}
