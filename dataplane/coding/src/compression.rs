//! A compression profile: for whom, and which responses.

use std::{net::IpAddr, time::Duration};

use aho_corasick::{AhoCorasick, MatchKind};
use weir_rules::{Addresses, Edit, EditKind};
use weir_wire::head::{Fields, Method, Name, NameSet, RequestHead, ResponseHead};

use crate::{
    accept::{Codings, accepted},
    media_type::{MediaTypes, essence},
};

/// What is compressed for which clients.
#[derive(Debug)]
pub struct Compression {
    pub types: MediaTypes,
    /// Responses whose length is known, and less, stay as they are.
    pub min_bytes: u64,
    /// From 1 to 9, of gzip.
    pub level_normal: u8,
    pub level_aggressive: u8,
    pub by: By,
    /// Servers do not hear which codings a client takes, so they compress nothing.
    removed: Option<Edit>,
}

/// What the level for a client follows from.
#[derive(Debug)]
pub enum By {
    /// The round trip to it, and whether it is mobile.
    RoundTrip { low: Duration, high: Duration, mobile: Devices },
    /// The first filter that matches it. Without one it gets the normal level.
    Filters(Vec<Filter>),
}

#[derive(Debug)]
pub struct Filter {
    pub level: Level,
    /// It matches clients that what follows does not match.
    pub negated: bool,
    /// Where a filter has addresses and devices, both have to match.
    pub clients: Option<Addresses>,
    pub devices: Option<Devices>,
}

/// Texts that stand in the User-Agent of some clients, in any case of letters.
#[derive(Debug, Default)]
pub struct Devices(Option<AhoCorasick>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    None,
    Normal,
    Aggressive,
}

/// What a request says about the coding of its response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// None: its client takes none.
    codings: Codings,
    level: Option<Level>,
    is_mobile: bool,
    held: Held,
}

/// Which forms of the response the client has: tags of If-None-Match. Those of encoded forms are weak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    weak: bool,
    strong: bool,
}

/// Whether a response may be compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It may, for clients that take a coding. All of its kind say so.
    May,
    /// It stays as it is for every client. `None`: it has no content that could be compressed.
    Stays(Option<Outcome>),
}

/// What became of a response, as records number it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Outcome {
    Compressed = 1,
    /// Its type is not one of the profile's.
    ContentType = 2,
    /// The server has compressed it.
    Encoded = 3,
    /// A filter says that this client gets none.
    Filter = 4,
    /// The round trip to the client is short.
    RoundTrip = 5,
    MinLength = 6,
    /// It could be: the client does not take it, or no encoder is free.
    Possible = 7,
}

impl Compression {
    pub fn new(types: MediaTypes, by: By, removes_accept_encoding: bool) -> Self {
        let removed = removes_accept_encoding.then(|| Edit {
            kind: EditKind::Remove,
            name: "Accept-Encoding".to_owned(),
            cookie: false,
            value: None,
        });
        Self { types, min_bytes: 0, level_normal: 1, level_aggressive: 1, by, removed }
    }

    /// What becomes of the head of each request.
    pub fn edit(&self) -> Option<&Edit> {
        self.removed.as_ref()
    }

    /// What a request says, of a client at this address.
    pub fn wanted(&self, head: &RequestHead<'_>, client: IpAddr) -> Wanted {
        // RFC 9110 §7.7, RFC 9111 §5.2.1.6: the client wants the content as its server sends it.
        let codings = match is_untouchable(&head.fields) {
            true => Codings::default(),
            false => accepted(values(&head.fields, b"accept-encoding")),
        };
        let user_agent = || head.fields.first(b"user-agent");
        let (level, is_mobile) = match &self.by {
            _ if codings.is_empty() => (None, false),
            By::RoundTrip { mobile, .. } => (None, mobile.has(user_agent())),
            By::Filters(filters) => {
                let filter = filters.iter().find(|filter| filter.matches(client, user_agent()));
                (Some(filter.map_or(Level::Normal, |filter| filter.level)), false)
            }
        };
        Wanted { codings, level, is_mobile, held: Held::of(&head.fields) }
    }

    /// Whether a 304 is about an encoded form of its response: that is what the 200 would be (RFC 9110 §15.4.5). Where the
    /// 304 does not show that, it is what the client has.
    pub fn is_of_coded(
        &self,
        wanted: Wanted,
        head: &ResponseHead<'_>,
        round_trip: impl FnOnce() -> Option<Duration>,
    ) -> bool {
        let Held { weak, strong } = wanted.held;
        let shows_type = head.fields.find(b"content-type").is_some();
        !wanted.codings.is_empty() && (weak || (shows_type || !strong) && self.level(wanted, round_trip).is_ok())
    }

    /// The codings, of which a response gets one that may be compressed, and its level. `round_trip` is asked if the
    /// level follows from it.
    ///
    /// # Errors
    /// It gets none.
    pub fn level(
        &self,
        wanted: Wanted,
        round_trip: impl FnOnce() -> Option<Duration>,
    ) -> Result<(Codings, u8), Outcome> {
        let codings = wanted.codings;
        if codings.is_empty() {
            return Err(Outcome::Possible);
        }
        let level = match (&self.by, wanted.level) {
            (_, Some(level)) => level,
            (By::Filters(_), None) => Level::Normal,
            (By::RoundTrip { low, high, .. }, None) => match round_trip() {
                Some(took) if took < *low => return Err(Outcome::RoundTrip),
                Some(took) if took > *high => Level::Aggressive,
                _ if wanted.is_mobile => Level::Aggressive,
                _ => Level::Normal,
            },
        };
        match level {
            Level::None => Err(Outcome::Filter),
            Level::Normal => Ok((codings, self.level_normal)),
            Level::Aggressive => Ok((codings, self.level_aggressive)),
        }
    }

    /// Whether a response may be compressed, and clients and caches have to hear that its content depends on
    /// Accept-Encoding (RFC 9110 §12.5.5).
    pub fn judge(&self, head: &ResponseHead<'_>) -> Verdict {
        let verdict = judge(head, &self.types);
        let is_short = || head.status != 304 && length(&head.fields).is_some_and(|length| length < self.min_bytes);
        if verdict == Verdict::May && is_short() { Verdict::Stays(Some(Outcome::MinLength)) } else { verdict }
    }

    /// Whether an answer to this method has content that can be compressed, if the answer [may](Verdict::May) be.
    pub fn has_content(head: &ResponseHead<'_>, method: Method) -> bool {
        head.may_have_content(method) && length(&head.fields) != Some(0)
    }
}

/// Whether the content of a response with this head may be changed, if its type is one of these.
pub(crate) fn judge(head: &ResponseHead<'_>, types: &MediaTypes) -> Verdict {
    // A part of a representation, and one that says nothing of it.
    if matches!(head.status, 0..=199 | 204..=206 | 300..=303 | 305..=399) {
        return Verdict::Stays(None);
    }
    let all = |name: &'static [u8]| values(&head.fields, name);
    let is_as_it_is = |value: &[u8]| value.is_empty() || value.eq_ignore_ascii_case(b"identity");
    if !all(b"content-encoding").all(is_as_it_is) {
        return Verdict::Stays(Some(Outcome::Encoded));
    }
    // RFC 9111 §5.2.2.6.
    if is_untouchable(&head.fields) {
        return Verdict::Stays(None);
    }
    let mut content_types = all(b"content-type");
    let content_type = match (content_types.next(), content_types.next()) {
        (Some(only), None) => only,
        // Of a 304, the client has the type.
        (None, None) if head.status == 304 => return Verdict::May,
        _ => return Verdict::Stays(Some(Outcome::ContentType)),
    };
    if !types.has(content_type) || is_stream(content_type) {
        return Verdict::Stays(Some(Outcome::ContentType));
    }
    Verdict::May
}

impl Held {
    fn of(fields: &Fields<'_>) -> Self {
        Self { weak: holds(fields, b"W/"), strong: holds(fields, b"\"") }
    }
}

/// Whether a tag of If-None-Match begins so.
pub(crate) fn holds(fields: &Fields<'_>, with: &[u8]) -> bool {
    let tags = values(fields, b"if-none-match").flat_map(|value| value.split(|&byte| byte == b','));
    tags.map(<[u8]>::trim_ascii).any(|tag| tag.starts_with(with))
}

impl Filter {
    fn matches(&self, client: IpAddr, user_agent: &[u8]) -> bool {
        let both = self.clients.as_ref().is_none_or(|clients| clients.contains(client))
            && self.devices.as_ref().is_none_or(|devices| devices.has(user_agent));
        both != self.negated
    }
}

impl Devices {
    /// `None`: together, they are too long.
    pub fn of(texts: &[String]) -> Option<Self> {
        if texts.is_empty() {
            return Some(Self(None));
        }
        let automaton =
            AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::Standard).build(texts);
        automaton.ok().map(|automaton| Self(Some(automaton)))
    }

    fn has(&self, user_agent: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|automaton| automaton.is_match(user_agent))
    }
}

/// Messages in it have to arrive one by one.
fn is_stream(content_type: &[u8]) -> bool {
    let essence = essence(content_type);
    let begins = |with: &[u8]| essence.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    essence.eq_ignore_ascii_case(b"text/event-stream") || begins(b"application/grpc")
}

/// Whether Cache-Control forbids to change the content.
fn is_untouchable(fields: &Fields<'_>) -> bool {
    let directives = values(fields, b"cache-control").flat_map(|value| value.split(|&byte| byte == b','));
    directives.map(<[u8]>::trim_ascii).any(|directive| directive.eq_ignore_ascii_case(b"no-transform"))
}

pub(crate) fn values<'b>(fields: &Fields<'b>, name: &'static [u8]) -> impl Iterator<Item = &'b [u8]> + use<'b> {
    fields.iter().filter(move |field| field.name_text.eq_ignore_ascii_case(name)).map(|field| field.value)
}

pub(crate) fn length(fields: &Fields<'_>) -> Option<u64> {
    let field = fields.among(NameSet::of(&[Name::ContentLength])).next()?;
    std::str::from_utf8(field.value).ok()?.parse().ok()
}
