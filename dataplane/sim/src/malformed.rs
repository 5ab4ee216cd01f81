//! Requests that must not get through, and the status that each deserves.

use crate::{
    rng::{Rng, body_of},
    server::REQUEST_BODY,
};

/// Of the simulated application profile.
pub const BODY_BYTES_MAX: u64 = 1_000_000;

/// The bytes of a request, and the statuses one of which must answer it.
pub fn message(rng: &mut Rng, id: u64) -> (Vec<u8>, Vec<u16>) {
    let head = |line: &str, fields: &str| format!("{line}\r\nHost: sim.test\r\n{fields}\r\n");
    let get = format!("GET /{id}/0/length HTTP/1.1");
    let post = format!("POST /{id}/0/length HTTP/1.1");
    let (text, status) = match rng.between(0, 16) {
        0 => (head(&post, "Content-Length: 3\r\nContent-Length: 3\r\n") + "abc", 400),
        1 => (head(&post, "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 400),
        2 => (format!("{get}\nHost: sim.test\n\n"), 400),
        3 => (head(&get, "X-Nul: a\0b\r\n"), 400),
        4 => (head(&get, "X-Folded: a\r\n b\r\n"), 400),
        5 => (format!("{get}\r\n\r\n"), 400),
        6 => (head(&get, "Host: other\r\n"), 400),
        7 => (head(&get, "X-Space : a\r\n"), 400),
        8 => (head(&format!("GET /{id} HTTP/2.0"), ""), 505),
        9 => (head(&get, &format!("X-Huge: {}\r\n", "x".repeat(20_000))), 431),
        10 => (head(&get, &"X-Many: x\r\n".repeat(300)), 431),
        11 => (head(&format!("GET /{} HTTP/1.1", "x".repeat(60_000)), ""), 414),
        12 => (head(&post, &format!("Content-Length: {}\r\n", BODY_BYTES_MAX + 1)), 413),
        13 => {
            // The beginning of a chunk may reach the server.
            let half = body_of(id ^ REQUEST_BODY, 3);
            let text = head(&post, "Transfer-Encoding: chunked\r\n") + "5\r\n";
            return ([text.as_bytes(), &half].concat(), vec![408]);
        }
        14 => (head(&post, "Transfer-Encoding: chunked\r\n") + "xyz\r\n", 400),
        15 => (head(&post, "Transfer-Encoding: gzip, chunked\r\n"), 501),
        _ => (get, 408),
    };
    (text.into_bytes(), vec![status])
}

/// Bytes that begin no TLS handshake, or only begin one.
pub fn handshake(rng: &mut Rng) -> Vec<u8> {
    match rng.between(0, 3) {
        0 => b"GET / HTTP/1.1\r\nHost: sim.test\r\n\r\n".to_vec(),
        // A record that is cut in half.
        1 => [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 100]].concat(),
        // A record longer than records are.
        2 => [&[0x16, 3, 1, 0xff, 0xff][..], &[0; 300]].concat(),
        _ => body_of(rng.next(), 500),
    }
}
