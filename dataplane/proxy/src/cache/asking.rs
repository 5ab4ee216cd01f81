//! What the cache has to do with a request. It sees the request as its server would, by rules and scripts.

use std::borrow::Cow;

use weir_cache::{Asked, Key};
use weir_policy::{ClientFacts, HttpProfile};
use weir_rules::{EditKind, Edits};
use weir_snapshot::{Cached, Content, Pool};
use weir_wire::{
    head::{FieldTable, Limits, Method, RequestHead},
    http1::{self, Parsed},
};

use crate::{cache::role::What, exchange::within::Within, head};

/// A request that the cache is asked about.
pub(crate) struct Asking<'a> {
    pub http: &'a HttpProfile,
    pub head: &'a RequestHead<'a>,
    pub facts: &'a ClientFacts,
    pub edits: Option<&'a Edits<'a>>,
    /// What is done to the content of its response.
    pub content: &'a Content,
    /// The client has shown one.
    pub has_certificate: bool,
    /// A rule or a script has chosen one.
    pub has_server: bool,
}

/// Why the cache has nothing to do with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bypass {
    Method,
    Body,
    /// By the operator's settings.
    Path,
    /// If-Match, or another condition that only its server can judge.
    Condition,
    /// A rule or a script has chosen one server: another one may have to stand in for it.
    Server,
    /// It names no resource.
    Unnamed,
}

impl Asking<'_> {
    /// `servers`: of [`servers_of`].
    pub fn role(&self, cached: &Cached, servers: &[u8]) -> Result<What, Bypass> {
        let Self { http, head, facts, edits, content, has_certificate, .. } = *self;
        let key = self.key(cached, servers).ok_or(Bypass::Unnamed)?;
        match head.method {
            Method::Options | Method::Trace => return Err(Bypass::Method),
            Method::Get | Method::Head if !head.body.is_zero() => return Err(Bypass::Body),
            Method::Get | Method::Head => {}
            _ => return Ok(What::Changes(key)),
        }
        if self.has_server {
            return Err(Bypass::Server);
        }
        let Some(edits) = edits else { return asked(content, cached, head, key, false) };
        if cached.profile.blocks_asked(head.path) {
            return Err(Bypass::Path);
        }
        let text = head::edited(http, head, facts, edits).ok_or(Bypass::Unnamed)?;
        let mut table = FieldTable::new();
        let Ok(Parsed::Whole(seen)) = http1::request(&text, &Limits::new(0, 0, 0), &mut table) else {
            return Err(Bypass::Unnamed);
        };
        // What was said of the client may have gone to other fields, such as those of its certificate.
        let is_known = has_certificate || head.fields.find(b"authorization").is_some();
        asked(content, cached, &seen.head, key, is_known)
    }

    /// What the server's resource is stored under. `None`: it cannot be named.
    fn key(&self, cached: &Cached, servers: &[u8]) -> Option<Key> {
        let host = self.edits.and_then(Edits::host).or(self.head.host)?;
        let path = self.edits.and_then(Edits::target).unwrap_or(self.head.path);
        // Ports may have pools of their own.
        let port = self.facts.listener().port().to_be_bytes();
        let scheme: &[u8] = if self.facts.is_tls() { b"s" } else { b"p" };
        let mut apart = Cow::Borrowed(servers);
        if let Some(edits) = self.edits {
            note_written(edits, &mut apart);
        }
        Some(Key::of(&[cached.tag.as_bytes(), &port, scheme], host, path, &apart))
    }
}

/// Adds the fields and cookies that rules and scripts write. They may follow from who the client is, which the server
/// that answers by them cannot know, and so does not say in Vary.
fn note_written(edits: &Edits<'_>, apart: &mut Cow<'_, [u8]>) {
    for (kind, is_cookie, name, value) in edits.changes_to_answer() {
        if kind != EditKind::Remove {
            let apart = apart.to_mut();
            apart.extend_from_slice(if is_cookie { b"\0c" } else { b"\0f" });
            apart.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
            apart.push(b'=');
            apart.extend_from_slice(value.unwrap_or_default());
        }
    }
}

fn asked(content: &Content, cached: &Cached, head: &RequestHead<'_>, key: Key, is_known: bool) -> Result<What, Bypass> {
    if !cached.profile.takes(head.path) {
        return Err(Bypass::Path);
    }
    let hides_accept_encoding = !content.edits().is_empty();
    let mut asked =
        Asked::of(&cached.profile, head, || key, hides_accept_encoding, is_known).ok_or(Bypass::Condition)?;
    if content.rewrite.is_some() {
        asked.ask_for_whole();
    }
    Ok(What::Asks(Box::new(asked)))
}

/// Names what rules, scripts or the address of the client have chosen, for the key of a stored response; empty: nothing. Pools
/// may have different content, and those of a group take turns with the same. `None`: there is no such pool.
pub(crate) fn servers_of(within: &Within, pool: Option<&Pool>) -> Option<Vec<u8>> {
    let (kind, uuid): (&[u8], _) = match within {
        Within::Service => return Some(Vec::new()),
        Within::Pool => (b"\0p", &pool?.uuid),
        Within::Group(group) => (b"\0g", &group.uuid),
    };
    Some([kind, uuid.as_bytes()].concat())
}
