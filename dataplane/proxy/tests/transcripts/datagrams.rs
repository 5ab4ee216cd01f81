//! Virtual services of datagrams.

use std::{net::SocketAddr, ops::Range, time::Duration};

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits,
    datagrams::io::{Arrival, Datagram, DatagramIo, ListenerId, NotOpened, ServerSocket},
    io::{Close, Gone, TransportAddress},
};
use weir_telemetry::{Cause, record::Reasons};

use crate::{
    GET,
    origin::{Origin, asks, to_http2},
    records::recording,
    status,
    tape::{Stage, Tape, l4_plan, plan},
};

/// The UDP sockets of a tape, and what was sent on them.
#[derive(Default)]
pub struct Sockets {
    /// By slot.
    opened: Vec<SocketAddr>,
    shut: Vec<ServerSocket>,
    sent: Vec<String>,
    /// The clients whose addresses they have, by slot; `None`: they have the engine's.
    sources: Vec<Option<SocketAddr>>,
    /// There are no more. Those that were shut are free from the next batch on.
    most: Option<usize>,
    /// How many were shut in earlier batches.
    freed: usize,
    /// Opening a socket fails for this reason.
    lack: Option<NotOpened>,
    /// The listeners are closed.
    unbound: bool,
}

const LISTENER: ListenerId = ListenerId(7);
/// At another port.
const OTHER: ListenerId = ListenerId(8);

impl DatagramIo for Tape {
    fn bound_to(&self, listener: ListenerId) -> Option<TransportAddress> {
        let port = match listener {
            _ if self.sockets.unbound => return None,
            LISTENER => 53,
            OTHER => 54,
            _ => return None,
        };
        Some(TransportAddress::udp(SocketAddr::from(([10, 0, 0, 1], port))))
    }

    fn open(&mut self, to: SocketAddr, from: Option<SocketAddr>) -> Result<ServerSocket, NotOpened> {
        let open = self.sockets.opened.len() - self.sockets.freed;
        if self.sockets.most.is_some_and(|most| open >= most) {
            return Err(NotOpened::NoSocket);
        }
        if let Some(lack) = self.sockets.lack {
            return Err(lack);
        }
        self.sockets.opened.push(to);
        self.sockets.sources.push(from);
        Ok(ServerSocket { slot: self.sockets.opened.len() as u32 - 1, generation: 1 })
    }

    fn forward(&mut self, datagram: Datagram, to: ServerSocket) {
        assert!(!self.sockets.shut.contains(&to), "sends on a socket that it has shut");
        let server = self.sockets.opened[to.slot as usize];
        self.sockets.sent.push(format!("{} to {} on {}", datagram.at, server.ip(), to.slot));
    }

    fn reply(&mut self, datagram: Datagram, from: ListenerId, to: SocketAddr) {
        assert_eq!(from, LISTENER);
        self.sockets.sent.push(format!("{} to {to}", datagram.at));
    }

    fn shut(&mut self, socket: ServerSocket) {
        assert!(!self.sockets.shut.contains(&socket), "shuts a socket twice");
        self.sockets.shut.push(socket);
    }
}

impl Stage {
    /// Runs one batch of datagrams. Returns what was sent.
    fn arrive(&mut self, mut arrivals: Vec<Arrival>) -> Vec<String> {
        self.tape.sockets.freed = self.tape.sockets.shut.len();
        self.proxy.handle_datagrams(&mut self.tape, &mut arrivals);
        std::mem::take(&mut self.tape.sockets.sent)
    }

    /// A client sends a datagram. Returns what was sent for it.
    pub fn asks(&mut self, peer: &str, index: u32) -> String {
        self.arrive(vec![from(peer, index)]).join(", ")
    }

    fn answers(&mut self, slot: u32, index: u32) -> String {
        self.arrive(vec![answer(slot, index)]).join(", ")
    }

    fn refuses(&mut self, slot: u32) {
        self.arrive(vec![Arrival::Refused { socket: socket(slot), why: Gone::Refused }]);
    }

    fn shut(&self) -> Vec<u32> {
        self.tape.sockets.shut.iter().map(|socket| socket.slot).collect()
    }

    /// Lets time pass, with a batch at each moment that the proxy asks for.
    pub fn idle_for(&mut self, span: Duration) {
        let mut left = span;
        while let Some(due) = self.proxy.due() {
            let step = due.since(weir_proxy::io::Io::now(&self.tape)).max(Duration::from_millis(1));
            if step > left {
                break;
            }
            left -= step;
            self.tape.sleep(step);
            self.arrive(Vec::new());
        }
        self.tape.sleep(left);
        self.arrive(Vec::new());
    }

    fn open_sessions(&self) -> u64 {
        self.proxy.counters().service(0).map_or(0, |service| service.open_connections)
    }
}

fn socket(slot: u32) -> ServerSocket {
    ServerSocket { slot, generation: 1 }
}

fn from(peer: &str, index: u32) -> Arrival {
    to(LISTENER, peer, index)
}

fn to(listener: ListenerId, peer: &str, index: u32) -> Arrival {
    let peer = peer.parse().expect("an address");
    Arrival::FromClient { listener, peer, datagram: Datagram { at: index, bytes: 100 } }
}

fn answer(slot: u32, index: u32) -> Arrival {
    Arrival::FromServer { socket: socket(slot), datagram: Datagram { at: index, bytes: 50 } }
}

pub fn udp_plan(servers: usize, edit: impl FnOnce(&mut api::UdpProfile)) -> api::Plan {
    let mut plan = l4_plan(servers);
    let service = &mut plan.virtual_services[0];
    let mut profile = api::UdpProfile { idle_timeout_s: 10, ..Default::default() };
    edit(&mut profile);
    (service.tcp, service.udp) = (None, Some(profile));
    let listener = &mut service.listeners[0];
    (listener.port, listener.protocol) = (53, api::TransportProtocol::Udp.into());
    plan
}

fn stage(servers: usize) -> Stage {
    Stage::new(&udp_plan(servers, |_| {}))
}

const ONE: &str = "10.2.0.1:4000";
const TWO: &str = "10.2.0.2:4000";

#[test]
fn each_client_keeps_its_server_and_gets_its_answers() {
    let mut stage = stage(2);
    assert_eq!(stage.asks(ONE, 0), "0 to 10.1.0.1 on 0");
    assert_eq!(stage.asks(TWO, 0), "0 to 10.1.0.2 on 1");
    let sent = stage.arrive(vec![from(TWO, 0), answer(0, 1), from(ONE, 2), answer(1, 3), from(ONE, 4)]);
    let expected =
        ["0 to 10.1.0.2 on 1", "1 to 10.2.0.1:4000", "2 to 10.1.0.1 on 0", "3 to 10.2.0.2:4000", "4 to 10.1.0.1 on 0"];
    assert_eq!(sent, expected);
    let counted = stage.proxy.counters().service(0).expect("a service");
    assert_eq!((counted.connections, counted.open_connections), (2, 2));
    assert_eq!((counted.received_datagrams, counted.received_bytes), (5, 500));
    assert_eq!((counted.sent_datagrams, counted.sent_bytes), (2, 100));
}

#[test]
fn server_of_a_session_has_the_port_that_the_client_chose() {
    let mut plan = udp_plan(2, |_| {});
    plan.pools[0].use_service_port = true;
    let mut stage = Stage::new(&plan);
    stage.asks(ONE, 0);
    stage.refuses(0);
    let opened: Vec<_> = stage.tape.sockets.opened.iter().map(ToString::to_string).collect();
    assert_eq!(opened, ["10.1.0.1:53", "10.1.0.2:53"]);
}

#[test]
fn session_ends_when_it_is_idle_and_not_before() {
    let mut stage = stage(1);
    stage.asks(ONE, 0);
    stage.idle_for(Duration::from_secs(9));
    stage.answers(0, 0);
    stage.idle_for(Duration::from_millis(9_900));
    assert_eq!((stage.open_sessions(), stage.shut()), (1, vec![]), "the answer keeps it");
    stage.idle_for(Duration::from_millis(700));
    assert_eq!((stage.open_sessions(), stage.shut()), (0, vec![0]));
    assert!(stage.proxy.is_idle() && stage.proxy.due().is_none());
    assert_eq!(stage.answers(0, 0), "", "an answer that comes too late");
    assert_eq!(stage.asks(ONE, 0), "0 to 10.1.0.1 on 1");
}

#[test]
fn session_that_was_used_soon_after_its_beginning_does_not_end_after_younger_ones() {
    let mut stage = stage(1);
    stage.asks(ONE, 0);
    stage.idle_for(Duration::from_millis(400));
    stage.asks(ONE, 0);
    stage.idle_for(Duration::from_millis(9_500));
    stage.asks(TWO, 0);
    stage.idle_for(Duration::from_millis(600));
    assert_eq!(stage.shut(), [0]);
}

#[test]
fn every_session_of_a_crowd_ends_in_time() {
    let mut stage = stage(3);
    for client in 0..600 {
        stage.asks(&format!("10.3.{}.{}:53", client / 100, client % 100), 0);
        stage.tape.sleep(Duration::from_millis(5));
    }
    for _ in 0..20 {
        stage.asks("10.3.0.0:53", 0);
        stage.idle_for(Duration::from_millis(520));
    }
    assert_eq!(stage.open_sessions(), 1, "only the busy one is left");
    stage.idle_for(Duration::from_millis(10_600));
    assert_eq!((stage.open_sessions(), stage.shut().len()), (0, 600));
}

#[test]
fn counted_answers_end_a_session_and_a_question_left_open_does_not() {
    let mut stage = Stage::new(&udp_plan(1, |udp| udp.answers = api::UdpAnswers::OneEach.into()));
    stage.arrive(vec![from(ONE, 0), from(ONE, 1)]);
    stage.answers(0, 0);
    assert_eq!(stage.shut(), [0_u32; 0]);
    assert_eq!(stage.answers(0, 1), "1 to 10.2.0.1:4000");
    assert_eq!(stage.shut(), [0]);
    assert_eq!(stage.asks(ONE, 0), "0 to 10.1.0.1 on 1");
    stage.idle_for(Duration::from_millis(10_600));
    assert_eq!(stage.shut(), [0, 1]);
}

#[test]
fn sessions_of_one_way_traffic_end_after_a_second() {
    let mut stage = Stage::new(&udp_plan(1, |udp| udp.answers = api::UdpAnswers::None.into()));
    stage.asks(ONE, 0);
    stage.idle_for(Duration::from_millis(900));
    assert_eq!(stage.open_sessions(), 1);
    stage.idle_for(Duration::from_millis(700));
    assert_eq!(stage.open_sessions(), 0);
}

#[test]
fn each_datagram_goes_to_the_next_server_and_all_answers_come_back() {
    let mut stage = Stage::new(&udp_plan(2, |udp| udp.per_datagram = true));
    let sent: Vec<_> = (0..4).map(|index| stage.asks(ONE, index)).collect();
    assert_eq!(sent, ["0 to 10.1.0.1 on 0", "1 to 10.1.0.2 on 1", "2 to 10.1.0.1 on 0", "3 to 10.1.0.2 on 1"]);
    assert_eq!([stage.answers(1, 8), stage.answers(0, 9)], ["8 to 10.2.0.1:4000", "9 to 10.2.0.1:4000"]);
    assert_eq!(stage.open_sessions(), 2);
}

#[test]
fn server_that_goes_down_loses_its_sessions_at_once() {
    let mut plan = udp_plan(2, |_| {});
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    for server in ["server 0", "server 1"] {
        stage.proxy.set_server_up(&mut stage.tape, "pool", server, true);
    }
    assert_eq!(stage.asks(ONE, 0), "0 to 10.1.0.1 on 0");
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 0", false);
    assert_eq!(stage.asks(ONE, 1), "1 to 10.1.0.2 on 1");
    assert_eq!((stage.open_sessions(), stage.shut()), (1, vec![0]));
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 1", false);
    assert_eq!(stage.asks(ONE, 2), "");
    assert_eq!((stage.open_sessions(), stage.failures(Cause::NoServer)), (0, 1));
}

#[test]
fn disabled_server_keeps_its_sessions_and_gets_no_new_one() {
    let mut plan = udp_plan(2, |_| {});
    let mut stage = Stage::new(&plan);
    assert_eq!(stage.asks(ONE, 0), "0 to 10.1.0.1 on 0");
    plan.revision += 1;
    plan.pools[0].servers[0].enabled = false;
    stage.replace(&plan);
    assert_eq!(stage.asks(ONE, 1), "1 to 10.1.0.1 on 0");
    for other in ["10.2.0.2:1", "10.2.0.3:1", "10.2.0.4:1"] {
        assert!(stage.asks(other, 0).contains("10.1.0.2"));
    }
}

#[test]
fn disabled_server_loses_its_sessions_when_its_time_is_over() {
    let mut plan = udp_plan(2, |udp| udp.idle_timeout_s = 1000);
    plan.pools[0].disable_timeout_ms = Some(60_000);
    let mut stage = Stage::new(&plan);
    assert_eq!(stage.asks(ONE, 0), "0 to 10.1.0.1 on 0");
    plan.revision += 1;
    plan.pools[0].servers[0].enabled = false;
    stage.replace(&plan);
    stage.idle_for(Duration::from_secs(59));
    assert_eq!((stage.asks(ONE, 1), stage.shut()), ("1 to 10.1.0.1 on 0".into(), vec![]));
    stage.idle_for(Duration::from_secs(2));
    assert_eq!((stage.shut(), stage.failures(Cause::ServerWithdrawn)), (vec![0], 1));
    assert_eq!(stage.asks(ONE, 2), "2 to 10.1.0.2 on 1");
}

#[test]
fn removed_server_loses_its_sessions_and_a_removed_service_all() {
    let mut plan = udp_plan(2, |_| {});
    let mut stage = Stage::new(&plan);
    stage.asks(ONE, 0);
    plan.revision += 1;
    plan.pools[0].servers.remove(0);
    stage.replace(&plan);
    assert_eq!(stage.asks(ONE, 1), "1 to 10.1.0.2 on 1");
    plan.revision += 1;
    plan.virtual_services.clear();
    stage.replace(&plan);
    assert_eq!((stage.shut(), stage.asks(ONE, 2)), (vec![0, 1], String::new()));
    assert!(stage.proxy.is_idle());
}

#[test]
fn new_profile_takes_effect_for_sessions_that_stand() {
    let mut plan = udp_plan(1, |_| {});
    let mut stage = Stage::new(&plan);
    stage.asks(ONE, 0);
    plan.revision += 1;
    plan.virtual_services[0].udp.as_mut().expect("a profile").idle_timeout_s = 60;
    stage.replace(&plan);
    stage.tape.sleep(Duration::from_secs(1));
    stage.asks(ONE, 1);
    stage.idle_for(Duration::from_secs(50));
    assert_eq!((stage.open_sessions(), stage.shut()), (1, vec![]));
    stage.idle_for(Duration::from_secs(11));
    assert_eq!(stage.open_sessions(), 0);
}

#[test]
fn session_leaves_a_server_that_refuses_and_the_server_becomes_suspect() {
    let mut plan = udp_plan(2, |_| {});
    plan.pools[0].inline_health = true;
    let mut stage = Stage::new(&plan);
    for client in 0..3 {
        stage.asks(&format!("10.2.1.{client}:1"), 0);
        stage.asks(&format!("10.2.2.{client}:1"), 0);
    }
    let refused: Vec<_> =
        (0..6).filter(|slot| stage.tape.sockets.opened[*slot].ip().to_string() == "10.1.0.1").collect();
    for slot in &refused {
        stage.refuses(*slot as u32);
    }
    assert_eq!(stage.failures(Cause::ServerRefused), refused.len() as u64);
    assert_eq!(stage.suspects(), [0]);
    for client in 0..3 {
        assert!(stage.asks(&format!("10.2.1.{client}:1"), 1).contains("10.1.0.2"));
    }
    assert!(stage.asks("10.2.3.1:1", 0).contains("10.1.0.2"));
}

#[test]
fn session_stays_at_the_only_server_even_if_that_refuses() {
    let mut stage = stage(1);
    stage.asks(ONE, 0);
    stage.refuses(0);
    assert_eq!(stage.asks(ONE, 1), "1 to 10.1.0.1 on 0");
}

#[test]
fn all_engines_choose_the_same_server_by_the_hash_of_address_and_port() {
    let mut plan = udp_plan(5, |_| {});
    plan.pools[0].algorithm = api::Algorithm::ConsistentHash.into();
    plan.pools[0].hash_input = api::HashInput::SourceAddressAndPort.into();
    let [mut one, mut other] = [Stage::new(&plan), Stage::new(&plan)];
    other.asks("10.9.9.9:9", 0);
    let server = |text: String| text.split(' ').nth(2).expect("a server").to_owned();
    let ports: Vec<_> = (1000..1050).map(|port| format!("10.2.0.1:{port}")).collect();
    let chosen: Vec<_> = ports.iter().map(|peer| server(one.asks(peer, 0))).collect();
    assert_eq!(ports.iter().map(|peer| server(other.asks(peer, 0))).collect::<Vec<_>>(), chosen);
    assert!((1..=5).all(|host| chosen.contains(&format!("10.1.0.{host}"))));
}

#[test]
fn sessions_of_an_address_beyond_its_limit_are_refused_and_counted() {
    let mut stage = Stage::with(&udp_plan(1, |_| {}), Limits { sessions_per_address: 2, ..Limits::default() });
    for port in 1..=3 {
        stage.asks(&format!("10.2.0.1:{port}"), 0);
    }
    assert_eq!((stage.open_sessions(), stage.failures(Cause::ClientSessions)), (2, 1));
    assert_ne!(stage.asks(TWO, 0), "", "another address");
    assert_eq!(stage.asks("10.2.0.1:1", 0), "0 to 10.1.0.1 on 0", "sessions that stand are served");
    stage.idle_for(Duration::from_millis(10_600));
    assert_ne!(stage.asks("10.2.0.1:3", 0), "");
}

fn host(client: u32) -> String {
    format!("10.4.{}.{}:9", client >> 8, client & 255)
}

/// A stage with sixteen sockets for sessions, of which eight are kept free.
fn crowded(plan: &api::Plan) -> Stage {
    Stage::with(plan, Limits { session_sockets: 16, ..Limits::default() })
}

impl Stage {
    /// So many clients ask once each, a millisecond apart. Each of them is served.
    fn flooded(&mut self, clients: Range<u32>) {
        for client in clients {
            self.begins(LISTENER, client..client + 1);
            assert!(self.open_sessions() <= 8);
        }
    }

    /// The same at a listener.
    fn begins(&mut self, listener: ListenerId, clients: Range<u32>) {
        for client in clients {
            self.tape.sleep(Duration::from_millis(1));
            let sent = self.arrive(vec![to(listener, &host(client), 0)]);
            assert_eq!(sent.len(), 1, "client {client} gets in");
        }
    }

    /// A client asks twice and gets two answers. Returns the slot of its socket.
    fn talks(&mut self, peer: &str) -> u32 {
        let slot = self.asks(peer, 0).rsplit(' ').next().and_then(|slot| slot.parse().ok()).expect("a socket");
        self.answers(slot, 0);
        self.asks(peer, 0);
        self.answers(slot, 0);
        slot
    }
}

#[test]
fn new_clients_get_in_and_the_sessions_idle_longest_end() {
    let mut stage = crowded(&udp_plan(1, |_| {}));
    stage.flooded(0..8);
    assert_eq!((stage.shut(), stage.failures(Cause::EngineSessions)), (vec![], 0));
    stage.tape.sleep(Duration::from_millis(1));
    stage.asks("10.4.0.0:9", 1);
    stage.answers(2, 1);
    stage.flooded(8..14);
    assert_eq!(stage.shut(), [1, 3, 4, 5, 6, 7], "the first has asked again, and the third was answered");
    stage.flooded(14..16);
    assert_eq!(stage.shut()[6..], [0, 2]);
    assert_eq!((stage.open_sessions(), stage.failures(Cause::EngineSessions)), (8, 8));
    assert_eq!((stage.failures(Cause::LocalResources), stage.failures(Cause::EngineRefused)), (0, 0));
}

#[test]
fn established_sessions_outlast_a_flood_and_end_when_they_are_idle() {
    let mut stage = crowded(&udp_plan(1, |_| {}));
    let slots: Vec<_> = (1..=6).map(|host| stage.talks(&format!("10.2.1.{host}:1"))).collect();
    stage.flooded(0..3_000);
    for (host, slot) in (1..=6).zip(&slots) {
        assert_eq!(stage.asks(&format!("10.2.1.{host}:1"), 1), format!("1 to 10.1.0.1 on {slot}"));
    }
    assert_eq!(stage.failures(Cause::EngineSessions), 2_998);
    stage.idle_for(Duration::from_millis(10_600));
    assert_eq!((stage.open_sessions(), stage.proxy.due()), (0, None));
}

#[test]
fn many_answers_to_one_datagram_do_not_establish_a_session() {
    let mut stage = crowded(&udp_plan(1, |_| {}));
    stage.asks(ONE, 0);
    (0..9).for_each(|index| drop(stage.answers(0, index)));
    stage.flooded(0..8);
    assert_eq!(stage.shut(), [0]);
}

#[test]
fn established_sessions_leave_a_quarter_of_the_places_to_newcomers() {
    let mut stage = crowded(&udp_plan(1, |_| {}));
    for host in 1..=8 {
        stage.tape.sleep(Duration::from_millis(1));
        stage.talks(&format!("10.2.1.{host}:1"));
    }
    stage.flooded(0..2);
    assert_eq!(stage.shut(), [0, 1], "two places of eight");
    stage.flooded(2..100);
    assert_eq!(stage.shut()[2..], (8..106).collect::<Vec<_>>(), "newcomers make room for newcomers");
}

#[test]
fn a_long_idle_newcomer_ends_before_established_sessions_even_if_newcomers_are_few() {
    let mut stage = crowded(&udp_plan(1, |_| {}));
    stage.flooded(0..1);
    for host in 1..=7 {
        stage.tape.sleep(Duration::from_millis(1));
        stage.talks(&format!("10.2.1.{host}:1"));
    }
    stage.flooded(1..2);
    assert_eq!(stage.shut(), [0]);
}

#[test]
fn all_new_clients_of_a_batch_get_in() {
    let mut stage = crowded(&udp_plan(1, |_| {}));
    stage.flooded(0..8);
    let batch = (0..8).map(|client| from(&format!("10.2.0.1:{}", client + 1), client)).collect();
    assert_eq!(stage.arrive(batch).len(), 8);
    assert_eq!((stage.shut(), stage.open_sessions()), ((0..8).collect(), 8));
}

#[test]
fn session_that_fails_to_begin_ends_no_other() {
    let mut stage = crowded(&udp_plan(1, keep_addresses));
    stage.flooded(0..8);
    stage.tape.sockets.lack = Some(NotOpened::ClientAddress);
    assert_eq!(stage.asks(TWO, 0), "");
    assert_eq!((stage.open_sessions(), stage.failures(Cause::EngineSessions)), (8, 0));
}

/// A service whose servers see the engine, at `LISTENER`, and one whose servers see clients, at `OTHER`.
fn both_sources(limits: Limits) -> Stage {
    let mut plan = udp_plan(1, |_| {});
    let mut other = udp_plan(1, keep_addresses).virtual_services.remove(0);
    (other.uuid, other.name, other.listeners[0].port) = ("other".into(), "other".into(), 54);
    plan.virtual_services.push(other);
    Stage::with(&plan, limits)
}

#[test]
fn sessions_with_ports_of_the_engine_make_room_for_each_other_and_not_for_those_of_clients() {
    let mut stage = both_sources(Limits { session_sockets: 32, session_ports: 8, ..Limits::default() });
    stage.begins(OTHER, 0..8);
    stage.begins(LISTENER, 8..12);
    assert_eq!(stage.shut(), [0_u32; 0], "the first eight need no ports");
    stage.begins(LISTENER, 12..14);
    assert_eq!(stage.shut(), [8, 9], "though others are idle for longer");
}

#[test]
fn larger_crowd_makes_room_whoever_comes() {
    let mut stage = both_sources(Limits { session_sockets: 32, ..Limits::default() });
    stage.begins(OTHER, 0..6);
    stage.begins(LISTENER, 6..16);
    assert_eq!(stage.shut(), [0_u32; 0]);
    stage.begins(OTHER, 16..17);
    stage.begins(LISTENER, 17..18);
    assert_eq!(stage.shut(), [6, 7], "ten of sixteen have ports of the engine, and then nine");
    stage.begins(OTHER, 18..20);
    assert_eq!(stage.shut()[2..], [8, 9], "nine, and then half of them");
    stage.begins(LISTENER, 20..21);
    assert_eq!(stage.shut()[4..], [0], "nine of sixteen have addresses of clients");
}

#[test]
fn session_idle_longest_ends_for_one_that_gets_no_socket() {
    let mut stage = stage(1);
    stage.asks(ONE, 0);
    stage.asks(TWO, 0);
    // Connections have the others.
    stage.tape.sockets.most = Some(2);
    assert_eq!(stage.asks("10.2.0.3:4000", 0), "");
    assert_eq!((stage.open_sessions(), stage.shut()), (1, vec![0]));
    assert_eq!((stage.failures(Cause::LocalResources), stage.failures(Cause::EngineSessions)), (1, 1));
    assert_eq!(stage.asks("10.2.0.3:4000", 1), "1 to 10.1.0.1 on 2");
    assert_eq!(stage.asks(TWO, 1), "1 to 10.1.0.1 on 1");
    assert_eq!((stage.failures(Cause::LocalResources), stage.failures(Cause::EngineSessions)), (1, 1));
}

#[test]
fn session_ends_only_if_it_has_what_another_lacks() {
    let mut stage = both_sources(Limits::default());
    stage.begins(OTHER, 0..4);
    stage.begins(LISTENER, 4..6);
    for (client, lack) in (6..).zip([
        NotOpened::Gone(Gone::Local),
        NotOpened::Gone(Gone::Unreachable),
        NotOpened::NoPort,
        NotOpened::NoSocket,
        NotOpened::NoPort,
        NotOpened::NoPort,
    ]) {
        stage.tape.sockets.lack = Some(lack);
        assert_eq!(stage.asks(&host(client), 0), "");
    }
    assert_eq!(stage.shut(), [4, 0, 5], "the first four have addresses of clients");
    assert_eq!(stage.failures(Cause::EngineSessions), 2, "and the other service has one");
    assert_eq!((stage.failures(Cause::LocalResources), stage.failures(Cause::ServerUnreachable)), (5, 1));
}

/// Two services, of which the first or the second listens where the tests send to.
fn shared_port(listens: usize) -> api::Plan {
    let mut plan = udp_plan(1, |_| {});
    plan.virtual_services.push(api::VirtualService {
        uuid: "other".into(),
        name: "other".into(),
        ..plan.virtual_services[0].clone()
    });
    plan.virtual_services[1 - listens].listeners[0].port = 54;
    plan.revision = 2;
    plan
}

#[test]
fn sessions_end_in_the_service_that_they_began_in_when_their_listener_changes_hands() {
    let mut stage = Stage::new(&shared_port(0));
    for (index, listens) in [1, 0, 1, 0].into_iter().enumerate() {
        assert_eq!(stage.asks(ONE, 0), format!("0 to 10.1.0.1 on {index}"));
        let mut plan = shared_port(listens);
        plan.revision += index as u64;
        stage.replace(&plan);
        assert_eq!(stage.shut().len(), index + 1, "at once");
    }
    assert_eq!(stage.asks(ONE, 0), "0 to 10.1.0.1 on 4");
    stage.idle_for(Duration::from_millis(10_600));
    assert_eq!((stage.shut(), stage.open_sessions()), (vec![0, 1, 2, 3, 4], 0));
    assert!(stage.proxy.is_idle() && stage.proxy.due().is_none());
}

#[test]
fn refusal_ends_no_connection_under_its_streams() {
    let mut plan = to_http2(plan(2));
    plan.pools[0].inline_health = true;
    let udp = udp_plan(2, |_| {}).virtual_services.remove(0);
    plan.virtual_services.push(api::VirtualService { uuid: "udp".into(), name: "udp".into(), ..udp });
    let mut stage = Stage::new(&plan);
    let client = asks(&mut stage, GET);
    let mut origin = Origin::new(&mut stage);
    assert_eq!((origin.heard().len(), stage.dialled_address().as_str()), (1, "10.1.0.1:8000"));
    for client in 0..8 {
        stage.asks(&format!("10.2.1.{client}:1"), 0);
    }
    let to_first = |slot: &usize| stage.tape.sockets.opened[*slot].ip().to_string() == "10.1.0.1";
    for slot in (0..8).filter(to_first).collect::<Vec<_>>() {
        stage.refuses(slot as u32);
    }
    assert_eq!((stage.suspects(), stage.closed(origin.conn)), (vec![0], None));
    origin.answers(&mut stage, 1, "ok");
    assert_eq!((status(&stage.sent(client)), stage.closed(origin.conn)), ("200", Some(Close::Flush)));
}

#[test]
fn drain_waits_for_answers_for_a_second() {
    let mut stage = stage(1);
    stage.asks(ONE, 0);
    stage.proxy.drain_datagrams(weir_proxy::io::Io::now(&stage.tape));
    stage.idle_for(Duration::from_millis(900));
    assert_eq!(stage.answers(0, 0), "0 to 10.2.0.1:4000");
    stage.idle_for(Duration::from_millis(1_600));
    assert!(stage.proxy.is_idle());
}

fn keep_addresses(profile: &mut api::UdpProfile) {
    profile.keep_client_address = true;
}

fn sources(stage: &Stage) -> Vec<String> {
    let text = |source: &Option<SocketAddr>| source.map_or("the engine".to_owned(), |client| client.to_string());
    stage.tape.sockets.sources.iter().map(text).collect()
}

#[test]
fn servers_see_the_client_also_after_its_session_has_moved() {
    let mut stage = Stage::new(&udp_plan(2, keep_addresses));
    stage.asks(ONE, 0);
    stage.asks(TWO, 0);
    stage.refuses(0);
    assert_eq!(stage.asks(ONE, 1), "1 to 10.1.0.2 on 2");
    assert_eq!(sources(&stage), [ONE, TWO, ONE]);
}

#[test]
fn each_socket_of_a_client_whose_datagrams_are_spread_has_the_address_of_the_client() {
    let mut stage =
        Stage::new(&udp_plan(2, |profile| (profile.keep_client_address, profile.per_datagram) = (true, true)));
    stage.asks(ONE, 0);
    stage.asks(ONE, 1);
    stage.asks(ONE, 2);
    assert_eq!(sources(&stage), [ONE, ONE]);
}

#[test]
fn client_whose_address_is_taken_is_dropped_and_counted_and_never_sent_from_another() {
    let mut stage = Stage::new(&udp_plan(2, keep_addresses));
    stage.tape.sockets.lack = Some(NotOpened::ClientAddress);
    assert_eq!(stage.asks(ONE, 0), "");
    assert_eq!((stage.open_sessions(), stage.failures(Cause::ClientAddress)), (0, 1));
    assert!(sources(&stage).is_empty());
    stage.tape.sockets.lack = None;
    assert_ne!(stage.asks(ONE, 1), "");
    assert_eq!(sources(&stage), [ONE]);
}

#[test]
fn session_begins_again_when_servers_are_to_see_another_address() {
    let mut stage = stage(1);
    stage.asks(ONE, 0);
    stage.replace(&api::Plan { revision: 2, ..udp_plan(1, keep_addresses) });
    stage.asks(ONE, 1);
    stage.replace(&api::Plan { revision: 3, ..udp_plan(1, |_| {}) });
    stage.asks(ONE, 2);
    assert_eq!(sources(&stage), ["the engine", ONE, "the engine"]);
    assert_eq!((stage.shut(), stage.open_sessions()), (vec![0, 1], 1));
}

#[test]
fn sessions_of_single_datagrams_end_at_once_when_clients_are_to_keep_their_servers() {
    let mut plan = udp_plan(2, |profile| (profile.keep_client_address, profile.per_datagram) = (true, true));
    let mut stage = Stage::new(&plan);
    stage.asks(ONE, 0);
    stage.asks(ONE, 1);
    plan.revision += 1;
    plan.virtual_services[0].udp.as_mut().expect("a profile").per_datagram = false;
    stage.replace(&plan);
    assert_eq!((stage.open_sessions(), stage.shut()), (0, vec![0, 1]));
    assert_eq!([stage.asks(ONE, 2), stage.asks(ONE, 3)], ["2 to 10.1.0.1 on 2", "3 to 10.1.0.1 on 2"]);
    assert_eq!(stage.failures(Cause::ClientAddress), 0);
}

#[test]
fn change_of_a_service_leaves_its_sessions_and_ends_those_of_removed_servers() {
    let mut plan = udp_plan(3, |profile| profile.per_datagram = true);
    let mut stage = Stage::new(&plan);
    (0..3).for_each(|index| drop(stage.asks(ONE, index)));
    plan.revision += 1;
    plan.virtual_services[0].udp.as_mut().expect("a profile").idle_timeout_s = 20;
    stage.replace(&plan);
    assert_eq!(stage.shut(), [0_u32; 0]);
    plan.revision += 1;
    plan.pools[0].servers.remove(1);
    stage.replace(&plan);
    assert_eq!((stage.open_sessions(), stage.shut()), (2, vec![1]));
}

/// Checks the only record: its server, its class and the reasons, datagrams' bytes, and the time that the first answer took.
#[track_caller]
fn records_one(stage: &mut Stage, (class, reasons): (u8, Reasons), bytes: (u64, u64), app_us: u64) {
    let taken = stage.records();
    let record = taken.record();
    assert_eq!((record.kind(), record.class(), record.reasons()), (3, class, reasons.bits()));
    assert_eq!((record.request_bytes(), record.response_bytes(), record.times()[1]), (bytes.0, bytes.1, app_us));
    assert_ne!(record.server(), u32::MAX);
    assert_eq!(record.client().to_string(), ONE);
    assert_eq!((record.u32(92).to_le_bytes(), record.u16(114)), ([10, 0, 0, 1], 53), "the listener");
}

#[test]
fn session_leaves_a_record_whether_it_is_answered_or_not() {
    let mut stage = Stage::new(&recording(udp_plan(1, |_| {})));
    stage.asks(ONE, 0);
    stage.tape.sleep(Duration::from_millis(20));
    stage.answers(0, 0);
    stage.asks(ONE, 1);
    stage.idle_for(Duration::from_millis(10_600));
    records_one(&mut stage, (3, Reasons::NONE), (200, 50), 20_000);
    stage.asks(ONE, 0);
    stage.idle_for(Duration::from_millis(10_600));
    let taken = stage.records();
    let record = taken.record();
    assert_eq!((record.class(), record.reasons(), record.response_bytes()), (3, 0, 0), "it waited, as sessions do");
    assert_eq!(record.sequence(), 2);
}

#[test]
fn displaced_session_leaves_a_record_although_its_listener_is_gone() {
    let mut plan = recording(udp_plan(1, |_| {}));
    let mut stage = Stage::new(&plan);
    stage.asks(ONE, 0);
    plan.revision += 1;
    plan.virtual_services.clear();
    stage.tape.sockets.unbound = true;
    stage.replace(&plan);
    assert!(stage.proxy.is_idle());
    records_one(&mut stage, (3, Reasons::NONE), (100, 0), 0);
}

#[test]
fn session_that_its_server_refuses_leaves_a_significant_record() {
    let mut stage = Stage::new(&recording(udp_plan(1, |_| {})));
    stage.asks(ONE, 0);
    stage.refuses(0);
    stage.proxy.end_sessions(&mut stage.tape);
    records_one(&mut stage, (1, Reasons::SERVER_REFUSED), (100, 0), 0);
}
