//! The trace that a request's server is told about (W3C Trace Context).

use weir_wire::{
    TraceParent,
    head::{Field, HeadSink},
};

/// Instead of what the client says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace {
    /// With the span that the engine is.
    pub parent: TraceParent,
    /// The client's request belongs to no trace, so it has no state of one either (§3.3.1).
    pub is_new: bool,
}

impl Trace {
    /// Of the line that it adds, at most.
    pub(crate) const BYTES_MAX: usize = 80;

    pub(crate) fn replaces(&self, field: Field<'_>) -> bool {
        is_trace_parent(field) || self.is_new && is_named(field, b"tracestate")
    }

    pub(crate) fn write(&self, out: &mut impl HeadSink) {
        out.field(b"traceparent", [&self.parent.text()[..]]);
    }
}

/// Whether a field says which trace a request belongs to.
pub fn is_trace_parent(field: Field<'_>) -> bool {
    is_named(field, b"traceparent")
}

fn is_named(field: Field<'_>, name: &[u8]) -> bool {
    field.name_text.eq_ignore_ascii_case(name)
}
