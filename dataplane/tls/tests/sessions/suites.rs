//! Versions, suites, groups and their order.

use weir_tls::{Error, Group, Handshaken, Version, Warning};

use crate::pair::*;

fn negotiated(client_suites: &[&str], server_suites: &[&str], prefer_client_order: bool) -> &'static str {
    let settings = weir_tls::TlsSettings { prefer_client_order, ..server_settings(server_suites) };
    let server = server(&settings, &[DEFAULT_EC, DEFAULT_RSA]);
    let pair = Pair::handshaken(&client(&client_settings(client_suites)), &server, "a.test");
    let [told, known] = [&pair.client, &pair.server].map(|side| side.session.handshaken().unwrap());
    assert_eq!(Handshaken { key: known.key, ..told }, known, "only the server looks at its own key");
    known.cipher_suite
}

#[test]
fn every_suite_carries_traffic_both_ways_with_its_certificate() {
    let server = any_server();
    for (version, suites) in [(Version::Tls12, &TLS12_SUITES[..]), (Version::Tls13, &TLS13_SUITES[..])] {
        for suite in suites {
            let mut pair = Pair::handshaken(&client(&client_settings(&[suite])), &server, "a.test");
            let handshaken = pair.server.session.handshaken().unwrap();
            assert_eq!((handshaken.version, handshaken.cipher_suite, handshaken.resumed), (version, *suite, false));
            pair.client.send(b"ping");
            pair.server.send(b"pong");
            pair.deliver(usize::MAX).unwrap();
            assert_eq!((&pair.server.plaintext[..], &pair.client.plaintext[..]), (&b"ping"[..], &b"pong"[..]));
        }
    }
}

#[test]
fn every_group_is_agreed_on() {
    let server = any_server();
    for name in Group::NAMES {
        // TLS 1.2 knows no hybrid.
        let suites = if name == "X25519MLKEM768" { &[TLS13][..] } else { &[ECDSA, TLS13] };
        for suite in suites.iter().copied() {
            let groups = vec![Group::named(name).unwrap()];
            Pair::handshaken(
                &client(&weir_tls::ClientSettings { groups, ..client_settings(&[suite]) }),
                &server,
                "a.test",
            );
        }
    }
    assert_eq!(Group::named("P-521"), Err(Error::UnknownGroup("P-521".to_owned())));
}

#[test]
fn server_agrees_to_the_groups_of_its_profile_only() {
    for (suites, version) in [(&[TLS13][..], "TLS 1.3"), (&[ECDSA][..], "TLS 1.2")] {
        let settings = weir_tls::TlsSettings { groups: vec![Group::P384], ..server_settings(suites) };
        let server = server(&settings, &[DEFAULT_EC, DEFAULT_RSA]);
        let client_of = |groups: Vec<Group>| client(&weir_tls::ClientSettings { groups, ..client_settings(suites) });
        let mut other = Pair::new(&client_of(vec![Group::X25519, Group::P256]), &server, "a.test");
        let refused = other.server.receive(&std::mem::take(&mut other.client.to_peer)).unwrap_err();
        assert_eq!(refused.fault(), Some(weir_tls::Fault::Group), "{version}");
        // The client's first key share is for another group: the server asks for one of its own.
        let pair = Pair::handshaken(&client_of(vec![Group::X25519, Group::P384]), &server, "a.test");
        assert_eq!(pair.server.session.handshaken().unwrap().group, Some("P-384"), "{version}");
    }
}

/// The group of a TLS 1.2 ServerKeyExchange travels in the clear: curve type 3 (named), its number, the key's length.
#[test]
fn clients_order_of_groups_decides() {
    for (groups, key_exchange) in [
        ([Group::X25519, Group::P256], [0x03, 0x00, 0x1d, 32]),
        ([Group::P256, Group::X25519], [0x03, 0x00, 0x17, 65]),
        ([Group::P384, Group::X25519], [0x03, 0x00, 0x18, 97]),
    ] {
        let config = client(&weir_tls::ClientSettings { groups: groups.to_vec(), ..client_settings(&[ECDSA]) });
        let mut pair = Pair::new(&config, &any_server(), "a.test");
        pair.server.receive(&std::mem::take(&mut pair.client.to_peer)).unwrap();
        assert!(pair.server.to_peer.windows(4).any(|bytes| bytes == key_exchange), "{groups:?}");
    }
}

#[test]
fn servers_order_decides_unless_the_clients_is_preferred() {
    let (strong, light) = ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
    assert_eq!(negotiated(&[light, strong], &[strong, light], false), strong);
    assert_eq!(negotiated(&[light, strong], &[strong, light], true), light);
    assert_eq!(negotiated(&[TLS13_SUITES[2], TLS13_SUITES[1]], &TLS13_SUITES, false), TLS13_SUITES[1]);
    assert_eq!(negotiated(&[TLS13_SUITES[2], TLS13_SUITES[1]], &TLS13_SUITES, true), TLS13_SUITES[2]);
}

#[test]
fn version_that_is_not_allowed_is_not_spoken() {
    let settings = weir_tls::TlsSettings { versions: vec![Version::Tls12], ..server_settings(&[ECDSA, TLS13]) };
    let only12 = server(&settings, &[DEFAULT_EC]);
    let pair = Pair::handshaken(&client(&client_settings(&[TLS13, ECDSA])), &only12, "a.test");
    assert_eq!(pair.server.session.handshaken().unwrap().version, Version::Tls12);

    let mut refused = Pair::new(&client(&client_settings(&[TLS13])), &only12, "a.test");
    assert!(matches!(refused.deliver(usize::MAX), Err(Error::Peer(..))));
    assert_eq!(refused.server.to_peer, [21, 3, 3, 0, 2, 2, 70], "fatal protocol_version");
}

#[test]
fn warns_of_what_is_asked_for_and_not_offered() {
    let settings = weir_tls::TlsSettings {
        versions: vec![Version::Tls10, Version::Tls11, Version::Tls12, Version::Tls13],
        ..server_settings(&["TLS_RSA_WITH_AES_128_CBC_SHA", ECDSA, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"])
    };
    let certificates = [certificate(DEFAULT_EC), certificate(DEFAULT_RSA)];
    let (_, warnings) =
        weir_tls::ServerConfig::build(&settings, &certificates, None, &weir_tls::Provider::new()).unwrap();
    assert_eq!(
        warnings,
        [
            Warning::VersionsNotImplemented(vec![Version::Tls10, Version::Tls11]),
            Warning::CipherSuitesNotImplemented(vec![
                "TLS_RSA_WITH_AES_128_CBC_SHA".to_owned(),
                "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA".to_owned(),
            ]),
            Warning::VersionWithoutCipherSuite(Version::Tls13),
            Warning::CertificateWithoutCipherSuite { position: 1 },
        ]
    );
}

#[test]
fn refuses_settings_that_leave_nothing_to_offer() {
    let build = |settings: weir_tls::TlsSettings, certificates: &[(&[u8], &[u8])]| {
        let certificates: Vec<_> = certificates.iter().copied().map(certificate).collect();
        weir_tls::ServerConfig::build(&settings, &certificates, None, &weir_tls::Provider::new())
            .map(|_| ())
            .unwrap_err()
    };
    let old = weir_tls::TlsSettings { versions: vec![Version::Tls11], ..server_settings(&[ECDSA]) };
    assert_eq!(build(old, &[DEFAULT_EC]), Error::NoVersion);
    assert_eq!(build(server_settings(&["TLS_RSA_WITH_AES_128_CBC_SHA"]), &[DEFAULT_EC]), Error::NoCipherSuite);
    assert_eq!(build(server_settings(&[ECDSA]), &[DEFAULT_RSA]), Error::NoCipherSuiteForCertificates);
    assert_eq!(build(server_settings(&[ECDSA]), &[]), Error::NoCertificate);
}

#[test]
fn client_refuses_a_suite_it_does_not_know() {
    let error = weir_tls::ClientConfig::unverified(&client_settings(&["TLS_NULL"]), &weir_tls::Provider::new());
    assert_eq!(error.map(|_| ()), Err(Error::UnknownCipherSuite("TLS_NULL".to_owned())));
}
