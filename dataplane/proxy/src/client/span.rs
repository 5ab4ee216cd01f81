//! The span of a request (W3C Trace Context): the engine is a party of the trace, and its server hears of the engine as
//! the parent.

use weir_policy::{Trace, is_trace_parent};
use weir_snapshot::{Analytics, Traces, VirtualService};
use weir_wire::{TraceParent, head::RequestHead};

use crate::{
    io::Io,
    records::{Draws, Noted, Recorder},
};

/// Which requests of a service have a span. `None`: their traces pass as they are.
#[inline(always)]
pub(super) fn traced(service: &VirtualService) -> Option<(&Analytics, &Traces)> {
    let analytics = service.analytics.as_deref()?;
    Some((analytics, analytics.traces.as_ref()?))
}

/// The span of a request.
#[inline(never)]
pub(super) fn span_of<I: Io>(
    io: &mut I,
    records: &mut Recorder,
    (analytics, traces): (&Analytics, &Traces),
    head: &RequestHead<'_>,
    noted: Noted,
) -> Trace {
    let trace = trace_of(io, &mut records.draws, traces, head);
    let is_shown = analytics.hidden.as_ref().is_none_or(|hidden| hidden.trace_parent.is_none());
    if is_shown && let Some(slot) = records.slot(noted) {
        slot.join(&trace);
    }
    trace
}

/// The client's trace goes on, if it is a valid one. Else there is a new one.
fn trace_of<I: Io>(io: &mut I, draws: &mut Draws, traces: &Traces, head: &RequestHead<'_>) -> Trace {
    let span = (draws.next(io) | 1).to_le_bytes();
    let mut parents = head.fields.iter().filter(|field| is_trace_parent(*field));
    let sent = match (parents.next(), parents.next()) {
        (Some(only), None) => TraceParent::read(only.value),
        _ => None, // two say nothing
    };
    if let Some(sent) = sent {
        return Trace { parent: TraceParent { span, ..sent }, is_new: false };
    }
    let number = u128::from(draws.next(io)) << 64 | u128::from(draws.next(io) | 1);
    let is_sampled = draws.next(io) >> 32 < traces.sampled_below;
    Trace { parent: TraceParent { trace: number.to_be_bytes(), span, is_sampled }, is_new: true }
}
