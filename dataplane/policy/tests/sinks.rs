//! A profile writes the same head to any sink: nothing of the protocol that the head came by is left in it.

use weir_policy::{ClientFacts, HttpProfile, HttpSettings, Reply, Underscores};
use weir_wire::{
    head::{Field, FieldTable, Fields, HeadSink, Limits, Method},
    http1::{Parsed, request, response},
};

/// A sink of pairs, as a protocol without lines has it.
#[derive(Default)]
struct Pairs(Vec<String>);

impl Pairs {
    fn push(&mut self, name: &[u8], value: &[u8]) {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        self.0.push(format!("{}={}", text(name).to_lowercase(), text(value)));
    }
}

impl HeadSink for Pairs {
    fn request(&mut self, method: &[u8], path: &[u8]) {
        self.push(b":method", method);
        self.push(b":path", path);
    }

    fn status(&mut self, status: u16, _: &[u8]) {
        self.push(b":status", status.to_string().as_bytes());
    }

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, mut keep: impl FnMut(Field<'b>) -> bool) {
        for field in fields.passing().filter(|&field| keep(field)) {
            self.push(field.name_text, field.value);
        }
    }

    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8]>) {
        self.push(name, &value.into_iter().collect::<Vec<_>>().concat());
    }

    fn line(&mut self, line: &[u8]) {
        let text = std::str::from_utf8(line).expect("text");
        if let Some((name, value)) = text.trim_end().split_once(": ") {
            self.push(name.as_bytes(), value.as_bytes());
        }
    }
}

fn profile() -> HttpProfile {
    let settings = HttpSettings {
        xff: true,
        x_forwarded_proto: true,
        hsts: true,
        hsts_max_age_s: 1,
        secure_cookies: true,
        underscores: Underscores::Drop,
        ..HttpSettings::default()
    };
    HttpProfile::compile(&settings).expect("a profile")
}

fn client() -> ClientFacts {
    ClientFacts::new(([198, 51, 100, 7], 50000).into(), ([203, 0, 113, 1], 443).into(), true)
}

#[test]
fn request_has_nothing_of_its_connection() {
    let input = b"POST /a HTTP/1.1\r\nHost: b\r\nConnection: X-Hop, close\r\nX-Hop: c\r\nX_d: e\r\nTE: trailers\r\n\
        Transfer-Encoding: chunked\r\nAccept: f\r\n\r\n";
    let mut table = FieldTable::new();
    let Ok(Parsed::Whole(request)) = request(input, &Limits::new(0, 0, 0), &mut table) else { panic!("no request") };
    let mut pairs = Pairs::default();
    profile().write_request(&request.head, &client(), None, &mut pairs);
    let expected = [":method=POST", ":path=/a", "host=b", "accept=f"];
    assert_eq!(pairs.0, [&expected[..], &["x-forwarded-for=198.51.100.7", "x-forwarded-proto=https"]].concat());
}

#[test]
fn response_has_nothing_of_its_connection() {
    let input = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nSet-Cookie: a=b\r\n\
        Transfer-Encoding: chunked\r\nVary: c\r\n\r\n";
    let mut table = FieldTable::new();
    let limits = Limits::new(0, 0, 0);
    let Ok(Parsed::Whole(response)) = response(input, Method::Get, &limits, &mut table) else { panic!("no response") };
    let mut pairs = Pairs::default();
    let reply = Reply { cookie: b"", date: b"Date: now\r\n" };
    profile().write_response(&response.head, &client(), reply, &mut pairs);
    let expected =
        [":status=200", "vary=c", "set-cookie=a=b; Secure", "strict-transport-security=max-age=1", "date=now"];
    assert_eq!(pairs.0, expected);
}
