//! What concerns one hop only, and so never passes (RFC 9110 §7.6.1).

use weir_wire::http1::{Field, Fields, Name, NameSet};

/// Transfer-Encoding is among them: the writer of the next head says how its body is framed.
pub(crate) const HOP_BY_HOP: NameSet = NameSet::of(&[
    Name::Connection,
    Name::KeepAlive,
    Name::ProxyConnection,
    Name::Te,
    Name::TransferEncoding,
    Name::Upgrade,
]);

/// A peer cannot remove these by naming them in Connection. Without them the next reader would see another message.
const NEEDED: NameSet = NameSet::of(&[Name::ContentLength, Name::Date, Name::Host]);

/// Whether Connection asks for the field to be dropped.
pub(crate) fn is_named_away(fields: &Fields<'_>, field: Field<'_>) -> bool {
    !NEEDED.has(field.name) && fields.connection_names(field.name_text)
}
