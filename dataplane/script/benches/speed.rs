//! What a script costs for one event, in ns: to show it the request, and to run it. `cargo bench -p weir-script`

use std::{sync::Arc, time::Instant};

use weir_rules::HttpVersion;
use weir_script::{Event, Script, ScriptSet, Scripts, Served};
use weir_wire::{
    head::{FieldTable, Limits},
    http1::{self, Parsed},
};

const EVENTS: u32 = 100_000;
const HEAD: &str = "GET /api/v1/things?page=2 HTTP/1.1\r\nHost: shop.example.com\r\nUser-Agent: curl/8.5.0\r\n\
    Accept: */*\r\nAccept-Encoding: gzip\r\nCookie: session=0123456789abcdef; lang=en\r\nX-Request: 77\r\n\r\n";

/// Nanoseconds for one event: seeing the request, and running the script.
fn nanos(source: &str) -> f64 {
    let script = Script::compile("speed", Event::Request, source);
    let set = ScriptSet { scripts: vec![script], pools: vec!["pool-a".into(), "api".into()], ..ScriptSet::default() };
    let served = Arc::new(Served { sets: [Arc::new(set)].into(), ..Served::default() });
    let (mut scripts, mut table) = (Scripts::default(), FieldTable::new());
    let Ok(Parsed::Whole(request)) = http1::request(HEAD.as_bytes(), &Limits::new(0, 0, 0), &mut table) else {
        panic!("a request");
    };
    let mut once = || {
        let since = Instant::now();
        for _ in 0..EVENTS {
            let mut seen = scripts.room();
            seen.begin("shop", &request.head, HttpVersion::Http11);
            let ran = scripts.run(&served, Event::Request, &mut seen);
            assert!(ran.fault.is_none(), "{:?}", ran.fault);
            scripts.give_back(seen);
        }
        since.elapsed().as_nanos() as f64 / f64::from(EVENTS)
    };
    (0..5).map(|_| once()).fold(f64::MAX, f64::min)
}

fn main() {
    let simple = "if string.beginswith(avi.http.get_path(), '/api/') then avi.pool.select('api') end";
    for (name, source) in [
        ("empty", "local a = 1"),
        ("path, beginswith, pool", simple),
        ("header", "avi.http.add_header('X-A', avi.http.get_header('user-agent'))"),
    ] {
        println!("{name:32} {:8.1} ns", nanos(source));
    }
}
