//! A connection to a server: whose request it carries, what has come on it, and whether it may carry another.

use std::sync::Arc;

use weir_snapshot::Pool;
use weir_wire::http1::{self, FieldTable, Method, Parsed, ResponseHead};

use crate::{
    inbox::Inbox,
    io::{Conn, Io, Time},
    line::Line,
    pool::Place,
};

pub(crate) struct Server {
    pub line: Line,
    pub place: Place,
    /// As it was when the connection began; its timeouts hold for the connection's life.
    pub pool: Arc<Pool>,
    pub state: State,
    pub inbox: Inbox,
    /// Requests sent on it.
    pub requests: u32,
    /// The server sends no more.
    pub ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Connecting {
        client: Conn,
    },
    /// Carries the client's request, or is about to at the end of the batch.
    Busy {
        client: Conn,
    },
    /// Stands in the pool for anybody.
    Idle,
    /// Waits for the next request of one client, where connections are not shared.
    Reserved {
        client: Conn,
    },
}

impl Server {
    pub fn new(conn: Conn, place: Place, pool: Arc<Pool>, client: Conn, now: Time) -> Self {
        let state = State::Connecting { client };
        Self { line: Line::new(conn, now), place, pool, state, inbox: Inbox::default(), requests: 0, ended: false }
    }

    pub fn is_connected(&self) -> bool {
        !matches!(self.state, State::Connecting { .. })
    }

    /// Expects the next byte of a response.
    pub fn await_response<I: Io>(&mut self, io: &mut I) {
        self.line.expect(io, self.pool.timeouts.response);
    }

    /// Whether another request may be sent on it as far as its age goes.
    pub fn has_life_left(&self, now: Time) -> bool {
        let old = self.pool.timeouts.connection_lifetime.is_some_and(|lifetime| now.since(self.line.since) >= lifetime);
        let spent = self.pool.max_connection_reuse.is_some_and(|most| self.requests >= most);
        !old && !spent
    }

    /// The next response head, if all of it has come, handed to `take`.
    pub fn response_head<T>(
        &mut self,
        method: Method,
        limits: &http1::Limits,
        fields: &mut FieldTable,
        take: impl FnOnce(&ResponseHead<'_>) -> T,
    ) -> Result<Option<T>, http1::Error> {
        while let Some(bytes) = self.inbox.head(limits.head_bytes) {
            match http1::response(bytes, method, limits, fields)? {
                Parsed::Partial => {
                    if !self.inbox.keep_for_more() {
                        break;
                    }
                }
                Parsed::Whole(head) => {
                    let (taken, len) = (take(&head), head.len);
                    self.inbox.head_read(len);
                    return Ok(Some(taken));
                }
            }
        }
        Ok(None)
    }
}
