//! What scripts still want of an exchange.

use weir_balance::HashKey;
use weir_script::{Ending, Persist, Seen};

use crate::{buf::Buf, exchange::held::Held};

/// Of an exchange whose virtual service has scripts for what comes later.
#[derive(Default)]
pub(super) struct Scripted {
    /// What they see of it; `None`: none run any more.
    pub seen: Option<Box<Seen>>,
    /// What they answer instead of a server.
    pub ending: Option<Box<Ending>>,
    /// What pools go by that choose servers by a hash. `None`: as the pool says.
    pub key: Option<HashKey>,
    /// They bind it to a server by a key of their own.
    pub persist: Option<Persist>,
    /// `None`: they want to see nothing of the request's body.
    pub collecting: Option<Collecting>,
    /// `None`: they want to see nothing of the response's body, or all that was kept for them has gone to the client.
    pub collected: Option<Box<Collected>>,
}

/// A response of which the client gets nothing before scripts have seen its body.
pub(crate) struct Collected {
    /// So many bytes of it.
    pub bytes: usize,
    pub status: u16,
    /// `None`: scripts have seen the body, and the client has the head.
    pub head: Option<Buf>,
    /// Content that has come.
    pub held: Held,
}

impl Collected {
    /// Whether scripts can see as much as they want.
    pub fn is_due(&self) -> bool {
        self.head.is_some() && self.held.bytes() >= self.bytes
    }

    /// What scripts see of the body.
    pub fn content(&self) -> Vec<u8> {
        let mut content = Vec::with_capacity(self.held.bytes().min(self.bytes));
        for piece in self.held.iter() {
            let room = self.bytes - content.len();
            content.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        content
    }
}

impl Scripted {
    /// Whether they may have to do with the choice of its server.
    pub fn is_shown_choice(&self) -> bool {
        self.seen.is_some() || self.persist.is_some()
    }
}

/// Scripts want to see the body of a request.
#[derive(Clone, Copy)]
pub(crate) struct Collecting {
    /// So many bytes of it.
    pub bytes: usize,
    /// They may choose where it goes: no rule has.
    pub may_choose: bool,
}
