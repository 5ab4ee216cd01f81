//! Compiled rules decide as a plain reading of them does: rule after rule, value after value, on texts that are copied
//! and changed as the words of the conditions say.

use std::{net::IpAddr, sync::Arc};

use proptest::{prelude::*, test_runner::TestRunner};
use weir_rate::Moment;
use weir_rules::{
    AddressMatch, AddressRange, Addresses, Asked, Condition, Criterion, FieldMatch, HostRule, HttpVersion, Judged,
    NameMatch, NumberMatch, Origin, Policies, PolicySet, RequestAction, Rule, Scratch, StringGroup, TextMatch,
    TextRule, Then, TlsFacts, Verdict, VersionMatch,
};
use weir_wire::{
    head::{FieldTable, Limits, RequestHead},
    http1::{Parsed, request},
};

/// A condition in words.
#[derive(Clone, Debug)]
enum Said {
    Client(bool, Vec<(u8, u8)>),
    Port(bool, u16),
    Tls(bool),
    Method(bool, String),
    Version(bool, bool),
    Path(Text),
    Query(Text),
    Host(Text),
    Field(String, Text),
    Cookie(String, Text),
}

#[derive(Clone, Debug)]
struct Text {
    criterion: Criterion,
    negated: bool,
    values: Vec<String>,
    keys: Vec<String>,
    case_sensitive: bool,
    decoded: bool,
}

#[derive(Clone, Debug)]
struct Request {
    method: String,
    path: String,
    query: Option<String>,
    host: String,
    fields: Vec<(String, String)>,
    client: u8,
    port: u16,
    tls: bool,
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["/", "/a", "/A", "/a/b", "a", "b", "/ab", "%2f", "%61", "/a%2Fb", "x=1", "a.test", "B"]),
        1 => Just(""),
    ]
    .prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["/", "a", "A", "b", "%2f", "%61", "%2561", "%", ".."]), 0..6)
        .prop_map(|parts| format!("/{}", parts.concat()))
}

fn host() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a.test", "A.test", "b.test", "a.test:8080", "w.a.test", "[::1]:80", "[::1]"])
        .prop_map(str::to_owned)
}

fn text(of: BoxedStrategy<String>, may_have_keys: bool) -> impl Strategy<Value = Text> {
    let criterion = prop::sample::select(vec![
        Criterion::Equals,
        Criterion::BeginsWith,
        Criterion::EndsWith,
        Criterion::Contains,
        Criterion::Exists,
        Criterion::Regex,
    ]);
    let keys = prop::collection::vec(of.clone(), 0..if may_have_keys { 4 } else { 1 });
    (criterion, any::<bool>(), prop::collection::vec(of, 1..4), keys, any::<bool>(), any::<bool>()).prop_map(
        |(criterion, negated, values, keys, case_sensitive, decoded)| {
            let escaped = |all: Vec<String>| match criterion {
                Criterion::Exists => Vec::new(),
                Criterion::Regex => all.iter().map(|text| format!("^{}.?$", escape(text))).collect(),
                _ => all,
            };
            let (values, keys) = (escaped(values), escaped(keys));
            Text { criterion, negated, values, keys, case_sensitive, decoded }
        },
    )
}

fn escape(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_alphanumeric() { vec![c] } else { vec!['\\', c] }).collect()
}

fn said() -> impl Strategy<Value = Said> {
    let names = || prop::sample::select(vec!["X-A", "x-b", "Accept"]).prop_map(str::to_owned);
    prop_oneof![
        1 => (any::<bool>(), prop::collection::vec((0_u8..8, 0_u8..8), 1..3)).prop_map(|(n, all)| Said::Client(n, all)),
        1 => (any::<bool>(), prop::sample::select(vec![80_u16, 443])).prop_map(|(n, port)| Said::Port(n, port)),
        1 => any::<bool>().prop_map(Said::Tls),
        1 => (any::<bool>(), prop::sample::select(vec!["GET", "POST", "PROPFIND"]))
            .prop_map(|(n, method)| Said::Method(n, method.to_owned())),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(n, old)| Said::Version(n, old)),
        6 => text(word().boxed(), true).prop_map(Said::Path),
        2 => text(word().boxed(), true).prop_map(Said::Query),
        4 => text(host().boxed(), false).prop_map(|text| Said::Host(Text { keys: Vec::new(), ..text })),
        2 => (names(), text(word().boxed(), false))
            .prop_map(|(name, text)| Said::Field(name, Text { keys: Vec::new(), decoded: false, ..text })),
        1 => (prop::sample::select(vec!["s", "t"]), text(word().boxed(), false))
            .prop_map(|(name, text)| Said::Cookie(name.to_owned(), Text { keys: Vec::new(), decoded: false, ..text })),
    ]
}

fn asked() -> impl Strategy<Value = Request> {
    let field = (prop::sample::select(vec!["x-a", "X-B", "accept"]), word());
    let cookies = prop::option::of(prop::sample::select(vec!["s=/a", "t=b; s=x=1", "s", "S=/a; t="]));
    (
        prop::sample::select(vec!["GET", "POST", "PROPFIND"]),
        path(),
        prop::option::of(word()),
        host(),
        prop::collection::vec(field, 0..3),
        cookies,
        (0_u8..8, prop::sample::select(vec![80_u16, 443]), any::<bool>()),
    )
        .prop_map(|(method, path, query, host, fields, cookies, (client, port, tls))| {
            let mut fields: Vec<(String, String)> =
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            fields.extend(cookies.map(|text| ("Cookie".to_owned(), text.to_owned())));
            Request { method: method.to_owned(), path, query, host, fields, client, port, tls }
        })
}

impl Text {
    fn compiled(&self) -> TextMatch {
        let pairs = self.keys.iter().map(|key| (key.clone(), String::new())).collect();
        let group = StringGroup::new("stringgroup-1".into(), "g".into(), pairs, false);
        TextMatch {
            criterion: self.criterion,
            negated: self.negated,
            values: self.values.clone(),
            groups: if self.keys.is_empty() { Vec::new() } else { vec![Arc::new(group)] },
            case_sensitive: self.case_sensitive,
            decoded: self.decoded,
        }
    }

    fn found(&self, text: &str) -> bool {
        let text = if self.decoded { decoded(text) } else { text.as_bytes().to_vec() };
        let in_case = |text: &[u8]| if self.case_sensitive { text.to_vec() } else { text.to_ascii_lowercase() };
        let mut all = self.values.iter().chain(&self.keys);
        match self.criterion {
            Criterion::Exists => true,
            Criterion::Regex => all.any(|pattern| {
                let flags = if self.case_sensitive { "(?s-u)" } else { "(?si-u)" };
                let syntax = regex_automata::util::syntax::Config::new().utf8(false);
                let pattern = format!("{flags}{pattern}");
                regex_automata::meta::Regex::builder().syntax(syntax).build(&pattern).expect("sound").is_match(&text)
            }),
            criterion => {
                let text = in_case(&text);
                all.map(|value| in_case(value.as_bytes())).any(|value| match criterion {
                    Criterion::Equals => text == value,
                    Criterion::BeginsWith => text.starts_with(&value),
                    Criterion::EndsWith => text.ends_with(&value),
                    _ => value.is_empty() || text.windows(value.len()).any(|part| part == value),
                })
            }
        }
    }
}

fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(code.unwrap_or(*first));
        rest = &tail[if code.is_some() { 2 } else { 0 }..];
    }
    out
}

impl Said {
    fn compiled(&self) -> Condition {
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        match self.clone() {
            Said::Client(negated, ranges) => {
                let ranges = ranges.iter().map(|(one, other)| AddressRange {
                    first: address(*one.min(other)),
                    last: address(*one.max(other)),
                });
                Condition::Client(AddressMatch::new(negated, Addresses::of(ranges), Vec::new()))
            }
            Said::Port(negated, port) => {
                Condition::ListenerPort(NumberMatch { negated, ranges: vec![port.into()..=port.into()] })
            }
            Said::Tls(tls) => Condition::Tls(tls),
            Said::Method(negated, name) => Condition::Method(NameMatch { negated, names: vec![name] }),
            Said::Version(negated, old) => {
                let version = if old { HttpVersion::Http10 } else { HttpVersion::Http11 };
                Condition::Version(VersionMatch { negated, versions: vec![version] })
            }
            Said::Path(text) => Condition::Path(TextRule::compile(&text.compiled()).expect("sound")),
            Said::Query(text) => Condition::Query(TextRule::compile(&text.compiled()).expect("sound")),
            Said::Host(text) => Condition::Host(HostRule::compile(&text.compiled()).expect("sound")),
            Said::Field(name, text) => {
                Condition::Field(FieldMatch { name, value: TextRule::compile(&text.compiled()).expect("sound") })
            }
            Said::Cookie(name, text) => {
                Condition::Cookie(FieldMatch { name, value: TextRule::compile(&text.compiled()).expect("sound") })
            }
        }
    }

    fn holds(&self, request: &Request) -> bool {
        match self {
            Said::Client(negated, ranges) => {
                let inside = |(one, other): &(u8, u8)| (*one.min(other)..=*one.max(other)).contains(&request.client);
                ranges.iter().any(inside) != *negated
            }
            Said::Port(negated, port) => (*port == request.port) != *negated,
            Said::Tls(tls) => request.tls == *tls,
            Said::Method(negated, name) => (*name == request.method) != *negated,
            Said::Version(negated, old) => *old == *negated,
            Said::Path(text) => text.found(&request.path) != text.negated,
            Said::Query(text) => request.query.as_ref().is_some_and(|query| text.found(query)) != text.negated,
            Said::Host(text) => {
                let bare = match request.host.strip_prefix('[') {
                    Some(rest) => format!("[{}", &rest[..=rest.find(']').expect("sound")]),
                    None => request.host.split(':').next().expect("sound").to_owned(),
                };
                let is_literal = !matches!(text.criterion, Criterion::Exists | Criterion::Regex);
                let one = |value: &String| {
                    let has_port = value.contains("]:") || !value.starts_with('[') && value.contains(':');
                    let of = Text { values: vec![value.clone()], decoded: text.decoded, ..text.clone() };
                    Text { decoded: false, ..of }.found(if has_port && is_literal { &request.host } else { &bare })
                };
                (text.criterion == Criterion::Exists || text.values.iter().any(one)) != text.negated
            }
            Said::Field(name, text) => {
                let lines = request.fields.iter().filter(|field| field.0.eq_ignore_ascii_case(name));
                lines.clone().any(|field| text.found(field.1.trim())) != text.negated
            }
            Said::Cookie(name, text) => {
                let cookies = request.fields.iter().filter(|field| field.0 == "Cookie");
                let pairs = cookies.flat_map(|field| field.1.split(';')).filter_map(|pair| pair.split_once('='));
                let mut values = pairs.filter(|pair| pair.0.trim() == name).map(|pair| pair.1.trim().to_owned());
                values.any(|value| text.found(&value)) != text.negated
            }
        }
    }
}

/// How many pairs of rules and requests are tried; `WEIR_RULES_CASES` says another number.
fn cases() -> u32 {
    std::env::var("WEIR_RULES_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

#[test]
fn compiled_rules_decide_as_a_plain_reading_does() {
    let rules = prop::collection::vec(prop::collection::vec(said(), 0..4), 0..24);
    let config = ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() };
    let mut scratch = Scratch::default();
    let run = |(rules, asked): (Vec<Vec<Said>>, Vec<Request>)| {
        let compiled = rules.iter().enumerate().map(|(at, conditions)| Rule {
            name: at.to_string(),
            conditions: conditions.iter().map(Said::compiled).collect(),
            log: false,
            all_headers: false,
            action: RequestAction { then: Then::Pool { pool: at as u32, server: None }, ..RequestAction::default() },
        });
        let set = PolicySet::compile(String::new(), String::new(), Vec::new(), compiled.collect(), Vec::new());
        let policies = Policies::of(vec![Arc::new(set)], Vec::new(), None);
        for asked in &asked {
            let first = rules.iter().position(|conditions| conditions.iter().all(|said| said.holds(asked)));
            let chosen = with_head(asked, |head| {
                let mut judged = Judged::default();
                policies.judge(&of(asked, head), &mut scratch, Moment::counting(0), &mut |_| true, &mut judged);
                assert!(matches!(judged.verdict, Verdict::Pass));
                judged.pool.map(|choice| choice.pool as usize)
            });
            prop_assert_eq!(chosen, first, "{:?}", asked);
        }
        Ok(())
    };
    let strategy = (rules, prop::collection::vec(asked(), 1..8));
    let mut runner = TestRunner::new(config);
    let scratch_run = std::cell::RefCell::new(run);
    runner.run(&strategy, |input| (scratch_run.borrow_mut())(input)).expect("sound");
}

fn of<'r>(request: &Request, head: &'r RequestHead<'r>) -> Asked<'r> {
    let client = IpAddr::from([10, 0, 0, request.client]);
    let tls = request.tls.then_some(TlsFacts { version: "TLS 1.3", cipher: "", server_name: None, certificate: None });
    let from = Origin { client, source: client, listener: ([192, 0, 2, 1], request.port).into(), tls };
    Asked { head, version: HttpVersion::Http11, from }
}

fn with_head<T>(asked: &Request, look: impl FnOnce(&RequestHead<'_>) -> T) -> T {
    let query = asked.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    let fields: String = asked.fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let text = format!("{} {}{query} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", asked.method, asked.path, asked.host);
    match request(text.as_bytes(), &Limits::new(0, 0, 0), &mut FieldTable::new()) {
        Ok(Parsed::Whole(request)) => look(&request.head),
        other => panic!("{other:?}: {text}"),
    }
}
