//! What a peer can do wrong: it gets an alert where TLS has one, and its session ends.

use weir_tls::{Error, Fault, Group, ServerConfig, ServerName, TlsSession, Version};

use crate::pair::*;

/// The plain alert record of `description` (RFC 8446 §6).
fn fatal(description: u8) -> [u8; 7] {
    [21, 3, 3, 0, 2, 2, description]
}

fn answer_to(bytes: &[u8]) -> (Result<(), Error>, Vec<u8>) {
    let mut session = TlsSession::server(&any_server()).unwrap();
    let mut to_peer = Vec::new();
    let outcome = session.receive(&mut bytes.to_vec(), &mut |_| panic!("no plaintext of garbage"), &mut to_peer);
    (outcome.map(|_| ()), to_peer)
}

fn hello() -> Vec<u8> {
    Pair::new(&client(&client_settings(&[])), &any_server(), "a.test").client.to_peer
}

#[test]
fn plain_http_and_noise_are_answered_with_decode_error() {
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[0; 64], &[22, 9, 9, 0, 1, 0]] {
        let (outcome, alert) = answer_to(bytes);
        assert!(matches!(outcome, Err(Error::Peer(..))), "{bytes:?}");
        assert_eq!(alert, fatal(50), "{bytes:?}");
    }
}

#[test]
fn record_longer_than_tls_allows_is_refused_by_its_header() {
    let (outcome, alert) = answer_to(&[22, 3, 1, 0xff, 0xff, 1]);
    assert!(matches!(outcome, Err(Error::Peer(..))));
    assert_eq!(alert, fatal(50));
}

#[test]
fn record_of_another_type_in_place_of_a_hello_is_unexpected() {
    let (outcome, alert) = answer_to(&[23, 3, 3, 0, 1, 0]);
    assert!(matches!(outcome, Err(Error::Peer(..))));
    assert_eq!(alert, fatal(10));
}

/// Why a handshake of this client fails at this server.
fn fault(client: &weir_tls::ClientConfig, server: &ServerConfig) -> Option<Fault> {
    let mut pair = Pair::new(client, server, "a.test");
    pair.server.receive(&std::mem::take(&mut pair.client.to_peer)).expect_err("it must fail").fault()
}

#[test]
fn fault_says_what_client_and_server_do_not_have_in_common() {
    let only = |version, suite| {
        let settings = weir_tls::TlsSettings { versions: vec![version], ..server_settings(&[suite]) };
        server(&settings, &[DEFAULT_EC])
    };
    let speaks = |suites: &[&str]| client(&client_settings(suites));
    assert_eq!(fault(&speaks(&[TLS13]), &only(Version::Tls12, ECDSA)), Some(Fault::Version));
    assert_eq!(fault(&speaks(&[ECDSA]), &only(Version::Tls13, TLS13)), Some(Fault::Version));
    assert_eq!(fault(&speaks(&[RSA]), &only(Version::Tls12, ECDSA)), Some(Fault::CipherSuite));
    assert_eq!(fault(&speaks(&[TLS13_SUITES[1]]), &only(Version::Tls13, TLS13)), Some(Fault::CipherSuite));
    // A client of TLS 1.1 has no signature_algorithms: the extension becomes one that nobody knows.
    let mut hello = hello();
    let is_extension = |bytes: &[u8]| bytes[..3] == [0, 13, 0] && bytes[3] == bytes[5] + 2;
    let at = hello.windows(6).position(is_extension).unwrap();
    hello[at] = 0x7f;
    assert_eq!(answer_to(&hello).0.unwrap_err().fault(), Some(Fault::Version));
    // The group of a hello: X25519 is 0x001d. What looks like it elsewhere in the hello is no more random than the key.
    let groups = weir_tls::ClientSettings { groups: vec![Group::X25519], ..client_settings(&[ECDSA]) };
    let mut hello = Pair::new(&client(&groups), &any_server(), "a.test").client.to_peer;
    let list = [0, 10, 0, 4, 0, 2, 0, 0x1d];
    let at = hello.windows(list.len()).position(|bytes| bytes == list).unwrap() + list.len() - 1;
    hello[at] = 0x99;
    assert_eq!(answer_to(&hello).0.unwrap_err().fault(), Some(Fault::Group));
}

#[test]
fn fault_tells_noise_from_tls_and_refusals_of_the_certificate_from_other_alerts() {
    let faults: [(&[u8], _); 6] = [
        (b"GET / HTTP/1.1\r\n\r\n", Fault::NotTls),
        (&[22, 3, 1, 0xff, 0xff, 1], Fault::Malformed),
        (&fatal(48), Fault::CertificateRefused),
        (&fatal(42), Fault::CertificateRefused),
        (&fatal(80), Fault::Alert),
        (&[22, 3, 3, 0, 4, 1, 0, 0, 0], Fault::Malformed),
    ];
    for (bytes, fault) in faults {
        assert_eq!(answer_to(bytes).0.unwrap_err().fault(), Some(fault), "{bytes:?}");
    }
}

#[test]
fn record_cut_in_half_waits_and_says_nothing() {
    let hello = hello();
    for cut in [0, 1, 4, 5, 6, hello.len() / 2, hello.len() - 1] {
        let (outcome, answer) = answer_to(&hello[..cut]);
        assert_eq!((outcome, answer.len()), (Ok(()), 0), "cut at {cut}");
    }
}

#[test]
fn hello_with_any_byte_changed_is_answered_or_refused() {
    let hello = hello();
    for position in 0..hello.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut changed = hello.clone();
            changed[position] ^= flip;
            let (outcome, answer) = answer_to(&changed);
            let alerts = answer.first() == Some(&21);
            assert!(outcome.is_err() || !alerts, "{flip:#x} at {position}: {outcome:?}");
        }
    }
}

#[test]
fn server_name_that_is_no_name_is_answered_with_an_alert() {
    let hello = hello();
    let position = hello.windows(6).position(|bytes| bytes == b"a.test").unwrap();
    for name in [b"a..est", b"a/test", b"\0\0\0\0\0\0", b"\xff.test"] {
        let mut changed = hello.clone();
        changed[position..position + 6].copy_from_slice(name);
        let (outcome, alert) = answer_to(&changed);
        assert!(matches!(outcome, Err(Error::Peer(..))), "{name:?}");
        assert_eq!(alert[..6], [21, 3, 3, 0, 2, 2], "{name:?}");
    }
}

#[test]
fn traffic_record_with_any_part_changed_is_bad_record_mac_and_nothing_follows() {
    for suite in [ECDSA, TLS13] {
        for position in [5, 12, 40] {
            let mut pair = Pair::handshaken(&client(&client_settings(&[suite])), &any_server(), "a.test");
            pair.client.send(b"a secret that somebody changed on the way");
            pair.client.to_peer[position] ^= 1;
            let bytes = std::mem::take(&mut pair.client.to_peer);
            assert!(matches!(pair.server.receive(&bytes), Err(Error::Peer(..))));
            assert!(pair.server.plaintext.is_empty());
            let alert = std::mem::take(&mut pair.server.to_peer);
            assert!(!alert.is_empty(), "the alert goes out");
            let Err(Error::Peer(_, why)) = pair.client.receive(&alert) else { panic!("the client hears of it") };
            assert!(why.contains("BadRecordMac"), "{why}");
            assert_eq!(pair.server.session.send(b"x", &mut [0; 100]), Err(Error::Failed));
        }
    }
}

#[test]
fn plaintext_before_a_bad_record_is_still_delivered() {
    let mut pair = Pair::handshaken(&client(&client_settings(&[TLS13])), &any_server(), "a.test");
    pair.client.send(b"good");
    pair.client.to_peer.extend_from_slice(&[23, 3, 3, 0, 20]);
    pair.client.to_peer.extend_from_slice(&[7; 20]);
    let bytes = std::mem::take(&mut pair.client.to_peer);
    assert!(matches!(pair.server.receive(&bytes), Err(Error::Peer(..))));
    assert_eq!(pair.server.plaintext, b"good");
}

#[test]
fn endless_handshake_is_cut_off() {
    // A handshake message of 16 MiB − 1, in records of 1 KiB.
    let mut session = TlsSession::server(&any_server()).unwrap();
    let mut record = vec![22, 3, 3, 4, 0];
    record.extend_from_slice(&[1, 0xff, 0xff, 0xff]);
    record.resize(5 + 1024, 0);
    let mut receive = || session.receive(&mut record.clone(), &mut |_| {}, &mut Vec::new());
    let taken = (0..200).take_while(|_| receive().is_ok()).count();
    assert!(taken <= 64, "{taken} KiB");
    assert_eq!(receive(), Err(Error::Failed));
}

#[test]
fn hello_in_many_records_is_put_together() {
    let hello = hello();
    let body = &hello[5..];
    for piece_bytes in [1, 3, 50] {
        let records: Vec<u8> = body
            .chunks(piece_bytes)
            .flat_map(|piece| [&[22, 3, 1, 0, piece.len() as u8][..], piece].concat())
            .collect();
        for step in [1, 7, usize::MAX] {
            let mut session = TlsSession::server(&any_server()).unwrap();
            let mut to_peer = Vec::new();
            for bytes in records.chunks(step) {
                session.receive(&mut bytes.to_vec(), &mut |_| {}, &mut to_peer).unwrap();
            }
            assert_eq!(to_peer.first(), Some(&22), "the server's flight, pieces of {piece_bytes} by {step}");
        }
    }
}

#[test]
fn name_that_is_none_is_refused_at_once() {
    for name in ["", "a b", "-.x..", "host:443"] {
        assert_eq!(ServerName::parse(name), Err(Error::BadServerName(name.to_owned())));
    }
}
