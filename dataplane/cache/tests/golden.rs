//! The rules of RFC 9111 as a table that reads as text, `testdata/rules.txt`, and how stored responses answer conditions
//! and ranges.

use weir_cache::{Asked, CacheProfile, Fit, Given, Key, Moment, Selecting, Settings, Store, Terms, Times, Validators};
use weir_wire::{
    head::{FieldTable, Limits, Method},
    http1::{Parsed, request, response},
};

const CAME: u64 = 1_000_000_000;

fn asked(profile: &CacheProfile, lines: &str) -> Option<Asked> {
    let (path, lines) = match lines.strip_prefix('?') {
        Some(query) => (format!("/?{query}"), ""),
        None => ("/".to_owned(), lines),
    };
    let lines = if lines.is_empty() { String::new() } else { format!("{}\r\n", lines.replace('|', "\r\n")) };
    let text = format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n{lines}\r\n");
    let mut table = FieldTable::new();
    let Ok(Parsed::Whole(request)) = request(text.as_bytes(), &Limits::new(0, 0, 0), &mut table) else {
        panic!("{text}")
    };
    Asked::of(profile, &request.head, || Key::of(&[b"http "], b"a.test", request.head.path, b""), false, false)
}

struct Stored {
    terms: Terms,
    selecting: Selecting,
    has_validator: bool,
}

fn profile(with: &str) -> CacheProfile {
    CacheProfile::new(Settings {
        max_bytes: 1 << 20,
        default_expire_s: 600,
        aggressive: with == "aggressive",
        heuristic: with == "heuristic_expire",
        queries: with == "query_cacheable",
        ignores_request_directives: with == "ignore_request_cache_control",
        ..Settings::default()
    })
}

fn store(store: &mut Store<Stored>, profile: &CacheProfile, by: &str, answer: &str) {
    let Some(by) = asked(profile, by) else { return };
    let text = format!("HTTP/1.1 {}\r\n\r\n", answer.replacen('|', " X\r\n", 1).replace('|', "\r\n"));
    let mut table = FieldTable::new();
    let Ok(Parsed::Whole(answer)) = response(text.as_bytes(), Method::Get, &Limits::new(0, 0, 0), &mut table) else {
        panic!("{text}")
    };
    let moment = Moment { unix_s: CAME, steady_s: 5000 };
    let Some(terms) = Terms::of(profile, &by, &answer.head, Times { asked: moment, came: moment }) else { return };
    let has_validator = answer.head.fields.find(b"etag").or(answer.head.fields.find(b"last-modified")).is_some();
    let stored = Stored { terms, selecting: by.selecting(&answer.head.fields), has_validator };
    store.put(by.key.clone(), stored, 1, None, |_| true);
}

fn outcome(store: &mut Store<Stored>, profile: &CacheProfile, later: &str, after_s: u64) -> &'static str {
    let Some(asked) = asked(profile, later) else { return "misses" };
    match store.find(&asked.key, |stored| asked.is_selected_by(&stored.selecting)) {
        None => "misses",
        Some(stored) => match asked.fit(&stored.terms, 5000 + after_s) {
            Fit::Answers => "stored",
            Fit::NeedsValidation if stored.has_validator => "asks",
            Fit::NeedsValidation => "misses",
        },
    }
}

#[test]
fn responses_are_stored_and_reused_as_the_table_says() {
    let table = include_str!("../testdata/rules.txt");
    let mut cases = 0;
    for case in table.split("\n\n").filter(|case| case.starts_with("rule:")) {
        let part = |name: &str| case.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim);
        let profile = profile(part("with:"));
        let mut objects = Store::new(1000);
        store(&mut objects, &profile, part("request:"), part("response:"));
        for line in case.lines().filter_map(|line| line.strip_prefix("after ")) {
            let (when, expected) = line.rsplit_once(": ").expect("an outcome");
            let (seconds, later) = when.split_once(" with ").unwrap_or((when, ""));
            let seconds = seconds.parse().expect("seconds");
            assert_eq!(outcome(&mut objects, &profile, later, seconds), expected, "{}: {line}", part("rule:"));
        }
        cases += 1;
    }
    assert_eq!(cases, table.matches("\nrule:").count());
}

#[test]
fn conditions_and_ranges_are_answered_from_whole_objects() {
    let profile = profile("");
    let answer = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nLast-Modified: Sun, 09 Sep 2001 01:46:40 GMT\r\n\r\n";
    let mut table = FieldTable::new();
    let Ok(Parsed::Whole(answer)) = response(answer.as_bytes(), Method::Get, &Limits::new(0, 0, 0), &mut table) else {
        panic!("a response")
    };
    for (lines, given) in [
        ("", Given::Whole),
        ("If-None-Match: \"a\"", Given::NotModified),
        ("If-None-Match: \"b\", W/\"a\"", Given::NotModified),
        ("If-None-Match: \"b\"|If-None-Match: \"a\"", Given::NotModified),
        ("If-None-Match: *", Given::NotModified),
        ("If-None-Match: \"b\"", Given::Whole),
        // RFC 9110 §13.1.3: it counts only without If-None-Match.
        ("If-None-Match: \"b\"|If-Modified-Since: Sun, 09 Sep 2001 01:46:40 GMT", Given::Whole),
        ("If-Modified-Since: Sun, 09 Sep 2001 01:46:40 GMT", Given::NotModified),
        ("If-Modified-Since: Sun, 09 Sep 2001 01:46:39 GMT", Given::Whole),
        ("If-Modified-Since: yesterday", Given::Whole),
        ("Range: bytes=2-3", Given::Part { first: 2, last: 3 }),
        ("Range: bytes=10-", Given::Unsatisfiable),
        ("Range: bytes=2-3|If-Range: \"a\"", Given::Part { first: 2, last: 3 }),
        ("Range: bytes=2-3|If-Range: \"b\"", Given::Whole),
        ("Range: bytes=2-3|If-Range: W/\"a\"", Given::Whole),
        ("Range: bytes=2-3|If-Range: Sun, 09 Sep 2001 01:46:40 GMT", Given::Part { first: 2, last: 3 }),
        ("Range: bytes=2-3|If-Range: Sun, 09 Sep 2001 01:46:41 GMT", Given::Whole),
        ("Range: bytes=2-3|If-None-Match: \"a\"", Given::NotModified),
    ] {
        let asked = asked(&profile, lines).expect("a GET");
        assert_eq!(asked.given(200, &Validators::of(&answer.head.fields), 10), given, "{lines}");
    }
}

/// Fields, with `|` between lines.
fn validators(lines: &str) -> Validators {
    let text = format!("HTTP/1.1 200 OK\r\nX: y\r\n{}\r\n\r\n", lines.replace('|', "\r\n"))
        .replace("\r\n\r\n\r\n", "\r\n\r\n");
    let mut table = FieldTable::new();
    match response(text.as_bytes(), Method::Get, &Limits::new(0, 0, 0), &mut table) {
        Ok(Parsed::Whole(answer)) => Validators::of(&answer.head.fields),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn not_modified_freshens_only_what_it_speaks_of() {
    for (stored, said, speaks) in [
        ("ETag: \"a\"", "ETag: \"a\"", true),
        ("ETag: \"a\"", "ETag: \"b\"", false),
        // A strong validator identifies what has the same one, and nothing else.
        ("ETag: W/\"a\"", "ETag: \"a\"", false),
        ("Last-Modified: A", "ETag: \"a\"|Last-Modified: A", false),
        ("ETag: \"a\"", "ETag: W/\"a\"", true),
        ("ETag: W/\"a\"", "ETag: W/\"a\"", true),
        ("ETag: W/\"a\"|Last-Modified: A", "ETag: W/\"b\"|Last-Modified: A", false),
        ("Last-Modified: A", "ETag: W/\"a\"|Last-Modified: A", true),
        ("Last-Modified: A", "ETag: W/\"a\"", false),
        ("Last-Modified: A", "Last-Modified: A", true),
        ("Last-Modified: A", "Last-Modified: B", false),
        ("ETag: \"a\"", "Last-Modified: A", false),
        ("ETag: \"a\"|Last-Modified: A", "Last-Modified: A", true),
        ("ETag: \"a\"", "", true),
    ] {
        assert_eq!(validators(said).speak_of(&validators(stored)), speaks, "{said} of {stored}");
    }
}

#[test]
fn each_demand_of_rfc_9111_names_what_shows_that_it_holds() {
    let rules = include_str!("../testdata/rules.txt");
    let tests = [
        include_str!("golden.rs"),
        include_str!("../../proxy/tests/transcripts/caching.rs"),
        include_str!("../../proxy/tests/transcripts/compression.rs"),
    ];
    let (mut demand, mut shown) = ("", true);
    for line in
        include_str!("../testdata/rfc9111.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let holds = match line.split_once(": ") {
            Some(("rule", name)) => rules.lines().any(|line| line.strip_prefix("rule: ") == Some(name)),
            Some(("test", name)) => tests.iter().any(|file| file.contains(&format!("#[test]\nfn {name}()"))),
            Some(("none", why)) => !why.is_empty(),
            _ => {
                assert!(line.starts_with('§') && shown, "{demand}: nothing shows it");
                (demand, shown) = (line, false);
                continue;
            }
        };
        assert!(holds, "{demand}: there is no {line}");
        shown = true;
    }
    assert!(shown && !demand.is_empty(), "{demand}");
}
