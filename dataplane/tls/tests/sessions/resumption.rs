//! Session resumption: on, off, over workers and engines, over changes of the configuration and of the keys.

use std::num::NonZeroU32;

use weir_tls::{ClientConfig, ClientSettings, Handshaken, Provider, ServerConfig, TicketSettings, TlsSettings};

use crate::pair::*;

/// As another engine, or worker, would: nothing is shared but the settings.
fn build(tickets: Option<TicketSettings>) -> ServerConfig {
    let settings = TlsSettings { tickets, ..server_settings(&[TLS13, ECDSA]) };
    ServerConfig::build(&settings, &[certificate(DEFAULT_EC)], None, &Provider::new()).unwrap().0
}

fn with_keys(seeds: &[u8]) -> ServerConfig {
    build(Some(tickets(seeds)))
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
    let Handshaken { resumed, key, .. } = pair.server.session.handshaken().unwrap();
    assert_eq!(key.is_none(), resumed, "a resumed session needs no certificate");
    assert_eq!(pair.client.session.handshaken().unwrap().resumed, resumed);
    resumed
}

#[test]
fn resumes_when_it_is_on() {
    for suite in [TLS13, ECDSA] {
        let (client, server) = (resuming_client(suite), with_keys(&[1]));
        assert!(!resumes(&client, &server));
        assert!(resumes(&client, &server));
        assert!(resumes(&client, &server));
    }
}

#[test]
fn every_handshake_is_full_when_it_is_off() {
    for off in [None, Some(tickets(&[]))] {
        for suite in [TLS13, ECDSA] {
            let (client, server) = (resuming_client(suite), build(off.clone()));
            for _ in 0..3 {
                assert!(!resumes(&client, &server));
            }
        }
    }
}

#[test]
fn client_that_will_not_resume_makes_full_handshakes() {
    let server = with_keys(&[1]);
    for suite in [TLS13, ECDSA] {
        let client = client(&client_settings(&[suite]));
        assert!(!resumes(&client, &server));
        assert!(!resumes(&client, &server));
    }
}

#[test]
fn ticket_of_one_engine_is_honoured_by_another_while_keys_are_turned_on_one_after_the_other() {
    let (before, after) = (with_keys(&[1, 0, 2]), with_keys(&[2, 1, 3]));
    for suite in [TLS13, ECDSA] {
        let client = resuming_client(suite);
        assert!(!resumes(&client, &before));
        for server in [&after, &before, &with_keys(&[1, 0, 2]), &after, &after] {
            assert!(resumes(&client, server));
        }
        assert!(!resumes(&client, &with_keys(&[4, 3, 5])), "turned twice");
    }
}

#[test]
fn ticket_of_one_service_is_worth_nothing_to_another() {
    let (one, other) = (with_keys(&[1]), with_keys(&[2]));
    for suite in [TLS13, ECDSA] {
        let client = resuming_client(suite);
        assert!(!resumes(&client, &one));
        assert!(!resumes(&client, &other));
    }
}

#[test]
fn engine_whose_keys_have_ended_serves_on_with_full_handshakes_and_resumes_what_it_began() {
    let ended = build(Some(TicketSettings { until_unix_s: 1, ..tickets(&[1]) }));
    for suite in [TLS13, ECDSA] {
        let client = resuming_client(suite);
        assert!(!resumes(&client, &ended));
        assert!(!resumes(&client, &ended));
        assert!(!resumes(&client, &with_keys(&[1])));
        assert!(resumes(&client, &ended));
    }
}

#[test]
fn resumed_session_says_on_each_engine_where_the_first_one_began() {
    let keeping = || build(Some(TicketSettings { keep_origin: true, ..tickets(&[1]) }));
    let engines = [keeping(), keeping()];
    for suite in [TLS13, ECDSA] {
        let client = resuming_client(suite);
        for at in 1..6 {
            let mut pair = Pair::new(&client, &engines[at as usize % 2], "a.test");
            pair.server.session.set_origin(NonZeroU32::new(at).unwrap());
            let rest = pair.client.to_peer.split_off(50);
            pair.deliver(usize::MAX).unwrap();
            let mut other = Pair::new(&resuming_client(suite), &engines[0], "a.test");
            other.server.session.set_origin(NonZeroU32::MAX);
            other.deliver(usize::MAX).unwrap();
            pair.client.to_peer = rest;
            pair.deliver(usize::MAX).unwrap();
            pair.server.send(b"response");
            pair.deliver(usize::MAX).unwrap();
            assert_eq!(pair.server.session.handshaken().unwrap().resumed, at > 1);
            assert_eq!(pair.server.session.origin(), NonZeroU32::new(1));
            assert_eq!(other.server.session.origin(), Some(NonZeroU32::MAX));
        }
    }
}
