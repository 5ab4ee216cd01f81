//! The same rules compiled, as the data plane has them, and what they make of the same requests.

use std::sync::Arc;

use weir_rate::Moment;
use weir_rules::{
    AddressGroup, AddressMatch, AddressRange, Addresses, Asked, Condition, Edit, EditKind, FieldMatch, HostRule,
    Judged, LocalResponse, NameMatch, NumberMatch, Origin, Policies, PolicySet, Redirect, RequestAction,
    ResponseAction, Rewrite, Rule, Scratch, SecurityAction, StringGroup, TextMatch, TextRule, Then, TlsFacts, Token,
    TokenKind, Value, Variable, Verdict, VersionMatch,
};
use weir_wire::{
    head::{Field, FieldTable, Fields, HeadSink, Limits, Method, Name, NameSet, RequestHead, ResponseHead},
    http1::{self, Parsed},
};

use crate::{
    conditions::cookies,
    words::{self, End, HttpVersion, Outcome, Returned, Sent, name},
};

pub const TLS_VERSION: &str = "TLS 1.3";
pub const TLS_CIPHER: &str = "TLS13_AES_128_GCM_SHA256";

pub fn policies(sets: &[words::Set]) -> Policies {
    let sets = sets.iter().enumerate().map(|(at, set)| {
        let security = rules("security rule", at, &set.security, security);
        let requests = rules("request rule", at, &set.requests, of_request);
        let responses = rules("response rule", at, &set.responses, of_response);
        Arc::new(PolicySet::compile(String::new(), String::new(), security, requests, responses))
    });
    Policies::of(sets.collect(), Vec::new(), None)
}

fn rules<A, C>(list: &str, set: usize, all: &[words::Rule<A>], action: impl Fn(&A) -> C) -> Vec<Rule<C>> {
    let rule = |(at, rule): (usize, &words::Rule<A>)| Rule {
        name: name(list, set, at),
        conditions: rule.conditions.iter().map(condition).collect(),
        log: rule.log,
        all_headers: rule.all_headers,
        action: action(&rule.does),
    };
    all.iter().enumerate().map(rule).collect()
}

fn condition(from: &words::Condition) -> Condition {
    use words::Condition::*;
    let compiled = |from: &words::Text| TextRule::compile(&text(from)).expect("a text");
    let field = |name: &String, from: &words::Text| FieldMatch { name: name.clone(), value: compiled(from) };
    match from {
        ClientIp(from) => Condition::Client(addresses(from)),
        SourceIp(from) => Condition::Source(addresses(from)),
        VsPort(from) => Condition::ListenerPort(numbers(from)),
        Https(https) => Condition::Tls(*https),
        Method { not, methods } => Condition::Method(NameMatch { negated: *not, names: methods.clone() }),
        Version { not, versions } => Condition::Version(VersionMatch { negated: *not, versions: versions.clone() }),
        Path(from) => Condition::Path(compiled(from)),
        Query(from) => Condition::Query(compiled(from)),
        Host(from) => Condition::Host(HostRule::compile(&text(from)).expect("a host")),
        Header(name, from) => Condition::Field(field(name, from)),
        Cookie(name, from) => Condition::Cookie(field(name, from)),
        Status(from) => Condition::Status(numbers(from)),
        Location(from) => Condition::Location(compiled(from)),
        ResponseHeader(name, from) => Condition::ResponseField(field(name, from)),
    }
}

pub fn addresses(from: &words::Addresses) -> AddressMatch {
    let of = |ranges: &[_]| Addresses::of(ranges.iter().map(|&(first, last)| AddressRange { first, last }));
    let group = |ranges: &Vec<_>| AddressGroup { uuid: String::new(), name: String::new(), addresses: of(ranges) };
    AddressMatch::new(from.not, of(&from.ranges), from.groups.iter().map(|ranges| Arc::new(group(ranges))).collect())
}

pub fn numbers(from: &words::Numbers) -> NumberMatch {
    let ranges = from.ranges.iter().map(|(first, last)| *first..=*last).collect();
    NumberMatch { negated: from.not, ranges }
}

fn text(from: &words::Text) -> TextMatch {
    let group = |group: &words::StringGroup| {
        Arc::new(StringGroup::new(String::new(), String::new(), group.pairs.clone(), group.longest_match))
    };
    TextMatch {
        criterion: from.criterion,
        negated: from.not,
        values: from.values.clone(),
        groups: from.groups.iter().map(group).collect(),
        case_sensitive: from.case_counts,
        decoded: from.decoded,
    }
}

fn security(from: &words::Security) -> SecurityAction {
    match *from {
        words::Security::Allow => SecurityAction::Allow,
        words::Security::Close { reset } => SecurityAction::Close { reset },
        words::Security::Respond(status) => SecurityAction::Respond(local(status)),
        words::Security::ToHttps(port) => SecurityAction::RedirectToHttps { port },
    }
}

fn local(status: u16) -> LocalResponse {
    LocalResponse { status, content_type: "text/plain".to_owned(), content: Vec::new() }
}

fn of_request(from: &words::OfRequest) -> RequestAction {
    let rewrite = |url: &words::Url| Rewrite {
        host: tokens(&url.host),
        path: tokens(&url.path),
        keep_query: url.keep_query,
        add_query: url.add.clone(),
    };
    RequestAction {
        edits: from.edits.iter().map(edit).collect(),
        rewrite: from.rewrite.as_ref().map(rewrite),
        then: match &from.then {
            words::Then::GoOn => Then::GoOn,
            words::Then::Respond(status) => Then::Respond(local(*status)),
            words::Then::Redirect(status, url) => Then::Redirect(redirect(*status, url)),
            words::Then::Pool(pool, server) => Then::Pool { pool: *pool, server: server.clone() },
        },
    }
}

fn of_response(from: &words::OfResponse) -> ResponseAction {
    let location = from.location.as_ref().map(|url| redirect(302, url));
    ResponseAction { edits: from.edits.iter().map(edit).collect(), location }
}

fn redirect(status: u16, url: &words::Url) -> Redirect {
    Redirect {
        status,
        tls: url.https,
        port: url.port,
        host: tokens(&url.host),
        path: tokens(&url.path),
        keep_query: url.keep_query,
        add_query: url.add.clone(),
    }
}

fn tokens(from: &[words::Token]) -> Vec<Token> {
    let token = |token: &words::Token| match token {
        words::Token::Text(text) => Token { kind: TokenKind::text(text), parts: 0..=0 },
        words::Token::GroupValue => Token { kind: TokenKind::GroupValue, parts: 0..=0 },
        words::Token::Host(first, last) => Token { kind: TokenKind::Host, parts: *first..=*last },
        words::Token::Path(first, last) => Token { kind: TokenKind::Path, parts: *first..=*last },
        words::Token::FoundInPath(first, last) => Token { kind: TokenKind::PathRegex, parts: *first..=*last },
        words::Token::FoundInQuery(first, last) => Token { kind: TokenKind::QueryRegex, parts: *first..=*last },
    };
    from.iter().map(token).collect()
}

fn edit(from: &words::Edit) -> Edit {
    use words::Value::*;
    let value = |value: &words::Value| match value {
        Text(text) => Value::Text(text.clone()),
        ClientIp => Value::Variable(Variable::ClientAddress),
        SourceIp => Value::Variable(Variable::SourceAddress),
        VsIp => Value::Variable(Variable::ListenerAddress),
        VsPort => Value::Variable(Variable::ListenerPort),
        Header(name) => Value::Variable(Variable::Field(name.clone())),
        TlsProtocol => Value::Variable(Variable::TlsVersion),
        TlsCipher => Value::Variable(Variable::TlsCipher),
        TlsServerName => Value::Variable(Variable::TlsServerName),
    };
    Edit {
        kind: match from.what {
            words::What::Add => EditKind::Add,
            words::What::Remove => EditKind::Remove,
            words::What::Replace => EditKind::Replace,
        },
        name: from.name.clone(),
        cookie: from.of_cookie,
        value: from.value.as_ref().map(value),
    }
}

/// What the compiled rules make of a request, and of the response of its server.
pub fn judge(
    policies: &Policies,
    scratch: &mut Scratch,
    request: &words::Request,
    response: &words::Response,
) -> Outcome {
    let head = request.text();
    let mut table = FieldTable::new();
    let read = match http1::request(head.as_bytes(), &Limits::new(0, 0, 0), &mut table) {
        Ok(Parsed::Whole(request)) => request,
        other => panic!("{other:?}: {head}"),
    };
    let facts =
        |name| TlsFacts { version: TLS_VERSION, cipher: TLS_CIPHER, server_name: Some(name), certificate: None };
    let tls = request.tls.as_deref().map(facts);
    let from = Origin { client: request.client, source: request.source, listener: request.listener, tls };
    let asked = Asked { head: &read.head, version: request.version, from };

    let mut judged = Judged::default();
    let mut is_admitted = None;
    let mut admits = |_: &Asked<'_>| *is_admitted.insert(request.has_token);
    policies.judge(&asked, scratch, Moment::counting(0), &mut admits, &mut judged);
    let explained = match is_admitted {
        Some(true) => policies.acting(&asked, scratch).into_iter().map(|rule| rule.name).collect(),
        _ => Vec::new(),
    };
    let mut outcome = Outcome {
        end: match &judged.verdict {
            Verdict::Close { reset: true } => End::Reset,
            Verdict::Close { reset: false } => End::Closed,
            Verdict::Respond(response) => End::Answered(response.status),
            Verdict::Redirect { status, location } => End::Redirected(*status, words(location)),
            Verdict::Pass if is_admitted == Some(false) => End::Refused,
            Verdict::Pass => End::Passed,
        },
        named: [&judged.security_rules, &judged.request_rules, &Default::default()].map(named),
        explained,
        log: judged.log,
        all_headers: judged.all_headers,
        sent: None,
        returned: None,
    };
    if outcome.end != End::Passed {
        assert!(judged.due.is_empty(), "no response is looked at");
        return outcome;
    }
    outcome.sent = Some(sent(&judged, &read.head));
    response_to(policies, &judged, response, &asked.from, &mut outcome);
    outcome
}

fn named(acted: &weir_rules::Acted<'_>) -> Vec<String> {
    acted.names().map(str::to_owned).collect()
}

fn sent(judged: &Judged<'_>, head: &RequestHead<'_>) -> Sent {
    let mut lines = Lines::default();
    judged.edits.write_request(&head.fields, &mut lines, |out| {
        out.request(head.method_text, head.path);
        head.host.iter().for_each(|host| out.field(b"Host", [*host]));
        out.kept(&head.fields, NameSet::of(&[Name::Host]));
    });
    let (hosts, fields): (Vec<_>, Vec<_>) = lines.fields.into_iter().partition(|field| field.0 == "Host");
    assert!(hosts.len() <= 1, "one host: {hosts:?}");
    let cookies = cookies(&fields);
    let is_cookie = |field: &(String, String)| field.0.eq_ignore_ascii_case("cookie");
    Sent {
        pool: judged.pool.map(|pool| (pool.set, pool.pool, pool.server.map(str::to_owned))),
        target: lines.target,
        host: hosts.into_iter().next().map(|host| host.1),
        fields: fields.into_iter().filter(|field| !is_cookie(field)).collect(),
        cookies,
    }
}

fn response_to(
    policies: &Policies,
    judged: &Judged<'_>,
    response: &words::Response,
    from: &Origin<'_>,
    outcome: &mut Outcome,
) {
    let text = response.text();
    let mut table = FieldTable::new();
    let read = match http1::response(text.as_bytes(), Method::Get, &Limits::new(0, 0, 0), &mut table) {
        Ok(Parsed::Whole(response)) => response,
        other => panic!("{other:?}: {text}"),
    };
    let head: &ResponseHead<'_> = &read.head;
    let judged = policies.judge_response(&judged.due, head, (from, None));
    outcome.named[2] = named(&judged.rules);
    outcome.log |= judged.log;
    outcome.all_headers |= judged.all_headers;
    let mut lines = Lines::default();
    judged.edits.write_response(&mut lines, |out| {
        out.status(head.status, b"");
        out.kept(&head.fields, NameSet::of(&[]));
    });
    let is_cookie = |field: &(String, String)| field.0.eq_ignore_ascii_case("set-cookie");
    let (cookies, fields): (Vec<_>, Vec<_>) = lines.fields.into_iter().partition(is_cookie);
    outcome.returned = Some(Returned { fields, cookies: cookies.into_iter().map(|field| field.1).collect() });
}

/// A head as it is written.
#[derive(Default)]
struct Lines {
    target: String,
    fields: Vec<(String, String)>,
}

impl HeadSink for Lines {
    fn request(&mut self, _method: &[u8], path: &[u8]) {
        // Those that write for a connection add the slash.
        self.target = if path.starts_with(b"?") { format!("/{}", words(path)) } else { words(path) };
    }

    fn status(&mut self, _status: u16, _reason: &[u8]) {}

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, mut keep: impl FnMut(Field<'b>) -> bool) {
        let kept = fields.passing().filter(|&field| keep(field));
        self.fields.extend(kept.map(|field| (words(field.name_text), words(field.value))));
    }

    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>) {
        self.fields.push((words(name), words(&value.into_iter().collect::<Vec<_>>().concat())));
    }

    fn line(&mut self, _line: &[u8]) {}
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

impl words::Request {
    fn text(&self) -> String {
        let version = if self.version == HttpVersion::Http10 { "HTTP/1.0" } else { "HTTP/1.1" };
        let host = self.host_field.iter().map(|host| ("Host".to_owned(), host.clone()));
        let fields: Vec<_> = host.chain(self.fields.iter().cloned()).collect();
        format!("{} {} {version}\r\n{}\r\n", self.method, self.target(), lines(&fields))
    }
}

impl words::Response {
    fn text(&self) -> String {
        format!("HTTP/1.1 {} x\r\n{}\r\n", self.status, lines(&self.fields))
    }
}

fn lines(fields: &[(String, String)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}
