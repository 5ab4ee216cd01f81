//! Whether a response may be stored, and how long it is fresh (RFC 9111 §3, §4.2).

use weir_wire::head::{Fields, Name, NameSet, ResponseHead};

use crate::{
    asked::Asked,
    date::{number, unix_s},
    directives::OfResponse,
    profile::{CacheProfile, Settings},
    terms::{Terms, Times},
};

/// Of one heuristic (§4.2.2): a tenth of the time since the last modification, and no more than a day.
const HEURISTIC_PART: u64 = 10;
const HEURISTIC_MOST_S: u64 = 86_400;

impl Terms {
    /// `None`: the response is not stored. The length of its content is judged elsewhere.
    pub fn of(profile: &CacheProfile, asked: &Asked, head: &ResponseHead<'_>, times: Times) -> Option<Self> {
        let settings = &profile.settings;
        let fields = &head.fields;
        let says = OfResponse::of(fields);
        let is_kind = matches!(head.status, 200 | 203 | 300 | 301 | 308 | 404 | 410);
        // A cookie is for one client, whatever the rest says.
        let is_for_one = says.private || fields.has(Name::SetCookie);
        if !is_kind || says.no_store || is_for_one || varies_by_all(fields) || !asked.may_be_stored(settings) {
            return None;
        }
        // §3.5.
        if asked.is_authorized() && !(says.public || says.must_revalidate || says.s_maxage_s.is_some()) {
            return None;
        }
        if !profile.takes_type(fields.first(b"content-type")) {
            return None;
        }
        let fresh_s = lifetime_s(settings, &says, fields, times)?;
        let terms = Self {
            fresh_s,
            age_s: age_s(fields, times),
            came_s: times.came.steady_s,
            always_validates: says.no_cache,
            must_revalidate: says.must_revalidate || says.proxy_revalidate || says.s_maxage_s.is_some(),
        };
        let is_of_use = !terms.always_validates && terms.is_fresh(times.came.steady_s);
        (is_of_use || has_validator(fields)).then_some(terms)
    }
}

/// §4.2.1. `None`: nothing says how long it is fresh, and the operator does not either.
fn lifetime_s(settings: &Settings, says: &OfResponse, fields: &Fields<'_>, times: Times) -> Option<u64> {
    if let Some(told) = says.s_maxage_s.or(says.max_age_s) {
        return Some(told);
    }
    let date = unix_s(fields.among(NameSet::of(&[Name::Date])).next().map_or(&b""[..], |field| field.value));
    let date = date.unwrap_or(times.came.unix_s);
    if fields.find(b"expires").is_some() {
        // One that cannot be read is in the past (§5.3).
        return Some(unix_s(fields.first(b"expires")).unwrap_or(0).saturating_sub(date));
    }
    if settings.heuristic
        && let Some(modified) = unix_s(fields.first(b"last-modified"))
    {
        return Some((date.saturating_sub(modified) / HEURISTIC_PART).min(HEURISTIC_MOST_S));
    }
    (says.said && !says.no_cache || settings.aggressive || settings.heuristic)
        .then_some(settings.default_expire_s)
        .or(says.no_cache.then_some(0))
}

/// §4.2.3: the corrected initial age.
fn age_s(fields: &Fields<'_>, times: Times) -> u64 {
    let date = fields.among(NameSet::of(&[Name::Date])).next().and_then(|field| unix_s(field.value));
    let apparent = date.map_or(0, |date| times.came.unix_s.saturating_sub(date));
    let delay = times.came.steady_s.saturating_sub(times.asked.steady_s);
    let corrected = number(fields.first(b"age")).unwrap_or(0).saturating_add(delay);
    apparent.max(corrected)
}

/// Whether no other request selects the response: it varies by everything, or by what engines tell its server of the client.
fn varies_by_all(fields: &Fields<'_>) -> bool {
    let vary = fields.iter().filter(|field| field.name_text.eq_ignore_ascii_case(b"vary"));
    vary.flat_map(|field| field.value.split(|&byte| byte == b',')).any(|name| {
        let name = name.trim_ascii().to_ascii_lowercase();
        let is_told = |prefix: &[u8]| name.starts_with(prefix);
        name == b"*" || is_told(b"x-forwarded") || is_told(b"forwarded") || is_told(b"x-real-ip")
    })
}

fn has_validator(fields: &Fields<'_>) -> bool {
    !fields.first(b"etag").is_empty() || unix_s(fields.first(b"last-modified")).is_some()
}
