//! What an exchange has to do with the cache.

use std::{cell::Cell, rc::Rc, time::Duration};

use weir_cache::{Asked, Key, Moment};

use crate::{
    buf::Buf,
    cache::{
        flight::{Landing, Lead},
        object::{Object, Since},
    },
    io::{Io, Time},
};

/// How long a request waits for another one.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Of an exchange that has to do with the cache.
pub(crate) struct Caching {
    pub what: What,
    pub stage: Stage,
    /// When its server was asked.
    pub asked_at: Moment,
    pub since: Since,
    /// Until when it waits for others at most, once it has begun to.
    pub waits_until: Option<Time>,
    /// What it waited for was stored.
    pub has_waited: bool,
    pub lead: Cell<Option<Lead>>,
    /// It asks its server whether this still holds.
    pub stale: Option<Stale>,
    /// What its server has said of that.
    pub said: Cell<Option<Said>>,
}

/// A stored response that its server is asked about.
pub(crate) struct Stale {
    pub object: Rc<Object>,
    /// The request without the question.
    pub head: Buf,
}

/// A 304 of a server.
pub(crate) struct Said {
    pub of: Of,
    /// The server's connection serves on.
    pub server_goes_on: bool,
}

/// What a 304 speaks of.
pub(crate) enum Of {
    /// The stored response, which holds. `is_kept`: it stays stored, because what its server says now allows that.
    Stored { object: Rc<Object>, is_kept: bool },
    /// Another one, which nobody has got (RFC 9111 §4.3.4).
    Another,
}

pub(crate) enum What {
    Asks(Box<Asked>),
    /// If it succeeds, what is stored of this holds no more (RFC 9111 §4.4).
    Changes(Key),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    New,
    /// For the response to another request.
    Waits,
    /// A server gets it.
    Passes,
    /// A stored response answers it.
    Answered,
}

impl Caching {
    pub fn new(what: What) -> Self {
        Self {
            what,
            stage: Stage::New,
            asked_at: Moment::default(),
            since: Since::default(),
            waits_until: None,
            has_waited: false,
            lead: Cell::new(None),
            stale: None,
            said: Cell::new(None),
        }
    }

    pub fn asked(&self) -> Option<&Asked> {
        match &self.what {
            What::Asks(asked) => Some(asked),
            What::Changes(_) => None,
        }
    }

    /// The response is not stored.
    pub fn give_up(&self) {
        if let Some(lead) = self.lead.take() {
            lead.land(Landing::NotStored);
        }
    }
}

pub(crate) fn moment<I: Io>(io: &I) -> Moment {
    Moment { unix_s: io.unix_s(), steady_s: steady_s(io.now()) }
}

pub(crate) fn steady_s(now: Time) -> u64 {
    now.nanos / 1_000_000_000
}
