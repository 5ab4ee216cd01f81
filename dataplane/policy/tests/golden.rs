//! Heads in and heads out, as told in `testdata/*.txt`. A case is a sentence, `with` what, lines `in`, lines `out`, and
//! what happens `then`.

use std::net::SocketAddr;

use weir_policy::{ClientFacts, HttpProfile, HttpSettings, LastHop, OutgoingBody, Reply, Underscores, XffUpdate};
use weir_wire::http1::{FieldTable, Limits, Method, Parsed, Version, request, response};

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
    let Ok(Parsed::Whole(head)) = request(input, &Limits::new(0, 0, 0), &mut table) else { panic!("no request") };
    if profile.refuses(&head) {
        return (String::new(), "refuses");
    }
    if let Some(last) = profile.answer_as_last(&head, &client) {
        let mut out = vec![0; LastHop::BYTES_MAX];
        let written = last.write(given.keep_alive, given.date.as_bytes(), &mut out).expect("room");
        return (text(&out[..written]), "passes nothing on");
    }
    let mut out = vec![0; profile.request_bytes_max(&head)];
    let written = profile.write_request(&head, &client, &mut out).expect("room");
    (text(&out[..written]), if profile.answers_continue(&head) { "continues" } else { "" })
}

fn response_passes(given: &Given, input: &[u8]) -> Told {
    let (profile, client, mut table) = (given.profile(), given.client(), FieldTable::new());
    let Ok(Parsed::Whole(head)) = response(input, given.method, &Limits::new(0, 0, 0), &mut table) else {
        panic!("no response")
    };
    let reply =
        Reply { version: given.client_version, keep_alive: given.keep_alive, cookie: b"", date: given.date.as_bytes() };
    let mut out = vec![0; profile.response_bytes_max(&head, reply)];
    let outgoing = profile.write_response(&head, &client, reply, &mut out).expect("room");
    let then = match (outgoing.body, outgoing.keep_alive) {
        (OutgoingBody::AsReceived, true) => "goes on",
        (OutgoingBody::AsReceived, false) => "closes",
        (OutgoingBody::Unchunked, false) => "unchunks, closes",
        (OutgoingBody::Unchunked, true) => panic!("nothing ends this body"),
    };
    (text(&out[..outgoing.head_bytes]), then)
}

fn request_is_redirected(given: &Given, input: &[u8]) -> Told {
    let (profile, client, mut table) = (given.profile(), given.client(), FieldTable::new());
    let Ok(Parsed::Whole(head)) = request(input, &Limits::new(0, 0, 0), &mut table) else { panic!("no request") };
    let Some(redirect) = profile.redirect_to_https(&head, &client) else { return (String::new(), "passes") };
    let mut out = vec![0; redirect.bytes_max()];
    let written = redirect.write(given.keep_alive, given.date.as_bytes(), &mut out).expect("room");
    (text(&out[..written]), "")
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
