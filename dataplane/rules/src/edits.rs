//! Changes of a head: fields and cookies that come, go, or are replaced, and another URL. They are made while the head is
//! written: [`Edited`] stands between who writes it and the sink of the connection.

use std::borrow::Cow;

use weir_wire::{
    head::{Field, Fields, HeadSink, Name, NameSet, RequestHead, ResponseHead, is_same_in_cgi},
    x509,
};

use crate::{
    asked::Origin,
    cookies::{self, is_cookie},
    names::Names,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditKind {
    Add,
    /// All of the name, or those with the value.
    Remove,
    /// All of the name by one. It is added where there is none.
    Replace,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    pub kind: EditKind,
    pub name: String,
    /// The name is that of a cookie.
    pub cookie: bool,
    /// `None`: whatever it is. Only of removals.
    pub value: Option<Value>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    Text(String),
    Variable(Variable),
}

/// What is not known is an empty text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Variable {
    ClientAddress,
    SourceAddress,
    ListenerAddress,
    ListenerPort,
    /// The first field of this name of the head that is edited. Of a request, `Host` is the host that it is for: of an
    /// absolute target, the field counts for nothing (RFC 9112 §3.2.2).
    Field(String),
    TlsVersion,
    TlsCipher,
    TlsServerName,
    /// Something that the certificate of the client says, if it has shown a good one.
    Certificate(x509::Text),
    RequestId,
    /// Whom the token of the request names, or a script.
    User,
}

/// Which names of requests edits need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WantedNames {
    pub id: bool,
    pub user: bool,
}

impl WantedNames {
    pub fn is_some(self) -> bool {
        self.id || self.user
    }

    pub(crate) fn note(&mut self, edits: &[Edit]) {
        edits.iter().filter_map(|edit| edit.value.as_ref()).for_each(|value| self.note_value(value));
    }

    pub fn note_value(&mut self, value: &Value) {
        match value {
            Value::Variable(Variable::RequestId) => self.id = true,
            Value::Variable(Variable::User) => self.user = true,
            _ => {}
        }
    }
}

/// The head that values of edits are read from.
pub struct ValueHead<'h> {
    fields: &'h Fields<'h>,
    /// Whether it is that of a request, and the host that this is for.
    host: Option<Option<&'h [u8]>>,
}

impl<'h> ValueHead<'h> {
    pub fn request(head: &'h RequestHead<'h>) -> Self {
        Self { fields: &head.fields, host: Some(head.host) }
    }

    pub fn response(head: &'h ResponseHead<'h>) -> Self {
        Self { fields: &head.fields, host: None }
    }

    fn find(&self, name: &str) -> Option<&'h [u8]> {
        match self.host {
            Some(host) if name.eq_ignore_ascii_case("host") => host,
            _ => self.fields.find(name.as_bytes()),
        }
    }
}

impl Value {
    /// What it stands for.
    pub fn of(&self, from: &Origin<'_>, read: &ValueHead<'_>, names: Option<&Names>) -> Cow<'_, [u8]> {
        let tls = |fact: fn(&crate::TlsFacts<'_>) -> String| from.tls.as_ref().map(fact).unwrap_or_default();
        let text = match self {
            Value::Text(text) => return Cow::Borrowed(text.as_bytes()),
            Value::Variable(Variable::Field(name)) => {
                return Cow::Owned(read.find(name).unwrap_or_default().to_vec());
            }
            Value::Variable(Variable::ClientAddress) => from.client.to_canonical().to_string(),
            Value::Variable(Variable::SourceAddress) => from.source.to_canonical().to_string(),
            Value::Variable(Variable::ListenerAddress) => from.listener.ip().to_canonical().to_string(),
            Value::Variable(Variable::ListenerPort) => from.listener.port().to_string(),
            Value::Variable(Variable::Certificate(text)) => {
                let certificate = from.tls.and_then(|tls| tls.certificate);
                let text = certificate.map(|certificate| certificate.text(*text).as_bytes().to_vec());
                return Cow::Owned(text.unwrap_or_default());
            }
            Value::Variable(Variable::RequestId) => names.map(|names| names.tell_id().to_string()).unwrap_or_default(),
            Value::Variable(Variable::User) => names.map(Names::tell_user).unwrap_or_default(),
            Value::Variable(Variable::TlsVersion) => tls(|tls| tls.version.to_owned()),
            Value::Variable(Variable::TlsCipher) => tls(|tls| tls.cipher.to_owned()),
            Value::Variable(Variable::TlsServerName) => tls(|tls| tls.server_name.unwrap_or_default().to_owned()),
        };
        Cow::Owned(text.into_bytes())
    }
}

/// An edit of one head, with its value.
#[derive(Debug)]
struct Change<'p> {
    edit: Cow<'p, Edit>,
    value: Option<Cow<'p, [u8]>>,
}

impl Change<'_> {
    /// What it does, whether to a cookie, its name, and the value.
    fn told(&self) -> (EditKind, bool, &str, Option<&[u8]>) {
        (self.edit.kind, self.edit.cookie, &self.edit.name, self.value.as_deref())
    }

    /// The value that it gives a field or a cookie.
    fn added(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }

    /// The field that it changes has the cookies of a request.
    fn is_of_cookies(&self) -> bool {
        !self.edit.cookie && is_same_in_cgi(self.edit.name.as_bytes(), cookies::COOKIE)
    }

    /// Whether it takes away a field that was there.
    fn takes_away(&self, side: Side, name: &[u8], value: &[u8]) -> bool {
        match self.edit.cookie {
            true if side == Side::Response && name.eq_ignore_ascii_case(cookies::SET_COOKIE) => {
                let (name, value) = cookies::set(value);
                self.removes(true, name, value)
            }
            cookie => !cookie && self.removes(false, name, value),
        }
    }

    /// Whether it takes away a field, or a cookie, that was there.
    fn removes(&self, cookie: bool, name: &[u8], value: &[u8]) -> bool {
        // Servers that read fields as CGI has them take `X_A` for `X-A`.
        let same_name = |name: &[u8]| match cookie {
            true => self.edit.name.as_bytes() == name,
            false => is_same_in_cgi(self.edit.name.as_bytes(), name),
        };
        self.edit.cookie == cookie
            && match self.edit.kind {
                EditKind::Add => false,
                EditKind::Remove => same_name(name) && self.value.as_ref().is_none_or(|wanted| **wanted == *value),
                EditKind::Replace => same_name(name),
            }
    }
}

/// What becomes of a head. Empty: nothing.
#[derive(Default, Debug)]
pub struct Edits<'p> {
    changes: Vec<Change<'p>>,
    /// Path and query.
    pub(crate) target: Option<Vec<u8>>,
    pub(crate) host: Option<Vec<u8>>,
}

/// Which head is edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Request,
    Response,
}

impl<'p> Edits<'p> {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.target.is_none() && self.host.is_none()
    }

    /// The host that the server is asked for, if it is another one.
    pub fn host(&self) -> Option<&[u8]> {
        self.host.as_deref()
    }

    /// Path and query that the server is asked for, if they are others.
    pub fn target(&self) -> Option<&[u8]> {
        self.target.as_deref()
    }

    /// One more, behind those that are there.
    pub fn push(&mut self, kind: EditKind, cookie: bool, name: String, value: Option<Vec<u8>>) {
        let edit = Cow::Owned(Edit { kind, name, cookie, value: None });
        self.changes.push(Change { edit, value: value.map(Cow::Owned) });
    }

    pub fn set_target(&mut self, target: Vec<u8>) {
        self.target = Some(target);
    }

    pub fn set_host(&mut self, host: Vec<u8>) {
        self.host = Some(host);
    }

    /// Adds later ones.
    pub fn append(&mut self, later: Self) {
        self.changes.extend(later.changes);
        self.target = later.target.or(self.target.take());
        self.host = later.host.or(self.host.take());
    }

    /// The changes of fields and cookies: what is done, whether to a cookie, its name, and the value.
    pub fn changes(&self) -> impl Iterator<Item = (EditKind, bool, &str, Option<&[u8]>)> {
        self.changes.iter().map(Change::told)
    }

    /// The same, of what a server may answer by: no answer follows from the number of a request.
    pub fn changes_to_answer(&self) -> impl Iterator<Item = (EditKind, bool, &str, Option<&[u8]>)> {
        self.changes.iter().map(|change| {
            let (kind, is_cookie, name, value) = change.told();
            let is_number = matches!(change.edit.value, Some(Value::Variable(Variable::RequestId)));
            (kind, is_cookie, name, value.filter(|_| !is_number))
        })
    }

    /// Bytes that the text of a head gains at most.
    pub fn bytes_max(&self, fields: &Fields<'_>) -> usize {
        const AROUND: usize = 24; // name, colon, blank and line end of Host or Set-Cookie
        let line = |change: &Change<'_>| {
            change.edit.name.len() + change.value.as_ref().map_or(0, |value| value.len()) + AROUND
        };
        let text = |text: &Option<Vec<u8>>| text.as_ref().map_or(0, |text| text.len() + AROUND);
        let cookies = if self.edits_cookies() { fields.text_bytes() } else { 0 };
        let lines: usize = self.changes.iter().map(line).sum();
        lines + text(&self.target) + text(&self.host) + cookies
    }

    /// Adds the removal of a field.
    pub fn also_remove(&mut self, edit: &'p Edit) {
        debug_assert_eq!(edit.kind, EditKind::Remove);
        self.changes.push(Change { edit: Cow::Borrowed(edit), value: None });
    }

    pub(crate) fn add(&mut self, edits: &'p [Edit], from: &Origin<'_>, read: &ValueHead<'_>, names: Option<&Names>) {
        let value = |edit: &'p Edit| edit.value.as_ref().map(|value| value.of(from, read, names));
        // Mostly these are the first ones, and a list that is made for them takes less work than one that grows.
        if self.changes.is_empty() {
            self.changes = Vec::with_capacity(edits.len());
        }
        for edit in edits {
            self.changes.push(Change { edit: Cow::Borrowed(edit), value: value(edit) });
        }
    }

    /// Writes a request for a server. `write` writes it as it would be without edits.
    pub fn write_request<S: HeadSink>(
        &self,
        fields: &Fields<'_>,
        out: &mut S,
        write: impl FnOnce(&mut Edited<'_, '_, S>),
    ) {
        write(&mut Edited { edits: self, side: Side::Request, takes_away: self.takes_away(), out });
        if let Some(host) = &self.host {
            out.field(b"Host", [host.as_slice()]);
        }
        self.write_added(Side::Request, out);
        if self.edits_cookies() {
            self.write_cookies(fields, out);
        }
    }

    /// Writes a response for a client, in the same way.
    pub fn write_response<S: HeadSink>(&self, out: &mut S, write: impl FnOnce(&mut Edited<'_, '_, S>)) {
        write(&mut Edited { edits: self, side: Side::Response, takes_away: self.takes_away(), out });
        self.write_added(Side::Response, out);
    }

    /// What is new at the end: a later change may take away what an earlier one has added.
    fn write_added(&self, side: Side, out: &mut impl HeadSink) {
        if !self.takes_away() {
            // Nothing that one adds can be gone.
            return self.changes.iter().for_each(|change| out.field(change.edit.name.as_bytes(), [change.added()]));
        }
        let cookies_apart = side == Side::Request && self.edits_cookies();
        let mut added: Vec<(&[u8], Cow<'_, [u8]>)> = Vec::new();
        for change in &self.changes {
            let (name, value) = match change.edit.cookie {
                _ if cookies_apart && (change.edit.cookie || change.is_of_cookies()) => continue,
                true => (cookies::SET_COOKIE, Cow::Owned([change.edit.name.as_bytes(), b"=", change.added()].concat())),
                false => (change.edit.name.as_bytes(), Cow::Borrowed(change.added())),
            };
            added.retain(|(name, value)| !change.takes_away(side, name, value));
            if change.edit.kind != EditKind::Remove {
                added.push((name, value));
            }
        }
        added.iter().for_each(|(name, value)| out.field(name, [&**value]));
    }

    /// The cookies of a request are one line, once one of them is edited.
    fn write_cookies(&self, fields: &Fields<'_>, out: &mut impl HeadSink) {
        let mut lines: Vec<Cow<'_, [u8]>> =
            fields.iter().filter(is_cookie).map(|field| Cow::Borrowed(field.value)).collect();
        for change in &self.changes {
            let adds = change.edit.kind != EditKind::Remove;
            if !change.edit.cookie {
                lines.retain(|line| !change.removes(false, cookies::COOKIE, line));
                lines.extend((adds && change.is_of_cookies()).then(|| Cow::Borrowed(change.added())));
                continue;
            }
            let mut line: Vec<u8> = Vec::new();
            let pairs = lines.iter().flat_map(|line| cookies::pairs_in(line));
            let added = adds.then(|| (change.edit.name.as_bytes(), change.added()));
            for (name, value) in pairs.filter(|pair| !change.removes(true, pair.0, pair.1)).chain(added) {
                let between: &[u8] = if line.is_empty() { b"" } else { b"; " };
                [between, name, b"=", value].iter().for_each(|part| line.extend_from_slice(part));
            }
            lines.clear();
            lines.extend((!line.is_empty()).then_some(Cow::Owned(line)));
        }
        lines.iter().for_each(|line| out.field(b"Cookie", [&**line]));
    }

    fn take_away(&self, side: Side, name: &[u8], value: &[u8]) -> bool {
        self.changes.iter().any(|change| change.takes_away(side, name, value))
    }

    /// Whether something that was there may be gone.
    fn takes_away(&self) -> bool {
        self.host.is_some() || self.changes.iter().any(|change| change.edit.cookie || change.edit.kind != EditKind::Add)
    }

    fn edits_cookies(&self) -> bool {
        self.changes.iter().any(|change| change.edit.cookie)
    }
}

/// The sink of a head that is edited.
pub struct Edited<'e, 'p, S> {
    edits: &'e Edits<'p>,
    side: Side,
    /// Whether something that was there may be gone.
    takes_away: bool,
    out: &'e mut S,
}

impl<S> Edited<'_, '_, S> {
    /// Whether a field that was received goes on.
    fn keeps(&self, field: Field<'_>) -> bool {
        let edits = self.edits;
        let is_gone = match self.side {
            Side::Request if field.name == Name::Host => edits.host.is_some(),
            Side::Request => edits.edits_cookies() && is_cookie(&field),
            Side::Response => false,
        };
        !is_gone && !edits.take_away(self.side, field.name_text, field.value)
    }
}

impl<S: HeadSink> HeadSink for Edited<'_, '_, S> {
    fn request(&mut self, method: &[u8], path: &[u8]) {
        self.out.request(method, self.edits.target.as_deref().unwrap_or(path));
    }

    fn status(&mut self, status: u16, reason: &[u8]) {
        self.out.status(status, reason);
    }

    fn kept_if<'b>(&mut self, fields: &Fields<'b>, mut keep: impl FnMut(Field<'b>) -> bool) {
        let Self { edits, side, takes_away, .. } = *self;
        let view = Edited { edits, side, takes_away, out: &mut () };
        self.out.kept_if(fields, |field| keep(field) && view.keeps(field));
    }

    fn kept(&mut self, fields: &Fields<'_>, dropped: NameSet) {
        match self.takes_away {
            true => self.kept_if(fields, |field| !dropped.has(field.name)),
            false => self.out.kept(fields, dropped),
        }
    }

    /// What the profile writes of what came is edited, too.
    fn field<'v>(&mut self, name: &[u8], value: impl IntoIterator<Item = &'v [u8], IntoIter: Clone>) {
        let value = value.into_iter();
        if !self.takes_away {
            return self.out.field(name, value);
        }
        let known = Name::of(name);
        let is_edited = match self.side {
            Side::Request => matches!(known, Name::Host | Name::XForwardedFor | Name::XForwardedProto | Name::Other),
            Side::Response => matches!(known, Name::SetCookie | Name::Location),
        };
        let is_gone = || {
            let whole = value.clone().collect::<Vec<_>>().concat();
            !self.keeps(Field { name: known, name_text: name, value: &whole })
        };
        if !(is_edited && is_gone()) {
            self.out.field(name, value);
        }
    }

    fn line(&mut self, line: &[u8]) {
        self.out.line(line);
    }
}
