//! Session resumption: on, off, over workers, over changes of the configuration.

use weir_tls::{ClientConfig, ClientSettings, Provider, ServerConfig, TlsSettings};

use crate::pair::*;

fn build(session_resumption: bool, name: &str, provider: &Provider) -> ServerConfig {
    let settings = TlsSettings { session_resumption, name: name.to_owned(), ..server_settings(&[TLS13, ECDSA]) };
    ServerConfig::build(&settings, &[certificate(DEFAULT_EC)], provider).unwrap().0
}

fn resuming_client(suite: &str) -> ClientConfig {
    client(&ClientSettings { session_resumption: true, ..client_settings(&[suite]) })
}

fn resumes(client: &ClientConfig, server: &ServerConfig) -> bool {
    let mut pair = Pair::handshaken(client, server, "a.test");
    pair.client.send(b"request");
    pair.server.send(b"response");
    pair.deliver(usize::MAX).unwrap();
    assert_eq!(pair.client.plaintext, b"response");
    let resumed = pair.server.session.handshaken().unwrap().resumed;
    assert_eq!(pair.client.session.handshaken().unwrap().resumed, resumed);
    resumed
}

#[test]
fn resumes_when_it_is_on() {
    for suite in [TLS13, ECDSA] {
        let (client, server) = (resuming_client(suite), build(true, "service", &Provider::new()));
        assert!(!resumes(&client, &server));
        assert!(resumes(&client, &server));
        assert!(resumes(&client, &server));
    }
}

#[test]
fn every_handshake_is_full_when_it_is_off() {
    for suite in [TLS13, ECDSA] {
        let (client, server) = (resuming_client(suite), build(false, "service", &Provider::new()));
        for _ in 0..3 {
            assert!(!resumes(&client, &server));
        }
    }
}

#[test]
fn client_that_will_not_resume_makes_full_handshakes() {
    let server = build(true, "service", &Provider::new());
    for suite in [TLS13, ECDSA] {
        let client = client(&client_settings(&[suite]));
        assert!(!resumes(&client, &server));
        assert!(!resumes(&client, &server));
    }
}

#[test]
fn ticket_of_one_worker_is_honoured_by_another_and_after_a_change() {
    let provider = Provider::new();
    let (one, other) = (build(true, "service", &provider), build(true, "service", &provider.sibling()));
    for suite in [TLS13, ECDSA] {
        let client = resuming_client(suite);
        assert!(!resumes(&client, &one));
        assert!(resumes(&client, &other));
        assert!(resumes(&client, &build(true, "service", &provider)));
    }
}

#[test]
fn ticket_of_one_service_is_worth_nothing_to_another() {
    let provider = Provider::new();
    let (one, other) = (build(true, "one", &provider), build(true, "other", &provider));
    for suite in [TLS13, ECDSA] {
        let client = resuming_client(suite);
        assert!(!resumes(&client, &one));
        assert!(!resumes(&client, &other));
    }
}
