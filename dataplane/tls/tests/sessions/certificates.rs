//! Which certificate a client gets. In TLS 1.2 it travels in the clear, so the server's flight shows it.

use weir_tls::{Certificate, Error, Provider, ServerConfig, Staple, TlsSettings, Version, Warning};

use crate::pair::*;

const ALL: [(&[u8], &[u8]); 5] = [DEFAULT_RSA, SHOP_RSA, WILD_P384, DEFAULT_EC, SHOP_EC];

fn presented(certificates: &[(&[u8], &[u8])], name: &str, client_suites: &[&str]) -> Vec<usize> {
    let settings = TlsSettings { versions: vec![Version::Tls12], ..server_settings(&TLS12_SUITES) };
    let mut pair = Pair::new(&client(&client_settings(client_suites)), &server(&settings, certificates), name);
    pair.server.receive(&std::mem::take(&mut pair.client.to_peer)).unwrap();
    let flight = &pair.server.to_peer;
    let is_in_flight = |der: &[u8]| flight.windows(der.len()).any(|bytes| bytes == der);
    (0..certificates.len()).filter(|position| is_in_flight(certificates[*position].0)).collect()
}

#[test]
fn name_and_key_type_choose_the_certificate() {
    assert_eq!(presented(&ALL, "shop.example", &[ECDSA]), [4]);
    assert_eq!(presented(&ALL, "shop.example", &[RSA]), [1]);
    assert_eq!(presented(&ALL, "SHOP.example", &[RSA]), [1]);
    assert_eq!(presented(&ALL, "mixed.case.test", &[ECDSA]), [2]);
}

#[test]
fn elliptic_curve_is_preferred_when_the_client_takes_both() {
    assert_eq!(presented(&ALL, "shop.example", &[RSA, ECDSA]), [4]);
    assert_eq!(presented(&ALL, "unknown.test", &[RSA, ECDSA]), [2], "the first of its key type");
}

#[test]
fn wildcard_stands_for_one_label() {
    assert_eq!(presented(&ALL, "other.example", &[ECDSA]), [2]);
    assert_eq!(presented(&[DEFAULT_EC, WILD_P384], "a.other.example", &[ECDSA]), [0]);
    assert_eq!(presented(&[DEFAULT_EC, WILD_P384], "example", &[ECDSA]), [0]);
}

#[test]
fn wrong_name_or_none_gets_the_default_of_a_fitting_key_type() {
    assert_eq!(presented(&ALL, "unknown.test", &[RSA]), [0]);
    assert_eq!(presented(&ALL, "192.0.2.1", &[RSA]), [0], "an address is no server name");
    assert_eq!(presented(&ALL, "other.example", &[RSA]), [0], "the wildcard has no RSA key");
}

#[test]
fn every_certificate_type_signs_in_tls13_too() {
    for der in ALL {
        Pair::handshaken(&client(&client_settings(&[TLS13])), &server(&server_settings(&[TLS13]), &[der]), "a.test");
    }
}

#[test]
fn server_knows_the_key_of_the_certificate_that_it_has_given() {
    let key = |suite: &str, certificates: &[(&[u8], &[u8])]| {
        let server = server(&server_settings(&[TLS13, ECDSA, RSA]), certificates);
        Pair::handshaken(&client(&client_settings(&[suite])), &server, "a.test")
            .server
            .session
            .handshaken()
            .unwrap()
            .key
    };
    assert_eq!([ECDSA, RSA, TLS13].map(|suite| key(suite, &ALL)), [Some("ECDSA"), Some("RSA"), Some("ECDSA")]);
    assert_eq!(key(TLS13, &[DEFAULT_RSA]), Some("RSA"));
}

#[test]
fn key_of_a_failed_handshake_is_not_that_of_the_next_one() {
    let settings = TlsSettings { versions: vec![Version::Tls12], ..server_settings(&TLS12_SUITES) };
    let mut failed = Pair::new(&client(&client_settings(&[ECDSA])), &server(&settings, &[SHOP_RSA]), "shop.example");
    failed.deliver(usize::MAX).unwrap_err();
    let pair = Pair::handshaken(&client(&client_settings(&[TLS13])), &any_server(), "a.test");
    let keys = [&pair.client, &pair.server].map(|side| side.session.handshaken().unwrap().key);
    assert_eq!(keys, [None, Some("ECDSA")]);
}

#[test]
fn client_that_no_certificate_fits_is_told_handshake_failure() {
    let settings = TlsSettings { versions: vec![Version::Tls12], ..server_settings(&TLS12_SUITES) };
    let mut pair = Pair::new(&client(&client_settings(&[ECDSA])), &server(&settings, &[SHOP_RSA]), "shop.example");
    assert!(matches!(pair.deliver(usize::MAX), Err(Error::Peer(..))));
    assert_eq!(pair.server.to_peer, [21, 3, 3, 0, 2, 2, 40]);
}

#[test]
fn refuses_chains_and_keys_that_do_not_fit_or_cannot_be_read() {
    let read = |chain: &[&[u8]], key: &[u8]| {
        let chain: Vec<_> = chain.iter().map(|der| der.to_vec()).collect();
        Certificate::read(&chain, key, &Provider::new()).map(|_| ()).unwrap_err()
    };
    assert_eq!(read(&[], DEFAULT_EC.1), Error::CertificateMissing);
    assert_eq!(read(&[DEFAULT_EC.0], SHOP_EC.1), Error::KeyMismatch);
    assert_eq!(read(&[DEFAULT_EC.0], DEFAULT_RSA.1), Error::KeyMismatch);
    assert!(matches!(read(&[b"junk"], DEFAULT_EC.1), Error::CertificateUnreadable(_)));
    assert!(matches!(read(&[&DEFAULT_EC.0[..200]], DEFAULT_EC.1), Error::CertificateUnreadable(_)));
    assert!(matches!(read(&[DEFAULT_EC.0, b"junk"], DEFAULT_EC.1), Error::CertificateUnreadable(_)));
    assert!(matches!(read(&[DEFAULT_EC.0], b"junk"), Error::KeyUnreadable(_)));
    assert!(matches!(read(&[DEFAULT_EC.0], &[]), Error::KeyUnreadable(_)));
}

#[test]
fn warns_of_a_certificate_that_no_client_can_get() {
    let certificates = [certificate(SHOP_EC), certificate(DEFAULT_EC), certificate(DEFAULT_RSA)];
    let (_, warnings) =
        weir_tls::ServerConfig::build(&server_settings(&[TLS13, ECDSA]), &certificates, None, &Provider::new())
            .unwrap();
    assert_eq!(warnings, [Warning::CertificateNeverChosen { position: 1 }]);
}

/// TLS 1.2 sends the answer in clear.
#[test]
fn answer_about_a_certificate_is_stapled_until_it_ends_and_to_those_who_ask() {
    const ANSWER: &[u8] = b"what the authority says";
    let settings = TlsSettings { versions: vec![Version::Tls12], ..server_settings(&[ECDSA]) };
    for (until_unix_s, stapled) in [(u64::MAX, true), (1_700_000_000, false)] {
        let stapling = certificate(DEFAULT_EC).stapling(Staple { answer: ANSWER.to_vec(), until_unix_s });
        let (server, _) = ServerConfig::build(&settings, &[stapling], None, &Provider::new()).unwrap();
        let mut pair = Pair::new(&client(&client_settings(&[ECDSA])), &server, "a.test");
        let hello = std::mem::take(&mut pair.client.to_peer);
        pair.server.receive(&hello).unwrap();
        let has_answer = pair.server.to_peer.windows(ANSWER.len()).any(|bytes| bytes == ANSWER);
        assert_eq!(has_answer, stapled);
        assert!(pair.deliver(usize::MAX).is_ok());
    }
}
