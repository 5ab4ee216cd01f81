//! The PROXY header in front of a client's connection. TLS, or the client's own bytes, come behind it.

use weir_script::Event;

use crate::{
    client::Stage,
    error::Error,
    exchange::Outcome,
    io::{Close, Conn, Io},
    proxy::Proxy,
};

impl Proxy {
    /// Processes what has come of a header.
    #[cold]
    pub(crate) fn take_introduction<I: Io>(&mut self, io: &mut I, conn: Conn) -> Outcome {
        let Ok(client) = self.clients.live(conn) else { return Outcome::NeedsMore };
        match client.read_introduction() {
            Ok(true) => return self.introduced(io, conn),
            // A probe that only connects is no failure.
            Ok(false) if client.connection.is_exhausted() => self.close_client(io, conn, Close::Flush),
            Ok(false) if client.connection.line.ended => self.fail(io, conn, Error::ProxyHeader),
            Ok(false) => {}
            Err(error) => self.fail(io, conn, error),
        }
        Outcome::NeedsMore
    }

    /// The header is whole. What follows it may have come, too.
    fn introduced<I: Io>(&mut self, io: &mut I, conn: Conn) -> Outcome {
        let Ok(client) = self.clients.live(conn) else { return Outcome::NeedsMore };
        let served = client.follow_snapshot(&self.core);
        let entered = served.and_then(|()| client.enter_introduced(io, &mut self.core));
        let greeted = entered.and_then(|()| client.greet(io, &mut self.core, &[Event::Accepted, Event::BeforeTls]));
        if let Err(error) = greeted.and_then(|()| client.begin(io, &self.core)) {
            self.fail(io, conn, error);
            return Outcome::NeedsMore;
        }
        if !matches!(client.stage, Stage::Handshake) {
            return Outcome::Advanced;
        }
        client.report_bytes(&mut self.core);
        let mut sealed = std::mem::take(&mut client.connection.inbox);
        while let Some(piece) = sealed.pop().filter(|_| self.clients.contains(conn)) {
            self.client_data(io, conn, piece);
        }
        Outcome::NeedsMore
    }
}
