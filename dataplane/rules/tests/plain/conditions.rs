//! Whether conditions hold: one function for each, which reads as the rule book does.

use std::{cell::RefCell, collections::HashMap, net::IpAddr, rc::Rc};

use regex_automata::{meta::Regex, util::syntax};

use crate::words::{Addresses, Condition, Criterion, Numbers, Request, Response, StringGroup, Text};

/// All conditions must hold. Those of the response are left out where there is none yet.
pub fn hold(conditions: &[Condition], request: &Request, response: Option<&Response>) -> bool {
    conditions.iter().all(|condition| match condition {
        Condition::ClientIp(addresses) => is_in(addresses, request.client),
        Condition::SourceIp(addresses) => is_in(addresses, request.source),
        Condition::VsPort(numbers) => is_among(numbers, request.listener.port().into()),
        Condition::Https(https) => *https == request.tls.is_some(),
        Condition::Method { not, methods } => methods.contains(&request.method) != *not,
        Condition::Version { not, versions } => versions.contains(&request.version) != *not,
        Condition::Path(text) => one_fits(text, &[path(request)]),
        Condition::Query(text) => one_fits(text, request.query.as_slice()),
        Condition::Host(text) => host_fits(text, request),
        Condition::Header(name, text) => one_fits(text, &header(name, request)),
        Condition::Cookie(name, text) => one_fits(text, &cookie(name, request)),
        Condition::Status(numbers) => response.is_none_or(|response| is_among(numbers, response.status.into())),
        Condition::Location(text) => {
            response.is_none_or(|response| one_fits(text, &fields("Location", &response.fields)))
        }
        Condition::ResponseHeader(name, text) => {
            response.is_none_or(|response| one_fits(text, &fields(name, &response.fields)))
        }
    })
}

/// An address of IPv4 is the same when it is written as one of IPv6.
pub fn is_in(addresses: &Addresses, address: IpAddr) -> bool {
    let address = address.to_canonical();
    let contains = |(first, last): &(IpAddr, IpAddr)| {
        let (first, last) = (first.to_canonical(), last.to_canonical());
        address.is_ipv4() == first.is_ipv4() && first <= address && address <= last
    };
    let mut all = addresses.ranges.iter().chain(addresses.groups.iter().flatten());
    all.any(contains) != addresses.not
}

pub fn is_among(numbers: &Numbers, number: u32) -> bool {
    numbers.ranges.iter().any(|(first, last)| *first <= number && number <= *last) != numbers.not
}

/// A negated comparison holds if none of the texts fits, so also if there is none.
fn one_fits(text: &Text, texts: &[String]) -> bool {
    texts.iter().any(|each| fits(text, each)) != text.not
}

/// A path that is missing behind a host is a slash.
pub fn path(request: &Request) -> String {
    if request.path.is_empty() { "/".to_owned() } else { request.path.clone() }
}

/// The host that a request is for: that of its target, or else its field. Empty: none.
pub fn host(request: &Request) -> Option<String> {
    request.absolute.clone().or(request.host_field.clone())
}

pub fn header(name: &str, request: &Request) -> Vec<String> {
    match name.eq_ignore_ascii_case("host") {
        true => host(request).into_iter().collect(),
        false => fields(name, &request.fields),
    }
}

/// The values of the fields of this name, each of its own.
pub fn fields(name: &str, all: &[(String, String)]) -> Vec<String> {
    let of_name = all.iter().filter(|field| field.0.eq_ignore_ascii_case(name));
    of_name.map(|field| field.1.trim().to_owned()).collect()
}

fn cookie(name: &str, request: &Request) -> Vec<String> {
    cookies(&request.fields).into_iter().filter(|cookie| cookie.0 == name).map(|cookie| cookie.1).collect()
}

/// `a=1; b=2` are two. What has no name is none.
pub fn cookies(all: &[(String, String)]) -> Vec<(String, String)> {
    let lines = fields("Cookie", all);
    let pairs = lines.iter().flat_map(|line| line.split(';')).filter_map(|part| part.split_once('='));
    let pairs = pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    pairs.filter(|pair| !pair.0.is_empty()).collect()
}

/// A value that names a port is compared with host and port, another one with the host alone. The dot of the root, behind a
/// name, names the same host.
fn host_fits(text: &Text, request: &Request) -> bool {
    let Some(host) = host(request) else { return text.not };
    let (bare, port) = parted(&host);
    let bare = bare.strip_suffix('.').unwrap_or(&bare).to_owned();
    let whole = format!("{bare}{port}");
    let is_end = matches!(text.criterion, Criterion::Equals | Criterion::EndsWith);
    let is_literal = !matches!(text.criterion, Criterion::Exists | Criterion::Regex);
    let found = text.values.iter().any(|value| match parted(value) {
        (name, port) if is_literal && is_port(&port) && (!name.contains(':') || name.ends_with(']')) => {
            let name = if is_end { name.strip_suffix('.').unwrap_or(&name) } else { &name };
            fits(&only(text, &format!("{name}{port}")), &whole)
        }
        _ if is_end => fits(&only(text, value.strip_suffix('.').unwrap_or(value)), &bare),
        _ => fits(&only(text, value), &bare),
    });
    (found || text.criterion == Criterion::Exists) != text.not
}

/// The comparison with this value alone.
fn only(text: &Text, value: &str) -> Text {
    Text { values: vec![value.to_owned()], groups: Vec::new(), decoded: false, ..text.clone() }
}

/// A host, and its port with the colon before it. An address of IPv6 stands in brackets.
pub fn parted(host: &str) -> (String, String) {
    let end = match host.find(']') {
        Some(close) if host.starts_with('[') => close + 1,
        _ => host.find(':').unwrap_or(host.len()),
    };
    (host[..end].to_owned(), host[end..].to_owned())
}

fn is_port(port: &str) -> bool {
    port.len() > 1 && port[1..].bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether one of the values fits, or a key of one of the groups.
fn fits(text: &Text, given: &str) -> bool {
    let keys = text.groups.iter().flat_map(|group| &group.pairs).map(|pair| &pair.0);
    text.criterion == Criterion::Exists
        || text.values.iter().chain(keys).any(|value| place(text, value, given).is_some())
}

/// Where a value fits in a text.
fn place(text: &Text, value: &str, given: &str) -> Option<usize> {
    let given = prepared(text, given);
    if text.criterion == Criterion::Regex {
        return expression(value, text.case_counts).find(&given).map(|found| found.start());
    }
    let in_case = |text_: &[u8]| if text.case_counts { text_.to_vec() } else { text_.to_ascii_lowercase() };
    let (given, value) = (in_case(&given), in_case(value.as_bytes()));
    let mut places = (0..=given.len()).filter(|at| given[*at..].starts_with(&value));
    places.find(|at| match text.criterion {
        Criterion::Equals => *at == 0 && given.len() == value.len(),
        Criterion::BeginsWith => *at == 0,
        Criterion::EndsWith => at + value.len() == given.len(),
        Criterion::Contains => true,
        Criterion::Exists | Criterion::Regex => false,
    })
}

/// The text that is compared.
fn prepared(text: &Text, given: &str) -> Vec<u8> {
    if text.decoded { decoded(given) } else { given.as_bytes().to_vec() }
}

/// `%41` is `A`. What is no encoding stays.
fn decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        match digits.filter(|_| bytes[at] == b'%') {
            Some(two) => {
                let two = std::str::from_utf8(two).expect("digits");
                out.push(u8::from_str_radix(two, 16).expect("digits"));
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

/// The value of the key that the comparison has found in the first of its groups that has one: the shortest key that
/// fits, or the longest. Of expressions, it is the one that fits first in the text. Of those that are left, it is the
/// first in the text, and then in the group.
pub fn value_of_key(text: &Text, given: &str) -> Option<String> {
    let value = |group: &StringGroup| {
        let fitting = group.pairs.iter().filter_map(|(key, value)| Some((key, value, place(text, key, given)?)));
        let length = |key: &String| match (text.criterion, group.longest_match) {
            (Criterion::Regex, _) => 0,
            (_, false) => key.len() as isize,
            (_, true) => -(key.len() as isize),
        };
        fitting.min_by_key(|(key, _, at)| (length(key), *at)).map(|(_, value, _)| value.clone())
    };
    text.groups.iter().find_map(value)
}

/// What the parentheses of the first value that fits have found, behind all that it has found: the one that fits first in
/// the text, and of several there the first in the list.
pub fn found(text: &Text, given: &str) -> Option<Vec<Vec<u8>>> {
    if text.criterion != Criterion::Regex {
        return None;
    }
    let given = prepared(text, given);
    let fitting = text.values.iter().filter_map(|value| {
        let expression = expression(value, text.case_counts);
        let mut captures = expression.create_captures();
        expression.captures(&given, &mut captures);
        let start = captures.get_match()?.start();
        let parts = captures.iter().map(|span| span.map_or(Vec::new(), |span| given[span.range()].to_vec()));
        Some((start, parts.collect::<Vec<_>>()))
    });
    fitting.min_by_key(|(start, _)| *start).map(|(_, parts)| parts)
}

/// A point stands for each byte, also for one that is no text, and for a line end.
fn expression(pattern: &str, case_counts: bool) -> Rc<Regex> {
    thread_local!(static KNOWN: RefCell<HashMap<(String, bool), Rc<Regex>>> = RefCell::default());
    let build = || {
        let flags = if case_counts { "(?s-u)" } else { "(?si-u)" };
        let syntax = syntax::Config::new().utf8(false);
        let config = Regex::config().utf8_empty(false);
        let built = Regex::builder().configure(config).syntax(syntax).build(&format!("{flags}{pattern}"));
        Rc::new(built.expect("an expression"))
    };
    KNOWN.with_borrow_mut(|known| known.entry((pattern.to_owned(), case_counts)).or_insert_with(build).clone())
}
