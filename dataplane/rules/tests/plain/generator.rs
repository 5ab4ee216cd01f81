//! Random rules, and requests and responses that are like what the rules compare.

use std::net::IpAddr;

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select},
};

use crate::words::{
    Addresses, Case, Condition, Criterion, END, Edit, HttpVersion, Numbers, OfRequest, OfResponse, Request, Response,
    Rule, Security, Set, StringGroup, Text, Then, Token, Url, Value, What,
};

pub fn case() -> impl Strategy<Value = Case> {
    (vec(set(), 1..3), vec((request(), response()), 1..10)).prop_map(|(sets, exchanges)| Case { sets, exchanges })
}

fn set() -> impl Strategy<Value = Set> {
    let requests = prop_oneof![
        3 => vec(rule(asking(), of_request()), 0..8),
        1 => vec(rule(asking(), of_request()), 5..24),
    ];
    (vec(rule(asking(), security()), 0..4), requests, vec(rule(answering(), of_response()), 0..7))
        .prop_map(|(security, requests, responses)| Set { security, requests, responses })
}

fn rule<A: std::fmt::Debug>(
    condition: impl Strategy<Value = Condition>,
    does: impl Strategy<Value = A>,
) -> impl Strategy<Value = Rule<A>> {
    let seldom = || prop::bool::weighted(0.1);
    (vec(condition, 0..4), seldom(), seldom(), does).prop_map(|(conditions, log, all_headers, does)| Rule {
        conditions,
        log,
        all_headers,
        does,
    })
}

fn asking() -> BoxedStrategy<Condition> {
    let methods = || vec(select(vec!["GET", "POST", "PROPFIND", "OPTIONS"]).prop_map(str::to_owned), 1..3);
    let versions = || vec(version(), 1..3);
    let cookie = || select(vec!["s", "S", "t"]).prop_map(str::to_owned);
    prop_oneof![
        2 => addresses().prop_map(Condition::ClientIp),
        1 => addresses().prop_map(Condition::SourceIp),
        1 => numbers(vec![80, 443, 8080]).prop_map(Condition::VsPort),
        1 => any::<bool>().prop_map(Condition::Https),
        1 => (any::<bool>(), methods()).prop_map(|(not, methods)| Condition::Method { not, methods }),
        1 => (any::<bool>(), versions()).prop_map(|(not, versions)| Condition::Version { not, versions }),
        9 => text(word(), true, true).prop_map(Condition::Path),
        3 => text(word(), true, true).prop_map(Condition::Query),
        5 => text(host_value(), false, false).prop_map(Condition::Host),
        2 => (field_name(), text(word(), false, false)).prop_map(|(name, text)| Condition::Header(name, text)),
        1 => (Just("Host".to_owned()), text(host_value(), false, false))
            .prop_map(|(name, text)| Condition::Header(name, text)),
        2 => (cookie(), text(word(), false, false)).prop_map(|(name, text)| Condition::Cookie(name, text)),
    ]
    .boxed()
}

/// Of responses.
fn answering() -> BoxedStrategy<Condition> {
    let name = || prop_oneof![field_name(), Just("Set-Cookie".to_owned())];
    prop_oneof![
        3 => asking(),
        2 => numbers(vec![200, 302, 404, 599]).prop_map(Condition::Status),
        1 => text(location_part(), false, false).prop_map(Condition::Location),
        1 => (name(), text(word(), false, false)).prop_map(|(name, text)| Condition::ResponseHeader(name, text)),
    ]
    .boxed()
}

fn location_part() -> BoxedStrategy<String> {
    select(vec!["http", "a.test", "/x", "https://a.test", "", "/"]).prop_map(str::to_owned).boxed()
}

pub fn address() -> impl Strategy<Value = IpAddr> {
    let of = |last: u8| {
        [format!("10.0.0.{last}"), format!("2001:db8::{last}"), format!("::ffff:10.0.0.{last}")]
            .map(|text| text.parse::<IpAddr>().expect("an address"))
    };
    (0_u8..8, prop_oneof![4 => Just(0), 2 => Just(1), 1 => Just(2)]).prop_map(move |(last, kind)| of(last)[kind])
}

/// The first and the last address are of one family.
fn range() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    (address(), address()).prop_map(|(one, other)| match one.is_ipv4() == other.is_ipv4() {
        true if one.to_canonical().is_ipv4() == other.to_canonical().is_ipv4() => (one.min(other), one.max(other)),
        _ => (one, one),
    })
}

pub fn addresses() -> impl Strategy<Value = Addresses> {
    (any::<bool>(), vec(range(), 0..3), vec(vec(range(), 0..3), 0..3)).prop_map(|(not, ranges, groups)| Addresses {
        not,
        ranges,
        groups,
    })
}

pub fn numbers(among: Vec<u32>) -> impl Strategy<Value = Numbers> {
    let range = (select(among.clone()), select(among)).prop_map(|(one, other)| (one.min(other), one.max(other)));
    (any::<bool>(), vec(range, 1..3)).prop_map(|(not, ranges)| Numbers { not, ranges })
}

fn version() -> impl Strategy<Value = HttpVersion> {
    select(vec![HttpVersion::Http09, HttpVersion::Http10, HttpVersion::Http11, HttpVersion::Http2])
}

fn word() -> BoxedStrategy<String> {
    let words = vec![
        "/", "/a", "/A", "/a/b", "/a/b/c", "a", "b", "/ab", "%2f", "%61", "/a%2Fb", "x=1", "x", "=", "a.test", "B",
        "..", "\u{e9}", "%", "1",
    ];
    prop_oneof![8 => select(words), 1 => Just("")].prop_map(str::to_owned).boxed()
}

fn host_value() -> BoxedStrategy<String> {
    let hosts = vec![
        "a.test",
        "A.test",
        "b.test",
        "a.test:8080",
        "a.test.",
        "a.test.:8080",
        "w.a.test",
        "[::1]:80",
        "[::1]",
        "a.",
        ":8080",
        "8080",
        ".test",
        "test:8080",
        "test.",
        "192.0.2.1",
        "::1",
        "a",
    ];
    select(hosts).prop_map(str::to_owned).boxed()
}

fn expression() -> BoxedStrategy<String> {
    let patterns = vec![
        "^/([a-z]*)/(.*)$",
        "(a)|(b)",
        "([^/]+)$",
        "x=(.)",
        "b|^/a",
        "%(..)",
        "^.(.)",
        "/",
        "A+",
        "(a)(/)?",
        "^$",
        "..",
    ];
    select(patterns).prop_map(str::to_owned).boxed()
}

fn escaped(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_alphanumeric() { vec![c] } else { vec!['\\', c] }).collect()
}

/// Values, or expressions made of them.
fn text(of: BoxedStrategy<String>, may_have_groups: bool, may_be_decoded: bool) -> BoxedStrategy<Text> {
    use Criterion::*;
    let criterion = prop_oneof![
        2 => Just(Equals), 3 => Just(BeginsWith), 2 => Just(EndsWith), 2 => Just(Contains), 1 => Just(Exists),
        3 => Just(Regex),
    ];
    let texts = prop_oneof![12 => vec(of.clone(), 1..4), 1 => vec(of.clone(), 17..19)];
    let groups = prop_oneof![3 => Just(Vec::new()), 1 => vec(string_group(of), 1..3)];
    let groups = groups.prop_map(move |groups| if may_have_groups { groups } else { Vec::new() });
    let flags = (prop::bool::weighted(0.3), any::<bool>(), any::<bool>());
    (criterion, texts, vec(expression(), 0..3), groups, flags, any::<Index>())
        .prop_map(move |(criterion, texts, expressions, mut groups, (not, case_counts, decoded), some)| {
            let as_expression = |text: &String| format!("^{}.?$", escaped(text));
            let mut values = match criterion {
                Exists => Vec::new(),
                Regex => expressions.into_iter().chain(texts.iter().take(2).map(as_expression)).collect(),
                _ => texts,
            };
            if criterion == Exists {
                groups.clear();
            }
            if criterion == Regex {
                let keys = groups.iter_mut().flat_map(|group| &mut group.pairs);
                keys.for_each(|pair| pair.0 = escaped(&pair.0));
            }
            if !groups.is_empty() && some.index(2) == 0 {
                values.clear();
            }
            Text { not, criterion, values, groups, case_counts, decoded: decoded && may_be_decoded }
        })
        .boxed()
}

fn string_group(key: BoxedStrategy<String>) -> impl Strategy<Value = StringGroup> {
    let value = select(vec!["one", "/two", "3 4", "%2F", "\u{e9}", "b.test", "a/b"]).prop_map(str::to_owned);
    (vec((key, value), 0..5), any::<bool>()).prop_map(|(pairs, longest_match)| {
        let mut unique: Vec<(String, String)> = Vec::new();
        for pair in pairs {
            if !unique.iter().any(|known| known.0 == pair.0) {
                unique.push(pair);
            }
        }
        StringGroup { pairs: unique, longest_match }
    })
}

fn security() -> BoxedStrategy<Security> {
    prop_oneof![
        4 => Just(Security::Allow),
        1 => any::<bool>().prop_map(|reset| Security::Close { reset }),
        1 => select(vec![403, 404]).prop_map(Security::Respond),
        1 => select(vec![443, 8443]).prop_map(Security::ToHttps),
    ]
    .boxed()
}

fn of_request() -> BoxedStrategy<OfRequest> {
    let then = prop_oneof![
        4 => Just(Then::GoOn),
        4 => (0_u32..4, option::of(Just("server".to_owned()))).prop_map(|(pool, server)| Then::Pool(pool, server)),
        1 => select(vec![200, 503]).prop_map(Then::Respond),
        1 => (select(vec![301, 302, 307]), url(any_token())).prop_map(|(status, url)| Then::Redirect(status, url)),
    ];
    let edits = prop_oneof![2 => Just(Vec::new()), 1 => vec(edit(), 1..4)];
    (edits, option::weighted(0.3, url(any_token())), then)
        .prop_map(|(edits, rewrite, then)| OfRequest { edits, rewrite, then })
        .boxed()
}

fn of_response() -> BoxedStrategy<OfResponse> {
    (vec(edit(), 0..3), option::weighted(0.3, url(location_token())))
        .prop_map(|(edits, location)| OfResponse { edits, location })
        .boxed()
}

fn url(token: BoxedStrategy<Token>) -> impl Strategy<Value = Url> {
    let host = prop_oneof![2 => Just(Vec::new()), 1 => vec(token.clone(), 1..4)];
    let path = prop_oneof![1 => Just(Vec::new()), 3 => vec(token, 1..4)];
    let add = select(vec!["", "k=v", "k%20"]).prop_map(str::to_owned);
    let port = option::of(select(vec![80_u16, 443, 8443]));
    (any::<bool>(), port, host, path, any::<bool>(), add).prop_map(|(https, port, host, path, keep_query, add)| Url {
        https,
        port,
        host,
        path,
        keep_query,
        add,
    })
}

/// The first and the last place.
fn places() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![
        2 => (0_u32..3).prop_map(|place| (place, place)),
        1 => (0_u32..3, 0_u32..3).prop_map(|(one, other)| (one.min(other), one.max(other))),
        2 => (0_u32..3).prop_map(|place| (place, END)),
    ]
}

fn location_token() -> BoxedStrategy<Token> {
    let text = select(vec!["new", "/new/", "b c", "b.test", "", "%41"]).prop_map(str::to_owned);
    prop_oneof![
        text.prop_map(Token::Text),
        places().prop_map(|(first, last)| Token::Host(first, last)),
        places().prop_map(|(first, last)| Token::Path(first, last)),
    ]
    .boxed()
}

fn any_token() -> BoxedStrategy<Token> {
    prop_oneof![
        6 => location_token(),
        1 => Just(Token::GroupValue),
        2 => places().prop_map(|(first, last)| Token::FoundInPath(first, last)),
        1 => places().prop_map(|(first, last)| Token::FoundInQuery(first, last)),
    ]
    .boxed()
}

/// `X_A` and `X-A` are the same for servers that have CGI.
fn field_name() -> impl Strategy<Value = String> {
    select(vec!["X-A", "x-b", "X_A", "Accept", "Cookie"]).prop_map(str::to_owned)
}

fn edit() -> impl Strategy<Value = Edit> {
    let what = select(vec![What::Add, What::Remove, What::Replace]);
    let field = prop_oneof![
        5 => field_name(),
        1 => select(vec!["Set-Cookie", "Location"]).prop_map(str::to_owned),
    ];
    let name = prop_oneof![
        3 => field.prop_map(|name| (false, name)),
        2 => select(vec!["s", "t"]).prop_map(|name| (true, name.to_owned())),
    ];
    let value = prop_oneof![
        6 => select(vec!["1", "2", "s=1", "t=2; s=3"]).prop_map(|text| Value::Text(text.to_owned())),
        1 => Just(Value::ClientIp),
        1 => Just(Value::SourceIp),
        1 => Just(Value::VsIp),
        1 => Just(Value::VsPort),
        1 => select(vec!["X-A", "x-b", "Location", "host"]).prop_map(|name| Value::Header(name.to_owned())),
        1 => select(vec![Value::TlsProtocol, Value::TlsCipher, Value::TlsServerName]),
    ];
    (what, name, option::of(value), Just(Value::Text("1".to_owned()))).prop_map(
        |(what, (of_cookie, name), value, usual)| {
            let value = if what == What::Remove { value } else { value.or(Some(usual)) };
            // No cookie has a semicolon in its value: what is behind it is another one.
            let is_two = |value: &Value| matches!(value, Value::Text(text) if text.contains(';'));
            let value = value.map(|value| if of_cookie && is_two(&value) { Value::Text("3".into()) } else { value });
            Edit { what, name, of_cookie, value }
        },
    )
}

fn path() -> impl Strategy<Value = String> {
    let parts = vec!["/", "a", "A", "b", "c", "%2f", "%61", "%2561", "%", "..", "%C3%A9", "%0a", "x=1"];
    vec(select(parts), 0..6).prop_map(|parts| format!("/{}", parts.concat()))
}

fn fields(names: Vec<&'static str>) -> impl Strategy<Value = Vec<(String, String)>> {
    let value = prop_oneof![3 => select(vec!["1", "2", "s=1"]).prop_map(str::to_owned), 1 => word()];
    vec((select(names), value), 0..4)
        .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn request() -> impl Strategy<Value = Request> {
    let cookies = vec(select(vec!["s=/a", "t=b; s=x=1", "s", "S=/a; t=", "s=1;t = 2", "=x; s=1"]), 0..3);
    let hosts = || {
        let hosts = ["a.test", "A.test", "b.test", "a.test:8080", "w.a.test.", "a.test.:8080", "[::1]:80", "192.0.2.1"];
        select(hosts.map(str::to_owned).to_vec())
    };
    let methods = select(vec!["GET", "POST", "PROPFIND"]);
    let query = option::of(prop_oneof![word().prop_filter("ASCII", |text| text.is_ascii()), path()]);
    let absolute = prop_oneof![5 => Just(None), 1 => (hosts(), any::<bool>()).prop_map(Some)];
    let host = prop_oneof![6 => hosts().prop_map(Some), 1 => Just(None)];
    let versions = select(vec![HttpVersion::Http10, HttpVersion::Http11, HttpVersion::Http11, HttpVersion::Http2]);
    let listener = (address(), select(vec![80_u16, 443, 8080]));
    let tls = option::of(select(vec!["a.test", "b.test"]).prop_map(str::to_owned));
    let has_token = prop::bool::weighted(0.9);
    (
        (methods, prop_oneof![12 => path(), 1 => Just("*".to_owned())], query, absolute),
        (versions, host, fields(vec!["x-a", "X-B", "accept", "X_A"]), cookies),
        (address(), address(), listener, tls, has_token),
    )
        .prop_map(
            |(
                (method, path, query, absolute),
                (version, host_field, mut fields, cookies),
                (client, source, listener, tls, has_token),
            )| {
                fields.extend(cookies.into_iter().map(|text| ("Cookie".to_owned(), text.to_owned())));
                let no_host = || (version != HttpVersion::Http10).then(|| "a.test".to_owned());
                let is_star = path == "*";
                let absolute = absolute.filter(|_| !is_star);
                let path = if absolute.as_ref().is_some_and(|(_, bare)| *bare) { String::new() } else { path };
                Request {
                    method: if is_star { "OPTIONS" } else { method }.to_owned(),
                    absolute: absolute.map(|(host, _)| host),
                    path,
                    query: query.filter(|_| !is_star),
                    version,
                    host_field: host_field.or_else(no_host),
                    fields,
                    client,
                    source,
                    listener: listener.into(),
                    tls,
                    has_token,
                }
            },
        )
}

fn response() -> impl Strategy<Value = Response> {
    let locations = vec![
        "http://a.test/x/y?q=1",
        "HTTPS://w.a.test:8443/",
        "/x",
        "//b.test/x",
        "http://b.test",
        "http://b.test?q",
        "http://u:p@A.test./p%20q",
        "ftp://a.test/x",
        "http://[::1]/x",
        "https://192.0.2.1:80/a/b",
        "http:/x",
    ];
    let location = option::of(select(locations).prop_map(|text| ("Location".to_owned(), text.to_owned())));
    let cookies = vec(select(vec!["s=1; Path=/", "t=2", "S=1", "s"]), 0..3);
    (select(vec![200, 204, 302, 404, 500, 599]), fields(vec!["x-a", "X-B", "Accept", "X_A"]), location, cookies)
        .prop_map(|(status, mut fields, location, cookies)| {
            fields.extend(location);
            fields.extend(cookies.into_iter().map(|text| ("Set-Cookie".to_owned(), text.to_owned())));
            Response { status, fields }
        })
}
