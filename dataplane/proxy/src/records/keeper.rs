//! Decides what of a request or connection that has ended becomes of it: a packed record, or one more that waits.

use weir_rules::{DecidedBy, Told};
use weir_snapshot::Analytics;
use weir_telemetry::{
    Spans,
    record::{Class, Flags, Kind, Reasons, RuleList, RuleNames, Throttle},
};

use crate::{
    connection::secure::TlsTexts,
    io::Time,
    records::{
        asker::Asker,
        batch::{Batch, Listed},
        slot::{OF_PLACE, Slot},
    },
};

#[derive(Default)]
pub(super) struct Keeper {
    pub throttle: Throttle,
    pub current: Batch,
    pub listed: Listed,
    /// Batches handed over.
    pub batches: u64,
    /// Records made.
    sequence: u64,
    /// Of the batch of events.
    pub unix_s: u64,
    /// What stands in the place of suites, while a record is packed.
    place: Vec<u8>,
}

/// When something ended: by the time of the driver, and in microseconds since 1970.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub now: Time,
    pub unix_us: u64,
}

impl Keeper {
    /// Makes the record of what these notes are on, but for other texts, or has it wait. Returns whether it is made.
    #[inline(always)]
    pub fn end(&mut self, asker: &Asker<'_>, analytics: &Analytics, slot: &mut Slot, end: End) -> bool {
        let service = asker.service.id;
        let spans = slot.spans(end.now);
        let reasons = match slot.is_clean() && analytics.rules.is_usual(&spans, asker.rtt.0) {
            true => Reasons::NONE,
            false => reasons(analytics, slot, asker.kind, spans, asker.rtt.0),
        };
        slot.draft.fixed.flags |= asker.flags;
        // What a script logs is to be seen, as if a filter held, and what a rule wants to be logged.
        let logs = u16::from(slot.draft.fixed.flags.has_some(Flags::SCRIPTED | Flags::LOGGED));
        let Some(class) = self.class(analytics, reasons, slot.draft.fixed.filters | logs) else { return false };
        let has_room = self.current.buffer.admits(class);
        let taken = self.throttle.take(service, class, analytics.rate(class), has_room, end.now.nanos);
        let Some(weight) = taken else { return false };
        self.list(asker, slot);
        self.sequence += 1;
        let fixed = &mut slot.draft.fixed;
        (fixed.kind, fixed.class, fixed.reasons, fixed.weight) = (asker.kind, class, reasons, weight);
        (fixed.sequence, fixed.end_unix_us, fixed.service) = (self.sequence, end.unix_us, service);
        fixed.set_ends(asker.peer, asker.sender, asker.listener);
        fixed.tls = asker.tls;
        fixed.set_spans(&spans);
        (fixed.client_rtt_us, fixed.client_rtt_age_ms) = match asker.rtt {
            (0, _) => (0, 0),
            (rtt, age) => (short(rtt / 1000), short(age / 1_000_000)),
        };
        true
    }

    /// Packs a record that is made, with its other texts. `rule`: the one that has let the connection in or barred it.
    /// `headers` are the fields of request and response.
    #[inline(never)]
    pub fn pack_with(
        &mut self,
        texts: &TlsTexts<'_>,
        rule: Option<&DecidedBy>,
        slot: &mut Slot,
        [of_request, of_response]: [&[u8]; 2],
    ) {
        // The span of the client stands in the place of the suites that one offered.
        let span = slot.client_span;
        let offered = match &span {
            _ if !slot.draft.fixed.flags.has(Flags::OWN_SPAN) => texts.offered,
            Some(span) => span,
            None => &[],
        };
        let flags = slot.draft.fixed.flags;
        let offered = match flags.has_some(OF_PLACE) {
            true => {
                self.place.clear();
                write_place(&mut self.place, offered, slot, rule);
                &self.place
            }
            false => offered,
        };
        let others = [
            texts.server_name,
            slot.other_method.bytes(),
            of_request,
            of_response,
            offered,
            texts.fault,
            texts.subject,
        ];
        self.current.buffer.pack_with(&mut slot.draft, others);
    }

    /// The same as [`end`](Self::end) for a request without notes.
    #[cold]
    pub fn end_without_notes(&mut self, service: u32, analytics: &Analytics, reasons: Reasons, filters: u16) {
        if let Some(class) = self.class(analytics, reasons, filters) {
            self.throttle.suppress(service, class);
        }
    }

    /// The first that holds.
    #[inline]
    fn class(&self, analytics: &Analytics, reasons: Reasons, filters: u16) -> Option<Class> {
        match () {
            () if !reasons.is_empty() => Some(Class::Significant),
            () if filters != 0 => Some(Class::Filtered),
            () if analytics.records_all(self.unix_s) => Some(Class::All),
            () => None,
        }
    }

    /// Lists the virtual service and the server with the batch.
    #[inline(always)]
    fn list(&mut self, asker: &Asker<'_>, slot: &mut Slot) {
        let Self { current, listed, batches, .. } = self;
        if listed.services.is_new(asker.service.id, *batches) {
            current.services.push(asker.service.clone());
        }
        if let Some(pool) = slot.pool.take()
            && listed.servers.is_new(slot.draft.fixed.server, *batches)
        {
            current.servers.push((slot.draft.fixed.server, pool));
        }
    }
}

/// Writes what stands in the place of suites, if rules have acted, or scripts have said something.
fn write_place(out: &mut Vec<u8>, offered: &[u8], slot: &mut Slot, rule: Option<&DecidedBy>) {
    let offered = &offered[..offered.len().min(u8::MAX.into())];
    out.push(offered.len() as u8);
    out.extend_from_slice(offered);
    if slot.draft.fixed.flags.has(Flags::NAMED) {
        write_names(out, slot.names.take().as_deref());
    }
    if slot.draft.fixed.flags.has_some(Flags::RULED | Flags::ADMITTED) {
        let begin = out.len();
        out.extend_from_slice(&[0; 2]);
        if let Some(by) = rule {
            let mut first = RuleNames::default();
            first.add(RuleList::Connections, &by.name);
            out.extend_from_slice(first.bytes());
        }
        if slot.draft.fixed.flags.has(Flags::RULED) {
            out.extend_from_slice(slot.rules.bytes());
        }
        let bytes = (out.len() - begin - 2) as u16;
        out[begin..begin + 2].copy_from_slice(&bytes.to_le_bytes());
    }
    out.extend_from_slice(slot.said().as_bytes());
}

/// Each text with its length before it, as a byte.
fn write_names(out: &mut Vec<u8>, names: Option<&Told>) {
    let id = names.and_then(Told::id).map(|id| id.to_string()).unwrap_or_default();
    let user = names.map(Told::user).unwrap_or_default();
    for text in [id, user] {
        out.push(text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    }
}

#[cold]
fn reasons(analytics: &Analytics, slot: &Slot, kind: Kind, spans: Spans, client_rtt: u64) -> Reasons {
    analytics.rules.reasons(&slot.outcome(kind, spans, client_rtt))
}

fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
