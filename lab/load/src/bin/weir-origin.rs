//! weir-origin: the server behind the proxies that are measured. See `weir_load::origin`.
#![forbid(unsafe_code)]

use std::{net::SocketAddr, process::ExitCode};

use lexopt::{Arg, Parser, ValueExt};
use weir_load::{Failure, origin};

#[global_allocator]
static ALLOCATOR: weir_reactor::Allocator = weir_reactor::Allocator;

const HELP: &str = "\
Answers requests at the least cost, to stand behind a proxy that is measured. It ends when it is killed.

Usage: weir-origin --listen ADDRESS:PORT [options]

  --listen ADDRESS:PORT      speak HTTP/1.1, HTTP/2 by prior knowledge, gRPC and WebSocket there; may be repeated
  --datagrams ADDRESS:PORT   send datagrams back there; may be repeated
  --object-bytes N           the length of every body; default: 128

A request for /wait gets no answer. A call of gRPC gets its message back, and so does a message of WebSocket or a datagram. The field
X-Origin of an answer says which address the request came to.
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("weir-origin: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let (mut listen, mut datagrams) = (Vec::<SocketAddr>::new(), Vec::<SocketAddr>::new());
    let mut object_bytes = 128;
    let mut parser = Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") => {
                print!("{HELP}");
                return Ok(());
            }
            Arg::Long("listen") => listen.push(parser.value()?.parse()?),
            Arg::Long("datagrams") => datagrams.push(parser.value()?.parse()?),
            Arg::Long("object-bytes") => object_bytes = parser.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    if listen.is_empty() && datagrams.is_empty() {
        return Err("--listen or --datagrams is missing".into());
    }
    weir_reactor::process::raise_descriptor_limit()?;
    origin::serve(&listen, &datagrams, object_bytes)
}
