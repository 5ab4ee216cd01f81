//! Connections to servers that NTLM or Negotiate has authenticated: only their client may use them (RFC 4559 §6).

use weir_api::dataplane::v1::{Plan, Reselect, StatusRange};
use weir_proxy::io::{Close, Conn, Event};
use weir_wire::http2::{Code, Settings};

use crate::{
    GET, OK,
    http2::{Browser, http2},
    origin::{Origin, asks, to_http2},
    status,
    tape::{Stage, plan},
};

const CHALLENGE: &str = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM TlRMTVNTUAAC\r\nContent-Length: 0\r\n\r\n";

fn detecting(mut plan: Plan) -> Plan {
    plan.virtual_services[0].http.as_mut().expect("speaks HTTP").detect_ntlm = true;
    plan
}

/// A client, and the idle server connection on which `request` got `answer`.
fn asked(stage: &mut Stage, request: &str, answer: &str) -> (Conn, Conn) {
    let client = stage.client();
    stage.says(client, request);
    let server = stage.connected();
    stage.says(server, answer);
    stage.sent(client);
    stage.sent(server);
    (client, server)
}

fn request(field: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n")
}

fn challenge(status: &str, field: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{field}\r\nContent-Length: 0\r\n\r\n")
}

#[test]
fn connection_with_a_challenge_or_credentials_belongs_to_its_client() {
    let exchanges = [
        (GET.to_owned(), CHALLENGE.to_owned()),
        (
            GET.to_owned(),
            challenge("401 Unauthorized", "www-authenticate: Basic realm=a\r\nWWW-Authenticate: negotiate"),
        ),
        (GET.to_owned(), challenge("401 Unauthorized", "WWW-Authenticate: Basic realm=\"a, b\", Negotiate")),
        (GET.to_owned(), challenge("407 Proxy Authentication Required", "Proxy-Authenticate: Ntlm")),
        (request("Authorization: NTLM TlRMTVNTUAAB"), OK.to_owned()),
        (request("authorization: nEgOtIaTe YII="), OK.to_owned()),
        (request("Proxy-Authorization: Negotiate YII="), OK.to_owned()),
    ];
    for (request, answer) in exchanges {
        let mut stage = Stage::new(&detecting(plan(1)));
        let (client, server) = asked(&mut stage, &request, &answer);
        let stranger = stage.client();
        stage.says(stranger, GET);
        assert_eq!(stage.sent(server), "", "{request}{answer}");
        assert_eq!(stage.dials(), 2);
        stage.says(client, GET);
        assert!(stage.sent(server).starts_with("GET"), "its client stays on it: {request}{answer}");
        stage.says(server, OK);
        assert_eq!(status(&stage.sent(client)), "200");
        let other = stage.client();
        stage.says(other, GET);
        assert_eq!(stage.sent(server), "", "it stays bound to its client");
    }
}

#[test]
fn shared_connection_stops_being_shared_once_authenticated() {
    let mut stage = Stage::new(&detecting(plan(1)));
    let (_, server) = asked(&mut stage, GET, OK);
    let client = stage.client();
    stage.says(client, request("Authorization: NTLM TlRMTVNTUAAB"));
    stage.says(server, OK);
    stage.sent(server);
    let stranger = stage.client();
    stage.says(stranger, GET);
    assert_eq!(stage.sent(server), "");
}

#[test]
fn authenticated_connection_ends_with_its_client() {
    let mut stage = Stage::new(&detecting(plan(1)));
    let (client, server) = asked(&mut stage, GET, CHALLENGE);
    stage.batch(vec![Event::Eof { conn: client }]);
    assert!(stage.closed(server).is_some());
}

#[test]
fn other_authentication_leaves_connections_shared() {
    let exchanges = [
        (request("Authorization: Basic YTpi"), OK.to_owned()),
        (request("Authorization: Bearer NTLM"), OK.to_owned()),
        (request("X-Authorization: NTLM a"), OK.to_owned()),
        (GET.to_owned(), challenge("401 Unauthorized", "WWW-Authenticate: Basic realm=\"NTLM\"")),
        (GET.to_owned(), challenge("200 OK", "WWW-Authenticate: NTLM")),
    ];
    for (request, answer) in exchanges {
        let mut stage = Stage::new(&detecting(plan(1)));
        let (_, server) = asked(&mut stage, &request, &answer);
        let stranger = stage.client();
        stage.says(stranger, GET);
        assert!(stage.sent(server).starts_with("GET"), "{request}{answer}");
    }
}

#[test]
fn connections_stay_shared_if_the_profile_ignores_ntlm() {
    let mut stage = Stage::new(&plan(1));
    let (_, server) = asked(&mut stage, GET, CHALLENGE);
    let stranger = stage.client();
    stage.says(stranger, GET);
    assert!(stage.sent(server).starts_with("GET"));
}

const NTLM: &str = "NTLM TlRMTVNTUAAB";

fn with_credentials() -> String {
    request(&format!("Authorization: {NTLM}"))
}

#[test]
fn credentials_go_to_a_server_of_http2_on_a_connection_of_their_own() {
    let mut stage = Stage::new(&detecting(to_http2(plan(1))));
    let client = asks(&mut stage, GET);
    let mut shared = Origin::new(&mut stage);
    shared.answers(&mut stage, 1, "ok");
    shared.heard();
    stage.says(client, with_credentials());
    let mut own = Origin::new(&mut stage);
    assert_eq!(stage.dials(), 2);
    assert_eq!(own.heard(), [format!("1: GET / host: a; authorization: {NTLM}; all")]);
    own.answers(&mut stage, 1, "ok");
    for number in [1, 2] {
        let stranger = asks(&mut stage, GET);
        shared.hears(&mut stage);
        assert_eq!(shared.heard().len(), 1, "it shares the connection of nobody");
        shared.answers(&mut stage, 1 + 2 * number, "ok");
        assert_eq!(status(&stage.sent(stranger)), "200");
        stage.says(client, GET);
        own.hears(&mut stage);
        assert_eq!(own.heard().len(), 1, "the client stays on its own");
        own.answers(&mut stage, 1 + 2 * number, "ok");
    }
    let other = asks(&mut stage, &with_credentials());
    assert_eq!(stage.dials(), 3);
    Origin::new(&mut stage).answers(&mut stage, 1, "ok");
    assert_eq!(status(&stage.sent(other)), "200");
    stage.batch(vec![Event::Eof { conn: client }]);
    own.hears(&mut stage);
    assert_eq!((own.heard(), stage.closed(own.conn)), (vec!["goes away: NoError".into()], Some(Close::Flush)));
    assert_eq!(stage.closed(shared.conn), None);
}

#[test]
fn all_connections_of_a_client_alone_end_with_it() {
    let mut stage = Stage::new(&detecting(to_http2(http2(plan(1)))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[("authorization", NTLM)], true);
    let one = Settings { max_concurrent_streams: Some(1), ..Settings::default() };
    let mut first = Origin::accept(&mut stage, one);
    browser.asks(&mut stage, "GET", &[("authorization", NTLM)], true);
    let mut second = Origin::new(&mut stage);
    assert_eq!((first.heard().len(), second.heard().len()), (1, 1), "the first takes one stream at a time");
    first.answers(&mut stage, 1, "ok");
    second.answers(&mut stage, 1, "ok");
    assert_eq!([&first, &second].map(|own| stage.closed(own.conn)), [None; 2]);
    stage.batch(vec![Event::Eof { conn: browser.conn }]);
    assert_eq!([&first, &second].map(|own| stage.closed(own.conn)), [Some(Close::Flush); 2]);
}

#[test]
fn connection_that_opens_ahead_for_a_client_alone_ends_with_it() {
    let mut plan = detecting(to_http2(http2(plan(1))));
    let profile = plan.virtual_services[0].http.as_mut().expect("speaks HTTP");
    profile.http2.as_mut().expect("speaks HTTP/2").max_concurrent_streams = 20;
    let mut stage = Stage::new(&plan);
    let mut browser = Browser::new(&mut stage);
    let four = Settings { max_concurrent_streams: Some(4), ..Settings::default() };
    let mut ask = |stage: &mut Stage| browser.asks(stage, "GET", &[("authorization", NTLM)], true);
    ask(&mut stage);
    let mut first = Origin::accept(&mut stage, four);
    (0..4).for_each(|_| _ = ask(&mut stage));
    let second = Origin::accept(&mut stage, four);
    (0..3).for_each(|_| _ = ask(&mut stage));
    first.hears(&mut stage);
    first.answers(&mut stage, 1, "ok");
    assert_eq!(stage.dials(), 2);
    ask(&mut stage);
    assert_eq!(stage.dials(), 3, "the first has room for one, and another opens ahead");
    let ahead = Origin::accept(&mut stage, four);
    stage.batch(vec![Event::Eof { conn: browser.conn }]);
    assert_eq!([&first, &second, &ahead].map(|own| stage.closed(own.conn)), [Some(Close::Flush); 3]);
}

#[test]
fn authenticated_connection_that_ends_is_followed_by_another() {
    for server_ends in [true, false] {
        let mut stage = Stage::new(&detecting(to_http2(plan(1))));
        let client = asks(&mut stage, &with_credentials());
        let mut own = Origin::new(&mut stage);
        own.answers(&mut stage, 1, "ok");
        match server_ends {
            true => stage.batch(vec![Event::Eof { conn: own.conn }]),
            false => {
                own.connection.go_away(Code::NoError);
                own.says(&mut stage, &[]);
            }
        }
        stage.says(client, GET);
        Origin::new(&mut stage).answers(&mut stage, 1, "ok");
        stage.says(client, with_credentials());
        let mut own = Origin::new(&mut stage);
        assert_eq!((own.heard().len(), stage.dials()), (1, 3));
        own.answers(&mut stage, 1, "ok");
        assert!(stage.sent(client).ends_with("ok"));
    }
}

#[test]
fn streams_of_a_client_share_the_connection_of_their_credentials_with_no_other_client() {
    let mut stage = Stage::new(&detecting(to_http2(http2(plan(1)))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let mut shared = Origin::new(&mut stage);
    shared.answers(&mut stage, 1, "ok");
    browser.asks(&mut stage, "GET", &[("authorization", NTLM)], true);
    let mut own = Origin::new(&mut stage);
    own.answers(&mut stage, 1, "ok");
    browser.asks(&mut stage, "GET", &[], true);
    own.hears(&mut stage);
    assert_eq!((own.heard().len(), stage.dials()), (2, 2), "all that follows is authenticated");
    let mut stranger = Browser::new(&mut stage);
    stranger.asks(&mut stage, "GET", &[], true);
    shared.heard();
    shared.hears(&mut stage);
    assert_eq!((shared.heard().len(), stage.dials()), (1, 2));
    stranger.asks(&mut stage, "GET", &[("authorization", NTLM)], true);
    assert_eq!(stage.dials(), 3);
    stage.batch(vec![Event::Eof { conn: browser.conn }]);
    assert_eq!((stage.closed(own.conn), stage.closed(shared.conn)), (Some(Close::Flush), None));
}

#[test]
fn challenge_on_a_stream_goes_to_its_client_and_not_to_another_server() {
    let mut plan = detecting(to_http2(plan(2)));
    let statuses = vec![StatusRange { first: 400, last: 499 }];
    plan.pools[0].reselect = Some(Reselect { statuses, max_retries: 4, ..Default::default() });
    for credentials in [true, false] {
        let mut stage = Stage::new(&plan);
        let client = asks(&mut stage, &if credentials { with_credentials() } else { GET.into() });
        let mut origin = Origin::new(&mut stage);
        let fields = [("www-authenticate", if credentials { "Basic" } else { "Negotiate" }), ("content-length", "0")];
        let head = origin.head(1, 401, &fields, true);
        origin.says(&mut stage, &head);
        assert_eq!((status(&stage.sent(client)), stage.dials()), ("401", 1), "{credentials}");
    }
}

#[test]
fn credentials_share_connections_if_the_profile_ignores_ntlm() {
    let mut stage = Stage::new(&to_http2(plan(1)));
    asks(&mut stage, GET);
    let mut shared = Origin::new(&mut stage);
    asks(&mut stage, &with_credentials());
    shared.hears(&mut stage);
    assert_eq!((shared.heard().len(), stage.dials()), (2, 1));
}

#[test]
fn server_that_wants_http1_authenticates_its_client_there() {
    let mut stage = Stage::new(&detecting(to_http2(plan(1))));
    let client = asks(&mut stage, GET);
    let mut origin = Origin::new(&mut stage);
    origin.resets(&mut stage, 1, Code::Http11Required);
    let server = stage.connected();
    stage.says(server, CHALLENGE);
    assert!(stage.sent(client).contains("NTLM"));
    stage.sent(server);
    let post = "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: NTLM abc\r\nContent-Length: 2\r\n\r\nab";
    stage.says(client, post);
    assert!(stage.sent(server).ends_with("\r\n\r\nab"), "also what may not be sent again");
    stage.says(server, OK);
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("200", 2));
    asks(&mut stage, GET);
    origin.hears(&mut stage);
    assert_eq!(origin.heard().last().map(String::as_str), Some("3: GET / host: a; all"));
}
