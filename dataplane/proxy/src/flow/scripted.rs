//! Answers that scripts give in place of what a server has answered, or of a page.

use weir_script::Ending;
use weir_telemetry::Cause;
use weir_wire::{head::Method, http1::Hop};

use crate::{
    client::{answer::Answer, ruled::Asker},
    exchange::table::ExchangeId,
    head::Target,
    io::{Close, Conn, Io},
    proxy::{ClientSide, Proxy},
};

impl Proxy {
    /// Answers instead of a server, nothing of whose response has been sent.
    #[cold]
    pub(crate) fn answer_by_script<I: Io>(&mut self, io: &mut I, id: ExchangeId, ending: Ending) {
        let Ok(ClientSide { exchange, client, core }) = self.client_side(id) else { return };
        let keep_alive = exchange.keep_alive && !exchange.awaits_body() && client.may_stay(core);
        let (conn, head_only, server) = (exchange.client, exchange.method == Method::Head, exchange.server());
        if let Ending::Close { .. } = ending {
            exchange.has_failed(io.now());
        }
        if let Some(server) = server {
            self.close_server(io, server, Close::Abort);
        }
        match ending {
            Ending::Close { reset: true } => self.close_client(io, conn, Close::Abort),
            Ending::Close { reset: false } => self.close_client(io, conn, Close::Linger),
            ending => self.answer_with(io, conn, (head_only, keep_alive), ending, None),
        }
    }

    /// Answers with what a script says. `failure`: what the answer stands for.
    #[cold]
    pub(crate) fn answer_with<I: Io>(
        &mut self,
        io: &mut I,
        conn: Conn,
        (head_only, keep_alive): (bool, bool),
        ending: Ending,
        failure: Option<Cause>,
    ) {
        let Ok(client) = self.clients.live(conn) else { return };
        let to = match client.call() {
            Some(_) => Target::Call,
            None if conn.is_stream() => Target::Block,
            None => Target::Text(Hop::said(keep_alive)),
        };
        let Some(http) = client.service.http() else { return self.close_client(io, conn, Close::Abort) };
        let asker = Asker { http, facts: &client.facts, to, head_only, keep_alive, date: self.core.date.line() };
        match asker.answer_scripted(io, ending, failure, None) {
            Ok(answer) => self.answer_for_server(io, conn, answer),
            Err(_) => self.close_client(io, conn, Close::Abort),
        }
    }

    /// Answers instead of a server. The answer may be none of an error.
    pub(crate) fn answer_for_server<I: Io>(&mut self, io: &mut I, conn: Conn, answer: Answer) {
        let is_good = answer.status < 400 && answer.grpc_status.is_none_or(|code| code == 0);
        if let Ok(client) = self.clients.live(conn)
            && let Some(exchange) = client.exchange().filter(|_| is_good).and_then(|id| self.exchanges.find(id))
        {
            exchange.has_succeeded(io.now());
        }
        self.answer(io, conn, answer);
    }
}
