//! What the heads of one transaction cost: parse and rewrite, request and response, in ns each. Prints the best of many
//! short runs, so that what else the machine does falls out. `cargo bench -p weir-policy`

use std::{hint::black_box, time::Instant};

use weir_policy::{ClientFacts, HttpProfile, HttpSettings, Reply};
use weir_wire::{
    head::{FieldTable, Limits, Method, Version},
    http1::{HeadWriter, Hop, Outgoing, Parsed, request, response},
};

const REQUEST: &[u8] =
    b"GET /index.html HTTP/1.1\r\nHost: www.example.com:8443\r\nUser-Agent: Mozilla/5.0 (X11; Linux)\r\n\
    Accept: text/html,application/xhtml+xml\r\nAccept-Encoding: gzip, br\r\nCookie: session=0123456789\r\n\
    Connection: keep-alive\r\n\r\n";

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 20 Nov 2026 23:00:00 GMT\r\n\
    Content-Type: text/html\r\nContent-Length: 128\r\nLast-Modified: Fri, 20 Nov 2026 22:00:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"5f-80\"\r\nAccept-Ranges: bytes\r\n\r\n";

fn main() {
    let profile = HttpProfile::compile(&HttpSettings {
        xff: true,
        x_forwarded_proto: true,
        respond_with_100_continue: true,
        secure_cookies: true,
        httponly_cookies: true,
        server_side_redirect_to_https: true,
        hsts: true,
        hsts_max_age_s: 31_536_000,
        hsts_include_subdomains: true,
        ..HttpSettings::default()
    })
    .expect("a profile");
    let client = ClientFacts::new(([198, 51, 100, 7], 50000).into(), ([203, 0, 113, 1], 443).into(), true);
    let limits = Limits::new(48 * 1024, 12 * 1024, 0);
    let reply = Reply { cookie: b"", date: b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" };
    let (mut table, mut out) = (FieldTable::new(), vec![0; 16 * 1024]);

    report("parse a request", REQUEST.len(), || {
        let parsed = request(black_box(REQUEST), &limits, &mut table);
        matches!(parsed, Ok(Parsed::Whole(_)))
    });
    report("parse and rewrite a request", REQUEST.len(), || match request(black_box(REQUEST), &limits, &mut table) {
        Ok(Parsed::Whole(request)) => {
            let mut out = HeadWriter::new(black_box(&mut out), Hop::to_server(request.framing));
            profile.write_request(&request.head, &client, None, &mut out);
            out.end().is_ok()
        }
        _ => false,
    });
    report("parse a response", RESPONSE.len(), || {
        let parsed = response(black_box(RESPONSE), Method::Get, &limits, &mut table);
        matches!(parsed, Ok(Parsed::Whole(_)))
    });
    report("parse and rewrite a response", RESPONSE.len(), || {
        match response(black_box(RESPONSE), Method::Get, &limits, &mut table) {
            Ok(Parsed::Whole(response)) => {
                let hop = Outgoing::of(&response, Version::Http11, true).hop;
                let mut out = HeadWriter::new(black_box(&mut out), hop);
                profile.write_response(&response.head, &client, reply, &mut out);
                out.end().is_ok()
            }
            _ => false,
        }
    });
}

fn report(what: &str, head_bytes: usize, mut work: impl FnMut() -> bool) {
    const ROUNDS: u32 = 10_000;
    let mut run = || {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            assert!(black_box(work()), "{what}");
        }
        start.elapsed() / ROUNDS
    };
    let best = (0..200).map(|_| run()).min().unwrap_or_default();
    println!("{what:32} {head_bytes:4} bytes {:6} ns", best.as_nanos());
}
