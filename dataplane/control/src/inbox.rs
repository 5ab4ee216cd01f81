//! The messages to the control thread, and their queue.

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

impl Message {
    /// The agent that it is from; `None`: it is from elsewhere.
    pub fn agent(&self) -> Option<u64> {
        match self {
            Message::AgentCame { agent, .. } | Message::AgentGone { agent, .. } => Some(*agent),
            Message::Frame(received) => Some(received.agent),
            Message::Answer(_) | Message::Terminate => None,
        }
    }
}

/// A frame of an agent. The agent's next frame is not read before `_busy` is dropped.
pub struct Received {
    pub agent: u64,
    pub frame: to_dataplane::Frame,
    pub fds: Vec<OwnedFd>,
    pub _busy: mpsc::Sender<()>,
}

/// The queue of messages to the control thread. Any thread may send.
///
/// Its length is bounded by its senders: an agent's next frame is read only when the last one has been handled, and a
/// worker owes at most one answer of each kind, and two batches of records.
#[derive(Clone)]
pub struct Inbox(mpsc::Sender<Message>);

impl Inbox {
    /// The inbox and the receiving end for the control thread.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Message>) {
        let (sender, messages) = mpsc::channel();
        (Self(sender), messages)
    }

    /// Returns false once the control thread has ended.
    pub(crate) fn tell(&self, message: Message) -> bool {
        self.0.send(message).is_ok()
    }

    /// Sends a worker's answer. Once the control thread has ended, nobody needs the answer.
    pub fn answer(&self, answer: Answer) {
        self.tell(Message::Answer(answer));
    }

    /// Drains and ends, as on SIGTERM. The second call ends at once.
    pub fn terminate(&self) {
        self.tell(Message::Terminate);
    }
}
