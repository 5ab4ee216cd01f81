//! Servers with TLS, played by the server side of the same TLS library.

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits,
    io::{Close, Conn, Event, Gone},
};
use weir_telemetry::Cause;
use weir_tls::{
    Certificate, ClientConfig, ClientSettings, Group, Provider, RECORD_OVERHEAD_MAX, ServerConfig, ServerName,
    TicketKey, TicketSettings, TlsSession, TlsSettings, Version,
};

use crate::{
    GET, OK,
    http2::{Browser, http2},
    status,
    tape::{Stage, l4_plan, plan},
};

const SUITES: [&str; 2] = ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"];

fn profile() -> api::TlsProfile {
    api::TlsProfile {
        versions: vec![api::TlsVersion::TlsVersion12 as i32, api::TlsVersion::TlsVersion13 as i32],
        cipher_suites: SUITES.map(str::to_owned).to_vec(),
        send_close_notify: true,
        ..Default::default()
    }
}

pub fn secure(mut plan: api::Plan) -> api::Plan {
    plan.pools[0].server_tls = Some(api::ServerTls { profile: Some(profile()), sni: true, ..Default::default() });
    plan
}

fn verifying(mut plan: api::Plan, authority: &[u8]) -> api::Plan {
    let profile = api::PkiProfile { uuid: "pki".into(), ca_certs_der: vec![authority.to_vec()], ..Default::default() };
    plan.pki_profiles = vec![profile];
    if let Some(tls) = &mut plan.pools[0].server_tls {
        tls.pki_profile_uuid = "pki".into();
    }
    plan
}

const AUTHORITY: &[u8] = include_bytes!("../../../tls/testdata/authority.crt.der");
const OTHER_AUTHORITY: &[u8] = include_bytes!("../../../tls/testdata/shop-ec.crt.der");

/// A server at the other end of a new connection.
struct Server {
    conn: Conn,
    session: TlsSession,
    heard: Vec<u8>,
    closed: bool,
    failed: bool,
}

fn tickets() -> TicketSettings {
    let keys = vec![TicketKey::read(&[7; TicketKey::BYTES]).expect("a key")];
    TicketSettings { keys, lifetime_s: 3600, until_unix_s: u64::MAX, keep_origin: false }
}

impl Server {
    /// Accepts the connection begun last, before any byte of TLS.
    fn connected(stage: &mut Stage, version: Version) -> Self {
        Self::speaking(stage, version, &[])
    }

    /// The same, of a server that speaks these protocols.
    fn speaking(stage: &mut Stage, version: Version, protocols: &[&str]) -> Self {
        let provider = Provider::new();
        let chain = include_bytes!("../../../tls/testdata/issued.crt.der").to_vec();
        let key = include_bytes!("../../../tls/testdata/issued.key.der");
        let certificate = Certificate::read(&[chain], key, &provider).expect("a certificate");
        let settings = TlsSettings {
            versions: vec![version],
            cipher_suites: SUITES.map(str::to_owned).to_vec(),
            groups: Vec::new(),
            prefer_client_order: false,
            session_resumption: true,
            tickets: Some(tickets()),
            protocols: protocols.iter().copied().map(str::to_owned).collect(),
            send_close_notify: true,
        };
        let (config, _) = ServerConfig::build(&settings, &[certificate], None, &provider).expect("a configuration");
        let session = TlsSession::server(&config).expect("a session");
        Self { conn: stage.connected(), session, heard: Vec::new(), closed: false, failed: false }
    }

    /// The same after the handshake, with what the proxy sent behind it.
    fn ready(stage: &mut Stage, version: Version) -> Self {
        let mut server = Self::connected(stage, version);
        server.talk(stage);
        assert!(server.session.handshaken().is_some());
        server
    }

    /// Receives what was sent and answers for TLS, until neither side has more to send.
    fn talk(&mut self, stage: &mut Stage) {
        loop {
            let mut input = stage.sent_bytes(self.conn);
            if input.is_empty() {
                return;
            }
            let (heard, mut answer) = (&mut self.heard, Vec::new());
            match self.session.receive(&mut input, &mut |plain| heard.extend_from_slice(plain), &mut answer) {
                Ok(progress) => self.closed |= progress.closed,
                Err(_) => self.failed = true,
            }
            if !answer.is_empty() {
                stage.says(self.conn, answer);
            }
        }
    }

    fn heard(&mut self, stage: &mut Stage) -> String {
        self.talk(stage);
        String::from_utf8(std::mem::take(&mut self.heard)).expect("text")
    }

    fn says(&mut self, stage: &mut Stage, text: &str) {
        self.says_bytes(stage, text.as_bytes());
    }

    fn says_bytes(&mut self, stage: &mut Stage, bytes: &[u8]) {
        let sealed = self.sealed_bytes(bytes);
        for piece in sealed.chunks(4096) {
            stage.says(self.conn, piece);
        }
    }

    fn sealed(&mut self, text: &str) -> Vec<u8> {
        self.sealed_bytes(text.as_bytes())
    }

    fn sealed_bytes(&mut self, text: &[u8]) -> Vec<u8> {
        let mut room = vec![0; text.len() + 10 * RECORD_OVERHEAD_MAX];
        let sent = self.session.send(text, &mut room).expect("the session encrypts");
        assert_eq!(sent.taken, text.len());
        room.truncate(sent.written);
        room
    }

    fn says_goodbye(&mut self, stage: &mut Stage) {
        let mut goodbye = Vec::new();
        self.session.close(&mut goodbye);
        stage.says(self.conn, goodbye);
    }
}

#[test]
fn request_is_sent_encrypted_after_the_handshake() {
    for version in [Version::Tls12, Version::Tls13] {
        let mut stage = Stage::new(&secure(plan(1)));
        let client = stage.client();
        stage.says(client, GET);
        let mut server = Server::connected(&mut stage, version);
        assert!(server.heard.is_empty());
        assert!(server.heard(&mut stage).starts_with("GET / HTTP/1.1\r\n"));
        server.says(&mut stage, OK);
        assert_eq!(status(&stage.sent(client)), "200");

        stage.says(client, GET);
        assert_eq!((stage.dials(), stage.pieces(server.conn)), (1, 1), "one record on the existing connection");
        assert!(server.heard(&mut stage).starts_with("GET /"));
        server.says(&mut stage, OK);
        assert_eq!(status(&stage.sent(client)), "200");
        assert_eq!(stage.blocks_in_use(), 0);
    }
}

#[test]
fn body_is_not_relayed_past_tls() {
    let mut stage = Stage::new(&secure(plan(1)));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n");
    let mut server = Server::ready(&mut stage, Version::Tls13);
    stage.says(client, "u".repeat(1000));
    stage.says(client, "u".repeat(2000));
    assert!(server.heard(&mut stage).ends_with(&"u".repeat(3000)));
    let body = "d".repeat(100_000);
    let answer = server.sealed(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    for piece in answer.chunks(4096) {
        stage.says(server.conn, piece);
        while stage.is_paused(server.conn) {
            stage.batch(vec![Event::Drained { conn: client }]);
        }
    }
    assert!(stage.sent(client).ends_with(&body));
    assert!(stage.tape.relays.is_empty());
}

#[test]
fn server_without_tls_is_skipped() {
    let mut stage = Stage::new(&secure(plan(2)));
    let client = stage.client();
    stage.says(client, GET);
    let plain = stage.connected();
    stage.says(plain, "HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_eq!(stage.closed(plain), Some(Close::Flush));
    let mut server = Server::ready(&mut stage, Version::Tls12);
    assert!(server.heard(&mut stage).starts_with("GET /"));
    server.says(&mut stage, OK);
    assert_eq!(status(&stage.sent(client)), "200");
}

#[test]
fn handshake_that_breaks_off_everywhere_is_answered_502() {
    let mut stage = Stage::new(&secure(plan(2)));
    let client = stage.client();
    stage.says(client, GET);
    let first = stage.connected();
    stage.batch(vec![Event::Eof { conn: first }]);
    let second = stage.connected();
    stage.gone(second, Gone::Reset);
    assert_eq!((status(&stage.sent(client)), stage.failures(Cause::ServerTls)), ("502", 1));
    assert_eq!(stage.dials(), 2);
}

#[test]
fn handshake_counts_against_the_connect_timeout() {
    let mut stage = Stage::new(&secure(plan(1)));
    let client = stage.client();
    stage.says(client, GET);
    let silent = stage.connected();
    stage.wait_for_deadline(silent);
    assert_eq!((status(&stage.sent(client)), stage.failures(Cause::ServerConnectTimeout)), ("504", 1));
}

#[test]
fn server_that_is_not_trusted_never_sees_the_request() {
    let mut stage = Stage::new(&verifying(secure(plan(1)), OTHER_AUTHORITY));
    let client = stage.client();
    stage.says(client, GET);
    let mut server = Server::connected(&mut stage, Version::Tls13);
    server.talk(&mut stage);
    assert_eq!((status(&stage.sent(client)), stage.failures(Cause::ServerUntrusted)), ("502", 1));
    assert!(server.failed && server.heard.is_empty(), "an alert says why");
}

#[test]
fn server_that_an_authority_has_signed_is_trusted_under_its_name_only() {
    for (name, answer) in [("one.internal", "200"), ("two.internal", "502")] {
        let mut plan = verifying(secure(plan(1)), AUTHORITY);
        if let Some(tls) = &mut plan.pools[0].server_tls {
            (tls.host_check, tls.server_name) = (true, name.into());
        }
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, GET);
        let mut server = Server::connected(&mut stage, Version::Tls12);
        server.talk(&mut stage);
        if answer == "200" {
            server.says(&mut stage, OK);
        }
        assert_eq!(status(&stage.sent(client)), answer, "{name}");
    }
}

#[test]
fn connection_is_used_only_for_the_host_that_it_was_made_for() {
    let mut stage = Stage::new(&secure(plan(1)));
    let client = stage.client();
    let ask = |stage: &mut Stage, host: &str| {
        stage.says(client, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    };
    ask(&mut stage, "a.test:8080");
    let conn = stage.connected();
    let hello = stage.sent_bytes(conn);
    assert!(hello.windows(6).any(|bytes| bytes == b"a.test"));
    stage.gone(conn, Gone::Reset);
    stage.sent(client);

    ask(&mut stage, "a.test");
    let mut server = Server::ready(&mut stage, Version::Tls12);
    server.says(&mut stage, OK);
    ask(&mut stage, "b.test");
    assert_eq!(stage.dials(), 3, "another name");
    let mut other = Server::ready(&mut stage, Version::Tls12);
    other.says(&mut stage, OK);
    ask(&mut stage, "A.test");
    assert_eq!(stage.dials(), 3, "the name exists already");
    assert!(server.heard(&mut stage).contains("GET /"));
}

/// Sends one request for each of these hosts from one client. Returns the connections that were begun for them.
fn visit<'h>(stage: &mut Stage, client: Conn, hosts: impl IntoIterator<Item = &'h str>) -> Vec<Server> {
    let mut fresh = Vec::new();
    for host in hosts {
        let dials = stage.dials();
        stage.says(client, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(stage.dials(), dials + 1, "{host} is new");
        let mut server = Server::ready(stage, Version::Tls12);
        server.says(stage, OK);
        fresh.push(server);
    }
    fresh
}

#[test]
fn names_used_once_do_not_push_out_a_name_in_use() {
    for limits in [
        Limits { idle_connections: 3, ..Limits::default() },
        // Room for as many connections to servers as for clients.
        Limits { clients: 4, ..Limits::default() },
    ] {
        let mut stage = Stage::with(&secure(plan(1)), limits);
        let client = stage.client();
        let mut shop = visit(&mut stage, client, ["shop.test"]).remove(0);
        stage.says(client, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n");
        shop.says(&mut stage, OK);

        let strangers = visit(&mut stage, client, ["1.test", "2.test", "3.test", "4.test", "5.test", "6.test"]);
        assert_eq!(stage.closed(shop.conn), None);
        let closed: Vec<_> = strangers.iter().map(|stranger| stage.closed(stranger.conn).is_some()).collect();
        assert!(closed[0] && !closed[5], "the oldest goes first: {closed:?}");
    }
}

#[test]
fn oldest_connection_is_closed_if_all_were_reused() {
    let mut stage = Stage::with(&secure(plan(1)), Limits { idle_connections: 2, ..Limits::default() });
    let client = stage.client();
    let mut used = visit(&mut stage, client, ["a.test", "b.test"]);
    for (server, host) in used.iter_mut().zip(["a.test", "b.test"]) {
        stage.says(client, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        server.says(&mut stage, OK);
    }
    let fresh = visit(&mut stage, client, ["c.test"]).remove(0);
    let closed = [&used[0], &used[1], &fresh].map(|server| stage.closed(server.conn).is_some());
    assert_eq!(closed, [true, false, false], "a new name must be able to serve a second request");
}

#[test]
fn idle_connection_that_sends_close_notify_is_closed() {
    let mut stage = Stage::new(&secure(plan(1)));
    let client = stage.client();
    stage.says(client, GET);
    let mut server = Server::ready(&mut stage, Version::Tls12);
    server.says(&mut stage, OK);
    server.says_goodbye(&mut stage);
    server.talk(&mut stage);
    assert_eq!((stage.closed(server.conn), server.closed), (Some(Close::Flush), true));
    stage.says(client, GET);
    assert_eq!(stage.dials(), 2);
}

#[test]
fn end_of_a_body_without_length_needs_a_close_notify() {
    for said in [true, false] {
        let mut stage = Stage::new(&secure(plan(1)));
        let client = stage.client();
        stage.says(client, GET.replace("1.1", "1.0"));
        let mut server = Server::ready(&mut stage, Version::Tls12);
        server.says(&mut stage, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody");
        if said {
            server.says_goodbye(&mut stage);
        }
        stage.batch(vec![Event::Eof { conn: server.conn }]);
        assert!(stage.sent(client).ends_with("body"));
        let expected = if said { Close::Flush } else { Close::Cut };
        assert_eq!(stage.closed(client), Some(expected), "said: {said}");
    }
}

#[test]
fn connections_from_before_a_change_of_the_pools_tls_are_not_kept() {
    let mut stage = Stage::new(&secure(plan(1)));
    let client = stage.client();
    stage.says(client, GET);
    let mut idle = Server::ready(&mut stage, Version::Tls12);
    idle.says(&mut stage, OK);
    let other = stage.client();
    stage.says(other, GET);
    stage.says(client, GET);
    let mut busy = Server::ready(&mut stage, Version::Tls12);

    let mut changed = verifying(secure(plan(1)), AUTHORITY);
    changed.revision = 2;
    stage.replace(&changed);
    for server in [&mut idle, &mut busy] {
        server.says(&mut stage, OK);
        assert!(stage.closed(server.conn).is_some(), "a connection from before the change is not kept");
    }
    stage.sent(client);
    stage.says(client, GET);
    let mut fresh = Server::ready(&mut stage, Version::Tls12);
    fresh.says(&mut stage, OK);
    assert_eq!((status(&stage.sent(client)), stage.closed(fresh.conn)), ("200", None));
}

#[test]
fn response_in_the_batch_of_the_handshake_is_dropped() {
    let mut stage = Stage::new(&secure(plan(1)));
    let client = stage.client();
    stage.says(client, GET);
    let mut server = Server::connected(&mut stage, Version::Tls12);
    let mut flight = Vec::new();
    while server.session.handshaken().is_none() {
        if !flight.is_empty() {
            stage.says(server.conn, std::mem::take(&mut flight));
        }
        let mut input = stage.sent_bytes(server.conn);
        assert!(server.session.receive(&mut input, &mut |_| {}, &mut flight).is_ok());
    }
    flight.extend(server.sealed(OK));
    stage.says(server.conn, flight);
    assert_eq!((status(&stage.sent(client)), stage.failures(Cause::ServerReset)), ("502", 1));
}

#[test]
fn tunnel_is_encrypted_towards_its_server_which_may_send_first() {
    let mut stage = Stage::new(&secure(l4_plan(1)));
    let client = stage.client();
    let mut server = Server::ready(&mut stage, Version::Tls13);
    server.says(&mut stage, "220 ready");
    assert_eq!(stage.sent(client), "220 ready");
    stage.says(client, "u".repeat(4096));
    assert_eq!(server.heard(&mut stage), "u".repeat(4096));
    assert!(stage.tape.relays.is_empty());
    stage.batch(vec![Event::Eof { conn: client }]);
    server.talk(&mut stage);
    assert!(server.closed && stage.is_finished(server.conn));
}

#[test]
fn proxy_header_of_a_tunnel_is_sent_before_tls() {
    let mut plan = secure(l4_plan(1));
    plan.virtual_services[0].l4 =
        Some(api::L4Profile { proxy_protocol: api::ProxyProtocol::V1 as i32, ..Default::default() });
    let mut stage = Stage::new(&plan);
    stage.client();
    let server = stage.connected();
    let sent = stage.sent_bytes(server);
    let behind = sent.strip_prefix(b"PROXY TCP4 10.2.0.1 10.0.0.1 4000 80\r\n").expect("an unencrypted PROXY header");
    assert_eq!(behind[0], 22, "a handshake follows");
}

#[test]
fn close_notify_passes_through_a_tunnel_only_if_one_was_sent() {
    for said in [true, false] {
        let mut plan = secure(l4_plan(1));
        plan.certificates = vec![api::Certificate {
            uuid: "certificate".into(),
            name: "certificate".into(),
            chain_der: vec![include_bytes!("../../../tls/testdata/default-ec.crt.der").to_vec()],
            key_pkcs8_der: include_bytes!("../../../tls/testdata/default-ec.key.der").to_vec(),
            ocsp_answer: None,
        }];
        let service = &mut plan.virtual_services[0];
        service.listeners[0].tls = true;
        (service.tls, service.certificate_uuids) = (Some(profile()), vec!["certificate".into()]);
        let mut stage = Stage::new(&plan);
        let conn = stage.client();
        let mut client = client_session(&mut stage, conn);
        let mut server = Server::ready(&mut stage, Version::Tls13);
        stage.sent_bytes(conn);

        server.says(&mut stage, "half of it");
        if said {
            server.says_goodbye(&mut stage);
        }
        stage.batch(vec![Event::Eof { conn: server.conn }]);
        let mut heard = Vec::new();
        let progress =
            client.receive(&mut stage.sent_bytes(conn), &mut |plain| heard.extend_from_slice(plain), &mut Vec::new());
        assert_eq!((&heard[..], progress.expect("it is TLS").closed), (&b"half of it"[..], said));
        assert!(stage.is_finished(conn));
        stage.batch(vec![Event::Eof { conn }]);
        assert_eq!((stage.sent_bytes(conn).len(), stage.closed(conn)), (0, Some(Close::Flush)));
    }
}

fn by_http2(mut plan: api::Plan) -> api::Plan {
    plan.pools[0].http2 = Some(api::Http2ToServers::default());
    plan
}

const POST_IN_CHUNKS: &str =
    "POST /a HTTP/1.1\r\nHost: a\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";

/// SETTINGS, and the answer to that of the other end.
const SETTINGS: &str = "\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0";

#[test]
fn server_chooses_http2_by_alpn() {
    for version in [Version::Tls12, Version::Tls13] {
        let mut stage = Stage::new(&by_http2(secure(plan(1))));
        let client = stage.client();
        stage.says(client, GET);
        let mut server = Server::speaking(&mut stage, version, &["h2", "http/1.1"]);
        server.talk(&mut stage);
        assert_eq!(server.session.protocol(), Some(&b"h2"[..]));
        assert!(server.heard.starts_with(weir_wire::http2::PREFACE));
        server.heard.clear();
        server.says(&mut stage, SETTINGS);
        server.talk(&mut stage);
        let heard = server.heard.escape_ascii().to_string();
        assert!(heard.contains("\\x87") && heard.contains("\\x04") && stage.dials() == 1, "scheme https: {heard}");
        // A head of 200, and all.
        server.says_bytes(&mut stage, b"\0\0\x01\x01\x05\0\0\0\x01\x88");
        assert_eq!(status(&stage.sent(client)), "200");
    }
}

#[test]
fn server_that_chooses_http1_gets_it() {
    for protocols in [&["http/1.1"][..], &[]] {
        let mut stage = Stage::new(&by_http2(secure(plan(1))));
        let clients = [stage.client(), stage.client()];
        stage.says(clients[0], POST_IN_CHUNKS);
        stage.says(clients[1], GET);
        assert_eq!(stage.dials(), 1);
        let mut server = Server::speaking(&mut stage, Version::Tls13, protocols);
        let heard = server.heard(&mut stage);
        let lines = "POST /a HTTP/1.1\r\nhost: a\r\nx-a: b\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(heard, format!("{lines}2\r\nab\r\n0\r\n\r\n"));
        server.says(&mut stage, OK);
        assert_eq!((status(&stage.sent(clients[0])), stage.dials()), ("200", 2), "one request at a time");
        let mut second = Server::speaking(&mut stage, Version::Tls13, protocols);
        assert_eq!(second.heard(&mut stage), "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        second.says(&mut stage, OK);
        assert_eq!(status(&stage.sent(clients[1])), "200");
        stage.says(clients[1], GET);
        assert_eq!(stage.dials(), 2, "connections are kept");
        assert!(second.heard(&mut stage).starts_with("GET /"));
        assert_eq!(stage.blocks_in_use(), 0);
    }
}

#[test]
fn requests_that_wait_for_a_server_are_no_connections_when_it_chooses_http1() {
    let mut plan = by_http2(secure(plan(1)));
    plan.pools[0].servers[0].max_connections = 2;
    let mut stage = Stage::new(&plan);
    let clients = [stage.client(), stage.client(), stage.client()];
    clients.iter().for_each(|client| stage.says(*client, GET));
    let mut server = Server::speaking(&mut stage, Version::Tls13, &["http/1.1"]);
    assert!(server.heard(&mut stage).starts_with("GET /"));
    let mut second = Server::speaking(&mut stage, Version::Tls13, &["http/1.1"]);
    assert!(second.heard(&mut stage).starts_with("GET /"));
    assert_eq!((status(&stage.sent(clients[2])), stage.dials()), ("502", 2));
    for (server, client) in [(&mut server, clients[0]), (&mut second, clients[1])] {
        server.says(&mut stage, OK);
        assert_eq!(status(&stage.sent(client)), "200");
    }
}

#[test]
fn call_is_refused_by_a_pool_whose_server_chooses_http1() {
    let mut stage = Stage::new(&http2(by_http2(secure(plan(1)))));
    let mut browser = Browser::new(&mut stage);
    for dials in 1..=2 {
        browser.asks(&mut stage, "POST", &[("content-type", "application/grpc"), ("te", "trailers")], false);
        assert_eq!(stage.dials(), dials, "each call asks the server again");
        let mut server = Server::speaking(&mut stage, Version::Tls13, &["http/1.1"]);
        assert_eq!(server.heard(&mut stage), "");
        browser.hears(&mut stage);
        assert!(browser.heard()[0].ends_with("200, all"));
        assert!(browser.fields.contains("grpc-status: 12\r\ngrpc-message: no_http2\r\n"), "{}", browser.fields);
    }
    assert_eq!((stage.failures(Cause::NoHttp2), stage.blocks_in_use()), (2, 0));
}

#[test]
fn server_that_chooses_http2_later_gets_it() {
    let mut stage = Stage::new(&by_http2(secure(plan(1))));
    let client = stage.client();
    stage.says(client, GET);
    let mut server = Server::speaking(&mut stage, Version::Tls13, &["http/1.1"]);
    assert!(server.heard(&mut stage).starts_with("GET /"));
    let second = stage.client();
    stage.says(second, GET);
    let mut server = Server::speaking(&mut stage, Version::Tls13, &["h2"]);
    server.talk(&mut stage);
    server.says(&mut stage, SETTINGS);
    server.talk(&mut stage);
    server.says_bytes(&mut stage, b"\0\0\x01\x01\x05\0\0\0\x01\x88");
    assert_eq!((status(&stage.sent(second)), stage.dials()), ("200", 2));
}

#[test]
fn request_that_a_server_wants_by_http1_gets_a_connection_without_alpn() {
    let mut stage = Stage::new(&by_http2(secure(plan(1))));
    let client = stage.client();
    stage.says(client, GET);
    let mut carrier = Server::speaking(&mut stage, Version::Tls13, &["h2", "http/1.1"]);
    carrier.talk(&mut stage);
    carrier.says(&mut stage, SETTINGS);
    carrier.talk(&mut stage);
    // RST_STREAM with HTTP_1_1_REQUIRED.
    carrier.says_bytes(&mut stage, b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x0d");
    assert_eq!(stage.dials(), 2);
    let mut server = Server::speaking(&mut stage, Version::Tls13, &["h2", "http/1.1"]);
    assert_eq!(server.heard(&mut stage), "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(server.session.protocol(), None);
    server.says(&mut stage, OK);
    assert_eq!(status(&stage.sent(client)), "200");
    assert_eq!((stage.closed(carrier.conn), stage.failures(Cause::NoHttp2)), (None, 0));
    assert_eq!(stage.blocks_in_use(), 0);
}

#[test]
fn tunnel_offers_no_protocol_of_its_own() {
    let mut stage = Stage::new(&by_http2(secure(l4_plan(1))));
    let client = stage.client();
    let mut server = Server::speaking(&mut stage, Version::Tls13, &["h2"]);
    server.talk(&mut stage);
    assert_eq!((server.session.handshaken().is_some(), server.session.protocol()), (true, None));
    stage.says(client, "anything");
    assert_eq!(server.heard(&mut stage), "anything");
}

/// A client with TLS, after its handshake.
fn client_session(stage: &mut Stage, conn: Conn) -> TlsSession {
    let settings = ClientSettings {
        versions: vec![Version::Tls12],
        cipher_suites: Vec::new(),
        groups: vec![Group::X25519],
        session_resumption: false,
    };
    let config = ClientConfig::unverified(&settings, &Provider::new()).expect("a configuration");
    let mut to_proxy = Vec::new();
    let name = ServerName::parse("a.test").expect("a name");
    let mut session = TlsSession::client(&config, &name, &mut to_proxy).expect("a session");
    while !to_proxy.is_empty() {
        stage.says(conn, std::mem::take(&mut to_proxy));
        let answered = session.receive(&mut stage.sent_bytes(conn), &mut |_| {}, &mut to_proxy);
        assert!(answered.is_ok());
    }
    session
}
