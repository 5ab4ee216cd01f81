//! `avi.http.update_cookie`: attributes of the cookies that a server sets.

use mlua::{Error, LuaString, MultiValue, Result, Value};
use weir_rules::EditKind;

use super::{
    IN_RESPONSE, Maker, Now,
    text::{name, written},
    write::edit,
};

/// Values of `samesite`, which scripts write as `avi.http.Lax`.
const SAME_SITE: [&str; 3] = ["Lax", "None", "Strict"];

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    SAME_SITE.iter().try_for_each(|value| maker.table.raw_set(*value, *value))?;
    maker.put("update_cookie", IN_RESPONSE, |_, now, (cookie, changes): (LuaString, MultiValue)| {
        let changes: Vec<_> = changes.into_iter().collect();
        if changes.is_empty() {
            return Err(takes());
        }
        let changes = changes.chunks(2).map(Attribute::read).collect::<Result<Vec<_>>>()?;
        // What is replaced first takes all cookies of the name away.
        let mut kind = EditKind::Replace;
        for text in texts_of(now, &cookie.as_bytes()) {
            edit(now, kind, true, &cookie, Some(updated(&text, &changes)))?;
            kind = EditKind::Add;
        }
        Ok(())
    })
}

/// A cookie's attribute, as it is to be.
struct Attribute {
    name: &'static str,
    is_there: bool,
    /// `None`: it has none.
    value: Option<Vec<u8>>,
}

impl Attribute {
    fn read(pair: &[Value]) -> Result<Self> {
        let [Value::String(wanted), value] = pair else { return Err(takes()) };
        let text = |name| Ok(Self { name, is_there: true, value: Some(text_of(name, value)?) });
        let flag = |name| match value {
            Value::Boolean(is_there) => Ok(Self { name, is_there: *is_there, value: None }),
            _ => Err(Error::runtime(format!("{name} is true or false"))),
        };
        match name(wanted)?.as_str() {
            "path" => text("Path"),
            "domain" => text("Domain"),
            "maxage" => text("Max-Age"),
            "httponly" => flag("HttpOnly"),
            "secure" => flag("Secure"),
            "samesite" => {
                let attribute = text("SameSite")?;
                let is_known = SAME_SITE.iter().any(|known| Some(known.as_bytes()) == attribute.value.as_deref());
                is_known
                    .then_some(attribute)
                    .ok_or_else(|| Error::runtime("samesite is avi.http.Lax, avi.http.None or avi.http.Strict"))
            }
            "expires" => Err(Error::runtime("expires is not served: use maxage")),
            other => {
                Err(Error::runtime(format!("{other:?} is none of path, domain, maxage, httponly, secure and samesite")))
            }
        }
    }

    fn write(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(b"; ");
        text.extend_from_slice(self.name.as_bytes());
        if let Some(value) = &self.value {
            text.push(b'=');
            text.extend_from_slice(value);
        }
    }
}

fn takes() -> Error {
    Error::runtime("takes the name of a cookie, and a name and a value for each attribute")
}

fn text_of(name: &str, value: &Value) -> Result<Vec<u8>> {
    let text = written(value)?;
    match text.contains(&b';') {
        true => Err(Error::runtime(format!("{name} has a character that it cannot have"))),
        false => Ok(text),
    }
}

/// What a server says of a cookie, behind its name: the value, and the attributes.
fn texts_of(now: &Now, cookie: &[u8]) -> Vec<Vec<u8>> {
    let lines = now.seen.response.iter().filter(|field| field.0.eq_ignore_ascii_case(crate::head::SET_COOKIE));
    let texts = lines.filter_map(|(_, text)| {
        let at = text.iter().position(|&byte| byte == b'=')?;
        (text[..at].trim_ascii() == cookie).then(|| text[at + 1..].to_vec())
    });
    texts.collect()
}

/// Attributes that are there already keep their places.
fn updated(text: &[u8], changes: &[Attribute]) -> Vec<u8> {
    let mut parts = text.split(|&byte| byte == b';');
    let mut out = parts.next().unwrap_or_default().trim_ascii().to_vec();
    let mut left: Vec<_> = changes.iter().filter(|change| change.is_there).collect();
    for part in parts.map(<[u8]>::trim_ascii).filter(|part| !part.is_empty()) {
        let name = part.split(|&byte| byte == b'=').next().unwrap_or_default().trim_ascii();
        let is_it = |change: &Attribute| change.name.as_bytes().eq_ignore_ascii_case(name);
        if !changes.iter().any(&is_it) {
            out.extend_from_slice(b"; ");
            out.extend_from_slice(part);
        } else if let Some(at) = left.iter().position(|change| is_it(change)) {
            left.remove(at).write(&mut out);
        }
    }
    left.iter().for_each(|change| change.write(&mut out));
    out
}
