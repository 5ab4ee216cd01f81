//! Rules, requests and responses in the words of an operator, and how they are shown to a person.

use std::{
    fmt::{self, Display, Formatter},
    net::{IpAddr, SocketAddr},
};

pub use weir_rules::{Criterion, HttpVersion};

/// Rules, and what meets them.
#[derive(Clone)]
pub struct Case {
    pub sets: Vec<Set>,
    pub exchanges: Vec<(Request, Response)>,
}

#[derive(Clone, Debug)]
pub struct Set {
    pub security: Vec<Rule<Security>>,
    pub requests: Vec<Rule<OfRequest>>,
    pub responses: Vec<Rule<OfResponse>>,
}

#[derive(Clone, Debug)]
pub struct Rule<A> {
    pub conditions: Vec<Condition>,
    pub log: bool,
    pub all_headers: bool,
    pub does: A,
}

#[derive(Clone, Debug)]
pub enum Condition {
    ClientIp(Addresses),
    SourceIp(Addresses),
    VsPort(Numbers),
    Https(bool),
    Method { not: bool, methods: Vec<String> },
    Version { not: bool, versions: Vec<HttpVersion> },
    Path(Text),
    Query(Text),
    Host(Text),
    Header(String, Text),
    Cookie(String, Text),
    Status(Numbers),
    Location(Text),
    ResponseHeader(String, Text),
}

#[derive(Clone, Debug)]
pub struct Addresses {
    pub not: bool,
    pub ranges: Vec<(IpAddr, IpAddr)>,
    pub groups: Vec<Vec<(IpAddr, IpAddr)>>,
}

#[derive(Clone, Debug)]
pub struct Numbers {
    pub not: bool,
    pub ranges: Vec<(u32, u32)>,
}

#[derive(Clone, Debug)]
pub struct Text {
    pub not: bool,
    pub criterion: Criterion,
    pub values: Vec<String>,
    pub groups: Vec<StringGroup>,
    pub case_counts: bool,
    pub decoded: bool,
}

#[derive(Clone, Debug)]
pub struct StringGroup {
    /// Keys and their values.
    pub pairs: Vec<(String, String)>,
    pub longest_match: bool,
}

#[derive(Clone, Debug)]
pub enum Security {
    Allow,
    Close { reset: bool },
    Respond(u16),
    ToHttps(u16),
}

#[derive(Clone, Debug)]
pub struct OfRequest {
    pub edits: Vec<Edit>,
    pub rewrite: Option<Url>,
    pub then: Then,
}

#[derive(Clone, Debug)]
pub enum Then {
    GoOn,
    Respond(u16),
    Redirect(u16, Url),
    Pool(u32, Option<String>),
}

#[derive(Clone, Debug)]
pub struct OfResponse {
    pub edits: Vec<Edit>,
    pub location: Option<Url>,
}

/// A URL made of tokens. Without tokens, host and path stay.
#[derive(Clone, Debug)]
pub struct Url {
    pub https: bool,
    pub port: Option<u16>,
    pub host: Vec<Token>,
    pub path: Vec<Token>,
    pub keep_query: bool,
    pub add: String,
}

/// A part of a URL; with the first and the last place of what is taken.
#[derive(Clone, Debug)]
pub enum Token {
    Text(String),
    Host(u32, u32),
    Path(u32, u32),
    GroupValue,
    FoundInPath(u32, u32),
    FoundInQuery(u32, u32),
}

/// As the last place: to the end.
pub const END: u32 = 65535;

#[derive(Clone, Debug)]
pub struct Edit {
    pub what: What,
    pub name: String,
    pub of_cookie: bool,
    /// Only removals may have none: then they remove all of the name.
    pub value: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Add,
    Remove,
    Replace,
}

#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    ClientIp,
    SourceIp,
    VsIp,
    VsPort,
    Header(String),
    TlsProtocol,
    TlsCipher,
    TlsServerName,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// The target begins with `http://` and this host.
    pub absolute: Option<String>,
    /// `*`, or begins with a slash, or is empty behind a host.
    pub path: String,
    pub query: Option<String>,
    pub version: HttpVersion,
    /// The field `Host`.
    pub host_field: Option<String>,
    pub fields: Vec<(String, String)>,
    pub client: IpAddr,
    pub source: IpAddr,
    pub listener: SocketAddr,
    /// The server name that the client has asked for by TLS.
    pub tls: Option<String>,
    /// It has a good token, as far as one is wanted.
    pub has_token: bool,
}

#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub fields: Vec<(String, String)>,
}

/// What becomes of a request.
#[derive(PartialEq, Eq)]
pub struct Outcome {
    pub end: End,
    /// The rules that acted, as its record names them.
    pub named: [Vec<String>; 3],
    /// All request rules that acted, as `weir explain` names them.
    pub explained: Vec<String>,
    pub log: bool,
    pub all_headers: bool,
    pub sent: Option<Sent>,
    pub returned: Option<Returned>,
}

#[derive(PartialEq, Eq, Debug)]
pub enum End {
    Closed,
    Reset,
    Answered(u16),
    Redirected(u16, String),
    /// For its token.
    Refused,
    /// It goes to a server.
    Passed,
}

/// What the server gets.
#[derive(PartialEq, Eq, Debug)]
pub struct Sent {
    pub pool: Option<(usize, u32, Option<String>)>,
    pub target: String,
    pub host: Option<String>,
    /// Without the cookies.
    pub fields: Vec<(String, String)>,
    pub cookies: Vec<(String, String)>,
}

/// What the client gets.
#[derive(PartialEq, Eq, Debug)]
pub struct Returned {
    /// Without the cookies that it sets.
    pub fields: Vec<(String, String)>,
    pub cookies: Vec<String>,
}

impl Outcome {
    /// In which parts the compiled rules' outcome differs from this one.
    pub fn differences(&self, compiled: &Outcome) -> String {
        let parts = |outcome: &Outcome| {
            let Outcome { end, named, explained, log, all_headers, sent, returned } = outcome;
            let flags = format!("log {log}, all_headers {all_headers}");
            let shown = [format!("{end:?}"), format!("rules {named:?}"), format!("explained {explained:?}"), flags];
            shown.into_iter().chain([format!("{sent:?}"), format!("{returned:?}")])
        };
        let differing = parts(self).zip(parts(compiled)).filter(|(plain, compiled)| plain != compiled);
        differing
            .map(|(plain, compiled)| format!("by a plain reading: {plain}\nby compiled rules:  {compiled}\n"))
            .collect()
    }
}

/// The name of a rule.
pub fn name(list: &str, set: usize, at: usize) -> String {
    format!("{list} {set}.{at}")
}

/// Proptest shows the smallest case that fails by `Debug`.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for (at, set) in self.sets.iter().enumerate() {
            show(f, "security rule", at, &set.security)?;
            show(f, "request rule", at, &set.requests)?;
            show(f, "response rule", at, &set.responses)?;
        }
        self.exchanges.iter().try_for_each(|(request, response)| writeln!(f, "{request}\n{response}"))
    }
}

fn show<A: fmt::Debug>(f: &mut Formatter<'_>, list: &str, set: usize, rules: &[Rule<A>]) -> fmt::Result {
    for (at, Rule { conditions, log, all_headers, does }) in rules.iter().enumerate() {
        let conditions: Vec<String> = conditions.iter().map(Condition::to_string).collect();
        let conditions = if conditions.is_empty() { "always".into() } else { conditions.join(" and ") };
        writeln!(f, "{} (log {log}, all_headers {all_headers}): {conditions}: {does:?}", name(list, set, at))?;
    }
    Ok(())
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let not = |not: &bool| if *not { "not " } else { "" };
        match self {
            Condition::ClientIp(addresses) => write!(f, "client {addresses}"),
            Condition::SourceIp(addresses) => write!(f, "source {addresses}"),
            Condition::VsPort(numbers) => write!(f, "port {numbers}"),
            Condition::Https(https) => write!(f, "{}", if *https { "HTTPS" } else { "HTTP" }),
            Condition::Method { not: n, methods } => write!(f, "method {}in {methods:?}", not(n)),
            Condition::Version { not: n, versions } => write!(f, "version {}in {versions:?}", not(n)),
            Condition::Path(text) => write!(f, "path {text}"),
            Condition::Query(text) => write!(f, "query {text}"),
            Condition::Host(text) => write!(f, "host {text}"),
            Condition::Header(name, text) => write!(f, "header {name} {text}"),
            Condition::Cookie(name, text) => write!(f, "cookie {name} {text}"),
            Condition::Status(numbers) => write!(f, "status {numbers}"),
            Condition::Location(text) => write!(f, "Location {text}"),
            Condition::ResponseHeader(name, text) => write!(f, "response header {name} {text}"),
        }
    }
}

impl Display for Addresses {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}in ranges {:?} or groups {:?}", if self.not { "not " } else { "" }, self.ranges, self.groups)
    }
}

impl Display for Numbers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}in {:?}", if self.not { "not " } else { "" }, self.ranges)
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let not = if self.not { "not " } else { "" };
        let case = if self.case_counts { "case counts" } else { "any case" };
        let decoded = if self.decoded { ", decoded" } else { "" };
        write!(f, "{not}{:?} {:?} ({case}{decoded})", self.criterion, self.values)?;
        let groups = &self.groups;
        groups.iter().try_for_each(|group| write!(f, " or a key of {:?}", group.pairs).and(self.show_order(f, group)))
    }
}

impl Text {
    fn show_order(&self, f: &mut Formatter<'_>, group: &StringGroup) -> fmt::Result {
        if group.longest_match { write!(f, " (longest_match)") } else { Ok(()) }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {:?}", self.method, self.target(), self.version)?;
        self.host_field.iter().try_for_each(|host| writeln!(f, "  Host: {host}"))?;
        self.fields.iter().try_for_each(|(name, value)| writeln!(f, "  {name}: {value}"))?;
        let Self { client, source, listener, tls, has_token, .. } = self;
        write!(f, "  from {client}, connection from {source} to {listener}, TLS {tls:?}, token {has_token}")
    }
}

impl Display for Response {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "answered {}", self.status)?;
        self.fields.iter().try_for_each(|(name, value)| write!(f, "\n  {name}: {value}"))
    }
}

impl Request {
    /// As it stands in the request line.
    pub fn target(&self) -> String {
        let start = self.absolute.as_ref().map(|host| format!("http://{host}")).unwrap_or_default();
        start + &self.path_and_query()
    }

    pub fn path_and_query(&self) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", self.path)
    }
}
