//! The fields of a head as scripts see them: a copy, which follows what scripts change.

use weir_rules::EditKind;
use weir_wire::head::Fields;

use crate::acts::HeadEdit;

/// A request's field with cookies, and a response's that sets one.
pub(crate) const COOKIE: &[u8] = b"cookie";
pub(crate) const SET_COOKIE: &[u8] = b"set-cookie";

#[derive(Clone, Default, Debug)]
pub struct Head {
    text: Vec<u8>,
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    name: u32,
    value: u32,
    end: u32,
}

impl Head {
    pub fn copy(&mut self, fields: &Fields<'_>) {
        self.clear();
        fields.iter().for_each(|field| self.add(field.name_text, field.value));
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
    }

    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(name);
        let value_start = self.text.len() as u32;
        self.text.extend_from_slice(value);
        self.lines.push(Line { name: start, value: value_start, end: self.text.len() as u32 });
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.lines.iter().map(|line| self.line(line))
    }

    fn line(&self, line: &Line) -> (&[u8], &[u8]) {
        let part = |from: u32, to: u32| self.text.get(from as usize..to as usize).unwrap_or_default();
        (part(line.name, line.value), part(line.value, line.end))
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter().find(|field| field.0.eq_ignore_ascii_case(name)).map(|field| field.1)
    }

    /// The cookies of a request.
    pub(crate) fn cookies(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let lines = self.iter().filter(|field| field.0.eq_ignore_ascii_case(COOKIE));
        lines.flat_map(|field| field.1.split(|&byte| byte == b';')).filter_map(pair)
    }

    /// The cookies that a response sets.
    pub(crate) fn set_cookies(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let lines = self.iter().filter(|field| field.0.eq_ignore_ascii_case(SET_COOKIE));
        lines.filter_map(|field| pair(field.1.split(|&byte| byte == b';').next().unwrap_or_default()))
    }

    /// Follows a change of the head. `is_request`: whose cookies stand in one field.
    pub fn apply(&mut self, edit: &HeadEdit, is_request: bool) {
        if edit.cookie {
            return match is_request {
                true => self.apply_to_cookies(edit),
                false => self.apply_to_set_cookies(edit),
            };
        }
        if edit.kind != EditKind::Add {
            let wanted = edit.value.as_deref().filter(|_| edit.kind == EditKind::Remove);
            self.retain(|name, value| {
                !(name.eq_ignore_ascii_case(edit.name.as_bytes()) && wanted.is_none_or(|wanted| wanted == value))
            });
        }
        if edit.kind != EditKind::Remove {
            self.add(edit.name.as_bytes(), edit.value.as_deref().unwrap_or_default());
        }
    }

    fn apply_to_cookies(&mut self, edit: &HeadEdit) {
        let mut line: Vec<u8> = Vec::new();
        let mut put = |name: &[u8], value: &[u8]| {
            let between: &[u8] = if line.is_empty() { b"" } else { b"; " };
            [between, name, b"=", value].iter().for_each(|part| line.extend_from_slice(part));
        };
        for (name, value) in self.cookies() {
            if edit.kind == EditKind::Add || name != edit.name.as_bytes() {
                put(name, value);
            }
        }
        if edit.kind != EditKind::Remove {
            put(edit.name.as_bytes(), edit.value.as_deref().unwrap_or_default());
        }
        self.retain(|name, _| !name.eq_ignore_ascii_case(COOKIE));
        if !line.is_empty() {
            self.add(b"Cookie", &line);
        }
    }

    fn apply_to_set_cookies(&mut self, edit: &HeadEdit) {
        if edit.kind != EditKind::Add {
            let is_it = |value: &[u8]| {
                pair(value.split(|&byte| byte == b';').next().unwrap_or_default())
                    .is_some_and(|cookie| cookie.0 == edit.name.as_bytes())
            };
            self.retain(|name, value| !(name.eq_ignore_ascii_case(SET_COOKIE) && is_it(value)));
        }
        if edit.kind != EditKind::Remove {
            let value = edit.value.as_deref().unwrap_or_default();
            self.add(b"Set-Cookie", &[edit.name.as_bytes(), b"=", value].concat());
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        let lines = std::mem::take(&mut self.lines);
        let kept = lines.iter().filter(|line| {
            let (name, value) = self.line(line);
            keep(name, value)
        });
        let kept = kept.copied().collect();
        self.lines = kept;
    }
}

/// `name=value`; a part without a name is none.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == b'=')?;
    let name = text[..at].trim_ascii();
    (!name.is_empty()).then(|| (name, text[at + 1..].trim_ascii()))
}
