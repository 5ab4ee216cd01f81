//! Parents and children: virtual services that share listeners.

use std::time::Duration;

use weir_api::dataplane::v1 as api;
use weir_proxy::io::{Close, Conn, Event};
use weir_telemetry::{Cause, HandshakeFault, ServiceCounters};
use weir_tls::{ClientConfig, ClientSettings, Group, Provider, ServerName, TlsSession, Version};

use crate::{
    OK,
    http2::{Browser, http2},
    status,
    tape::{Stage, l4_plan, plan, with_another_pool},
    websocket,
};

/// A child of the service of `plan`, with a pool of its own: its server is 10.1.N.1.
fn child(plan: &mut api::Plan, number: u8, edit: impl FnOnce(&mut api::VirtualService)) {
    let (parent, pool) = (&plan.virtual_services[0], &plan.pools[0]);
    let uuid = format!("child-{number}");
    let mut pool = api::Pool { uuid: format!("pool-{number}"), ..pool.clone() };
    pool.servers.truncate(1);
    pool.servers[0].address = format!("10.1.{number}.1");
    let mut child = api::VirtualService {
        name: uuid.clone(),
        uuid,
        listeners: Vec::new(),
        hosting: 0,
        parent_uuid: parent.uuid.clone(),
        pool_uuid: pool.uuid.clone(),
        ..parent.clone()
    };
    edit(&mut child);
    plan.virtual_services.push(child);
    plan.pools.push(pool);
}

fn under(host: &str, paths: &[&str]) -> api::HostMatch {
    let rule = |path: &&str| api::HostRule {
        name: (*path).into(),
        path: Some(api::TextMatch {
            criterion: api::TextCriterion::BeginsWith.into(),
            values: vec![(*path).into()],
            ..Default::default()
        }),
        r#match: None,
    };
    api::HostMatch { host: host.into(), rules: paths.iter().map(rule).collect() }
}

/// A parent whose children get requests by host and path: shop.test, /cart of it, and *.test.
pub fn by_request(mut plan: api::Plan) -> api::Plan {
    plan.virtual_services[0].hosting = api::Hosting::ByRequest.into();
    child(&mut plan, 1, |child| child.host_matches = vec![under("shop.test", &[])]);
    child(&mut plan, 2, |child| child.host_matches = vec![under("shop.test", &["/cart", "/basket"])]);
    child(&mut plan, 3, |child| child.host_matches = vec![under("*.test", &["/"])]);
    plan
}

pub fn get(host: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

fn counters(stage: &Stage, service: u32) -> ServiceCounters {
    stage.proxy.counters().service(service).cloned().unwrap_or_default()
}

fn requests(stage: &Stage) -> [u64; 4] {
    [0, 1, 2, 3].map(|service| counters(stage, service).requests)
}

#[test]
fn each_request_of_a_connection_goes_to_the_child_that_wants_it() {
    let mut stage = Stage::new(&by_request(plan(1)));
    let client = stage.client();
    for (host, path, server) in [
        ("shop.test", "/", "10.1.1.1:8000"),
        ("SHOP.test:80", "/cart/7?x", "10.1.2.1:8000"),
        ("blog.test", "/", "10.1.3.1:8000"),
        ("other", "/", "10.1.0.1:8000"),
        ("shop.test", "/basket", "10.1.2.1:8000"),
        ("192.0.2.1", "/cart", "10.1.0.1:8000"),
    ] {
        let dials = stage.dials();
        stage.says(client, get(host, path));
        if stage.dials() > dials {
            let server = stage.connected();
            stage.says(server, OK.replace("keep-alive", "close"));
            stage.batch(vec![Event::Eof { conn: server }]);
        }
        assert_eq!((stage.dialled_address().as_str(), status(&stage.sent(client))), (server, "200"), "{host}{path}");
    }
    assert_eq!(requests(&stage), [2, 1, 2, 1]);
    let all = [0, 1, 2, 3].map(|service| counters(&stage, service));
    assert_eq!(all.clone().map(|counters| counters.responses[1]), [2, 1, 2, 1]);
    assert_eq!(all.map(|counters| counters.connections), [1, 0, 0, 0], "connections are those of the parent");
}

/// Three children for shop.test: 1 wants POST and a field, 2 wants POST below /cart, 3 the clients of 192.0.2.0/24; the
/// parent gets the rest.
pub fn by_more_than_paths(mut plan: api::Plan) -> api::Plan {
    plan.virtual_services[0].hosting = api::Hosting::ByRequest.into();
    let post = || Some(api::NameMatch { negated: false, names: vec!["POST".into()] });
    let wants = |child: &mut api::VirtualService, paths: &[&str], matched: api::HttpMatch| {
        let mut wanted = under("shop.test", paths);
        wanted.rules.resize_with(1, api::HostRule::default);
        wanted.rules[0].r#match = Some(matched);
        child.host_matches = vec![wanted];
    };
    child(&mut plan, 1, |child| {
        let field = api::FieldMatch {
            name: "X-Beta".into(),
            value: Some(api::TextMatch { criterion: api::TextCriterion::Exists.into(), ..Default::default() }),
        };
        wants(child, &[], api::HttpMatch { method: post(), fields: vec![field], ..Default::default() });
    });
    child(&mut plan, 2, |child| {
        wants(child, &["/cart"], api::HttpMatch { method: post(), ..Default::default() });
    });
    child(&mut plan, 3, |child| {
        let client = api::AddressMatch { address_group_uuids: vec!["office".into()], ..Default::default() };
        wants(child, &[], api::HttpMatch { client: Some(client), ..Default::default() });
    });
    plan.address_groups = vec![office("192.0.2.0/24")];
    plan
}

fn office(subnet: &str) -> api::AddressGroup {
    api::AddressGroup {
        uuid: "office".into(),
        name: "office".into(),
        subnets: vec![subnet.into()],
        ..Default::default()
    }
}

/// Where a request goes, by the number of the child; 0: the parent.
fn child_of(stage: &mut Stage, peer: &str, request: &str) -> String {
    let client = stage.client_from("10.0.0.1:80", peer);
    stage.says(client, request);
    let server = stage.connected();
    stage.says(server, OK.replace("keep-alive", "close"));
    stage.batch(vec![Event::Eof { conn: server }]);
    stage.dialled_address().split('.').nth(2).unwrap_or_default().to_owned()
}

fn posted(path: &str, fields: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 0\r\n{fields}\r\n")
}

#[test]
fn child_may_want_more_of_a_request_than_its_host_and_path() {
    let mut stage = Stage::new(&by_more_than_paths(plan(1)));
    for (peer, request, child) in [
        ("198.51.100.1:1", posted("/", "X-Beta: 1\r\n"), "1"),
        ("198.51.100.1:2", posted("/", ""), "0"),
        ("198.51.100.1:3", posted("/cart/1", "X-Beta: 1\r\n"), "2"), // paths go first
        ("198.51.100.1:4", get("shop.test", "/cart/1"), "0"),
        ("192.0.2.1:1", get("shop.test", "/cart/1"), "3"),
        ("192.0.2.1:2", posted("/", "X-Beta: 1\r\n"), "1"), // it wants more than the third
    ] {
        assert_eq!(child_of(&mut stage, peer, &request), child, "{peer} {request}");
    }
}

#[test]
fn path_of_another_child_is_ambiguous_only_for_what_that_child_wants() {
    let mut stage = Stage::new(&by_more_than_paths(plan(1)));
    let client = stage.client_from("10.0.0.1:80", "198.51.100.1:1");
    stage.says(client, posted("/x/../cart", ""));
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("400", 0));
    assert_eq!(child_of(&mut stage, "198.51.100.1:2", &get("shop.test", "/x/../cart")), "0");
}

#[test]
fn change_of_a_group_moves_the_requests_of_a_child() {
    let mut plan = by_more_than_paths(plan(1));
    let mut stage = Stage::new(&plan);
    let ask = get("shop.test", "/");
    assert_eq!(child_of(&mut stage, "192.0.2.1:1", &ask), "3");
    plan.revision += 1;
    plan.address_groups = vec![office("198.51.100.0/24")];
    stage.replace(&plan);
    assert_eq!(child_of(&mut stage, "192.0.2.1:2", &ask), "0");
    assert_eq!(child_of(&mut stage, "198.51.100.1:1", &ask), "3");
}

#[test]
fn streams_are_given_to_children_by_more_than_their_paths() {
    let mut plan = by_more_than_paths(http2(plan(1)));
    let version = api::NameMatch { negated: false, names: vec!["HTTP/2".into()] };
    let matched = api::HttpMatch { version: Some(version), ..Default::default() };
    plan.virtual_services[1].host_matches[0].rules[0].r#match = Some(matched);
    let mut stage = Stage::new(&plan);
    let mut browser = Browser::new(&mut stage);
    browser.asks_host(&mut stage, "shop.test", "/");
    assert_eq!(stage.dialled_address(), "10.1.1.1:8000");
}

#[test]
fn request_whose_path_may_be_that_of_another_child_is_refused() {
    for path in ["//cart", "/x/../cart", "/x/%2e%2e/cart", "/cart/../x"] {
        let mut stage = Stage::new(&by_request(plan(1)));
        let client = stage.client();
        stage.says(client, get("shop.test", path));
        assert_eq!((status(&stage.sent(client)), stage.dials()), ("400", 0), "{path}");
        assert_eq!(stage.failures(Cause::ClientBadRequest), 1);
    }
}

#[test]
fn pipelined_requests_for_different_children_are_answered_in_order() {
    let mut stage = Stage::new(&by_request(plan(1)));
    let client = stage.client();
    stage.says(client, get("shop.test", "/") + &get("shop.test", "/cart"));
    let first = stage.connected();
    assert_eq!(stage.dialled_address(), "10.1.1.1:8000");
    stage.says(first, OK.replace("ok", "01"));
    let second = stage.connected();
    assert_eq!(stage.dialled_address(), "10.1.2.1:8000");
    stage.says(second, OK.replace("ok", "02"));
    let answers = stage.sent(client);
    assert!(answers.find("01") < answers.find("02"), "{answers}");
}

#[test]
fn parent_without_a_pool_answers_404_for_what_no_child_wants() {
    let mut plan = by_request(plan(1));
    plan.virtual_services[0].pool_uuid.clear();
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("other", "/"));
    assert_eq!(status(&stage.sent(client)), "404");
    assert_eq!((stage.failures(Cause::ClientUnknownHost), stage.closed(client)), (1, None));
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200", "the connection goes on");
}

#[test]
fn request_without_a_host_is_for_the_parent() {
    let mut stage = Stage::new(&by_request(plan(1)));
    let client = stage.client();
    stage.says(client, "GET /cart HTTP/1.0\r\n\r\n");
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
}

#[test]
fn profile_of_the_child_applies_to_its_requests() {
    let mut plan = by_request(plan(1));
    if let Some(http) = &mut plan.virtual_services[2].http {
        http.max_body_bytes = 3;
    }
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    let post = |path: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd")
    };
    stage.says(client, post("/cart"));
    assert_eq!(status(&stage.sent(client)), "413");
    let client = stage.client();
    stage.says(client, post("/"));
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    assert_eq!([1, 2].map(|service| counters(&stage, service).local_responses().iter().sum::<u64>()), [0, 1]);
}

#[test]
fn streams_of_one_connection_go_to_different_children() {
    let mut plan = by_request(http2(plan(1)));
    plan.virtual_services[0].pool_uuid.clear();
    let mut stage = Stage::new(&plan);
    let mut browser = Browser::new(&mut stage);
    let mut servers = Vec::new();
    for (host, path, server) in
        [("shop.test", "/", "10.1.1.1:8000"), ("shop.test", "/cart", "10.1.2.1:8000"), ("a.test", "/", "10.1.3.1:8000")]
    {
        browser.asks_host(&mut stage, host, path);
        servers.push(stage.connected());
        assert_eq!(stage.dialled_address(), server, "{host}{path}");
    }
    browser.asks_host(&mut stage, "other", "/");
    assert_eq!(browser.heard()[0], "7: 404");
    for (server, id) in servers.into_iter().zip([1, 3, 5]) {
        stage.says(server, OK);
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), [format!("{id}: 200"), format!("{id}: ok, all")]);
    }
    assert_eq!(requests(&stage), [1, 1, 1, 1]);
}

#[test]
fn change_of_one_child_leaves_the_requests_of_another_alone() {
    let before = by_request(plan(1));
    let mut stage = Stage::new(&before);
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    let server = stage.connected();
    let mut after = before.clone();
    after.revision += 1;
    after.virtual_services[2].host_matches = vec![under("shop.test", &["/other"])];
    after.virtual_services.remove(3);
    stage.replace(&after);
    stage.says(server, OK);
    assert_eq!((status(&stage.sent(client)), stage.closed(client)), ("200", None));
    for (host, path, server) in [("shop.test", "/other", "10.1.2.1:8000"), ("blog.test", "/", "10.1.0.1:8000")] {
        stage.says(client, get(host, path));
        assert_eq!(stage.dialled_address(), server, "{host}{path}");
        let server = stage.connected();
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(client)), "200");
    }
}

/// The children that a change takes away, or gives to another parent.
fn without_first_child(before: &api::Plan) -> [api::Plan; 2] {
    let mut removed = before.clone();
    removed.revision += 1;
    removed.virtual_services.remove(1);
    let mut moved = before.clone();
    moved.revision += 1;
    let listeners = vec![api::Listener { address: "10.0.0.9".into(), port: 80, ..Default::default() }];
    let other = api::VirtualService {
        uuid: "other".into(),
        name: "other".into(),
        listeners,
        ..before.virtual_services[0].clone()
    };
    moved.virtual_services[1].parent_uuid = other.uuid.clone();
    moved.virtual_services.push(other);
    [removed, moved]
}

/// As many WebSockets as there are hosts, with their servers.
fn websockets<const N: usize>(stage: &mut Stage, hosts: [&str; N]) -> [(Conn, Conn); N] {
    hosts.map(|host| {
        let client = stage.client();
        stage.says(client, websocket::ASKS.replace("Host: a", &format!("Host: {host}")));
        let server = stage.connected();
        stage.says(server, websocket::SWITCHES);
        assert_eq!(status(&stage.sent(client)), "101");
        stage.sent(server);
        (client, server)
    })
}

#[test]
fn websockets_of_a_child_that_goes_are_cut_and_others_stay() {
    let before = by_request(websocket::with_websockets(plan(1)));
    for after in without_first_child(&before) {
        let mut stage = Stage::new(&before);
        let [going, staying, of_parent] = websockets(&mut stage, ["shop.test", "blog.test", "other"]);
        stage.replace(&after);
        assert_eq!([going.0, going.1].map(|conn| stage.closed(conn)), [Some(Close::Cut); 2]);
        for (client, server) in [staying, of_parent] {
            assert_eq!((stage.closed(client), stage.closed(server)), (None, None));
            stage.says(client, "more");
            assert_eq!(stage.sent(server), "more");
        }
    }
}

#[test]
fn websockets_on_streams_of_a_child_that_goes_are_cut_and_their_connection_stays() {
    let before = by_request(http2(websocket::with_websockets(plan(1))));
    for after in without_first_child(&before) {
        let mut stage = Stage::new(&before);
        let mut browser = Browser::new(&mut stage);
        let going = websocket::open_at(&mut stage, &mut browser, "shop.test", 0);
        let staying = websocket::open_at(&mut stage, &mut browser, "blog.test", 1);
        stage.replace(&after);
        stage.batch(vec![]);
        browser.hears(&mut stage);
        assert_eq!(browser.heard(), ["1: Cancel"]);
        assert_eq!([going, staying, browser.conn].map(|conn| stage.closed(conn)), [Some(Close::Cut), None, None]);
        browser.sends(&mut stage, 3, b"more", false);
        assert_eq!(stage.sent(staying), "more");
    }
}

/// A parent of layer 4 whose TLS goes through, with children for shop.test and *.test.
fn passing(mut plan: api::Plan) -> api::Plan {
    plan.virtual_services[0].hosting = api::Hosting::ByServerName.into();
    child(&mut plan, 1, |child| child.server_names = vec!["shop.test".into()]);
    child(&mut plan, 2, |child| child.server_names = vec!["*.test".into(), "www.shop.*".into()]);
    plan
}

/// A client of TLS.
pub struct Visitor {
    pub conn: Conn,
    session: TlsSession,
    /// What it sends first.
    pub hello: Vec<u8>,
    heard: Vec<u8>,
    failed: bool,
}

impl Visitor {
    pub fn new(stage: &mut Stage, name: &str) -> Self {
        let conn = stage.client();
        Self::with(conn, &Self::config(false), name)
    }

    pub fn config(session_resumption: bool) -> ClientConfig {
        let settings = ClientSettings {
            versions: vec![Version::Tls13],
            cipher_suites: Vec::new(),
            groups: vec![Group::X25519],
            session_resumption,
        };
        ClientConfig::unverified(&settings, &Provider::new()).expect("a configuration")
    }

    pub fn with(conn: Conn, config: &ClientConfig, name: &str) -> Self {
        let (name, mut hello) = (ServerName::parse(name).expect("a name"), Vec::new());
        let session = TlsSession::client(config, &name, &mut hello).expect("a session");
        Self { conn, session, hello, heard: Vec::new(), failed: false }
    }

    /// Sends its hello in pieces of this size, and completes the handshake.
    pub fn greets(&mut self, stage: &mut Stage, size: usize) {
        for piece in std::mem::take(&mut self.hello).chunks(size) {
            stage.says(self.conn, piece);
        }
        self.talk(stage);
    }

    fn talk(&mut self, stage: &mut Stage) {
        loop {
            let mut input = stage.sent_bytes(self.conn);
            if input.is_empty() {
                return;
            }
            let (heard, mut answer) = (&mut self.heard, Vec::new());
            self.failed |=
                self.session.receive(&mut input, &mut |plain| heard.extend_from_slice(plain), &mut answer).is_err();
            if !answer.is_empty() {
                stage.says(self.conn, answer);
            }
        }
    }

    pub fn says(&mut self, stage: &mut Stage, text: &str) {
        let mut sealed = vec![0; text.len() + 100];
        let sent = self.session.send(text.as_bytes(), &mut sealed).expect("an open session");
        stage.says(self.conn, &sealed[..sent.written]);
        self.talk(stage);
    }

    pub fn heard(&mut self, stage: &mut Stage) -> String {
        self.talk(stage);
        String::from_utf8(std::mem::take(&mut self.heard)).expect("text")
    }
}

#[test]
fn tls_goes_through_to_the_server_of_its_name_as_it_came() {
    for (name, server) in [
        ("shop.test", "10.1.1.1:8000"),
        ("SHOP.test", "10.1.1.1:8000"),
        ("blog.test", "10.1.2.1:8000"),
        ("www.shop.example", "10.1.2.1:8000"),
        ("other.example", "10.1.0.1:8000"),
        ("192.0.2.1", "10.1.0.1:8000"),
    ] {
        for size in [1, 7, 100, 4000] {
            let mut stage = Stage::new(&passing(l4_plan(1)));
            let mut visitor = Visitor::new(&mut stage, name);
            let hello = visitor.hello.clone();
            assert_eq!(stage.dials(), 0, "the server is not known yet");
            visitor.greets(&mut stage, size);
            assert_eq!((stage.dials(), stage.dialled_address().as_str()), (1, server), "{name} in pieces of {size}");
            let server = stage.connected();
            assert_eq!(stage.sent_bytes(server), hello);
            stage.says(server, "answer");
            assert_eq!(stage.sent(visitor.conn), "answer");
            stage.says(visitor.conn, "more");
            assert_eq!(stage.sent(server), "more");
            assert_eq!(stage.blocks_in_use(), 0);
        }
    }
}

#[test]
fn what_is_no_hello_goes_to_the_pool_of_the_parent() {
    let mut stage = Stage::new(&passing(l4_plan(1)));
    let client = stage.client();
    stage.says(client, "SSH-2.0-x\r\n");
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    let server = stage.connected();
    assert_eq!(stage.sent(server), "SSH-2.0-x\r\n");
}

#[test]
fn parent_without_a_pool_closes_what_no_child_wants() {
    let mut plan = passing(l4_plan(1));
    plan.virtual_services[0].pool_uuid.clear();
    let mut stage = Stage::new(&plan);
    let mut visitor = Visitor::new(&mut stage, "other.example");
    visitor.greets(&mut stage, 4000);
    assert_eq!((stage.dials(), stage.failures(Cause::ClientUnknownHost)), (0, 1));
    assert!(stage.closed(visitor.conn).is_some());
}

#[test]
fn hello_that_does_not_come_in_time_ends_the_connection() {
    for begins in [false, true] {
        let mut stage = Stage::new(&passing(l4_plan(1)));
        let mut visitor = Visitor::new(&mut stage, "shop.test");
        if begins {
            visitor.hello.truncate(50);
            visitor.greets(&mut stage, 10);
        }
        assert_eq!(stage.wait_for_deadline(visitor.conn), Duration::from_secs(30));
        assert_eq!((stage.closed(visitor.conn), stage.dials()), (Some(Close::Flush), 0));
        assert_eq!(stage.failures(Cause::ClientAcceptTimeout), 1);
    }
}

#[test]
fn hello_that_drips_in_holds_few_blocks() {
    let mut stage = Stage::new(&passing(l4_plan(1)));
    let mut visitor = Visitor::new(&mut stage, "shop.test");
    visitor.hello.pop();
    visitor.greets(&mut stage, 1);
    assert!(stage.blocks_in_use() <= 2, "{}", stage.blocks_in_use());
    stage.batch(vec![Event::Eof { conn: visitor.conn }]);
    assert_eq!((stage.closed(visitor.conn).is_some(), stage.dials(), stage.blocks_in_use()), (true, 0, 0));
    assert_eq!(stage.failures(Cause::ClientTls), 1);
}

#[test]
fn hello_is_served_by_the_parent_as_it_is_when_it_is_whole() {
    let before = passing(l4_plan(1));
    let mut stage = Stage::new(&before);
    let mut visitor = Visitor::new(&mut stage, "other.example");
    let rest = visitor.hello.split_off(50);
    visitor.greets(&mut stage, 4000);
    stage.replace(&with_another_pool(&before));
    assert_eq!((stage.dials(), stage.closed(visitor.conn)), (0, None));
    stage.says(visitor.conn, &rest);
    assert_eq!((stage.dials(), stage.dialled_address().as_str()), (1, "10.1.9.9:8000"));
}

#[test]
fn tunnels_of_a_child_that_goes_are_cut_and_others_stay() {
    let before = passing(l4_plan(1));
    for after in without_first_child(&before) {
        let mut stage = Stage::new(&before);
        let [going, staying] = ["shop.test", "blog.test"].map(|name| {
            let mut visitor = Visitor::new(&mut stage, name);
            visitor.greets(&mut stage, 4000);
            let server = stage.connected();
            stage.sent_bytes(server);
            (visitor.conn, server)
        });
        stage.replace(&after);
        assert_eq!((stage.closed(going.0), stage.closed(staying.0)), (Some(Close::Cut), None));
        stage.says(staying.0, "more");
        assert_eq!(stage.sent(staying.1), "more");
    }
}

macro_rules! certificate {
    ($file:literal) => {
        api::Certificate {
            uuid: $file.into(),
            chain_der: vec![include_bytes!(concat!("../../../tls/testdata/", $file, ".crt.der")).to_vec()],
            key_pkcs8_der: include_bytes!(concat!("../../../tls/testdata/", $file, ".key.der")).to_vec(),
            ..Default::default()
        }
    };
}

/// A parent that terminates TLS, with children for shop.test and *.test.
pub fn terminating(mut plan: api::Plan) -> api::Plan {
    let service = &mut plan.virtual_services[0];
    service.hosting = api::Hosting::ByServerName.into();
    service.listeners[0].tls = true;
    service.tls = Some(api::TlsProfile {
        versions: vec![api::TlsVersion::TlsVersion13 as i32],
        cipher_suites: vec!["TLS_AES_128_GCM_SHA256".into()],
        ..Default::default()
    });
    service.certificate_uuids = vec!["default-ec".into()];
    plan.certificates = vec![certificate!("default-ec"), certificate!("shop-ec")];
    child(&mut plan, 1, |child| {
        child.server_names = vec!["shop.test".into()];
        child.certificate_uuids = vec!["shop-ec".into()];
    });
    child(&mut plan, 2, |child| child.server_names = vec!["*.test".into()]);
    plan
}

#[test]
fn child_with_the_name_terminates_tls_and_serves_its_requests() {
    for (name, service, address) in
        [("shop.test", 1, "10.1.1.1:8000"), ("blog.test", 2, "10.1.2.1:8000"), ("other", 0, "10.1.0.1:8000")]
    {
        for size in [1, 4000] {
            let mut stage = Stage::new(&terminating(plan(1)));
            let mut visitor = Visitor::new(&mut stage, name);
            visitor.greets(&mut stage, size);
            for _ in 0..2 {
                visitor.says(&mut stage, &get(&format!("{name}:443"), "/"));
                assert_eq!((stage.dials(), stage.dialled_address().as_str()), (1, address), "{name}");
                let server = stage.dialled();
                if counters(&stage, service).requests == 1 {
                    stage.connected();
                }
                stage.says(server, OK);
                assert_eq!(status(&visitor.heard(&mut stage)), "200");
            }
            let counted = counters(&stage, service);
            assert_eq!((counted.handshakes, counted.requests), (1, 2), "{name}");
            assert_eq!(counters(&stage, 0).connections, 1);
        }
    }
}

#[test]
fn request_for_another_host_than_the_server_name_is_refused() {
    for host in ["blog.test", "other", "shop.test.evil"] {
        let mut stage = Stage::new(&terminating(plan(1)));
        let mut visitor = Visitor::new(&mut stage, "shop.test");
        visitor.greets(&mut stage, 4000);
        visitor.says(&mut stage, &get(host, "/"));
        assert_eq!(status(&visitor.heard(&mut stage)), "400", "{host}");
        assert_eq!((stage.dials(), stage.closed(visitor.conn)), (0, Some(Close::Linger)));
        let failures: Vec<_> = counters(&stage, 1).failures().collect();
        assert_eq!(failures, [(Cause::ClientOtherHost, 1)]);
    }
}

#[test]
fn operator_may_allow_other_hosts() {
    let mut plan = terminating(plan(1));
    if let Some(http) = &mut plan.virtual_services[1].http {
        http.any_host = true;
    }
    let mut stage = Stage::new(&plan);
    let mut visitor = Visitor::new(&mut stage, "shop.test");
    visitor.greets(&mut stage, 4000);
    visitor.says(&mut stage, &get("blog.test", "/"));
    assert_eq!(stage.dialled_address(), "10.1.1.1:8000");
}

#[test]
fn what_is_no_hello_gets_the_alert_of_the_parent() {
    let mut stage = Stage::new(&terminating(plan(1)));
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    assert_eq!(stage.sent_bytes(client)[..3], [21, 3, 3]);
    let faults: Vec<_> = counters(&stage, 0).handshakes().unwrap().faults().collect();
    assert_eq!((stage.failures(Cause::ClientTls), faults), (1, vec![(HandshakeFault::NotTls, 1)]));
}

#[test]
fn connection_whose_name_leads_elsewhere_ends_when_it_is_idle() {
    let before = terminating(plan(1));
    let mut stage = Stage::new(&before);
    let visitors = ["shop.test", "blog.test"].map(|name| {
        let mut visitor = Visitor::new(&mut stage, name);
        visitor.greets(&mut stage, 4000);
        visitor.says(&mut stage, &get(name, "/"));
        let server = stage.connected();
        stage.says(server, OK);
        assert_eq!(status(&visitor.heard(&mut stage)), "200");
        visitor
    });
    let mut after = before.clone();
    after.revision += 1;
    after.virtual_services[1].server_names = vec!["store.test".into()];
    stage.replace(&after);
    assert_eq!(visitors.map(|visitor| stage.closed(visitor.conn)), [Some(Close::Flush), None]);
}

#[test]
fn page_for_head_of_another_host_has_no_content() {
    let mut plan = terminating(http2(plan(1)));
    plan.virtual_services[0].listeners[0].http2 = true;
    for (method, is_head) in [("GET", false), ("HEAD", true)] {
        let mut stage = Stage::new(&plan);
        let mut visitor = Visitor::new(&mut stage, "shop.test");
        visitor.greets(&mut stage, 4000);
        visitor.says(&mut stage, &format!("{method} / HTTP/1.1\r\nHost: elsewhere\r\n\r\n"));
        let page = visitor.heard(&mut stage);
        assert_eq!(status(&page), "400");
        assert_eq!(page.ends_with("\r\n\r\n"), is_head, "{page}");
    }
}

#[test]
fn plain_clients_of_a_parent_of_server_names_are_its_own() {
    let mut plan = terminating(plan(1));
    plan.virtual_services[0].listeners.push(api::Listener {
        address: "10.0.0.1".into(),
        port: 81,
        ..Default::default()
    });
    let mut stage = Stage::new(&plan);
    let client = stage.client_from("10.0.0.1:81", "10.2.0.1:4000");
    stage.says(client, get("shop.test", "/"));
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
}
