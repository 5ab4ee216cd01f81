//! The records of sessions.

use weir_telemetry::{Spans, record::Kind};

use super::session::{History, Session};
use crate::{
    io::{Io, Time},
    proxy::Proxy,
    records::{Asker, End, OfServer},
};

impl Proxy {
    /// A session is over.
    #[inline(never)]
    pub(super) fn record_session<I: Io>(&mut self, io: &I, session: &Session) {
        let Session { key, listener, service, place, history, .. } = session;
        let asker = Asker::plain(Kind::Session, service, (listener, &key.peer)).by(history.rule.as_ref());
        let naming = service.pools().next().and_then(|pool| self.core.pools.naming(*place, pool));
        self.core.records.end_connection(&asker, End::now(io), |slot| {
            slot.set_cause(history.cause);
            slot.spans = Some(history.spans(io.now()));
            let fixed = &mut slot.draft.fixed;
            fixed.servers_tried = history.servers_tried.min(255) as u8;
            (fixed.request_bytes, fixed.response_bytes) = (history.up_bytes, history.down_bytes);
            fixed.server_response_bytes = history.down_bytes;
            slot.set_server(&OfServer { server: place.server, local: None, connect_us: 0 }, naming);
        });
    }
}

impl History {
    /// How long the first answer took, and the session from then on.
    fn spans(&self, now: Time) -> Spans {
        let answered = self.answered.unwrap_or(now);
        let since = |later: Time, earlier: Time| later.nanos.saturating_sub(earlier.nanos);
        Spans { app_response: since(answered, self.begun), transfer: since(now, answered), ..Spans::default() }
    }
}
