//! What arrives is what was sent, however the network cuts it.

use weir_tls::{RECORD_OVERHEAD_MAX, Sent};

use crate::pair::*;

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn megabyte_arrives_intact_both_ways_whatever_the_pieces() {
    let data = noise(1 << 20);
    for suite in [ECDSA, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", TLS13] {
        for step in [997, 16_384, 70_000, usize::MAX] {
            let mut pair = Pair::handshaken(&client(&client_settings(&[suite])), &any_server(), "a.test");
            pair.client.send(&data);
            pair.server.send(&data);
            pair.deliver(step).unwrap();
            assert!(pair.server.plaintext == data && pair.client.plaintext == data, "{suite} by {step}");
        }
    }
}

#[test]
fn handshake_and_traffic_survive_delivery_byte_by_byte() {
    for suite in [ECDSA, RSA, TLS13] {
        let mut pair = Pair::new(&client(&client_settings(&[suite])), &any_server(), "a.test");
        pair.deliver(1).unwrap();
        assert!(pair.client.progress.handshaken && pair.server.progress.handshaken);
        pair.client.send(b"GET / HTTP/1.1\r\n");
        pair.server.send(&noise(20_000));
        pair.client.close();
        pair.deliver(1).unwrap();
        assert_eq!(pair.server.plaintext, b"GET / HTTP/1.1\r\n");
        assert_eq!(pair.client.plaintext, noise(20_000));
        assert!(pair.server.progress.closed);
    }
}

#[test]
fn first_request_beside_the_clients_last_flight_is_delivered() {
    for suite in [ECDSA, TLS13] {
        let mut pair = Pair::new(&client(&client_settings(&[suite])), &any_server(), "a.test");
        while !pair.client.progress.handshaken {
            pair.server.receive(&std::mem::take(&mut pair.client.to_peer)).unwrap();
            pair.client.receive(&std::mem::take(&mut pair.server.to_peer)).unwrap();
        }
        pair.client.send(b"early bird");
        pair.deliver(usize::MAX).unwrap();
        assert_eq!(pair.server.plaintext, b"early bird");
    }
}

#[test]
fn sends_what_fits_the_room_and_never_a_byte_more() {
    for suite in [ECDSA, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", TLS13] {
        let mut pair = Pair::handshaken(&client(&client_settings(&[suite])), &any_server(), "a.test");
        let data = noise(40_000);
        let mut taken = 0;
        for room_bytes in [0, 1, RECORD_OVERHEAD_MAX, RECORD_OVERHEAD_MAX + 1, 100, 16_384, 16_416, 40_000] {
            let mut room = vec![0; room_bytes];
            let sent = pair.server.session.send(&data[taken..], &mut room).unwrap();
            assert!(sent.written <= room_bytes && sent.taken <= sent.written);
            assert_eq!(sent.taken > 0, room_bytes > RECORD_OVERHEAD_MAX, "room {room_bytes}");
            pair.server.to_peer.extend_from_slice(&room[..sent.written]);
            taken += sent.taken;
        }
        pair.deliver(usize::MAX).unwrap();
        assert!(pair.client.plaintext == data[..taken]);
        assert_eq!(pair.server.session.send(&[], &mut [0; 100]), Ok(Sent::default()));
    }
}

#[test]
fn sending_while_a_record_of_the_peer_is_half_here_disturbs_neither() {
    for suite in [ECDSA, TLS13] {
        let mut pair = Pair::handshaken(&client(&client_settings(&[suite])), &any_server(), "a.test");
        pair.client.send(&noise(5_000));
        let bytes = std::mem::take(&mut pair.client.to_peer);
        pair.server.receive(&bytes[..3_000]).unwrap();
        pair.server.send(b"meanwhile");
        pair.server.receive(&bytes[3_000..]).unwrap();
        pair.deliver(usize::MAX).unwrap();
        assert_eq!((&pair.server.plaintext, &pair.client.plaintext[..]), (&noise(5_000), &b"meanwhile"[..]));
    }
}
