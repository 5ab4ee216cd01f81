//! X-Forwarded-For and X-Forwarded-Proto, which tell the server who the client is and how it connected.

use weir_wire::head::{Field, Fields, HeadSink, Name, NameSet, is_same_in_cgi};

use crate::{
    ClientFacts,
    settings::{Error, HttpSettings, XffUpdate},
};

const XFF: &str = "X-Forwarded-For";

/// Bounds what a profile adds to each head.
pub(crate) const XFF_NAME_BYTES_MAX: usize = 128;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Forwarded {
    xff: Option<Xff>,
    proto: bool,
    /// Fields of the client that we write anew.
    pub replaced: NameSet,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Xff {
    name_text: Box<[u8]>,
    /// `XForwardedFor`, or `Other` under another name, or `Shadow` if that name looks like one that we know.
    name: Name,
    update: XffUpdate,
}

impl Forwarded {
    pub fn compile(settings: &HttpSettings) -> Result<Self, Error> {
        let xff = if settings.xff { Some(Xff::compile(settings)?) } else { None };
        let replaces_xff = xff.as_ref().is_some_and(|xff| xff.name == Name::XForwardedFor && xff.replaces());
        let replaced_xff = if replaces_xff { NameSet::of(&[Name::XForwardedFor]) } else { NameSet::default() };
        let replaced_proto =
            if settings.x_forwarded_proto { NameSet::of(&[Name::XForwardedProto]) } else { NameSet::default() };
        Ok(Self { xff, proto: settings.x_forwarded_proto, replaced: replaced_xff | replaced_proto })
    }

    /// Whether the operator has an own name for X-Forwarded-For.
    pub fn is_renamed(&self) -> bool {
        self.xff.as_ref().is_some_and(|xff| xff.name != Name::XForwardedFor)
    }

    /// Whether a server may take a field for our X-Forwarded-For, whatever that is called.
    pub fn is_called(&self, field: Field<'_>) -> bool {
        self.xff.as_ref().is_some_and(|xff| is_same_in_cgi(field.name_text, &xff.name_text))
    }

    /// Whether this field has the operator's name for X-Forwarded-For, so that it is written anew; or whether a server
    /// may confuse the two names.
    pub fn replaces_renamed(&self, field: Field<'_>) -> bool {
        match &self.xff {
            Some(xff) if xff.name != Name::XForwardedFor => {
                is_same_in_cgi(field.name_text, &xff.name_text) && (xff.replaces() || !xff.is(field))
            }
            _ => false,
        }
    }

    pub fn write(&self, fields: &Fields<'_>, client: &ClientFacts, out: &mut impl HeadSink) {
        if let Some(xff) = &self.xff {
            xff.write(fields, client, out);
        }
        if self.proto {
            let proto: &[u8] = if client.tls { b"https" } else { b"http" };
            out.field(b"X-Forwarded-Proto", [proto]);
        }
    }
}

impl Xff {
    fn compile(settings: &HttpSettings) -> Result<Self, Error> {
        let name_text = if settings.xff_name.is_empty() { XFF } else { &settings.xff_name };
        let name = Name::of(name_text.as_bytes());
        let is_token = name_text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        let is_free = match name {
            Name::Other | Name::XForwardedFor => true,
            // A client's fields of such names never pass.
            Name::Shadow => settings.xff_update != XffUpdate::AddNew,
            _ => false,
        };
        if !is_token || !is_free || name_text.len() > XFF_NAME_BYTES_MAX {
            return Err(Error::XffName);
        }
        Ok(Self { name_text: name_text.as_bytes().into(), name, update: settings.xff_update })
    }

    fn replaces(&self) -> bool {
        self.update != XffUpdate::AddNew
    }

    fn is(&self, field: Field<'_>) -> bool {
        field.name == self.name && field.name_text.eq_ignore_ascii_case(&self.name_text)
    }

    fn write(&self, fields: &Fields<'_>, client: &ClientFacts, out: &mut impl HeadSink) {
        let address = client.address.bytes();
        if self.update == XffUpdate::Append && (self.name == Name::Other || fields.has(self.name)) {
            let earlier = fields.iter().filter(|&field| self.is(field) && !field.value.is_empty());
            out.field(&self.name_text, earlier.flat_map(|field| [field.value, b", "]).chain([address]));
        } else {
            out.field(&self.name_text, [address]);
        }
    }
}
