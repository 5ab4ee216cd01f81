//! What it costs to find the server that a request is bound to, in ns, among a thousand servers.
//! Prints the best of many short runs, so that what else the machine does falls out. `cargo bench -p weir-policy --bench persistence`

use std::{
    hint::black_box,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Instant,
};

use weir_policy::{ClientFacts, Named, Persistence, PersistenceSettings};
use weir_wire::{
    head::{FieldTable, Limits},
    http1::{self, Parsed},
};

const ROUNDS: u32 = 10_000;
const RUNS: u32 = 200;
const NOW_S: u64 = 1_800_000_000;
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 80);

fn main() {
    let tokens: Vec<_> = (0..1000u32).map(|number| format!("{:032x}", u128::from(number) << 60)).collect();
    let named = tokens.iter().enumerate().map(|(server, token)| Named { server: server as u32, token, others: &[] });
    let mut settings = PersistenceSettings {
        cookie_name: "weir-12345678".into(),
        always: false,
        http_only: true,
        max_age_s: 0,
        timeout_s: 0,
        seal_keys: vec![vec![7; 32]],
    };
    let by_cookie = Persistence::compile(&settings, named.clone()).expect("the name is one of a cookie");
    (settings.timeout_s, settings.seal_keys) = (600, vec![vec![7; 32], vec![8; 32]]);
    let sealed = Persistence::compile(&settings, named).expect("the name is one of a cookie");
    let values = tokens.iter().enumerate().map(|(server, token)| (server as u32, token.as_str()));
    let by_field = Persistence::by_field("X-Tenant", values).expect("the name is one of a field");
    let (own, last) = (&tokens[700], "Accept: */*\r\nUser-Agent: bench\r\nAccept-Encoding: gzip\r\n");
    report("cookie", &by_cookie, &format!("{last}Cookie: weir-12345678={own}\r\n"));
    report(
        "cookie behind three",
        &by_cookie,
        &format!("{last}Cookie: a=1; session=0123456789; b=2; weir-12345678={own}\r\n"),
    );
    let (mut room, client) = (Vec::new(), ClientFacts::new(ADDRESS, ADDRESS, false));
    let line = sealed.line(700, None, &client, NOW_S, &mut room);
    let pair = line[b"Set-Cookie: ".len()..].split(|byte| *byte == b';').next().unwrap_or_default();
    let pair = String::from_utf8_lossy(pair).into_owned();
    report("sealed cookie", &sealed, &format!("{last}Cookie: {pair}\r\n"));
    report("sealed cookie behind three", &sealed, &format!("{last}Cookie: a=1; session=0123456789; b=2; {pair}\r\n"));
    report("header field", &by_field, &format!("{last}X-Tenant: {own}\r\n"));
    report("none", &by_cookie, last);
}

fn report(what: &str, persistence: &Persistence, lines: &str) {
    let text = format!("GET /index.html HTTP/1.1\r\nHost: shop.test\r\n{lines}\r\n");
    let mut table = FieldTable::new();
    let Ok(Parsed::Whole(request)) = http1::request(text.as_bytes(), &Limits::new(4096, 4096, 64), &mut table) else {
        panic!("{text} is a request");
    };
    let run = |_| {
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            let _ = black_box(persistence.named_by(black_box(&request.head.fields), NOW_S));
        }
        begun.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
    };
    let best = (0..RUNS).map(run).fold(f64::MAX, f64::min);
    println!("{what:32} {best:6.1} ns");
}
