//! Persistence: finds the server that a client's cookie or a header field names, and makes the cookie for a server. The
//! controller makes the tokens of servers, the same for every engine, and operators the values of header fields. So engines
//! keep and exchange nothing.

use foldhash::{HashMap, HashMapExt};
use weir_wire::head::{Fields, Name, is_token};

use crate::ClientFacts;

/// What a pool asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersistenceSettings {
    pub cookie_name: String,
    /// With every response, and not only if the client's cookie is missing or names another server.
    pub always: bool,
    pub http_only: bool,
    /// How long the client keeps it; 0: until it ends.
    pub max_age_s: u32,
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
    Cookie { always: bool },
    Field,
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
}

impl Persistence {
    /// By cookies. `None`: the name or a token cannot stand in a Set-Cookie.
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
        for Named { server, token, others } in named {
            // A token is more than enough for a value (RFC 6265 §4.1.1).
            if !is_token(token.as_bytes()) {
                return None;
            }
            let line =
                |secure| format!("Set-Cookie: {name}={token}; Path=/{max_age}{http_only}{secure}\r\n").into_bytes();
            for token in others.iter().map(String::as_str).chain([token]) {
                servers.insert(token.as_bytes().to_vec(), server);
            }
            lines.insert(server, [line(""), line("; Secure")]);
        }
        let by = By::Cookie { always: settings.always };
        Some(Self { by, name: name.as_bytes().to_vec(), servers, lines })
    }

    /// By a header field, from values by server; empty: no value names it. The first server with a value has it. `None`:
    /// the name is none of a field.
    pub fn by_field<'v>(name: &str, values: impl Iterator<Item = (u32, &'v str)>) -> Option<Self> {
        let mut servers = HashMap::new();
        for (server, value) in values.filter(|(_, value)| !value.is_empty()) {
            servers.entry(value.as_bytes().to_vec()).or_insert(server);
        }
        let name = name.as_bytes().to_vec();
        is_token(&name).then(|| Self { by: By::Field, name, servers, lines: HashMap::new() })
    }

    /// The server that a request asks for. If it has several cookies of the name, the first known token counts.
    pub fn named_by(&self, fields: &Fields<'_>) -> Option<u32> {
        if matches!(self.by, By::Field) {
            return self.servers.get(fields.find(&self.name)?.trim_ascii()).copied();
        }
        let cookies = fields.iter().filter(|field| field.name == Name::Other && is_cookie(field.name_text));
        let mut pairs = cookies.flat_map(|field| field.value.split(|&byte| byte == b';'));
        pairs.find_map(|pair| {
            let value = pair.trim_ascii().strip_prefix(self.name.as_slice())?.strip_prefix(b"=")?;
            self.servers.get(value).copied()
        })
    }

    /// The line that a response of a server gets, for a client that asked for `named`.
    pub fn line(&self, server: u32, named: Option<u32>, client: &ClientFacts) -> &[u8] {
        match self.lines.get(&server) {
            Some(lines) if matches!(self.by, By::Cookie { always: true }) || named != Some(server) => {
                &lines[usize::from(client.tls)]
            }
            _ => b"",
        }
    }
}

fn is_cookie(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"cookie")
}
