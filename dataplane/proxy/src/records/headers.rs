//! Header fields for records, and what is hidden of them and of queries. What is hidden never leaves the worker.

use weir_snapshot::{Analytics, Mask};
use weir_wire::head::{Field, Fields, Name};

/// Of each head.
const BYTES_MAX: usize = 8 * 1024;

/// The header fields of a request and its response, as lines.
#[derive(Default)]
pub(crate) struct Block {
    pub request: Vec<u8>,
    pub response: Vec<u8>,
}

/// What hides parts of texts.
pub(super) struct Hiding<'a> {
    pub analytics: &'a Analytics,
    /// For rules that decode.
    pub scratch: &'a mut Vec<u8>,
}

impl Block {
    pub fn clear(&mut self) {
        self.request.clear();
        self.response.clear();
        self.request.reserve_exact(BYTES_MAX);
        self.response.reserve_exact(BYTES_MAX);
    }

    pub fn parts(&self) -> [&[u8]; 2] {
        [&self.request, &self.response]
    }
}

impl Hiding<'_> {
    /// Writes the lines of fields. Returns whether some did not fit.
    pub fn write(&mut self, fields: &Fields<'_>, out: &mut Vec<u8>) -> bool {
        for field in fields.iter() {
            let rule = find(&self.analytics.header_masks, field.name_text, self.scratch);
            if rule.is_some_and(|rule| rule.removes) {
                continue;
            }
            let begin = out.len();
            out.extend_from_slice(field.name_text);
            out.extend_from_slice(b": ");
            match () {
                () if rule.is_some() || is_secret(&field) => out.extend_from_slice(Mask::HIDDEN),
                () if has_url(&field) && !self.analytics.query_masks.is_empty() => self.write_url(field.value, out),
                // A value that is too long is not copied to be dropped.
                () if begin + field.value.len() > BYTES_MAX => out.resize(BYTES_MAX + 1, 0),
                () => out.extend_from_slice(field.value),
            }
            out.extend_from_slice(b"\r\n");
            if out.len() > BYTES_MAX {
                out.truncate(begin);
                return true;
            }
        }
        false
    }

    /// Writes a URL with its query.
    pub fn write_url(&mut self, url: &[u8], out: &mut Vec<u8>) {
        let url = &url[..url.len().min(BYTES_MAX)];
        let path_bytes = url.iter().position(|byte| *byte == b'?').map_or(url.len(), |at| at + 1);
        out.extend_from_slice(&url[..path_bytes]);
        self.write_query(&url[path_bytes..], out);
    }

    /// Writes a query without the values of some parameters, or without these altogether.
    pub fn write_query(&mut self, query: &[u8], out: &mut Vec<u8>) {
        let query = &query[..query.len().min(BYTES_MAX)];
        let begin = out.len();
        for parameter in query.split(|byte| *byte == b'&') {
            let end = parameter.iter().position(|byte| *byte == b'=').unwrap_or(parameter.len());
            let rule = find(&self.analytics.query_masks, &parameter[..end], self.scratch);
            if rule.is_some_and(|rule| rule.removes) {
                continue;
            }
            if out.len() > begin {
                out.push(b'&');
            }
            match rule {
                Some(_) if end < parameter.len() => {
                    out.extend_from_slice(&parameter[..=end]);
                    out.extend_from_slice(Mask::HIDDEN);
                }
                _ => out.extend_from_slice(parameter),
            }
        }
    }
}

fn find<'m>(masks: &'m [Mask], name: &[u8], scratch: &mut Vec<u8>) -> Option<&'m Mask> {
    masks.iter().find(|mask| mask.name.matches_text(name, scratch))
}

/// Fields whose values no record shows.
fn is_secret(field: &Field<'_>) -> bool {
    matches!(field.name, Name::Authorization | Name::ProxyAuthorization | Name::SetCookie)
        || field.name_text.eq_ignore_ascii_case(b"cookie")
}

/// Fields with URLs, whose queries have parameters.
fn has_url(field: &Field<'_>) -> bool {
    field.name == Name::Location || field.name_text.eq_ignore_ascii_case(b"referer")
}
