//! Persistence: finds the server that a client's cookie or a header field names, and makes the cookie for a server. The
//! controller makes the tokens of servers, the same for every engine, and operators the values of header fields. So engines
//! keep and exchange nothing.

use foldhash::{HashMap, HashMapExt};
use weir_wire::head::{Fields, is_token};

use crate::{
    ClientFacts,
    prefix::{self, Prefix},
    seal::Seal,
};

/// What a pool asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersistenceSettings {
    pub cookie_name: String,
    /// With every response, and not only if the client's cookie is missing or names another server.
    pub always: bool,
    pub http_only: bool,
    /// How long the client keeps it; 0: until it ends.
    pub max_age_s: u32,
    /// How long a cookie counts after it was made, which it says in itself. 0: cookies do not expire, and say nothing.
    pub timeout_s: u32,
    /// Of AES-256. The first seals, and all open.
    pub seal_keys: Vec<Vec<u8>>,
}

/// The names of a server, by id.
pub struct Named<'t> {
    pub server: u32,
    pub token: &'t str,
    /// They name it, too, and no client gets them.
    pub others: &'t [String],
}

/// What names servers.
#[derive(Debug)]
enum By {
    Cookie {
        always: bool,
    },
    /// A cookie that servers set, which gets a prefix.
    OwnCookie {
        prefixes: HashMap<u32, Prefix>,
    },
    Field,
}

/// What a request says about its server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding {
    None,
    To(u32),
    /// Its cookie does not say when it was made, as cookies here do: the client gets another one.
    Undated(u32),
    Expired,
}

impl Binding {
    pub fn server(self) -> Option<u32> {
        match self {
            Self::To(server) | Self::Undated(server) => Some(server),
            Self::None | Self::Expired => None,
        }
    }
}

/// Cookies that expire.
#[derive(Debug)]
struct Dated {
    timeout_s: u64,
    digests: HashMap<u32, [u8; 12]>,
    /// What stands before the sealed name, and behind it for a client in plain and for one in TLS.
    begin: Vec<u8>,
    ends: [Vec<u8>; 2],
}

/// The names of the servers of a pool, compiled.
#[derive(Debug)]
pub struct Persistence {
    by: By,
    /// Of the cookie or of the field.
    name: Vec<u8>,
    servers: HashMap<Vec<u8>, u32>,
    /// By server: the line for a client in plain, and for one in TLS.
    lines: HashMap<u32, [Vec<u8>; 2]>,
    seal: Option<Seal>,
    /// `None`: cookies do not expire.
    dated: Option<Box<Dated>>,
}

impl Persistence {
    /// By cookies. `None`: the name or a token cannot stand in a Set-Cookie, or a key is none.
    pub fn compile<'t>(settings: &PersistenceSettings, named: impl Iterator<Item = Named<'t>>) -> Option<Self> {
        let name = &settings.cookie_name;
        let (mut servers, mut lines) = (HashMap::new(), HashMap::new());
        if !is_token(name.as_bytes()) {
            return None;
        }
        let http_only = if settings.http_only { "; HttpOnly" } else { "" };
        let max_age = match settings.max_age_s {
            0 => String::new(),
            seconds => format!("; Max-Age={seconds}"),
        };
        let mut seal = match settings.seal_keys.as_slice() {
            [] if settings.timeout_s == 0 => None,
            keys => Some(Seal::of(keys)?),
        };
        let end = |secure| format!("; Path=/{max_age}{http_only}{secure}\r\n");
        let ends = [end(""), end("; Secure")];
        let mut digests = HashMap::new();
        for Named { server, token, others } in named {
            // A token is more than enough for a value (RFC 6265 §4.1.1).
            if !is_token(token.as_bytes()) {
                return None;
            }
            for token in others.iter().map(String::as_str).chain([token]) {
                servers.insert(token.as_bytes().to_vec(), server);
                if let Some(seal) = &mut seal {
                    digests.insert(server, seal.learn(token, server));
                }
            }
            if settings.timeout_s == 0 {
                let line = |end| format!("Set-Cookie: {name}={token}{end}").into_bytes();
                lines.insert(server, ends.each_ref().map(line));
            }
        }
        let by = By::Cookie { always: settings.always };
        let dated = (settings.timeout_s > 0).then(|| {
            let begin = format!("Set-Cookie: {name}=").into_bytes();
            let ends = ends.map(String::into_bytes);
            Box::new(Dated { timeout_s: settings.timeout_s.into(), digests, begin, ends })
        });
        Some(Self { by, name: name.as_bytes().to_vec(), servers, lines, seal, dated })
    }

    /// By the cookie of this name that servers set. `None`: the name is none of a cookie, or a token has another form.
    pub fn by_own_cookie<'t>(name: &str, named: impl Iterator<Item = Named<'t>>) -> Option<Self> {
        let (mut servers, mut prefixes) = (HashMap::new(), HashMap::new());
        for Named { server, token, .. } in named {
            servers.insert(token.as_bytes().to_vec(), server);
            prefixes.insert(server, Prefix::new(name, token)?);
        }
        let (by, name) = (By::OwnCookie { prefixes }, name.as_bytes().to_vec());
        is_token(&name).then(|| Self { by, name, servers, lines: HashMap::new(), seal: None, dated: None })
    }

    /// By a header field, from values by server; empty: no value names it. The first server with a value has it. `None`:
    /// the name is none of a field.
    pub fn by_field<'v>(name: &str, values: impl Iterator<Item = (u32, &'v str)>) -> Option<Self> {
        let mut servers = HashMap::new();
        for (server, value) in values.filter(|(_, value)| !value.is_empty()) {
            servers.entry(value.as_bytes().to_vec()).or_insert(server);
        }
        let name = name.as_bytes().to_vec();
        is_token(&name).then(|| Self { by: By::Field, name, servers, lines: HashMap::new(), seal: None, dated: None })
    }

    /// Whether it is a cookie, and not a header field.
    pub fn is_by_cookie(&self) -> bool {
        !matches!(self.by, By::Field)
    }

    /// The name of the cookie that servers set, if it is one.
    #[inline]
    pub fn own_cookie(&self) -> Option<&[u8]> {
        matches!(self.by, By::OwnCookie { .. }).then_some(&self.name)
    }

    /// What the server's own cookie gets before its value.
    #[inline]
    pub fn prefix(&self, server: u32) -> Option<&Prefix> {
        match &self.by {
            By::OwnCookie { prefixes } => prefixes.get(&server),
            By::Cookie { .. } | By::Field => None,
        }
    }

    /// What the server's own cookies of a request have for values without their prefixes. `None`: none has a prefix.
    #[cold]
    pub fn own_values(&self, fields: &Fields<'_>) -> Option<Vec<Vec<u8>>> {
        let values = || prefix::values(fields, &self.name);
        let own = |value: &[u8]| prefix::taken_from(value).map_or(value.to_vec(), |(_, own)| own);
        values().any(|value| prefix::taken_from(value).is_some()).then(|| values().map(own).collect())
    }

    /// The server that a request asks for, at a time in seconds since 1970. If it has several cookies of the name, the first
    /// counts that names a server.
    pub fn named_by(&self, fields: &Fields<'_>, unix_s: u64) -> Binding {
        if matches!(self.by, By::Field) {
            let named = fields.find(&self.name).and_then(|value| self.servers.get(value.trim_ascii()));
            return named.map_or(Binding::None, |server| Binding::To(*server));
        }
        let mut expired = Binding::None;
        for value in prefix::values(fields, &self.name) {
            match self.read(value, unix_s) {
                Binding::None => {}
                Binding::Expired => expired = Binding::Expired,
                named => return named,
            }
        }
        expired
    }

    fn read(&self, value: &[u8], unix_s: u64) -> Binding {
        if let By::OwnCookie { .. } = self.by {
            let named = prefix::taken_from(value).and_then(|(token, _)| self.servers.get(token));
            return named.map_or(Binding::None, |server| Binding::To(*server));
        }
        if let Some((server, made)) = self.seal.as_ref().and_then(|seal| seal.open(value)) {
            // One from the future is as old: the clock of the engine that made it may have been wrong.
            let is_good = self.dated.as_ref().is_none_or(|dated| unix_s.abs_diff(made) < dated.timeout_s);
            return if is_good { Binding::To(server) } else { Binding::Expired };
        }
        match (self.servers.get(value), &self.dated) {
            (None, _) => Binding::None,
            (Some(server), None) => Binding::To(*server),
            (Some(server), Some(_)) => Binding::Undated(*server),
        }
    }

    /// The line that a response of a server gets, for a client that is well `bound` to a server. A line that says the time
    /// is written into `room`.
    #[inline]
    pub fn line<'l>(
        &'l self,
        server: u32,
        bound: Option<u32>,
        client: &ClientFacts,
        unix_s: u64,
        room: &'l mut Vec<u8>,
    ) -> &'l [u8] {
        if bound == Some(server) && !matches!(self.by, By::Cookie { always: true }) {
            return b"";
        }
        if let Some(dated) = &self.dated {
            return self.dated_line(dated, server, client, unix_s, room);
        }
        self.lines.get(&server).map_or(b"", |lines| &lines[usize::from(client.tls)])
    }

    #[cold]
    fn dated_line<'l>(
        &self,
        dated: &Dated,
        server: u32,
        client: &ClientFacts,
        unix_s: u64,
        room: &'l mut Vec<u8>,
    ) -> &'l [u8] {
        room.clear();
        if let (Some(seal), Some(digest)) = (&self.seal, dated.digests.get(&server)) {
            room.extend_from_slice(&dated.begin);
            seal.write(*digest, unix_s, room);
            room.extend_from_slice(&dated.ends[usize::from(client.tls)]);
        }
        room
    }
}
