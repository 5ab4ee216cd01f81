//! Decides what of a request or connection that has ended becomes of it: a packed record, or one more that waits.

use weir_snapshot::Analytics;
use weir_telemetry::record::{Class, NO_SERVER, Outcome, Reasons, Record, Throttle};

use crate::{
    io::Time,
    records::{
        asker::Asker,
        batch::{Batch, Listed},
        slot::Slot,
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
}

/// When something ended: by the time of the driver, and in microseconds since 1970.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub now: Time,
    pub unix_us: u64,
}

/// Header fields of the request, and of the response.
pub(super) type Headers<'h> = [&'h [u8]; 2];

impl Keeper {
    /// Makes the record of what these notes are on, or has it wait.
    pub fn end(&mut self, asker: &Asker<'_>, analytics: &Analytics, slot: &mut Slot, headers: Headers<'_>, end: End) {
        let outcome = slot.outcome(asker.kind, asker.rtt.0, end.now);
        let reasons = analytics.rules.reasons(&outcome);
        if let Some(class) = self.class(analytics, reasons, slot.filters)
            && self.admits(asker.service.id, analytics, class, end.now)
        {
            self.list(asker, slot);
            self.sequence += 1;
            let weight = self.throttle.weight(asker.service.id, class);
            let record = record(asker, slot, &outcome, end.unix_us);
            let record = Record { class, reasons, weight, sequence: self.sequence, ..record };
            let [of_request, of_response] = headers;
            let others = [
                asker.server_name,
                slot.other_method.bytes(),
                of_request,
                of_response,
                slot.client_span(asker.offered),
                slot.content_type.bytes(),
            ];
            self.current.buffer.pack(&record, &slot.texts, others);
        }
        slot.pool = None;
    }

    /// The same for a request without notes.
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

    /// Whether there is a record now. If not, it waits.
    #[inline]
    fn admits(&mut self, service: u32, analytics: &Analytics, class: Class, now: Time) -> bool {
        let admits =
            self.current.buffer.admits(class) && self.throttle.admits(service, class, analytics.rate(class), now.nanos);
        if !admits {
            self.throttle.suppress(service, class);
        }
        admits
    }

    /// Lists the virtual service and the server with the batch.
    #[inline]
    fn list(&mut self, asker: &Asker<'_>, slot: &mut Slot) {
        let Self { current, listed, batches, .. } = self;
        if listed.services.is_new(asker.service.id, *batches) {
            current.services.push(asker.service.clone());
        }
        let server = slot.of_server.server;
        if server != NO_SERVER
            && slot.pool.is_some()
            && listed.servers.is_new(server, *batches)
            && let Some(pool) = slot.pool.take()
        {
            current.servers.push((server, pool));
        }
    }
}

/// All but what the class decides.
#[inline(always)]
fn record(asker: &Asker<'_>, slot: &Slot, outcome: &Outcome, end_unix_us: u64) -> Record {
    Record {
        kind: asker.kind,
        class: Class::All,
        method: slot.method,
        http: slot.http,
        servers_tried: outcome.servers_tried,
        weight: 1,
        flags: slot.flags | asker.flags,
        sequence: 0,
        end_unix_us,
        reasons: Reasons::default(),
        service: asker.service.id,
        server: slot.of_server.server,
        client: asker.peer,
        source: asker.sender.ip(),
        vip: asker.listener,
        server_local: slot.of_server.local,
        status: slot.status,
        server_status: slot.server_status,
        cause: slot.cause.map_or(0, |cause| cause as u16 + 1),
        filters: slot.filters,
        tls: asker.tls,
        request_bytes: slot.request_bytes,
        response_bytes: slot.response_bytes,
        server_response_bytes: slot.server_response_bytes,
        spans: outcome.spans,
        client_rtt_us: short(asker.rtt.0 / 1000),
        client_rtt_age_ms: short(asker.rtt.1 / 1_000_000),
        connect_us: slot.of_server.connect_us,
        trace: slot.trace,
        span: slot.span,
    }
}

fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
