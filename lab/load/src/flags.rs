//! The command line.

use std::{ffi::OsString, net::IpAddr, time::Duration};

use lexopt::{Arg, Parser, ValueExt};
use weir_tls::{Group, Version};

const HELP: &str = "\
Sends requests to an HTTP or HTTPS server and reports throughput, latency and errors by cause.

Usage: weir-load --url URL [options]

What to send
  --url URL                    http://… or https://…; the certificate is not verified
  --method METHOD              default: GET
  --body-bytes N               send a body of N bytes
  --header 'NAME: VALUE'       add a field; may be repeated
  --host NAME                  Host field, in place of the URL's
  --no-close-header            send no Connection: close with the last request of a connection

How much
  --connections N              open at once; default: 64
  --requests-per-connection N  default: 1; 0: as many as the server allows
  --duration TIME              10s, 500ms, 2m; default: 10s (with --count: 5m)
  --count N                    stop after N requests
  --until-eof                  end also when standard input does
  --drain                      at the end finish and count what is under way; default: it counts nowhere
  --idle-connections N         open N more first, answer one request on each, and hold them to the end without another
  --rate N                     begin N requests a second in all; default: as fast as answers come
  --threads N                  default: 1; a thread drives tens of thousands of requests a second
  --timeout TIME               of one request, connect to last byte; default: 10s

TLS
  --tls VERSION                1.2 or 1.3; default: both are offered
  --cipher NAME                the only suite offered: ECDHE-ECDSA-AES128-GCM-SHA256 or the IANA name
  --group NAME                 x25519, p256 or p384; default: all
  --resume                     resume sessions; default: each connection makes a full handshake
  --sni NAME                   server name, in place of the URL's host

Sockets
  --reset                      end each connection with a reset after its last answer: no socket stays in TIME_WAIT
  --source-addresses N         on loopback, connect from 127.0.0.1 to 127.0.0.N in turn
  --source ADDRESS             connect from this address; may be repeated, then from each in turn

Output
  --server-header NAME         count answers by the value of this response field
  --json                       one JSON object
  --timeline                   with it, when each failure was, and what was answered in each second
  --announce                   say on standard error when the duration begins, and when it is over and nothing is closed yet

Latency counts from the begin of a connection for its first request, and from the request for others. With --rate it
counts from the moment the request was due, so that a server that stalls does not hide it by slowing the client
(coordinated omission); the figures without that correction stand beside.

A connection that is closed leaves a socket in TIME_WAIT on the side that closes first, and a pair of addresses has
28,000 ports: beyond about 450 connections a second from a remote client (28,000 on loopback, where the kernel reuses
them after a second) use --reset or --source-addresses.

Examples
  weir-load --url https://127.0.0.1:8443/index.html --tls 1.2 --cipher ECDHE-ECDSA-AES128-GCM-SHA256 --group p256
      a new connection and a full handshake for each request, from 64 at once, for 10 s
  weir-load --url http://10.0.0.1/ --connections 256 --requests-per-connection 0 --threads 2
      keep-alive at full speed
  weir-load --url http://10.0.0.1/ --rate 2000 --duration 1m --json
      2000 requests a second
";

pub struct Flags {
    pub url: String,
    pub method: String,
    pub body_bytes: usize,
    pub headers: Vec<String>,
    pub host: Option<String>,
    pub close_header: bool,
    pub connections: usize,
    /// 0: no limit.
    pub requests_per_connection: u64,
    pub duration: Duration,
    pub count: Option<u64>,
    pub until_eof: bool,
    pub drain: bool,
    pub idle_connections: usize,
    pub rate: Option<f64>,
    pub threads: usize,
    pub timeout: Duration,
    pub tls: Option<Version>,
    pub cipher: Option<String>,
    pub group: Option<Group>,
    pub resume: bool,
    pub sni: Option<String>,
    pub reset: bool,
    pub source_addresses: u8,
    pub sources: Vec<IpAddr>,
    pub server_header: Option<String>,
    pub json: bool,
    pub timeline: bool,
    pub announce: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            url: String::new(),
            method: "GET".into(),
            body_bytes: 0,
            headers: Vec::new(),
            host: None,
            close_header: true,
            connections: 64,
            requests_per_connection: 1,
            duration: Duration::from_secs(10),
            count: None,
            until_eof: false,
            drain: false,
            idle_connections: 0,
            rate: None,
            threads: 1,
            timeout: Duration::from_secs(10),
            tls: None,
            cipher: None,
            group: None,
            resume: false,
            sni: None,
            reset: false,
            source_addresses: 0,
            sources: Vec::new(),
            server_header: None,
            json: false,
            timeline: false,
            announce: false,
        }
    }
}

/// `None` when the answer has been printed already.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Option<Flags>, lexopt::Error> {
    let mut parser = Parser::from_iter(args);
    let mut flags = Flags::default();
    let mut duration = None;
    while let Some(arg) = parser.next()? {
        let Arg::Long(name) = arg else { return Err(arg.unexpected()) };
        match name.to_owned().as_str() {
            "help" => return Ok(print(HELP)),
            "version" => return Ok(print(concat!("weir-load ", env!("CARGO_PKG_VERSION"), "\n"))),
            "no-close-header" => flags.close_header = false,
            "resume" => flags.resume = true,
            "reset" => flags.reset = true,
            "json" => flags.json = true,
            "announce" => flags.announce = true,
            "drain" => flags.drain = true,
            "until-eof" => flags.until_eof = true,
            "timeline" => flags.timeline = true,
            "duration" => duration = Some(parser.value()?.parse_with(span)?),
            name => set(&mut flags, name, &mut parser)?,
        }
    }
    if flags.url.is_empty() {
        return Err("--url is missing".into());
    }
    let default = if flags.count.is_some() { Duration::from_secs(300) } else { flags.duration };
    flags.duration = duration.unwrap_or(default);
    // A thread without a connection would do nothing.
    flags.threads = flags.threads.min(flags.connections);
    Ok(Some(flags))
}

fn set(flags: &mut Flags, name: &str, parser: &mut Parser) -> Result<(), lexopt::Error> {
    match name {
        "url" => flags.url = parser.value()?.string()?,
        "method" => flags.method = parser.value()?.string()?,
        "body-bytes" => flags.body_bytes = parser.value()?.parse_with(number(0, 1 << 30))? as usize,
        "header" => flags.headers.push(parser.value()?.parse_with(field)?),
        "host" => flags.host = Some(parser.value()?.string()?),
        "connections" => flags.connections = parser.value()?.parse_with(number(1, 1_000_000))? as usize,
        "requests-per-connection" => flags.requests_per_connection = parser.value()?.parse_with(number(0, u64::MAX))?,
        "count" => flags.count = Some(parser.value()?.parse_with(number(1, u64::MAX))?),
        "idle-connections" => flags.idle_connections = parser.value()?.parse_with(number(0, 1_000_000))? as usize,
        "rate" => flags.rate = Some(parser.value()?.parse_with(rate)?),
        "threads" => flags.threads = parser.value()?.parse_with(number(1, 1024))? as usize,
        "timeout" => flags.timeout = parser.value()?.parse_with(span)?,
        "tls" => flags.tls = Some(parser.value()?.parse_with(version)?),
        "cipher" => flags.cipher = Some(parser.value()?.parse_with(cipher)?),
        "group" => flags.group = Some(parser.value()?.parse_with(group)?),
        "sni" => flags.sni = Some(parser.value()?.string()?),
        "source-addresses" => flags.source_addresses = parser.value()?.parse_with(number(1, 250))? as u8,
        "source" => flags.sources.push(parser.value()?.parse()?),
        "server-header" => flags.server_header = Some(parser.value()?.string()?),
        other => return Err(Arg::Long(other).unexpected()),
    }
    Ok(())
}

fn print(text: &str) -> Option<Flags> {
    print!("{text}");
    None
}

fn number(least: u64, most: u64) -> impl Fn(&str) -> Result<u64, String> {
    move |text| match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("not a number from {least} to {most}")),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.001..=1e7).contains(&rate) => Ok(rate),
        _ => Err("not a rate from 0.001 to 10000000 a second".into()),
    }
}

fn span(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit_ms = match &text[digits..] {
        "ms" => 1,
        "s" | "" => 1000,
        "m" => 60_000,
        _ => 0,
    };
    match text[..digits].parse::<u64>() {
        Ok(count @ 1..=86_400_000) if unit_ms > 0 => Ok(Duration::from_millis(count * unit_ms)),
        _ => Err("not a time like 500ms, 10s or 2m".into()),
    }
}

fn field(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some((name, _)) if !name.is_empty() && !text.contains(['\r', '\n', '\0']) => Ok(text.into()),
        _ => Err("not a field like 'X-Name: value'".into()),
    }
}

fn version(text: &str) -> Result<Version, String> {
    match text {
        "1.2" => Ok(Version::Tls12),
        "1.3" => Ok(Version::Tls13),
        _ => Err("use 1.2 or 1.3".into()),
    }
}

fn group(text: &str) -> Result<Group, String> {
    match text.to_ascii_lowercase().replace('-', "").as_str() {
        "x25519" => Ok(Group::X25519),
        "p256" => Ok(Group::P256),
        "p384" => Ok(Group::P384),
        _ => Err("use x25519, p256 or p384".into()),
    }
}

/// The IANA name of a suite, which may be given by OpenSSL's.
fn cipher(text: &str) -> Result<String, String> {
    if text.starts_with("TLS_") {
        return Ok(text.into());
    }
    let Some((key, bulk)) = text.strip_prefix("ECDHE-").and_then(|rest| rest.split_once('-')) else {
        return Err("not a suite like ECDHE-ECDSA-AES128-GCM-SHA256 or TLS_AES_128_GCM_SHA256".into());
    };
    let bulk = match bulk {
        "CHACHA20-POLY1305" => "CHACHA20_POLY1305_SHA256".into(),
        other => other.replace("AES", "AES_").replace('-', "_"),
    };
    Ok(format!("TLS_ECDHE_{key}_WITH_{bulk}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Flags, String> {
        let args = std::iter::once("weir-load").chain(line.split(' ')).map(OsString::from);
        parse(args).map(|flags| flags.unwrap()).map_err(|why| why.to_string())
    }

    #[test]
    fn reads_flags_with_their_units() {
        let flags =
            parsed("--url http://a --duration 2m --timeout 500ms --rate 2.5 --group P-256 --threads 9").unwrap();
        assert_eq!((flags.duration.as_secs(), flags.timeout.as_millis(), flags.rate), (120, 500, Some(2.5)));
        assert_eq!((flags.group, flags.threads), (Some(Group::P256), 9));
        assert_eq!(parsed("--url http://a --threads 9 --connections 2").unwrap().threads, 2);
    }

    #[test]
    fn counted_run_gets_more_time_unless_told_otherwise() {
        assert_eq!(parsed("--url http://a --count 5").unwrap().duration.as_secs(), 300);
        assert_eq!(parsed("--url http://a --count 5 --duration 1s").unwrap().duration.as_secs(), 1);
    }

    #[test]
    fn suites_by_the_name_of_openssl_or_iana() {
        let pairs = [
            ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
            ("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
            ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
            ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
        ];
        for (given, iana) in pairs {
            assert_eq!(cipher(given).as_deref(), Ok(iana));
        }
        assert!(cipher("AES128-SHA").is_err());
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, why) in [
            ("--json", "--url is missing"),
            ("--url http://a --duration soon", "500ms"),
            ("--url http://a --connections 0", "from 1 to"),
            ("--url http://a --header nonsense", "X-Name"),
            ("--url http://a --speed 9", "--speed"),
        ] {
            let error = parsed(line).map(|_| ()).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
