//! The rules of content codings, as a table that reads as text: `testdata/responses.txt`.

use weir_coding::{By, Change, Coded, Compression, Form, MediaTypes, Verdict};
use weir_wire::{
    head::{FieldTable, HeadSink, Limits, NameSet},
    http1::{HeadWriter, Hop, Parsed, request, response},
};

fn profile() -> Compression {
    let types = MediaTypes::of(["text/html", "application/json", "text/event-stream", "application/grpc"]);
    let mut profile = Compression::new(types, By::Filters(Vec::new()), true);
    profile.min_bytes = 128;
    profile
}

/// What the client gets, with `|` between lines.
fn client_gets(method: &str, accept: &str, says: &str, server: &str) -> String {
    let profile = profile();
    let accept = if accept == "-" { String::new() } else { format!("Accept-Encoding: {accept}\r\n") };
    let says = if says.is_empty() { String::new() } else { format!("{}\r\n", says.replace('|', "\r\n")) };
    let asked = format!("{method} / HTTP/1.1\r\nHost: a\r\n{accept}{says}\r\n");
    let (limits, mut table) = (Limits::new(0, 0, 0), FieldTable::new());
    let Ok(Parsed::Whole(asked)) = request(asked.as_bytes(), &limits, &mut table) else { panic!("{asked}") };
    let wanted = profile.wanted(&asked.head, [192, 0, 2, 1].into());
    let method = asked.head.method;

    let answered = format!("HTTP/1.1 {}\r\n\r\n", server.replace('|', "\r\n"));
    let mut table = FieldTable::new();
    let parsed = response(answered.as_bytes(), method, &limits, &mut table);
    let Ok(Parsed::Whole(answered)) = parsed else { panic!("{server}: {parsed:?}") };
    let head = &answered.head;
    let mut room = [0; 1024];
    let mut out = HeadWriter::new(&mut room, Hop::default());
    match profile.judge(head) {
        Verdict::Stays(_) => {
            out.status(head.status, head.reason);
            out.kept(&head.fields, NameSet::default());
        }
        Verdict::May => {
            let level = profile.level(wanted, || None).ok().filter(|_| Compression::has_content(head, method));
            let form = match level {
                Some((codings, _)) => Form::Coded(codings.first().expect("one")),
                None if head.status == 304 && profile.is_of_coded(wanted, head, || None) => Form::Held,
                None => Form::Plain,
            };
            let mut coded = Coded::new(&mut out, Change { is_rewritten: false, form: Some(form) });
            coded.status(head.status, head.reason);
            coded.kept(&head.fields, NameSet::default());
            coded.end();
        }
    }
    let bytes = out.end().expect("a sound case");
    let text = String::from_utf8_lossy(&room[..bytes]).into_owned();
    text.trim_end().replace("\r\n", "|").replace("HTTP/1.1 ", "")
}

#[test]
fn responses_become_what_the_table_says() {
    let table = include_str!("../testdata/responses.txt");
    let mut cases = 0;
    for case in table.split("\n\n").filter(|case| case.starts_with("rule:")) {
        let part = |name: &str| case.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let (rule, accept, server) =
            (part("rule:").expect("a sound case"), part("accept:").unwrap(), part("server:").unwrap());
        let expected = match part("client:").expect("a sound case") {
            "as the server" => server,
            other => other,
        };
        assert_eq!(
            client_gets(part("method:").unwrap_or("GET"), accept, part("says:").unwrap_or(""), server),
            expected,
            "{rule}"
        );
        cases += 1;
    }
    assert_eq!(cases, table.matches("\nrule:").count());
}

#[test]
fn filters_choose_the_level() {
    use weir_coding::{Devices, Filter, Level};
    use weir_rules::{AddressRange, Addresses};
    let clients =
        |first: [u8; 4], last: [u8; 4]| Some(Addresses::of([AddressRange { first: first.into(), last: last.into() }]));
    let devices = |text: &str| Devices::of(&[text.to_owned()]);
    let filters = vec![
        Filter { level: Level::None, negated: false, clients: clients([10, 0, 0, 0], [10, 0, 0, 9]), devices: None },
        Filter { level: Level::Aggressive, negated: false, clients: None, devices: devices("iphone") },
        Filter { level: Level::None, negated: true, clients: clients([10, 0, 0, 0], [10, 9, 9, 9]), devices: None },
    ];
    let mut profile = Compression::new(MediaTypes::of(["text/html"]), By::Filters(filters), true);
    (profile.level_normal, profile.level_aggressive) = (2, 6);
    for (client, user_agent, level) in [
        ([10, 0, 0, 9], "iPhone", None),
        ([10, 0, 1, 1], "an iPhone", Some(6)),
        ([10, 0, 1, 1], "", Some(2)),
        ([192, 0, 2, 1], "", None),
        ([192, 0, 2, 1], "IPHONE", Some(6)),
    ] {
        let asked = format!("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nUser-Agent: {user_agent}\r\n\r\n");
        let mut table = FieldTable::new();
        let Ok(Parsed::Whole(asked)) = request(asked.as_bytes(), &Limits::new(0, 0, 0), &mut table) else { panic!() };
        let wanted = profile.wanted(&asked.head, client.into());
        assert_eq!(profile.level(wanted, || None).ok().map(|found| found.1), level, "{client:?} {user_agent}");
    }
}

#[test]
fn round_trips_choose_the_level() {
    use std::time::Duration;
    let (low, high) = (Duration::from_millis(10), Duration::from_millis(200));
    let mobile = weir_coding::Devices::of(&["Android".to_owned()]).expect("a sound case");
    let mut profile = Compression::new(MediaTypes::of(["text/html"]), By::RoundTrip { low, high, mobile }, true);
    (profile.level_normal, profile.level_aggressive) = (2, 6);
    for (user_agent, took_ms, level) in [
        ("", Some(9), None),
        ("Android", Some(9), None),
        ("", Some(10), Some(2)),
        ("android", Some(10), Some(6)),
        ("", Some(200), Some(2)),
        ("", Some(201), Some(6)),
        ("", None, Some(2)),
    ] {
        let asked = format!("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nUser-Agent: {user_agent}\r\n\r\n");
        let mut table = FieldTable::new();
        let Ok(Parsed::Whole(asked)) = request(asked.as_bytes(), &Limits::new(0, 0, 0), &mut table) else { panic!() };
        let wanted = profile.wanted(&asked.head, [192, 0, 2, 1].into());
        let found = profile.level(wanted, || took_ms.map(Duration::from_millis));
        assert_eq!(found.ok().map(|found| found.1), level, "{user_agent} {took_ms:?}");
    }
}
