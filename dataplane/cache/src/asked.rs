//! What a request asks of a cache, and how a stored response answers it (RFC 9111 §4).

use weir_wire::head::{Field, Fields, Method, RequestHead};

use crate::{
    date::unix_s,
    directives::OfRequest,
    profile::{CacheProfile, Settings},
    range::Part,
    selecting::Selecting,
    store::Key,
    terms::Terms,
    validators::{Validators, opaque},
};

/// A request that a stored response may answer. It outlives its head.
#[derive(Debug)]
pub struct Asked {
    pub key: Key,
    pub head_only: bool,
    directives: OfRequest,
    authorized: bool,
    none_match: Option<Box<[u8]>>,
    modified_since: Option<u64>,
    range: Option<Box<[u8]>>,
    if_range: Option<Box<[u8]>>,
    has_condition: bool,
    /// Its fields, as lines, for what responses vary by: those that its server sees.
    lines: Box<[u8]>,
    hides_accept_encoding: bool,
}

/// Whether a stored response may answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    Answers,
    /// Once its server has said that it still holds.
    NeedsValidation,
}

/// How a stored response answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    Whole,
    NotModified,
    Part { first: u64, last: u64 },
    Unsatisfiable,
}

impl Asked {
    /// `None`: nothing stored answers it, and its response is not stored. `hides_accept_encoding`: its server does not see
    /// that field. `is_known`: its server knows the client, by something that this head does not show.
    pub fn of(
        profile: &CacheProfile,
        head: &RequestHead<'_>,
        key: impl FnOnce() -> Key,
        hides_accept_encoding: bool,
        is_known: bool,
    ) -> Option<Self> {
        let is_kind = matches!(head.method, Method::Get | Method::Head) && head.body.is_zero();
        if !is_kind || !profile.takes(head.path) {
            return None;
        }
        let fields = &head.fields;
        let mut said = Said::default();
        for field in fields.iter() {
            said.take(field)?;
        }
        let directives = match said.directives && !profile.settings.ignores_request_directives {
            true => OfRequest::of(fields),
            false => OfRequest::default(),
        };
        let none_match = if said.none_match { joined(fields, b"if-none-match") } else { None };
        let modified_since = said.modified_since.filter(|_| none_match.is_none()).and_then(unix_s);
        Some(Self {
            key: key(),
            head_only: head.method == Method::Head,
            directives,
            authorized: said.authorized || is_known,
            // Also one that cannot be read here: its server may read it.
            has_condition: said.none_match || said.modified_since.is_some(),
            none_match,
            modified_since,
            range: said.range.filter(|_| head.method == Method::Get).map(Box::from),
            if_range: said.if_range.map(Box::from),
            lines: fields.passing_lines(),
            hides_accept_encoding,
        })
    }

    /// Its server does not see that it asks for a part.
    pub fn ask_for_whole(&mut self) {
        (self.range, self.if_range) = (None, None);
    }

    pub fn is_authorized(&self) -> bool {
        self.authorized
    }

    /// Whether a server's answer to it may be stored.
    pub fn may_be_stored(&self, settings: &Settings) -> bool {
        !self.head_only && (settings.ignores_request_directives || !self.directives.no_store)
    }

    /// Whether its server is likely to send the whole, so that others may wait for it.
    pub fn asks_for_whole(&self) -> bool {
        !self.head_only && self.range.is_none() && !self.has_condition
    }

    /// The values of what a response varies by, in their order (§4.1).
    pub fn selecting(&self, fields: &Fields<'_>) -> Selecting {
        let vary = fields.iter().filter(|field| field.name_text.eq_ignore_ascii_case(b"vary"));
        let names = vary.flat_map(|field| field.value.split(|&byte| byte == b',')).map(<[u8]>::trim_ascii);
        Selecting::of(names.filter(|name| !name.is_empty()).map(|name| (name.to_vec(), self.value_of(name))))
    }

    pub fn is_selected_by(&self, selecting: &Selecting) -> bool {
        selecting.fits(|name| self.value_of(name))
    }

    /// All values of a field, without white space around their elements.
    fn value_of(&self, name: &[u8]) -> Vec<u8> {
        let mut value = Vec::new();
        if self.hides_accept_encoding && name.eq_ignore_ascii_case(b"accept-encoding") {
            return value;
        }
        for line in self.lines.split(|&byte| byte == b'\n') {
            let Some(at) = line.iter().position(|&byte| byte == b':') else { continue };
            if line[..at].eq_ignore_ascii_case(name) {
                for element in line[at + 1..].split(|&byte| byte == b',') {
                    value.extend_from_slice(element.trim_ascii());
                    value.push(b',');
                }
            }
        }
        value
    }

    /// Whether a stored response may answer now.
    pub fn fit(&self, terms: &Terms, now_s: u64) -> Fit {
        let OfRequest { no_cache, max_age_s, min_fresh_s, max_stale_s, .. } = self.directives;
        let age_s = terms.age_at(now_s);
        let is_too_old = max_age_s.is_some_and(|most| age_s > most);
        if terms.always_validates || no_cache || is_too_old {
            return Fit::NeedsValidation;
        }
        let is_fresh = terms.fresh_s > age_s.saturating_add(min_fresh_s);
        let may_be_stale = !terms.must_revalidate && max_stale_s.is_some_and(|most| terms.stale_for_s(now_s) <= most);
        if is_fresh || may_be_stale && min_fresh_s == 0 { Fit::Answers } else { Fit::NeedsValidation }
    }

    /// How a stored response of so many bytes of content answers (RFC 9110 §13.2.2).
    pub fn given(&self, status: u16, validators: &Validators, length: u64) -> Given {
        let (tag, modified) = (validators.tag(), validators.modified_s);
        if status != 200 {
            return Given::Whole;
        }
        let is_known = match (&self.none_match, self.modified_since) {
            (Some(tags), _) => matches_any(tags, tag),
            (None, Some(since)) => modified.is_some_and(|modified| modified <= since),
            (None, None) => false,
        };
        if is_known {
            return Given::NotModified;
        }
        let Some(range) = &self.range else { return Given::Whole };
        let holds = match self.if_range.as_deref() {
            None => true,
            // A strong comparison (RFC 9110 §13.1.5).
            Some(wanted) if wanted.starts_with(b"\"") => wanted == tag,
            Some(wanted) if wanted.starts_with(b"W/") => false,
            Some(wanted) => unix_s(wanted).is_some_and(|wanted| modified == Some(wanted)),
        };
        match Part::of(range, length) {
            _ if !holds => Given::Whole,
            Part::Whole => Given::Whole,
            Part::Bytes { first, last } => Given::Part { first, last },
            Part::Unsatisfiable => Given::Unsatisfiable,
        }
    }
}

/// The fields of a request that a cache acts on. Of two with one name, the first counts.
#[derive(Default)]
struct Said<'h> {
    directives: bool,
    authorized: bool,
    none_match: bool,
    modified_since: Option<&'h [u8]>,
    range: Option<&'h [u8]>,
    if_range: Option<&'h [u8]>,
}

impl<'h> Said<'h> {
    /// `None`: the field is a condition that is the server's to judge (RFC 9110 §13.1).
    #[inline]
    fn take(&mut self, field: Field<'h>) -> Option<()> {
        let (name, value) = (field.name_text, field.value);
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.len() {
            5 if is(b"range") => _ = self.range.get_or_insert(value),
            6 if is(b"pragma") => self.directives = true,
            8 if is(b"if-match") => return None,
            8 if is(b"if-range") => _ = self.if_range.get_or_insert(value),
            13 if is(b"if-none-match") => self.none_match = true,
            13 if is(b"cache-control") => self.directives = true,
            13 if is(b"authorization") => self.authorized = true,
            17 if is(b"if-modified-since") => _ = self.modified_since.get_or_insert(value),
            19 if is(b"if-unmodified-since") => return None,
            _ => {}
        }
        Some(())
    }
}

/// Whether one of the tags of an If-None-Match is this one, by the weak comparison (RFC 9110 §13.1.2).
fn matches_any(tags: &[u8], tag: &[u8]) -> bool {
    tags.split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .any(|one| one == b"*" || !tag.is_empty() && opaque(one) == opaque(tag))
}

/// All values of a field as one list. `None`: it is not there.
fn joined(fields: &Fields<'_>, name: &'static [u8]) -> Option<Box<[u8]>> {
    let values: Vec<&[u8]> =
        fields.iter().filter(|field| field.name_text.eq_ignore_ascii_case(name)).map(|field| field.value).collect();
    (!values.is_empty()).then(|| values.join(&b',').into())
}
