//! Runs one seed: the real proxy, the simulated network, and the peers of the scenario. Then it judges the result.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits, Proxy,
    io::{Event, Handler, Io, Time},
};
use weir_snapshot::{Change as PlanChange, Snapshot, Worker};
use weir_tls::{
    Certificate, ClientConfig, ClientSettings, Group, Provider, ServerConfig, TicketKey, TicketSettings, TlsSettings,
    Version,
};

use crate::{
    agenda::{Act, LinkId},
    browser::Browser,
    browsers::{self, BrowserPlan},
    channel::Channel,
    client::Client,
    crowd,
    dials::{Attempt, Dials},
    difference,
    http2_server::Http2Server,
    link::Appetite,
    network::{BLOCK_BYTES, Dial, Network, Step, Wake},
    peer::{Deed, Desk, Ledger, Peer, Tally},
    records::{self, Books, Mode, Sums},
    rng::Rng,
    scenario::{Change, PLAIN, SECURE, SUITES, Scenario, TUNNEL, TUNNEL_SERVER_PORT, certificate, quality},
    sealed::Sealed,
    server::{Manners, Server},
    stream::{self, Stream},
    times,
};

/// A run that is not over by then never will be.
const STEPS_MAX: u64 = 1_000_000;
const QUEUED_BYTES_MAX: usize = 64 * 1024;
/// What one batch and a head may add to a queue that was not quite full.
const QUEUED_BYTES_SLACK: usize = 256 * 1024;

/// What 64 events bring.
const BUFFER_BYTES_SLACK: usize = 64 * BLOCK_BYTES;

pub struct Verdict {
    pub seed: u64,
    pub calm: bool,
    pub tally: Tally,
    pub violations: Vec<String>,
    pub story: Vec<String>,
}

/// Whether the clients of this seed come over TLS.
pub fn is_tls(seed: u64) -> bool {
    seed % 50 == 7
}

pub fn run(seed: u64, verbose: bool) -> Verdict {
    let (mut verdict, all, uses_tls) = run_with(seed, verbose, Mode::of(seed));
    // The keys of TLS are random, and so is how much the peers send.
    if Mode::is_repeated(seed) && !uses_tls && verdict.violations.is_empty() {
        let (again, throttled, _) = run_with(seed, false, Mode::Throttled);
        verdict.violations.extend(again.violations);
        verdict.violations.extend(records::differing(&all, &throttled));
    }
    verdict
}

/// Returns also whether TLS is in it.
fn run_with(seed: u64, verbose: bool, mode: Mode) -> (Verdict, Sums, bool) {
    let mut rng = Rng::new(seed);
    let mut scenario = Scenario::of(&mut rng, is_tls(seed));
    let browsers = browsers::browsers(&mut rng, &mut scenario);
    records::set(&mut scenario, mode, seed);
    let uses_tls = scenario.tls || scenario.server_tls || browsers.iter().any(|browser| browser.listener == SECURE);
    let (verdict, sums) = play(seed, scenario, browsers, rng, (verbose, mode));
    (verdict, sums, uses_tls)
}

/// Plays a scenario to its end.
fn play(
    seed: u64,
    scenario: Scenario,
    browsers: Vec<BrowserPlan>,
    rng: Rng,
    (verbose, mode): (bool, Mode),
) -> (Verdict, Sums) {
    let calm = scenario.calm;
    let mut world = World::new(scenario, browsers, rng, verbose);
    world.ledger.records_pause = records::pauses(seed);
    world.run();
    let (ledger, sums) = world.judge(mode);
    (Verdict { seed, calm, tally: ledger.tally, violations: ledger.violations, story: ledger.story }, sums)
}

struct World {
    scenario: Scenario,
    /// Clients that speak HTTP/2.
    browsers: Vec<BrowserPlan>,
    rng: Rng,
    network: Network,
    proxy: Proxy,
    snapshot: Arc<Snapshot>,
    worker: Worker,
    tls: Option<ClientConfig>,
    server_tls: Option<ServerConfig>,
    /// By link.
    peers: Vec<Option<Box<dyn Peer>>>,
    ledger: Ledger,
    books: Books,
    dials: Dials,
    /// The longest round trip to any server.
    rtt_max: Duration,
    /// When the proxy last wanted to be called.
    due: Option<Time>,
    /// Disabled servers, and until when they may keep what they have.
    withdrawn: HashMap<SocketAddr, Time>,
    /// Connections to servers so far.
    dialled: Vec<(LinkId, SocketAddr)>,
}

impl World {
    fn new(scenario: Scenario, browsers: Vec<BrowserPlan>, mut rng: Rng, verbose: bool) -> Self {
        let worker = Worker::all(1, 0).swap_remove(0);
        let snapshot = match Snapshot::build(&scenario.plan, None, &worker) {
            Ok((snapshot, _)) => Arc::new(snapshot),
            Err(findings) => panic!("the simulated Plan is refused: {findings:?}"),
        };
        let crowded = !scenario.crowd.is_empty();
        let usual = Limits::default();
        let limits = Limits {
            clients: if crowded { crowd::PLACES } else { usual.clients },
            buffer_bytes: if crowded { crowd::BUFFER_BYTES } else { usual.buffer_bytes },
            stuck: Duration::from_millis(100),
            queued_bytes: QUEUED_BYTES_MAX,
            idle_connections: 8,
            relay_bytes: 64,
            tunnel_relay_bytes: 1000,
            ..usual
        };
        let mut network = Network::new(rng.fork());
        let starts = scenario.clients.iter().chain(&scenario.crowd).map(|client| client.start);
        let starts = starts.chain(scenario.streams.iter().map(|stream| stream.start));
        let starts = starts.chain(browsers.iter().map(|browser| browser.start));
        for (n, start) in starts.chain(scenario.changes.iter().map(|(after, _)| *after)).enumerate() {
            network.at(start, Act::World(n as u32));
        }
        network.deeds = verbose.then(Vec::new);
        let tls = scenario.tls.then(|| tls_config(&worker.provider));
        let protocols = if scenario.http2_in_tls { vec!["h2".to_owned(), "http/1.1".to_owned()] } else { vec![] };
        let server_tls = scenario
            .server_tls
            .then(|| server_tls_config(&worker.provider, scenario.calm || rng.chance(50), protocols));
        Self {
            rng,
            network,
            proxy: Proxy::new(snapshot.clone(), limits),
            snapshot,
            worker,
            tls,
            server_tls,
            peers: Vec::new(),
            ledger: Ledger::new(verbose),
            books: Books::default(),
            dials: Dials::default(),
            rtt_max: Duration::ZERO,
            scenario,
            browsers,
            due: None,
            withdrawn: HashMap::new(),
            dialled: Vec::new(),
        }
    }

    fn run(&mut self) {
        let mut batch: Vec<Event> = Vec::new();
        for _ in 0..STEPS_MAX {
            // As the real driver, which does not wait then.
            let at_once = self.proxy.has_more_to_do().then(|| self.network.now());
            let Some(next) = at_once.or(self.network.next_at()) else { return };
            let until = next + Duration::from_micros(self.rng.pick(&[0, 0, 20, 200]));
            self.gather(until, &mut batch);
            if !batch.is_empty() || self.proxy.has_more_to_do() || self.is_due() {
                self.tell_batch(&batch);
                self.proxy.handle(&mut self.network, &mut batch);
                self.judge_withdrawn();
            }
            self.end_batch();
            self.note_due();
        }
        self.ledger.violation("world", "does not come to an end");
    }

    fn is_due(&self) -> bool {
        self.proxy.due().is_some_and(|due| due <= self.network.now())
    }

    /// Has the proxy called when it wants to be.
    fn note_due(&mut self) {
        let due = self.proxy.due();
        if due != self.due
            && let Some(due) = due
        {
            self.network.at(due.since(self.network.now()), Act::Due);
        }
        self.due = due;
    }

    /// Servers without grace left have no connection, except while something is encoded that they have sent before.
    fn judge_withdrawn(&mut self) {
        if self.proxy.has_more_to_do() {
            return;
        }
        let now = self.network.now();
        let over = self.withdrawn.iter().filter(|(_, at)| **at <= now).map(|(address, _)| *address);
        for address in over.collect::<Vec<_>>() {
            let left = self.dialled.iter().filter(|(link, to)| *to == address && self.network.is_open(*link)).count();
            if left > 0 {
                self.ledger.violation("world", format_args!("{left} connections are left to {address}"));
            }
        }
    }

    /// Notes which servers are disabled by a Plan, and until when they may keep what they have.
    fn note_withdrawn(&mut self, plan: &api::Plan) {
        let now = self.network.now();
        for pool in &plan.pools {
            for server in &pool.servers {
                let address = SocketAddr::new(server.address.parse().expect("an address"), server.port as u16);
                match pool.disable_timeout_ms {
                    _ if server.enabled => drop(self.withdrawn.remove(&address)),
                    None => {}
                    Some(ms) => {
                        self.withdrawn.entry(address).or_insert(now + Duration::from_millis(ms.into()));
                    }
                }
            }
        }
    }

    /// Lets everything happen that happens until then: one batch for the proxy.
    fn gather(&mut self, until: Time, batch: &mut Vec<Event>) {
        while self.network.next_at().is_some_and(|at| at <= until) && batch.len() < 64 {
            match self.network.step(batch) {
                Some(Step::Peer(link, wake)) => self.wake(link, wake),
                Some(Step::World(what)) => {
                    // Comes between two batches, as with the real driver.
                    if !batch.is_empty() {
                        self.proxy.handle(&mut self.network, batch);
                        self.end_batch();
                    }
                    self.happen(what as usize);
                    self.end_batch();
                }
                Some(Step::Engine) | None => {}
            }
        }
    }

    fn end_batch(&mut self) {
        self.tell_deeds();
        self.judge_memory();
        self.books.collect(&mut self.proxy);
        self.network.flush();
        while let Some((link, address)) = self.network.next_dial() {
            self.answer_dial(link, address);
        }
    }

    fn wake(&mut self, link: LinkId, wake: Wake) {
        let Some(peer) = self.peers.get_mut(link).and_then(Option::as_mut) else { return };
        let now = weir_proxy::io::Io::now(&self.network);
        let mut desk = Desk { now, rng: &mut self.rng, ledger: &mut self.ledger, deeds: Vec::new() };
        peer.wake(wake, &mut desk);
        for deed in desk.deeds {
            match deed {
                Deed::Send(bytes) => self.network.peer_sends(link, &bytes),
                Deed::Finish => self.network.peer_finishes(link),
                Deed::Close => self.network.peer_closes(link),
                Deed::Reset => self.network.peer_resets(link),
                Deed::WakeAfter(span) => self.network.at(span, Act::PeerTimer(link)),
            }
        }
    }

    fn answer_dial(&mut self, link: LinkId, address: SocketAddr) {
        let quality = quality(&mut self.rng, self.scenario.calm);
        self.rtt_max = self.rtt_max.max(quality.latency * 2);
        let Some(server) = self.scenario.servers.iter().position(|server| server.address.ip() == address.ip()) else {
            return self.ledger.violation("world", format_args!("the proxy connects to {address}"));
        };
        self.dialled.push((link, address));
        let named = self.scenario.plan.pools.iter().flat_map(|pool| &pool.servers);
        let mut named =
            named.filter(|server| (&server.address, server.port) == (&address.ip().to_string(), address.port().into()));
        if named.any(|server| !server.enabled) {
            self.ledger.violation("world", format_args!("{address} is disabled, and the proxy connects to it"));
        }
        let plan = &self.scenario.servers[server];
        let now = weir_proxy::io::Io::now(&self.network);
        let outcome = plan.dial(&mut self.rng, now.since(Time::default()));
        let name = format!("server {server}/{link}");
        // If anything may break, too few other servers may be left, or the request has tried them.
        let judged = self.scenario.calm && self.scenario.watches;
        let closed_at = |link| self.network.closed_at(link);
        if judged && !self.dials.note(Attempt { link, address, outcome, made_at: now }, quality.latency, closed_at) {
            self.ledger.violation(&name, "is asked again at once, though it lets nobody in");
        }
        match outcome {
            Dial::Accepted if address.port() == TUNNEL_SERVER_PORT => {
                let deaf = quality.appetite == Appetite::Never;
                let waits = self.scenario.servers_wait;
                let plan = stream::Plan::of_server(&mut self.rng, name.clone(), deaf, self.scenario.calm, waits);
                self.seat_server(link, name, Box::new(Stream::new(plan)));
            }
            Dial::Accepted if self.scenario.servers_speak_http2() => {
                let server = Http2Server::new(name.clone(), plan.temper.clone(), self.scenario.calm, &mut self.rng);
                self.seat_server(link, name, Box::new(server));
            }
            Dial::Accepted => {
                let manners = Manners { calm: self.scenario.calm, may_wait: self.scenario.servers_wait };
                let server = Server::new(name.clone(), plan.temper.clone(), quality.shredded, manners);
                self.seat_server(link, name, Box::new(server));
            }
            _ => {}
        }
        self.network.answer_dial(link, quality, outcome);
    }

    fn seat_server(&mut self, link: LinkId, name: String, server: Box<dyn Peer>) {
        let Some(config) = &self.server_tls else { return self.seat(link, server) };
        match Sealed::new(server, name, config, self.scenario.calm) {
            Ok(sealed) => self.seat(link, Box::new(sealed)),
            Err(error) => self.ledger.violation("world", format_args!("no TLS server: {error}")),
        }
    }

    fn seat(&mut self, link: LinkId, peer: Box<dyn Peer>) {
        if self.peers.len() <= link {
            self.peers.resize_with(link + 1, || None);
        }
        self.peers[link] = Some(peer);
    }

    /// A client starts, or something changes.
    fn happen(&mut self, what: usize) {
        let clients = self.scenario.clients.len() + self.scenario.crowd.len();
        if what < clients {
            return self.start_client(what);
        }
        let streams = clients + self.scenario.streams.len();
        if what < streams {
            return self.start_stream(what - clients);
        }
        let before = streams + self.browsers.len();
        if what < before {
            return self.start_browser(what - streams);
        }
        let now = weir_proxy::io::Io::now(&self.network);
        match &self.scenario.changes[what - before].1 {
            Change::Plan(plan) => {
                self.ledger.tell(now, "world", format_args!("the Plan changes to revision {}", plan.revision));
                // Half of them come as changes, as an agent sends them.
                let change = match plan.revision % 2 {
                    0 => PlanChange::from(difference::between(&self.scenario.plan, plan)),
                    _ => PlanChange::whole(plan.as_ref().clone()),
                };
                self.scenario.plan = plan.as_ref().clone();
                match self.snapshot.changed(&change, &self.worker) {
                    Ok((snapshot, _)) => {
                        self.snapshot = Arc::new(snapshot);
                        self.proxy.replace(&mut self.network, self.snapshot.clone());
                        self.note_withdrawn(&self.scenario.plan.clone());
                    }
                    Err(findings) => self.ledger.violation("world", format_args!("Plan refused: {findings:?}")),
                }
            }
            Change::ServerUp { server, up } => {
                self.ledger.tell(now, "world", format_args!("server {server} is {}", if *up { "up" } else { "down" }));
                let name = self.scenario.servers[*server].address.to_string();
                self.proxy.set_server_up(&mut self.network, "pool", &name, *up);
                self.proxy.set_tasks(&self.network, "pool", &name, up.then_some(*server as u32));
            }
            Change::Drain => {
                self.ledger.tell(now, "world", "the engine drains");
                self.proxy.drain(&mut self.network);
            }
        }
    }

    fn start_client(&mut self, n: usize) {
        let clients = self.scenario.clients.len();
        let (start, peer) = match n.checked_sub(clients) {
            None => (&mut self.scenario.clients[n], SocketAddr::from(([10, 2, 0, n as u8 + 1], 40_000 + n as u16))),
            Some(n) => (&mut self.scenario.crowd[n], SocketAddr::from(([10, 9, 0, 1], 40_000 + n as u16))),
        };
        let link = self.network.dial_engine(start.listener, peer, start.quality.clone());
        let plan = start.take_plan();
        let opened = match (&self.tls, start.tls) {
            (Some(config), true) => Channel::tls(config),
            _ => Ok((Channel::Plain, Vec::new())),
        };
        match opened {
            Ok((channel, hello)) => self.seat(link, Box::new(Client::new(plan, channel, hello))),
            Err(error) => self.ledger.violation("world", format_args!("no TLS client: {error}")),
        }
    }

    fn start_stream(&mut self, n: usize) {
        let start = &self.scenario.streams[n];
        let peer = SocketAddr::from(([10, 3, 0, n as u8 + 1], 40_000 + n as u16));
        let listener = if start.plan.asks.is_some() { PLAIN } else { TUNNEL };
        let link = self.network.dial_engine(listener, peer, start.quality.clone());
        let address = (listener == TUNNEL).then_some(peer);
        self.seat(link, Box::new(Stream::new(stream::Plan { address, ..start.plan.clone() })));
    }

    fn start_browser(&mut self, n: usize) {
        let start = &self.browsers[n];
        let peer = SocketAddr::from(([10, 4, 0, n as u8 + 1], 40_000 + n as u16));
        let link = self.network.dial_engine(start.listener, peer, start.quality.clone());
        let opened = match start.listener {
            SECURE => browsers::tls_config(&self.worker.provider).and_then(|config| Channel::tls(&config)),
            _ => Ok((Channel::Plain, Vec::new())),
        };
        let plan = start.plan.clone();
        match opened {
            Ok((channel, hello)) => self.seat(link, Box::new(Browser::new(plan, channel, hello))),
            Err(error) => self.ledger.violation("world", format_args!("no TLS client: {error}")),
        }
    }

    fn tell_batch(&mut self, batch: &[Event]) {
        if !self.ledger.verbose {
            return;
        }
        let now = weir_proxy::io::Io::now(&self.network);
        for event in batch {
            let (conn, what) = match event {
                Event::Relayed { conn, bytes } => (conn, format!("has relayed {bytes} bytes")),
                Event::Accepted { conn, listener, peer } => (conn, format!("accepted from {peer} at {listener}")),
                Event::Connected { conn } => (conn, "connected".into()),
                Event::Data { conn, buf } => (conn, format!("brings {} bytes", buf.len())),
                Event::Eof { conn } => (conn, "brings the end".into()),
                Event::Leaving { conn } => (conn, "has ended unread".into()),
                Event::Drained { conn } => (conn, "has drained".into()),
                Event::Broken { conn } => (conn, "takes nothing any more".into()),
                Event::Deadline { conn } => (conn, "is past its deadline".into()),
                Event::Gone { conn, why } => (conn, format!("is gone: {why:?}")),
            };
            self.ledger.tell(now, "       ╭", format_args!("{}.{} {what}", conn.slot, conn.generation));
        }
    }

    /// What the proxy has done about it.
    fn tell_deeds(&mut self) {
        let now = weir_proxy::io::Io::now(&self.network);
        for deed in self.network.deeds.iter_mut().flat_map(std::mem::take) {
            self.ledger.tell(now, "       ╰ proxy", deed);
        }
    }

    /// Memory stays within its limit, apart from what one batch brings, and what comes until the next look.
    fn judge_memory(&mut self) {
        let used = weir_proxy::io::Io::buffered_bytes(&self.network);
        if !self.scenario.crowd.is_empty() && used > crowd::BUFFER_BYTES + BUFFER_BYTES_SLACK {
            self.ledger.violation("proxy", format_args!("has {used} bytes of buffers in use"));
        }
    }

    fn judge(mut self, mode: Mode) -> (Ledger, Sums) {
        for peer in self.peers.iter_mut().flatten() {
            peer.conclude(&mut self.ledger);
        }
        self.ledger.judge_promises();
        if self.scenario.keeps_sessions() {
            let sessions = std::mem::take(&mut self.ledger.sessions);
            self.ledger.tally.bound += sessions.shown();
            for wrong in sessions.judge(&self.scenario.plan, &self.worker, (&mut self.network, PLAIN)) {
                self.ledger.violation("sessions", wrong);
            }
        }
        let counters = self.proxy.counters().clone();
        if !self.proxy.is_idle() {
            self.ledger.violation("proxy", "has sessions left");
        }
        if self.proxy.requests_noted() > 0 {
            self.ledger.violation("records", format_args!("{} slots are in use", self.proxy.requests_noted()));
        }
        let requests = (0..8).filter_map(|id| counters.service(id)).map(|service| service.requests).sum();
        let servers = self.scenario.servers.iter().map(|server| server.address.to_string()).collect();
        let sums = self.books.close(&mut self.proxy, (mode, requests), servers, &mut self.ledger);
        drop(self.proxy);
        for leak in self.network.leaks() {
            self.ledger.violation("network", leak);
        }
        let most = self.network.most_queued_bytes();
        if most > QUEUED_BYTES_MAX + QUEUED_BYTES_SLACK {
            self.ledger.violation("proxy", format_args!("queued {most} bytes on one connection"));
        }
        let open = (0..8).filter_map(|id| counters.service(id)).map(|service| service.open_connections).sum::<u64>()
            + (0..16).filter_map(|id| counters.server(id)).map(|server| server.open_connections).sum::<u64>();
        if open > 0 {
            self.ledger.violation("telemetry", format_args!("{open} connections still count as open"));
        }
        let sockets: u64 = (0..8).filter_map(|id| counters.service(id)).map(|service| service.open_websockets).sum();
        if sockets > 0 {
            self.ledger.violation("telemetry", format_args!("{sockets} WebSockets still count as open"));
        }
        for times in (0..8).filter_map(|id| counters.times(id)) {
            times::judge(times, self.rtt_max, &mut self.ledger);
        }
        let tally = self.ledger.tally;
        if tally.asked != tally.accounted() {
            self.ledger.violation("world", format_args!("a request came to no end, or to two: {tally:?}"));
        }
        (self.ledger, sums)
    }
}

fn tls_config(provider: &Provider) -> ClientConfig {
    let settings = ClientSettings {
        versions: vec![Version::Tls12, Version::Tls13],
        cipher_suites: vec![],
        groups: vec![Group::X25519],
        session_resumption: true,
    };
    match ClientConfig::unverified(&settings, provider) {
        Ok(config) => config,
        Err(error) => panic!("no TLS client configuration: {error}"),
    }
}

fn tickets() -> TicketSettings {
    let keys = TicketKey::read(&[7; TicketKey::BYTES]).into_iter().collect();
    TicketSettings { keys, lifetime_s: 3600, until_unix_s: u64::MAX, keep_origin: false }
}

fn server_tls_config(provider: &Provider, send_close_notify: bool, protocols: Vec<String>) -> ServerConfig {
    let source = certificate();
    let settings = TlsSettings {
        versions: vec![Version::Tls12, Version::Tls13],
        cipher_suites: SUITES.map(String::from).to_vec(),
        groups: Vec::new(),
        prefer_client_order: false,
        session_resumption: true,
        tickets: Some(tickets()),
        protocols,
        send_close_notify,
    };
    let certificate = Certificate::read(&source.chain_der, &source.key_pkcs8_der, provider);
    match certificate.and_then(|certificate| ServerConfig::build(&settings, &[certificate], None, provider)) {
        Ok((config, _)) => config,
        Err(error) => panic!("no TLS server configuration: {error}"),
    }
}
