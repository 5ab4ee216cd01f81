//! The numbers of one worker, and which of them each happening moves.

use crate::{Cause, Coarse, Handshakes, Happening, Histogram, Limited, Spans, Times, histogram::ticks, table::Table};

/// The methods that requests are counted by. The last one is all others.
pub const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "other"];

/// Cumulative, but for what is open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServiceCounters {
    pub connections: u64,
    pub open_connections: u64,
    /// Of the connections, those that speak HTTP/2.
    pub http2_connections: u64,
    pub open_http2_connections: u64,
    pub open_streams: u64,
    pub handshakes: u64,
    pub requests: u64,
    /// Of the requests, those over HTTP/2.
    pub http2_requests: u64,
    /// Of the requests, calls of gRPC.
    pub calls: u64,
    /// Of the requests, those with each of [`METHODS`].
    pub by_method: [u64; METHODS.len()],
    /// By status class: index 0 is 1xx, index 4 is 5xx.
    pub responses: [u64; 5],
    pub reselects: u64,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub received_datagrams: u64,
    pub sent_datagrams: u64,
    pub websockets: u64,
    pub open_websockets: u64,
    /// `None`: none of it has happened yet.
    rare: Option<Box<Rare>>,
}

/// What does not happen with each request, outside of the row that each request touches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Rare {
    handshakes: Handshakes,
    /// Of the responses, those that a worker made itself, by status class.
    local_responses: [u64; 5],
    /// Of the responses, those that are no errors in spite of their class.
    excluded_responses: [u64; 5],
    cache: CacheCounters,
    failures: Failures,
    /// Of the failures, those beyond limits of rates, by [`Limited`].
    limited: [u64; Limited::ALL.len()],
}

/// What the cache did for requests that it may answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheCounters {
    pub lookups: u64,
    pub hits: u64,
}

/// By cause.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Failures([u64; Cause::ALL.len()]);

impl Default for Failures {
    fn default() -> Self {
        Self([0; Cause::ALL.len()])
    }
}

/// Cumulative, but for `open_connections`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServerCounters {
    pub connections: u64,
    pub open_connections: u64,
    /// Of the connections, those that speak HTTP/2.
    pub http2_connections: u64,
    pub requests: u64,
    pub failures: u64,
    pub reused: u64,
    /// By status class: index 0 is 1xx, index 4 is 5xx.
    pub responses: [u64; 5],
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// How long all connects took together.
    pub connect_ticks: u64,
    /// How long the server itself needed. `None`: it has answered no request to the end.
    pub app_response: Option<Box<Coarse>>,
}

/// Of the requests that wait for servers of a pool. Cumulative, but for `waiting`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueCounters {
    pub waiting: u64,
    pub queued: u64,
    pub full: u64,
    pub timeouts: u64,
}

/// All counters of a worker, or of several once [added](Counters::add) up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    services: Table<ServiceCounters>,
    /// Of the services; `None`: no server has answered a request yet.
    times: Table<Option<Box<Times>>>,
    /// Of some connections of clients of the services.
    client_rtts: Table<Histogram>,
    servers: Table<ServerCounters>,
    /// Of the responses of servers, those that are no errors in spite of their class. Most servers have none, and the row
    /// of a server is full.
    excluded_of_servers: Table<[u64; 5]>,
    /// Of the failures of servers, resets.
    resets_of_servers: Table<u64>,
    /// Of pools.
    queues: Table<QueueCounters>,
}

impl Counters {
    /// Inlined: each caller has one kind of happening. That saves 1 % of the instructions of a request of HTTP/1.
    #[inline(always)]
    pub fn note(&mut self, happening: Happening) {
        use Happening::*;
        match happening {
            ClientConnected { service } => {
                let row = self.services.row(service);
                row.connections += 1;
                row.open_connections += 1;
            }
            ClientGone { service } => leave(&mut self.services.row(service).open_connections),
            Http2Begun { service } => {
                let row = self.services.row(service);
                row.http2_connections += 1;
                row.open_http2_connections += 1;
            }
            Http2Gone { service } => leave(&mut self.services.row(service).open_http2_connections),
            StreamOpened { service } => self.services.row(service).open_streams += 1,
            StreamGone { service } => leave(&mut self.services.row(service).open_streams),
            Handshake { service, agreed } => {
                let row = self.services.row(service);
                row.handshakes += 1;
                row.rare().handshakes.count(agreed);
            }
            HandshakeFailed { service, fault } => self.services.row(service).rare().handshakes.fail(fault),
            Request { service, method } => self.services.row(service).asked(method),
            StreamRequest { service, method } => {
                let row = self.services.row(service);
                row.asked(method);
                row.http2_requests += 1;
            }
            Call { service } => self.services.row(service).calls += 1,
            Response { service, status, local } => self.services.row(service).answered(status, local),
            Excluded { service, status } => {
                count_class(&mut self.services.row(service).rare().excluded_responses, status);
            }
            CacheAsked { service } => self.services.row(service).rare().cache.lookups += 1,
            CacheHit { service } => self.services.row(service).rare().cache.hits += 1,
            Exchanged { service, server, spans } => self.exchanged(service, server, spans),
            Reselected { service } => self.services.row(service).reselects += 1,
            WebSocketOpened { service } => {
                let row = self.services.row(service);
                row.websockets += 1;
                row.open_websockets += 1;
            }
            WebSocketGone { service } => leave(&mut self.services.row(service).open_websockets),
            Failed { service, cause } => self.services.row(service).failed(cause),
            Limited { service, limited } => self.services.row(service).rare().limited[limited as usize] += 1,
            ClientBytes { service, received, sent } => {
                let row = self.services.row(service);
                row.received_bytes += received;
                row.sent_bytes += sent;
            }
            ClientRoundTrip { service, nanos } => self.client_rtts.row(service).count(ticks(nanos)),
            DatagramReceived { service, bytes } => {
                let row = self.services.row(service);
                row.received_datagrams += 1;
                row.received_bytes += u64::from(bytes);
            }
            DatagramSent { service, bytes } => {
                let row = self.services.row(service);
                row.sent_datagrams += 1;
                row.sent_bytes += u64::from(bytes);
            }
            ServerConnected { server, nanos } => {
                let row = self.servers.row(server);
                row.connections += 1;
                row.open_connections += 1;
                row.connect_ticks += ticks(nanos);
            }
            ServerHttp2 { server } => self.servers.row(server).http2_connections += 1,
            ServerGone { server } => leave(&mut self.servers.row(server).open_connections),
            ServerRequest { server, reused } => {
                let row = self.servers.row(server);
                row.requests += 1;
                row.reused += u64::from(reused);
            }
            ServerResponse { server, status } => count_class(&mut self.servers.row(server).responses, status),
            ServerExcluded { server, status } => count_class(self.excluded_of_servers.row(server), status),
            ServerBytes { server, received, sent } => {
                let row = self.servers.row(server);
                row.received_bytes += received;
                row.sent_bytes += sent;
            }
            Queued { pool } => self.queues.row(pool).queued += 1,
            QueueFull { pool } => self.queues.row(pool).full += 1,
            QueueTimeout { pool } => self.queues.row(pool).timeouts += 1,
            Waiting { pool, requests } => self.queues.row(pool).waiting = requests,
            ServerFailed { server, reset } => {
                self.servers.row(server).failures += 1;
                if reset {
                    *self.resets_of_servers.row(server) += 1;
                }
            }
        }
    }

    /// The counters of a service; `None` when nothing happened to it yet.
    pub fn service(&self, id: u32) -> Option<&ServiceCounters> {
        self.services.get(id)
    }

    /// How long the requests of a service took.
    pub fn times(&self, id: u32) -> Option<&Times> {
        self.times.get(id)?.as_deref()
    }

    /// How long the round trip to clients of a service took. `None`: that of no client is known.
    pub fn client_rtt(&self, id: u32) -> Option<&Histogram> {
        self.client_rtts.get(id).filter(|rtts| !rtts.run().1.is_empty())
    }

    #[inline(never)]
    fn exchanged(&mut self, service: u32, server: u32, spans: Spans) {
        self.times.row(service).get_or_insert_default().count(spans);
        self.servers.row(server).app_response.get_or_insert_default().count(ticks(spans.app_response));
    }

    /// How many services have clients.
    pub fn services_in_use(&self) -> u64 {
        self.services.all().filter(|row| row.open_connections > 0).count() as u64
    }

    pub fn server(&self, id: u32) -> Option<&ServerCounters> {
        self.servers.get(id)
    }

    /// Of the responses of a server, those that are no errors in spite of their class, by class.
    pub fn excluded_of_server(&self, id: u32) -> Option<&[u64; 5]> {
        self.excluded_of_servers.get(id)
    }

    /// Of the failures of a server, resets.
    pub fn resets_of_server(&self, id: u32) -> u64 {
        self.resets_of_servers.get(id).copied().unwrap_or_default()
    }

    /// What has become of requests that had to wait for servers of a pool.
    pub fn queue(&self, pool: u32) -> QueueCounters {
        self.queues.get(pool).copied().unwrap_or_default()
    }

    /// Starts a pool at 0: it has no queue any more, or is gone, and another one may have its row next.
    pub fn restart_pool(&mut self, id: u32) {
        // Few pools have ever had a queue, and the others have no row.
        if self.queues.get(id).is_some() {
            self.queues.restart(id);
        }
    }

    /// Starts a service at 0: another one had its row before. What still happens to the other one is not counted.
    pub fn restart_service(&mut self, id: u32) {
        self.services.restart(id);
        self.times.restart(id);
        self.client_rtts.restart(id);
    }

    pub fn restart_server(&mut self, id: u32) {
        self.servers.restart(id);
        self.excluded_of_servers.restart(id);
        self.resets_of_servers.restart(id);
    }

    /// Becomes a copy of others. What these have had before, such as a histogram, is written where it is: a worker hands
    /// over a copy each second, and it has a histogram for each server.
    pub fn copy(&mut self, others: &Counters) {
        self.services.copy(&others.services, ServiceCounters::copy);
        self.times.copy(&others.times, |mine, theirs| copy_boxed(mine, theirs, Times::copy));
        self.client_rtts.copy(&others.client_rtts, Histogram::copy);
        self.servers.copy(&others.servers, ServerCounters::copy);
        self.excluded_of_servers.copy(&others.excluded_of_servers, |mine, theirs| *mine = *theirs);
        self.resets_of_servers.copy(&others.resets_of_servers, |mine, theirs| *mine = *theirs);
        self.queues.copy(&others.queues, |mine, theirs| *mine = *theirs);
    }

    /// Adds the counters of another worker.
    pub fn add(&mut self, other: &Counters) {
        self.services.add(&other.services, ServiceCounters::add);
        self.times.add(&other.times, |mine, theirs| {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().add(theirs);
            }
        });
        self.client_rtts.add(&other.client_rtts, Histogram::add);
        self.servers.add(&other.servers, ServerCounters::add);
        self.excluded_of_servers.add(&other.excluded_of_servers, |mine, theirs| add_each(mine, theirs));
        self.resets_of_servers.add(&other.resets_of_servers, |mine, theirs| *mine += theirs);
        self.queues.add(&other.queues, QueueCounters::add);
    }
}

impl QueueCounters {
    fn add(&mut self, other: &Self) {
        self.waiting += other.waiting;
        self.queued += other.queued;
        self.full += other.full;
        self.timeouts += other.timeouts;
    }
}

impl ServiceCounters {
    /// Every cause that occurred, with its count.
    pub fn failures(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        let counted = |rare: &Rare| Cause::ALL.into_iter().zip(rare.failures.0);
        self.rare.as_deref().into_iter().flat_map(counted).filter(|(_, total)| *total > 0)
    }

    /// Of the failures, those beyond limits of rates: each kind of limit that refused something, with its count.
    pub fn limited(&self) -> impl Iterator<Item = (Limited, u64)> + '_ {
        let counted = |rare: &Rare| Limited::ALL.into_iter().zip(rare.limited);
        self.rare.as_deref().into_iter().flat_map(counted).filter(|(_, total)| *total > 0)
    }

    pub fn client_aborts(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.failures.0[Cause::ClientAborted as usize])
    }

    /// Of the responses, those that a worker made itself, by status class.
    pub fn local_responses(&self) -> [u64; 5] {
        self.rare.as_ref().map_or([0; 5], |rare| rare.local_responses)
    }

    /// Of the responses, those that are no errors in spite of their class, by class. `None`: there was none yet.
    pub fn excluded_responses(&self) -> Option<&[u64; 5]> {
        let excluded = &self.rare.as_ref()?.excluded_responses;
        excluded.iter().any(|count| *count > 0).then_some(excluded)
    }

    /// `None`: no request has asked the cache.
    pub fn cache(&self) -> Option<CacheCounters> {
        self.rare.as_ref().map(|rare| rare.cache).filter(|cache| cache.lookups > 0)
    }

    /// `None`: there was no handshake.
    pub fn handshakes(&self) -> Option<&Handshakes> {
        self.rare.as_ref().map(|rare| &rare.handshakes)
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    #[inline]
    fn asked(&mut self, method: usize) {
        self.requests += 1;
        self.by_method[method.min(METHODS.len() - 1)] += 1;
    }

    fn answered(&mut self, status: u16, local: bool) {
        count_class(&mut self.responses, status);
        if local {
            count_class(&mut self.rare().local_responses, status);
        }
    }

    fn failed(&mut self, cause: Cause) {
        self.rare().failures.0[cause as usize] += 1;
    }

    fn copy(&mut self, other: &Self) {
        let mut rare = self.rare.take();
        copy_boxed(&mut rare, &other.rare, Rare::copy);
        *self = Self { rare, ..*other };
    }

    fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.open_connections += other.open_connections;
        self.http2_connections += other.http2_connections;
        self.open_http2_connections += other.open_http2_connections;
        self.open_streams += other.open_streams;
        self.handshakes += other.handshakes;
        self.requests += other.requests;
        self.http2_requests += other.http2_requests;
        self.calls += other.calls;
        self.reselects += other.reselects;
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
        self.received_datagrams += other.received_datagrams;
        self.sent_datagrams += other.sent_datagrams;
        self.websockets += other.websockets;
        self.open_websockets += other.open_websockets;
        add_each(&mut self.by_method, &other.by_method);
        add_each(&mut self.responses, &other.responses);
        if let Some(theirs) = &other.rare {
            let mine = self.rare();
            mine.handshakes.add(&theirs.handshakes);
            add_each(&mut mine.local_responses, &theirs.local_responses);
            add_each(&mut mine.excluded_responses, &theirs.excluded_responses);
            mine.cache.lookups += theirs.cache.lookups;
            mine.cache.hits += theirs.cache.hits;
            add_each(&mut mine.failures.0, &theirs.failures.0);
            add_each(&mut mine.limited, &theirs.limited);
        }
    }
}

impl Rare {
    fn copy(&mut self, other: &Self) {
        let Self { handshakes, local_responses, excluded_responses, cache, failures, limited } = self;
        handshakes.copy(&other.handshakes);
        *local_responses = other.local_responses;
        *excluded_responses = other.excluded_responses;
        *cache = other.cache;
        failures.0 = other.failures.0;
        *limited = other.limited;
    }
}

impl ServerCounters {
    fn copy(&mut self, other: &Self) {
        let mut app_response = self.app_response.take();
        copy_boxed(&mut app_response, &other.app_response, Coarse::copy);
        *self = Self { app_response, ..*other };
    }

    fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.open_connections += other.open_connections;
        self.http2_connections += other.http2_connections;
        self.requests += other.requests;
        self.failures += other.failures;
        self.reused += other.reused;
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
        self.connect_ticks += other.connect_ticks;
        add_each(&mut self.responses, &other.responses);
        if let Some(theirs) = &other.app_response {
            self.app_response.get_or_insert_default().add(theirs);
        }
    }
}

fn count_class(responses: &mut [u64; 5], status: u16) {
    if let Some(class) = responses.get_mut(usize::from(status / 100).wrapping_sub(1)) {
        *class += 1;
    }
}

fn copy_boxed<T: Clone>(mine: &mut Option<Box<T>>, theirs: &Option<Box<T>>, copy: impl Fn(&mut T, &T)) {
    match (&mut *mine, theirs) {
        (Some(mine), Some(theirs)) => copy(mine, theirs),
        _ => mine.clone_from(theirs),
    }
}

/// A gauge goes down.
fn leave(open: &mut u64) {
    *open = open.saturating_sub(1);
}

fn add_each(mine: &mut [u64], theirs: &[u64]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine += theirs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::{Agreed, HandshakeFault, id, table::Row};

    const AGREED: Agreed = Agreed {
        version: "TLS 1.2",
        cipher_suite: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        group: Some("P-256"),
        key: Some("RSA"),
        resumed: false,
    };

    fn counted(happenings: &[Happening]) -> Counters {
        let mut counters = Counters::default();
        happenings.iter().for_each(|happening| counters.note(*happening));
        counters
    }

    #[test]
    fn row_of_a_service_or_a_server_is_found_by_a_shift() {
        assert_eq!([size_of::<Row<ServiceCounters>>(), size_of::<Row<ServerCounters>>()], [256, 128]);
    }

    #[test]
    fn counts_one_whole_transaction() {
        let counters = counted(&[
            Happening::ClientConnected { service: 2 },
            Happening::Handshake { service: 2, agreed: AGREED },
            Happening::Request { service: 2, method: 2 },
            Happening::ServerConnected { server: 5, nanos: 1_000_000_000 },
            Happening::ServerRequest { server: 5, reused: false },
            Happening::ServerResponse { server: 5, status: 204 },
            Happening::ServerBytes { server: 5, received: 900, sent: 800 },
            Happening::Response { service: 2, status: 204, local: false },
            Happening::ClientBytes { service: 2, received: 700, sent: 1300 },
            Happening::ClientGone { service: 2 },
        ]);
        let expected = ServiceCounters {
            connections: 1,
            handshakes: 1,
            requests: 1,
            by_method: [0, 0, 1, 0, 0, 0, 0, 0, 0],
            responses: [0, 1, 0, 0, 0],
            received_bytes: 700,
            sent_bytes: 1300,
            rare: counters.service(2).unwrap().rare.clone(),
            ..Default::default()
        };
        assert_eq!(counters.service(2), Some(&expected));
        assert_eq!(expected.handshakes().unwrap().agreed(), [(AGREED, 1)]);
        assert_eq!(counters.service(0), Some(&ServiceCounters::default()));
        let server = ServerCounters {
            connections: 1,
            open_connections: 1,
            requests: 1,
            responses: [0, 1, 0, 0, 0],
            received_bytes: 900,
            sent_bytes: 800,
            connect_ticks: 1 << 20,
            ..Default::default()
        };
        assert_eq!(counters.server(5), Some(&server));
    }

    #[test]
    fn tells_clients_of_http2_from_others() {
        let counters = counted(&[
            Happening::ClientConnected { service: 0 },
            Happening::ClientConnected { service: 0 },
            Happening::Http2Begun { service: 0 },
            Happening::StreamOpened { service: 0 },
            Happening::StreamOpened { service: 0 },
            Happening::StreamRequest { service: 0, method: 0 },
            Happening::StreamRequest { service: 0, method: 8 },
            Happening::Call { service: 0 },
            Happening::Request { service: 0, method: 1 },
            Happening::StreamGone { service: 0 },
        ]);
        let expected = ServiceCounters {
            connections: 2,
            open_connections: 2,
            http2_connections: 1,
            open_http2_connections: 1,
            open_streams: 1,
            requests: 3,
            by_method: [1, 1, 0, 0, 0, 0, 0, 0, 1],
            http2_requests: 2,
            calls: 1,
            ..Default::default()
        };
        assert_eq!(counters.service(0), Some(&expected));
    }

    #[test]
    fn counts_failures_by_cause() {
        let counters = counted(&[
            Happening::Failed { service: 0, cause: Cause::ServerRefused },
            Happening::Failed { service: 0, cause: Cause::ServerRefused },
            Happening::Failed { service: 0, cause: Cause::ClientAborted },
        ]);
        let service = counters.service(0).unwrap();
        let failures: Vec<_> = service.failures().collect();
        assert_eq!(failures, [(Cause::ClientAborted, 1), (Cause::ServerRefused, 2)]);
        assert_eq!(service.client_aborts(), 1);
    }

    #[test]
    fn tells_own_responses_from_those_of_servers() {
        let counters = counted(&[
            Happening::Response { service: 0, status: 404, local: false },
            Happening::Response { service: 0, status: 403, local: true },
            Happening::Response { service: 0, status: 503, local: true },
        ]);
        let service = counters.service(0).unwrap();
        assert_eq!((service.responses, service.local_responses()), ([0, 0, 0, 2, 1], [0, 0, 0, 1, 1]));
    }

    #[test]
    fn tells_statuses_that_are_no_errors_from_the_others_of_their_class() {
        let counters = counted(&[
            Happening::Response { service: 0, status: 503, local: false },
            Happening::Response { service: 0, status: 503, local: false },
            Happening::Response { service: 1, status: 200, local: true },
            Happening::Excluded { service: 0, status: 503 },
            Happening::ServerResponse { server: 2, status: 404 },
            Happening::ServerExcluded { server: 2, status: 404 },
        ]);
        let [service, other] = [0, 1].map(|id| counters.service(id).unwrap());
        assert_eq!((service.responses[4], service.excluded_responses()), (2, Some(&[0, 0, 0, 0, 1])));
        assert_eq!(other.excluded_responses(), None);
        assert_eq!([2, 3].map(|id| counters.excluded_of_server(id)), [Some(&[0, 0, 0, 1, 0]), None]);
    }

    #[test]
    fn status_outside_the_five_classes_counts_in_none() {
        let counters = counted(&[
            Happening::Response { service: 0, status: 99, local: false },
            Happening::Response { service: 0, status: 600, local: true },
        ]);
        let service = counters.service(0).unwrap();
        assert_eq!((service.responses, service.local_responses()), ([0; 5], [0; 5]));
    }

    #[test]
    fn copy_equals_what_it_is_of_whatever_was_there_before() {
        let spans = |nanos| Spans { wait: nanos, server_rtt: 2 * nanos, app_response: 90 * nanos, transfer: nanos };
        let some = counted(&[
            Happening::Handshake { service: 1, agreed: AGREED },
            Happening::Failed { service: 1, cause: Cause::ClientAborted },
            Happening::Exchanged { service: 1, server: 3, spans: spans(5_000_000) },
            Happening::Exchanged { service: 1, server: 3, spans: spans(9) },
            Happening::ClientRoundTrip { service: 1, nanos: 80_000 },
        ]);
        let others = counted(&[
            Happening::Request { service: 0, method: 1 },
            Happening::HandshakeFailed { service: id::successor(1), fault: HandshakeFault::Timeout },
            Happening::Response { service: id::successor(1), status: 502, local: true },
            Happening::Exchanged { service: 4, server: 9, spans: spans(70_000) },
        ]);
        for before in [Counters::default(), some.clone(), others.clone()] {
            for of in [&some, &others, &Counters::default()] {
                let mut copy = before.clone();
                copy.copy(of);
                assert_eq!(&copy, of);
            }
        }
    }

    #[test]
    fn adding_workers_equals_counting_everything_in_one() {
        let first = [
            Happening::ClientConnected { service: 0 },
            Happening::Handshake { service: 0, agreed: AGREED },
            Happening::Failed { service: 0, cause: Cause::ClientTls },
            Happening::HandshakeFailed { service: 0, fault: HandshakeFault::Alert },
            Happening::ServerConnected { server: 0, nanos: 4000 },
            Happening::Http2Begun { service: 0 },
            Happening::StreamOpened { service: 0 },
        ];
        let second = [
            Happening::Request { service: 3, method: 0 },
            Happening::StreamRequest { service: 3, method: 7 },
            Happening::Call { service: 3 },
            Happening::ServerHttp2 { server: 4 },
            Happening::Response { service: 3, status: 503, local: true },
            Happening::Exchanged {
                service: 3,
                server: 4,
                spans: Spans { wait: 5000, server_rtt: 3000, app_response: 70_000, transfer: 9 },
            },
            Happening::ClientBytes { service: 0, received: 1, sent: 2 },
            Happening::ClientRoundTrip { service: 3, nanos: 1_000_000 },
            Happening::ServerRequest { server: 4, reused: true },
            Happening::ServerFailed { server: 4, reset: false },
            Happening::ServerFailed { server: 4, reset: true },
            Happening::ServerConnected { server: 4, nanos: 9000 },
            Happening::ServerResponse { server: 4, status: 503 },
            Happening::Excluded { service: 3, status: 503 },
            Happening::ServerExcluded { server: 4, status: 503 },
            Happening::ServerBytes { server: 4, received: 1, sent: 2 },
        ];
        let mut sum = counted(&first);
        sum.add(&counted(&second));
        let whole = counted(&[&first[..], &second[..]].concat());
        assert_eq!(sum, whole);
        assert_eq!((whole.server(4).unwrap().failures, whole.resets_of_server(4)), (2, 1));
        // A worker hands over what it counted in a copy that has had earlier numbers.
        let mut copy = counted(&second);
        copy.copy(&counted(&[&second[..], &second[..]].concat()));
        assert_eq!(copy, counted(&[&second[..], &second[..]].concat()));
        let mut copy = Counters::default();
        copy.copy(&whole);
        assert_eq!(copy, whole);
    }

    #[test]
    fn what_happens_to_an_object_after_its_removal_is_not_counted_for_the_next_one_in_its_row() {
        let mut counters =
            counted(&[Happening::ClientConnected { service: 1 }, Happening::ServerConnected { server: 1, nanos: 0 }]);
        let next = id::successor(1);
        counters.restart_service(next);
        counters.restart_server(next);
        counters.note(Happening::ClientConnected { service: next });
        counters.note(Happening::ServerConnected { server: next, nanos: 0 });
        counters.note(Happening::ClientBytes { service: 1, received: 7, sent: 7 });
        counters.note(Happening::ClientGone { service: 1 });
        counters.note(Happening::ServerGone { server: 1 });
        let service = ServiceCounters { connections: 1, open_connections: 1, ..Default::default() };
        assert_eq!((counters.service(1), counters.service(next)), (None, Some(&service)));
        let server = ServerCounters { connections: 1, open_connections: 1, ..Default::default() };
        assert_eq!((counters.server(1), counters.server(next)), (None, Some(&server)));
    }

    #[test]
    fn times_of_a_service_are_its_own_and_their_parts_make_up_the_total() {
        let spans = Spans { wait: 1_000_000, server_rtt: 2_500, app_response: 2_000_000_000, transfer: 3_999 };
        let mut counters = counted(&[Happening::Exchanged { service: 1, server: 0, spans }]);
        let times = counters.times(1).unwrap();
        let parts = [&times.wait, &times.response, &times.transfer].map(Histogram::sum_ticks);
        assert_eq!((parts, times.total.sum_ticks()), ([1048, 2_097_154, 4], 2_098_206));
        assert_eq!([&times.server_rtt, &times.app_response].map(Histogram::sum_ticks), [2, 2_097_152]);
        assert_eq!((counters.times(0), counters.times(2)), (None, None));
        let next = id::successor(1);
        counters.restart_service(next);
        counters.note(Happening::Exchanged { service: 1, server: 0, spans });
        assert_eq!((counters.times(1), counters.times(next)), (None, None));
    }

    #[test]
    fn server_has_the_times_that_it_needed_itself() {
        let spans = |app_response| Spans { wait: 9, server_rtt: 1_000_000_000, app_response, transfer: 9 };
        let exchanged = |app_response| Happening::Exchanged { service: 0, server: 2, spans: spans(app_response) };
        let counters = counted(&[exchanged(1_000_000_000), exchanged(4_000_000_000), exchanged(4_000_000_000)]);
        let times = counters.server(2).unwrap().app_response.as_ref().unwrap();
        assert_eq!((times.sum_ticks(), times.counts()[40], times.counts()[44]), (9 << 20, 1, 2));
        assert_eq!(counters.server(1).unwrap().app_response, None);
    }

    #[test]
    fn round_trips_to_clients_of_a_service_are_its_own() {
        let mut counters = counted(&[Happening::ClientRoundTrip { service: 1, nanos: 2_000_000_000 }]);
        assert_eq!(counters.client_rtt(1).map(Histogram::sum_ticks), Some(2 << 20));
        assert_eq!([0, 2].map(|service| counters.client_rtt(service)), [None, None]);
        counters.restart_service(id::successor(1));
        assert_eq!([1, id::successor(1)].map(|service| counters.client_rtt(service)), [None, None]);
    }

    #[test]
    fn object_that_is_first_heard_of_late_has_its_own_row() {
        let id = id::successor(2);
        assert_eq!(counted(&[Happening::Request { service: id, method: 0 }]).service(id).unwrap().requests, 1);
    }
}
