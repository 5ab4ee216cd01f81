//! Another server for a request that one server has answered, where the pool wants that for some statuses. The response
//! is withheld, so the client sees one answer: the first that may pass, or the last.

use weir_telemetry::{Counters, Happening};

use crate::{
    error::Error,
    exchange::{Exchange, judged::Judged, table::ExchangeId},
    flow::judging::judge,
    io::{Close, Io, Time},
    pool::{Place, Pools},
    proxy::{Parties, Proxy},
};

/// Whether the request goes to another server instead of passing on a response with this status. That server must be
/// there already: otherwise the client would lose this answer and get none. And the pool must have a retry left.
#[cold]
pub(crate) fn is_withheld(
    exchange: &Exchange,
    (pools, counters): (&mut Pools, &Counters),
    (at, status): (Place, u16),
    now: Time,
) -> bool {
    let Some(reselect) = exchange.reselect() else { return false };
    let is_withheld = reselect.follows(status)
        && exchange.reselects() < reselect.max_retries
        && pools.has_other(at, &exchange.tried, now)
        && pools.takes_retry(at, counters, now);
    if is_withheld {
        pools.withheld_status = status;
    }
    is_withheld
}

impl Proxy {
    /// Gives a request whose response is withheld to another server.
    #[cold]
    pub(crate) fn reselect<I: Io>(&mut self, io: &mut I, id: ExchangeId) {
        let Ok(Parties { exchange, client, server, core }) = self.parties(id) else { return };
        core.records.forget_head(client.noted);
        let status = core.pools.withheld_status;
        judge(exchange, &mut core.pools, client.call().is_some(), (server.place, status), io.now());
        core.counters.note(Happening::Reselected { service: exchange.service.id });
        let (client, conn) = (exchange.client, server.connection.conn());
        exchange.tried.push(server.place.server);
        exchange.judged = Judged::Not;
        exchange.begin_elsewhere();
        // The rest of the response may be long.
        self.close_server(io, conn, Close::Abort);
        self.choose_server(io, id, Error::NoServer);
        self.proceed(io, client);
    }
}
