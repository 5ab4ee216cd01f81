//! Changes of heads, one after the other: each sees what those before it have made.

use weir_rules::{EditKind, Edits};
use weir_wire::{
    head::{Field, FieldTable, Fields, HeadSink, Limits, Method, NameSet},
    http1::{self, Parsed},
};

use EditKind::{Add, Remove, Replace};

type Change = (EditKind, &'static str, Option<&'static str>);

/// The fields that are written.
#[derive(Default)]
struct Lines(Vec<String>);

impl HeadSink for Lines {
    fn request(&mut self, _method: &[u8], _path: &[u8]) {}

    fn status(&mut self, _status: u16, _reason: &[u8]) {}

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, mut keep: impl FnMut(Field<'b>) -> bool) {
        fields.passing().filter(|&field| keep(field)).for_each(|field| self.field(field.name_text, [field.value]));
    }

    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>) {
        let value = value.into_iter().collect::<Vec<_>>().concat();
        self.0.push(format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(&value)));
    }

    fn line(&mut self, _line: &[u8]) {}
}

/// A name that begins with `cookie ` is that of a cookie.
fn edits(changes: &[Change]) -> Edits<'static> {
    let mut edits = Edits::default();
    for (kind, name, value) in changes {
        let cookie = name.strip_prefix("cookie ");
        let value = value.map(|value| value.as_bytes().to_vec());
        edits.push(*kind, cookie.is_some(), cookie.unwrap_or(name).to_owned(), value);
    }
    edits
}

fn request(fields: &str, changes: &[Change]) -> Vec<String> {
    let (text, mut table) = (format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"), FieldTable::new());
    let Ok(Parsed::Whole(request)) = http1::request(text.as_bytes(), &Limits::new(0, 0, 0), &mut table) else {
        panic!("{text}")
    };
    let (edits, mut lines) = (edits(changes), Lines::default());
    edits.write_request(&request.head.fields, &mut lines, |out| out.kept(&request.head.fields, NameSet::of(&[])));
    lines.0.retain(|line| line != "Host: a");
    lines.0
}

fn response(fields: &str, changes: &[Change]) -> Vec<String> {
    let (text, mut table) = (format!("HTTP/1.1 200 OK\r\n{fields}\r\n"), FieldTable::new());
    let limits = Limits::new(0, 0, 0);
    let Ok(Parsed::Whole(response)) = http1::response(text.as_bytes(), Method::Get, &limits, &mut table) else {
        panic!("{text}")
    };
    let (edits, mut lines) = (edits(changes), Lines::default());
    edits.write_response(&mut lines, |out| out.kept(&response.head.fields, NameSet::of(&[])));
    lines.0
}

#[test]
fn cookies_of_a_request_are_edited_as_cookies_and_as_a_field() {
    let both = "Cookie: a=1\r\nCookie: b=2\r\n";
    for (changes, expected) in [
        (&[(Add, "cookie c", Some("3"))][..], &["Cookie: a=1; b=2; c=3"][..]),
        (&[(Add, "Cookie", Some("c=3")), (Remove, "cookie c", None)], &["Cookie: a=1; b=2"]),
        (&[(Add, "cookie c", Some("3")), (Remove, "Cookie", None)], &[]),
        (&[(Remove, "Cookie", None), (Add, "cookie c", Some("3"))], &["Cookie: c=3"]),
        (&[(Add, "cookie c", Some("3")), (Replace, "Cookie", Some("d=4"))], &["Cookie: d=4"]),
        (&[(Replace, "Cookie", Some("d=4; a=5")), (Replace, "cookie d", Some("6"))], &["Cookie: a=5; d=6"]),
        (&[(Remove, "Cookie", Some("a=1")), (Add, "cookie c", Some("3"))], &["Cookie: b=2; c=3"]),
        (&[(Remove, "cookie a", None), (Remove, "cookie b", Some("2"))], &[]),
        (&[(Remove, "cookie a", Some("2"))], &["Cookie: a=1; b=2"]),
        (&[(Remove, "Cookie", Some("a=1"))], &["Cookie: b=2"]),
        (&[(Add, "Cookie", Some("c=3"))], &["Cookie: a=1", "Cookie: b=2", "Cookie: c=3"]),
    ] {
        assert_eq!(request(both, changes), expected, "{changes:?}");
    }
}

#[test]
fn cookies_of_a_response_are_edited_as_cookies_and_as_a_field() {
    let set = "Set-Cookie: a=1; Path=/\r\n";
    for (changes, expected) in [
        (&[(Add, "cookie b", Some("2; Secure"))][..], &["Set-Cookie: a=1; Path=/", "Set-Cookie: b=2; Secure"][..]),
        (&[(Add, "cookie b", Some("2")), (Remove, "Set-Cookie", None)], &[]),
        (&[(Add, "Set-Cookie", Some("b=2; Path=/")), (Remove, "cookie b", None)], &["Set-Cookie: a=1; Path=/"]),
        (
            &[(Replace, "cookie a", Some("2")), (Add, "Set-Cookie", Some("a=3"))],
            &["Set-Cookie: a=2", "Set-Cookie: a=3"],
        ),
        (&[(Add, "cookie b", Some("2")), (Replace, "Set-Cookie", Some("c=3"))], &["Set-Cookie: c=3"]),
        (&[(Remove, "cookie a", Some("2"))], &["Set-Cookie: a=1; Path=/"]),
        (&[(Remove, "cookie a", Some("1"))], &[]),
    ] {
        assert_eq!(response(set, changes), expected, "{changes:?}");
    }
}

#[test]
fn later_change_sees_an_added_field() {
    let changes =
        [(Add, "X-A", Some("2")), (Replace, "x_a", Some("3")), (Add, "X-A", Some("4")), (Remove, "X-A", Some("3"))];
    assert_eq!(request("X-A: 1\r\n", &changes), ["X-A: 4"]);
    assert_eq!(response("X-A: 1\r\n", &changes), ["X-A: 4"]);
}
