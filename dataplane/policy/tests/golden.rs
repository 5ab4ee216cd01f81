//! Heads in and heads out, as told in `testdata/*.txt`. A case is a sentence, `with` what, lines `in`, lines `out`, and
//! what happens `then`.

use std::net::SocketAddr;

use weir_policy::{Besides, ClientFacts, HttpProfile, HttpSettings, LastHop, Reply, Underscores, XffUpdate};
use weir_wire::{
    head::{FieldTable, Limits, Method, Version},
    http1::{HeadWriter, Hop, Outgoing, OutgoingBody, Parsed, request, response},
};

/// What stands behind `with`.
struct Given {
    settings: HttpSettings,
    peer: SocketAddr,
    tls: bool,
    keep_alive: bool,
    client_version: Version,
    method: Method,
    date: String,
    port: u16,
    /// That the client has asked for.
    host: &'static str,
}

/// The profiles that every controller has.
fn system_http() -> HttpSettings {
    HttpSettings {
        connection_multiplexing: true,
        respond_with_100_continue: true,
        xff: true,
        xff_name: "X-Forwarded-For".into(),
        ..HttpSettings::default()
    }
}

fn system_secure_http() -> HttpSettings {
    HttpSettings {
        x_forwarded_proto: true,
        http_to_https: true,
        https_port: 443,
        server_side_redirect_to_https: true,
        secure_cookies: true,
        httponly_cookies: true,
        hsts: true,
        hsts_max_age_s: 365 * 24 * 60 * 60,
        hsts_include_subdomains: true,
        ..system_http()
    }
}

impl Given {
    fn of(words: &str) -> Self {
        let mut given = Given {
            settings: HttpSettings::default(),
            peer: "198.51.100.7:50000".parse().expect("an address"),
            tls: false,
            keep_alive: true,
            client_version: Version::Http11,
            method: Method::Get,
            date: String::new(),
            port: 8080,
            host: "",
        };
        words.split(", ").for_each(|word| given.take(word));
        given
    }

    fn take(&mut self, word: &str) {
        match word.split_once(' ').unwrap_or((word, "")) {
            ("System-HTTP", "") => self.settings = system_http(),
            ("System-Secure-HTTP", "") => self.settings = system_secure_http(),
            ("plain", "") => self.tls = false,
            ("over", "TLS") => self.tls = true,
            ("closing", "") => self.keep_alive = false,
            ("at", time) => self.date = format!("Date: Sun, 06 Nov 1994 {time} GMT\r\n"),
            ("on", port) => self.port = port["port ".len()..].parse().expect("a port"),
            ("from", ip) => self.peer.set_ip(ip.parse().expect("an address")),
            ("to", "HTTP/1.0") => self.client_version = Version::Http10,
            ("to", "HEAD") => self.method = Method::Head,
            ("https", port) => self.settings.https_port = port["port ".len()..].parse().expect("a port"),
            ("hsts", "for this host") => self.settings.hsts_include_subdomains = false,
            ("xff", "append") => self.settings.xff_update = XffUpdate::Append,
            ("xff", "add new") => self.settings.xff_update = XffUpdate::AddNew,
            ("xff", name) => self.settings.xff_name = name["named ".len()..].into(),
            ("host", name) => {
                self.settings.host_to_servers = name.into();
                self.host = "shop.test:8443";
            }
            ("underscores", "dropped") => self.settings.underscores = Underscores::Drop,
            ("underscores", "refused") => self.settings.underscores = Underscores::Refuse,
            ("no", "xff") => self.settings.xff = false,
            ("no", "hsts") => self.settings.hsts = false,
            ("no", "100") => self.settings.respond_with_100_continue = false,
            _ => panic!("`with` knows no {word:?}"),
        }
    }

    fn profile(&self) -> HttpProfile {
        HttpProfile::compile(&self.settings).expect("a profile")
    }

    fn client(&self) -> ClientFacts {
        ClientFacts::new(self.peer, ([203, 0, 113, 1], self.port).into(), self.tls)
    }
}

/// The output, and what happens then.
type Told = (String, &'static str);

fn request_passes(given: &Given, input: &[u8]) -> Told {
    let (profile, client, mut table) = (given.profile(), given.client(), FieldTable::new());
    let Ok(Parsed::Whole(request)) = request(input, &Limits::new(0, 0, 0), &mut table) else { panic!("no request") };
    let head = request.head;
    if profile.refuses(&head) {
        return (String::new(), "refuses");
    }
    if let Some(last) = profile.answer_as_last(&head, &client) {
        let hop = Hop::to_client(head.version, given.keep_alive);
        let answer = written(LastHop::BYTES_MAX, hop, |out| last.write(given.date.as_bytes(), out));
        return (answer, "passes nothing on");
    }
    let bytes_max = profile.request_bytes_max(&head);
    let passed =
        written(bytes_max, Hop::to_server(request.framing), |out| profile.write_request(&head, &client, None, out));
    (passed, if profile.answers_continue(&head) { "continues" } else { "" })
}

fn response_passes(given: &Given, input: &[u8]) -> Told {
    let (profile, client, mut table) = (given.profile(), given.client(), FieldTable::new());
    let Ok(Parsed::Whole(response)) = response(input, given.method, &Limits::new(0, 0, 0), &mut table) else {
        panic!("no response")
    };
    let head = response.head;
    let outgoing = Outgoing::of(&response, given.client_version, given.keep_alive);
    let reply = Reply { cookie: b"", date: given.date.as_bytes() };
    let besides = Besides { asked_host: given.host.as_bytes(), prefix: None };
    let bytes_max = profile.response_bytes_max(&head, reply);
    let passed =
        written(bytes_max, outgoing.hop, |out| profile.write_response_with(&head, &client, reply, besides, out));
    let then = match (outgoing.body, outgoing.keep_alive) {
        (OutgoingBody::AsReceived, true) => "goes on",
        (OutgoingBody::AsReceived, false) => "closes",
        (OutgoingBody::Unchunked, false) => "unchunks, closes",
        (OutgoingBody::Unchunked, true) => panic!("nothing ends this body"),
        (OutgoingBody::Chunked, true) => "chunks, goes on",
        (OutgoingBody::Chunked, false) => panic!("nobody needs these chunks"),
    };
    (passed, then)
}

fn request_is_redirected(given: &Given, input: &[u8]) -> Told {
    let (profile, client, mut table) = (given.profile(), given.client(), FieldTable::new());
    let Ok(Parsed::Whole(request)) = request(input, &Limits::new(0, 0, 0), &mut table) else { panic!("no request") };
    let Some(redirect) = profile.redirect_to_https(&request.head, &client) else {
        return (String::new(), "passes");
    };
    let hop = Hop::to_client(request.head.version, given.keep_alive);
    (written(redirect.bytes_max(), hop, |out| redirect.write(given.date.as_bytes(), out)), "")
}

/// What is written into the room that is said to be enough.
fn written(bytes_max: usize, hop: Hop, write: impl FnOnce(&mut HeadWriter<'_>)) -> String {
    let mut room = vec![0; bytes_max + Hop::BYTES_MAX];
    let mut out = HeadWriter::new(&mut room, hop);
    write(&mut out);
    let bytes = out.end().expect("room");
    text(&room[..bytes])
}

/// A head as the files write it.
fn text(head: &[u8]) -> String {
    let head = std::str::from_utf8(head).expect("text");
    let lines = head.strip_suffix("\r\n\r\n").expect("an empty line at the end");
    lines.split("\r\n").map(|line| format!("  out  {line}\n")).collect()
}

fn check(file: &str, pass: impl Fn(&Given, &[u8]) -> Told) {
    let cases = file.split("\n\n").skip(1);
    let wrong: Vec<String> = cases.filter_map(|case| difference(case.trim_end_matches('\n'), &pass)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

/// The case as it should be told, where that differs.
fn difference(case: &str, pass: impl Fn(&Given, &[u8]) -> Told) -> Option<String> {
    let mut lines = case.lines();
    let (title, with) = (lines.next()?, lines.next()?);
    let given = Given::of(with.strip_prefix("  with ").unwrap_or_else(|| panic!("{title} With what?")));
    let input: Vec<&str> = lines.filter_map(|line| line.strip_prefix("  in   ")).collect();
    let (out, then) = pass(&given, format!("{}\r\n\r\n", input.join("\r\n")).as_bytes());
    let then = if then.is_empty() { String::new() } else { format!("  then {then}\n") };
    let told: String = input.iter().map(|line| format!("  in   {line}\n")).collect();
    let told = format!("{title}\n{with}\n{told}{out}{then}");
    (told.trim_end_matches('\n') != case).then_some(told)
}

#[test]
fn requests_pass_as_told() {
    check(include_str!("../testdata/requests.txt"), request_passes);
}

#[test]
fn responses_pass_as_told() {
    check(include_str!("../testdata/responses.txt"), response_passes);
}

#[test]
fn plain_requests_are_redirected_as_told() {
    check(include_str!("../testdata/redirects.txt"), request_is_redirected);
}
