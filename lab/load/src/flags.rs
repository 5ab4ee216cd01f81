//! The command line.

use std::{ffi::OsString, net::IpAddr, time::Duration};

use lexopt::{Arg, Parser, ValueExt};
use weir_tls::{Group, Version};

const HELP: &str = include_str!("help.txt");

pub struct Flags {
    pub url: String,
    pub http2: bool,
    pub grpc: bool,
    pub method: String,
    pub body_bytes: usize,
    pub headers: Vec<String>,
    pub host: Option<String>,
    pub close_header: bool,
    pub connections: usize,
    pub streams: usize,
    /// Of datagrams; `None`: as many as usual.
    pub in_flight: Option<usize>,
    /// 0: no limit.
    pub requests_per_connection: u64,
    pub duration: Duration,
    pub count: Option<u64>,
    pub until_eof: bool,
    pub drain: bool,
    pub idle_connections: usize,
    pub waiting_streams: usize,
    pub waiting_path: String,
    pub answer_bytes: Option<u64>,
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
            http2: false,
            grpc: false,
            method: "GET".into(),
            body_bytes: 0,
            headers: Vec::new(),
            host: None,
            close_header: true,
            connections: 64,
            streams: 1,
            in_flight: None,
            requests_per_connection: 1,
            duration: Duration::from_secs(10),
            count: None,
            until_eof: false,
            drain: false,
            idle_connections: 0,
            waiting_streams: 0,
            waiting_path: "/wait".into(),
            answer_bytes: None,
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
            "http2" => flags.http2 = true,
            "grpc" => flags.grpc = true,
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
        "streams" => flags.streams = parser.value()?.parse_with(number(1, 1000))? as usize,
        "in-flight" => flags.in_flight = Some(parser.value()?.parse_with(number(1, 10_000))? as usize),
        "waiting-streams" => flags.waiting_streams = parser.value()?.parse_with(number(0, 1000))? as usize,
        "waiting-path" => flags.waiting_path = parser.value()?.string()?,
        "answer-bytes" => flags.answer_bytes = Some(parser.value()?.parse_with(number(0, u64::MAX))?),
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
