//! Connections to servers that NTLM or Negotiate has authenticated: only their client may use them (RFC 4559 §6).

use weir_api::dataplane::v1::Plan;
use weir_proxy::io::Conn;

use crate::{
    GET, OK, status,
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
    stage.batch(vec![weir_proxy::io::Event::Eof { conn: client }]);
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
