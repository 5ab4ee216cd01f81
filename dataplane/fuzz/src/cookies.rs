//! What must hold for the cookies of any client, where they name servers.

use weir_policy::{Binding, ClientFacts, Named, Persistence, PersistenceSettings};
use weir_wire::{
    head::{FieldTable, Limits},
    http1::{self, Parsed},
};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";
const NOW: u64 = 1_800_000_000;

/// Nothing panics, the same cookies name the same server again, and they name one only by its token, or by the cookie that
/// the engine has sealed. Changed by `text`, a sealed cookie names none. Returns whether a server was named.
pub fn check(text: &[u8]) -> bool {
    let named = || [(7, TOKEN), (8, OTHER)].map(|(server, token)| Named { server, token, others: &[] }).into_iter();
    let settings = |timeout_s, keys: &[u8]| PersistenceSettings {
        cookie_name: "id".to_owned(),
        always: false,
        http_only: true,
        max_age_s: 0,
        timeout_s,
        seal_keys: keys.iter().map(|byte| vec![*byte; 32]).collect(),
    };
    let by_cookie =
        |timeout_s, keys: &[u8]| Persistence::compile(&settings(timeout_s, keys), named()).expect("settings");
    let own = Persistence::by_own_cookie("id", named()).expect("a cookie");
    let dated = by_cookie(60, &[1, 2]);
    let sealed = [7, 8].map(|server| sealed(&dated, server));
    let mut found = false;
    for persistence in [&by_cookie(0, &[]), &by_cookie(0, &[1]), &dated, &own] {
        let binding = bound(persistence, text);
        assert_eq!(binding, bound(persistence, text));
        let has = |name: &[u8]| text.windows(name.len()).any(|part| part == name);
        match binding.and_then(Binding::server) {
            Some(7) => assert!(has(TOKEN.as_bytes()) || has(&sealed[0])),
            Some(server) => assert!(server == 8 && (has(OTHER.as_bytes()) || has(&sealed[1]))),
            None => assert!(!matches!(binding, Some(Binding::Expired)), "only the engine's own cookies are dated"),
        }
        found |= binding.is_some_and(|binding| binding.server().is_some());
    }
    let [before, _] = sealed;
    assert_eq!(bound(&dated, &[b"id=", &before[..]].concat()), Some(Binding::To(7)));
    let changed: Vec<u8> = before.iter().enumerate().map(|(at, byte)| byte ^ text.get(at).unwrap_or(&0)).collect();
    if changed != before {
        let binding = bound(&dated, &[b"id=", &changed[..]].concat());
        assert!(matches!(binding, None | Some(Binding::None)), "{binding:?}");
    }
    found
}

/// The value of the cookie that names a server.
fn sealed(persistence: &Persistence, server: u32) -> Vec<u8> {
    let client = ClientFacts::new(([192, 0, 2, 1], 1).into(), ([192, 0, 2, 2], 443).into(), true);
    let mut room = Vec::new();
    let line = persistence.line(server, None, &client, NOW, &mut room);
    let value = line.strip_prefix(b"Set-Cookie: id=").and_then(|rest| rest.split(|byte| *byte == b';').next());
    value.expect("a sealed cookie").to_vec()
}

/// The server that cookies name. `None`: no request can have them.
fn bound(persistence: &Persistence, cookies: &[u8]) -> Option<Binding> {
    let head = [b"GET / HTTP/1.1\r\nHost: a\r\nCookie: ", cookies, b"\r\n\r\n"].concat();
    let mut table = FieldTable::new();
    let Ok(Parsed::Whole(request)) = http1::request(&head, &Limits::new(0, 0, 0), &mut table) else { return None };
    let fields = &request.head.fields;
    if let Some(values) = persistence.own_values(fields) {
        assert!(!values.is_empty());
    }
    Some(persistence.named_by(fields, NOW))
}
