//! The head of a response whose content may change: what changes in it, too.

use weir_wire::head::{Field, Fields, HeadSink, Name, NameSet};

use crate::coding::Coding;

/// What is no longer true of a body that is changed, beside its length: its parts and its sums (RFC 9110 §14.3, RFC 9530).
const OF_BODY: [&[u8]; 5] = [b"accept-ranges", b"content-md5", b"digest", b"content-digest", b"repr-digest"];

const VARY: &[u8] = b"Vary: Accept-Encoding\r\n";

/// What the head of a response that may be compressed is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The content as it is.
    Plain,
    Coded(Coding),
    /// Encoded content that the client has already: a 304.
    Held,
}

/// What becomes of the content of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Texts in it are replaced, or they are in what a HEAD or a 304 speaks of.
    pub is_rewritten: bool,
    /// `None`: it is the same for all clients, whichever coding they take.
    pub form: Option<Form>,
}

/// The sink of a head whose response may change. Fields come to it through [`HeadSink`], and at the end
/// [`end`](Self::end) adds its own.
pub struct Coded<'s, S> {
    out: &'s mut S,
    change: Change,
    varies: bool,
}

impl<'s, S: HeadSink> Coded<'s, S> {
    pub fn new(out: &'s mut S, change: Change) -> Self {
        Self { out, change, varies: false }
    }

    pub fn end(self) {
        if let Some(Form::Coded(coding)) = self.change.form {
            self.out.field(b"Content-Encoding", [coding.name().as_bytes()]);
        }
        if self.change.form.is_some() && !self.varies {
            self.out.line(VARY);
        }
    }
}

impl<S: HeadSink> HeadSink for Coded<'_, S> {
    fn request(&mut self, method: &[u8], path: &[u8]) {
        self.out.request(method, path);
    }

    fn status(&mut self, status: u16, reason: &[u8]) {
        self.out.status(status, reason);
    }

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, mut keep: impl FnMut(Field<'b>) -> bool) {
        let Self { out, change, varies } = self;
        let stays = !change.is_rewritten && matches!(change.form, None | Some(Form::Plain));
        let mut strong = None;
        out.kept_if(fields, |field| {
            if !keep(field) {
                return false;
            }
            let is = |name: &[u8]| field.name_text.eq_ignore_ascii_case(name);
            if is(b"vary") {
                *varies |= names_coding(field.value);
            }
            if stays {
                return true;
            }
            if is(b"etag") && field.value.starts_with(b"\"") {
                strong = Some(field);
                return false;
            }
            let is_identity = is(b"content-encoding");
            field.name != Name::ContentLength && !is_identity && !OF_BODY.iter().any(|name| is(name))
        });
        if let Some(tag) = strong {
            // Other bytes under the same strong tag would be mixed up (RFC 9110 §8.8.1).
            out.field(tag.name_text, [b"W/", tag.value]);
        }
    }

    fn kept(&mut self, fields: &Fields<'_>, dropped: NameSet) {
        self.kept_if(fields, |field| !dropped.has(field.name));
    }

    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>) {
        let value = value.into_iter();
        if name.eq_ignore_ascii_case(b"vary") {
            self.varies |= names_coding(&value.clone().collect::<Vec<_>>().concat());
        }
        self.out.field(name, value);
    }

    fn line(&mut self, line: &[u8]) {
        self.out.line(line);
    }
}

/// Whether a Vary says that a response depends on Accept-Encoding.
fn names_coding(value: &[u8]) -> bool {
    let mut names = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    names.any(|name| name == b"*" || name.eq_ignore_ascii_case(b"accept-encoding"))
}

/// Whether a trailer, `Name: value`, is still true of a body that is changed.
pub fn keeps_trailer(line: &[u8]) -> bool {
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
    !OF_BODY.iter().any(|sum| sum.eq_ignore_ascii_case(name))
}
