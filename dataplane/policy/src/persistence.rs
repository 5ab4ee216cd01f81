//! Persistence by cookie: finds the server that a client's cookie names, and makes the cookie for a server. The
//! controller makes the tokens of servers, the same for every engine. So engines keep and exchange nothing.

use std::collections::HashMap;

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

/// The cookies of a pool, compiled.
#[derive(Debug)]
pub struct Persistence {
    name: Vec<u8>,
    always: bool,
    servers: HashMap<Vec<u8>, u32>,
    /// By server: the line for a client in plain, and for one in TLS.
    lines: HashMap<u32, [Vec<u8>; 2]>,
}

impl Persistence {
    /// Made from servers by id, with their tokens. `None`: the name or a token cannot stand in a Set-Cookie.
    pub fn compile<'t>(settings: &PersistenceSettings, tokens: impl Iterator<Item = (u32, &'t str)>) -> Option<Self> {
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
        for (server, token) in tokens {
            // A token is more than enough for a value (RFC 6265 §4.1.1).
            if !is_token(token.as_bytes()) {
                return None;
            }
            let line =
                |secure| format!("Set-Cookie: {name}={token}; Path=/{max_age}{http_only}{secure}\r\n").into_bytes();
            servers.insert(token.as_bytes().to_vec(), server);
            lines.insert(server, [line(""), line("; Secure")]);
        }
        Some(Self { name: name.as_bytes().to_vec(), always: settings.always, servers, lines })
    }

    /// The server that a request asks for. If it has several cookies of the name, the first known token counts.
    pub fn named_by(&self, fields: &Fields<'_>) -> Option<u32> {
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
            Some(lines) if self.always || named != Some(server) => &lines[usize::from(client.tls)],
            _ => b"",
        }
    }
}

fn is_cookie(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"cookie")
}
