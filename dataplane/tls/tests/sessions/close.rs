//! The end of a session: said by both, by one, or not at all.

use weir_tls::{Error, TlsSettings};

use crate::pair::*;

#[test]
fn close_notify_reaches_the_peer_once_and_ends_sending() {
    for suite in [ECDSA, TLS13] {
        let mut pair = Pair::handshaken(&client(&client_settings(&[suite])), &any_server(), "a.test");
        pair.server.send(b"last words");
        pair.server.close();
        let len = pair.server.to_peer.len();
        pair.server.close();
        assert_eq!(pair.server.to_peer.len(), len);
        assert_eq!(pair.server.session.send(b"more", &mut [0; 100]), Err(Error::Closed));
        pair.deliver(usize::MAX).unwrap();
        assert_eq!(pair.client.plaintext, b"last words");
        assert!(pair.client.progress.closed && !pair.server.progress.closed);
    }
}

#[test]
fn side_that_heard_close_notify_may_still_send() {
    for suite in [ECDSA, TLS13] {
        let mut pair = Pair::handshaken(&client(&client_settings(&[suite])), &any_server(), "a.test");
        pair.client.send(b"request");
        pair.client.close();
        pair.deliver(usize::MAX).unwrap();
        assert!(pair.server.progress.closed);
        pair.server.send(b"response");
        pair.server.close();
        pair.deliver(usize::MAX).unwrap();
        assert_eq!(pair.client.plaintext, b"response");
        assert!(pair.client.progress.closed);
    }
}

#[test]
fn what_comes_behind_close_notify_is_dropped() {
    for (suite, step) in [(ECDSA, 7), (TLS13, 777), (ECDSA, usize::MAX), (TLS13, usize::MAX)] {
        let mut pair = Pair::handshaken(&client(&client_settings(&[suite])), &any_server(), "a.test");
        pair.client.send(b"request");
        pair.client.close();
        pair.client.to_peer.extend_from_slice(&[0xff; 100_000]);
        let bytes = std::mem::take(&mut pair.client.to_peer);
        for piece in bytes.chunks(step) {
            pair.server.receive(piece).unwrap();
        }
        assert_eq!(pair.server.plaintext, b"request");
        pair.server.send(b"response");
        pair.deliver(usize::MAX).unwrap();
        assert_eq!(pair.client.plaintext, b"response");
    }
}

#[test]
fn says_no_close_notify_when_the_operator_wants_none() {
    let settings = TlsSettings { send_close_notify: false, ..server_settings(&[TLS13, ECDSA]) };
    let mut pair = Pair::handshaken(&client(&client_settings(&[ECDSA])), &server(&settings, &[DEFAULT_EC]), "a.test");
    pair.server.close();
    assert!(pair.server.to_peer.is_empty());
}

#[test]
fn nothing_is_sent_or_closed_before_the_handshake_is_complete() {
    let mut pair = Pair::new(&client(&client_settings(&[])), &any_server(), "a.test");
    assert_eq!(pair.server.session.send(b"x", &mut [0; 100]), Err(Error::NotHandshaken));
    assert_eq!(pair.server.session.handshaken(), None);
    pair.server.close();
    assert!(pair.server.to_peer.is_empty());
}
