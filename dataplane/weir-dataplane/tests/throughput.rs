//! Limits of bytes in a data plane of several workers, with curl as the client.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "others use all of it")]
mod bench;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use bench::{Agent, Dataplane, plan};

const BODY_BYTES: usize = 1_000_000;

/// A server that answers each request with a megabyte, behind the body of the request.
fn large_origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (mut line, mut length) = (String::from("head"), 0);
        while line.trim() != "" {
            line.clear();
            reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
            let field = line.to_ascii_lowercase();
            length = field.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        let body = if length == 0 { vec![b'x'; BODY_BYTES] } else { length.to_string().into_bytes() };
        write!(&stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).ok()?;
        (&stream).write_all(&body).ok()?;
    }
}

/// Curl prints how many bytes came and went.
fn curl(address: SocketAddr, flags: &[&str]) -> Child {
    let command = ["-sS", "-o", "/dev/null", "-w", "%{http_code} %{size_upload} %{size_download}", "-H", "Expect:"];
    let url = format!("http://{address}/");
    Command::new("curl").args(command).args(flags).arg(url).stdout(Stdio::piped()).spawn().unwrap()
}

/// Runs so many curls at once, and returns how long the last took.
fn together(address: SocketAddr, count: usize, flags: &[&str], says: &str) -> Duration {
    let begun = Instant::now();
    let curls: Vec<_> = (0..count).map(|_| curl(address, flags)).collect();
    for curl in curls {
        assert_eq!(String::from_utf8(curl.wait_with_output().unwrap().stdout).unwrap(), says);
    }
    let took = begun.elapsed();
    eprintln!("{count} x {flags:?}: {took:?}");
    took
}

#[test]
fn workers_limit_downloads_and_uploads_together() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let (address, origin) = (agent.give_socket(), large_origin());
    let mut limited = plan(1, address, &[origin]);
    limited.virtual_services[0].max_throughput_mbps = 16;
    agent.apply(limited);
    let file = std::env::temp_dir().join(format!("weir-dataplane-throughput-{}", std::process::id()));
    std::fs::write(&file, vec![b'y'; BODY_BYTES]).unwrap();
    let upload = ["--data-binary", &format!("@{}", file.display())];
    let (down, up) = (format!("200 0 {BODY_BYTES}"), format!("200 {BODY_BYTES} 7"));
    // A megabyte takes half a second, but for a burst of 200 KB.
    for (count, least) in [(1, 380), (3, 1_380)] {
        for (flags, says) in [(&[][..], &down), (&upload[..], &up)] {
            let took = together(address, count, flags, says);
            let least = Duration::from_millis(least);
            assert!((least..3 * least).contains(&took), "{count} x {flags:?}: {took:?}");
        }
    }
    agent.apply(plan(2, address, &[origin]));
    let took = together(address, 3, &[], &down);
    assert!(took < Duration::from_millis(1_000), "without a limit: {took:?}");
    std::fs::remove_file(&file).unwrap();
}
