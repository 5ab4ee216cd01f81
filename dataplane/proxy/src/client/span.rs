//! The span of a request (W3C Trace Context): the engine is a party of the trace, and its server hears of the engine as
//! the parent.

use weir_policy::{Trace, is_trace_parent};
use weir_snapshot::{Analytics, Traces, VirtualService};
use weir_wire::{TraceParent, head::RequestHead};

use crate::{
    io::Io,
    records::{Noted, Recorder},
};

/// Makes the numbers of traces and spans: xoroshiro128++ (Blackman and Vigna). They have to differ, and are no secrets.
#[derive(Default)]
pub(crate) struct Draws([u64; 2]);

impl Draws {
    #[inline]
    fn next<I: Io>(&mut self, io: &mut I) -> u64 {
        if self.0 == [0; 2] {
            self.seed(io.random());
        }
        self.step()
    }

    #[inline]
    fn step(&mut self) -> u64 {
        let [a, b] = self.0;
        let drawn = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
        let mixed = a ^ b;
        self.0 = [a.rotate_left(49) ^ mixed ^ (mixed << 21), mixed.rotate_left(28)];
        drawn
    }

    #[cold]
    fn seed(&mut self, random: [u8; 16]) {
        let (halves, _) = random.as_chunks();
        self.0 = [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1]) | 1];
    }
}

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
    (draws, records): (&mut Draws, &mut Recorder),
    (analytics, traces): (&Analytics, &Traces),
    head: &RequestHead<'_>,
    noted: Noted,
) -> Trace {
    let trace = trace_of(io, draws, traces, head);
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    /// As the authors wrote it: https://prng.di.unimi.it/xoroshiro128plusplus.c.
    #[test]
    fn numbers_are_those_of_the_reference_and_differ() {
        let mut random = [0; 16];
        (random[0], random[8]) = (1, 3);
        let mut draws = super::Draws::default();
        draws.seed(random);
        let mut state: [u64; 2] = [1, 3];
        let mut seen = HashSet::new();
        for _ in 0..10_000 {
            let [s0, mut s1] = state;
            let expected = s0.wrapping_add(s1).rotate_left(17).wrapping_add(s0);
            s1 ^= s0;
            state = [s0.rotate_left(49) ^ s1 ^ (s1 << 21), s1.rotate_left(28)];
            let drawn = draws.step();
            assert_eq!(drawn, expected);
            assert!(seen.insert(drawn), "{drawn} comes twice");
        }
    }
}
