//! The records of a worker: notes on each request while it lives, and at its end a record of it, if it should be recorded
//! and its virtual service has not enough of them already. `telemetry` decides which and packs them; here stands what of an
//! exchange goes into a record.
//!
//! The record of a request is made where the request ends: once it is answered, or when its client's connection or stream
//! closes before that (`flow/records.rs`). A virtual service that records nothing pays for one look per request.

mod batch;
mod intake;
mod noted;
mod slot;

use std::{net::SocketAddr, sync::Arc};

use weir_snapshot::{Analytics, Snapshot, VirtualService};
use weir_telemetry::record::{Class, Flags, Kind, NO_SERVER, Outcome, Reasons, Record, Slab, Throttle, Tls};

pub use batch::Batch;
pub(crate) use intake::Come;
pub(crate) use noted::Noted;
pub(crate) use slot::{OfServer, Slot};

use crate::{io::Time, records::batch::Listed};

/// Requests of which notes are kept at once. One more leaves no record, and waits to be stood for.
const SLOTS: usize = 4096;

#[derive(Default)]
pub(crate) struct Recorder {
    slots: Slab<Slot>,
    throttle: Throttle,
    current: Batch,
    /// `None`: it is handed over, and has not come back. Records gather in `current`, as long as that has room.
    spare: Option<Batch>,
    listed: Listed,
    /// Batches handed over.
    batches: u64,
    /// Records made.
    sequence: u64,
    /// Some virtual service has records.
    is_ready: bool,
    /// Of the batch of events.
    unix_s: u64,
    /// For filters that decode.
    scratch: Vec<u8>,
}

/// Who asked, and how.
pub(crate) struct Asker<'c> {
    pub service: &'c Arc<VirtualService>,
    pub peer: SocketAddr,
    pub sender: SocketAddr,
    pub listener: SocketAddr,
    pub flags: Flags,
    pub tls: Tls,
    pub server_name: &'c [u8],
    /// In nanoseconds, 0: not known; and how old that is.
    pub rtt: (u64, u64),
}

impl Recorder {
    /// Takes the virtual services and pools that a snapshot has and the one before has not.
    pub fn follow(&mut self, snapshot: &Snapshot) {
        let difference = snapshot.difference();
        self.follow_services(snapshot, difference.services.iter());
        if self.is_ready {
            self.listed.make_room(difference.services.iter(), difference.pools.iter());
        }
    }

    /// Takes all of the first snapshot.
    pub fn begin(&mut self, snapshot: &Snapshot) {
        self.follow_services(snapshot, snapshot.services());
    }

    fn follow_services<'s>(&mut self, snapshot: &Snapshot, services: impl Iterator<Item = &'s Arc<VirtualService>>) {
        for service in services.filter(|service| service.analytics.is_some()) {
            if !std::mem::replace(&mut self.is_ready, true) {
                self.slots.make_room(SLOTS);
                (self.current, self.spare) = (Batch::empty(), Some(Batch::empty()));
                self.listed.make_room(snapshot.services(), snapshot.pools());
            }
            self.throttle.begin(service.id, &service.uuid, &mut self.current.waiting);
        }
    }

    /// Prepares for a batch of events. `unix_s`: seconds since 1970.
    #[inline]
    pub fn begin_batch(&mut self, unix_s: u64) {
        self.unix_s = unix_s;
    }

    #[inline]
    pub fn slot(&mut self, noted: Noted) -> Option<&mut Slot> {
        self.slots.find(noted.slot()?)
    }

    /// Makes the record of a request whose notes these are, or has it wait.
    pub fn end_request(&mut self, asker: &Asker<'_>, noted: Noted, (now, unix_us): (Time, u64)) {
        let Some(analytics) = asker.service.analytics.as_deref() else { return self.forget(noted) };
        let Some(at) = noted.slot() else { return self.end_without_slot(asker.service.id, analytics, noted) };
        let Some(slot) = self.slots.find(at) else { return };
        let outcome = slot.outcome(asker.rtt.0, now);
        let (reasons, filters) = (analytics.rules.reasons(&outcome), slot.filters);
        if let Some(class) = class(analytics, reasons, filters, self.unix_s)
            && self.admits(asker.service.id, analytics, class, now)
        {
            self.pack_request(asker, at, (class, reasons), &outcome, unix_us);
        }
        self.forget(noted);
    }

    /// A request of which no notes could be kept.
    #[cold]
    fn end_without_slot(&mut self, service: u32, analytics: &Analytics, noted: Noted) {
        let significant = if noted.is_significant() { Reasons::ENGINE_RESOURCES } else { Reasons::default() };
        if let Some(class) = class(analytics, significant, noted.filters(), self.unix_s) {
            self.throttle.suppress(service, class);
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

    fn pack_request(
        &mut self,
        asker: &Asker<'_>,
        at: u32,
        (class, reasons): (Class, Reasons),
        outcome: &Outcome,
        end_unix_us: u64,
    ) {
        let Self { slots, throttle, current, listed, batches, sequence, .. } = self;
        let Some(slot) = slots.find(at) else { return };
        let service = asker.service.id;
        if listed.services.is_new(service, *batches) {
            current.services.push(asker.service.clone());
        }
        let OfServer { server, local, connect_us, .. } = slot.of_server;
        if server != NO_SERVER
            && listed.servers.is_new(server, *batches)
            && let Some(pool) = slot.pool.take()
        {
            current.servers.push((server, pool));
        }
        *sequence += 1;
        let record = Record {
            kind: Kind::Request,
            class,
            method: slot.method,
            http: slot.http,
            servers_tried: outcome.servers_tried,
            weight: throttle.weight(service, class),
            flags: slot.flags | asker.flags,
            sequence: *sequence,
            end_unix_us,
            reasons,
            service,
            server,
            client: asker.peer,
            source: asker.sender.ip(),
            vip: asker.listener,
            server_local: local,
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
            connect_us,
            trace: slot.trace,
            span: slot.span,
        };
        let others = [asker.server_name, slot.other_method.bytes(), &[], &[], &[], slot.content_type.bytes()];
        current.buffer.pack(&record, &slot.texts, others);
    }

    /// Drops notes: there is no record.
    pub fn forget(&mut self, noted: Noted) {
        if let Some(at) = noted.slot()
            && let Some(slot) = self.slots.find(at)
        {
            slot.pool = None;
            self.slots.put_back(at);
        }
    }
}

// Handing over.
impl Recorder {
    /// Whether a batch should be handed over before its time.
    #[inline]
    pub fn is_half_full(&self) -> bool {
        self.current.buffer.is_half_full() && self.spare.is_some()
    }

    /// What has gathered. `None`: nothing is new, or the last batch has not come back. `is_last`: no other comes.
    pub fn hand_over(&mut self, is_last: bool) -> Option<Batch> {
        let nothing_is_new = self.current.buffer.is_empty() && self.current.waiting.is_empty();
        if !self.is_ready || nothing_is_new && !self.throttle.has_news() {
            return None;
        }
        let next = match self.spare.take() {
            Some(spare) => spare,
            None if is_last => Batch::default(),
            None => return None,
        };
        let mut batch = std::mem::replace(&mut self.current, next);
        self.throttle.say(&mut batch.waiting);
        self.batches += 1;
        batch.number = self.batches;
        Some(batch)
    }

    /// A batch comes back.
    pub fn take_back(&mut self, batch: Batch) {
        self.spare = Some(batch.emptied());
    }
}

/// The first that holds.
#[inline]
fn class(analytics: &Analytics, reasons: Reasons, filters: u16, unix_s: u64) -> Option<Class> {
    match () {
        () if !reasons.is_empty() => Some(Class::Significant),
        () if filters != 0 => Some(Class::Filtered),
        () if analytics.records_all(unix_s) => Some(Class::All),
        () => None,
    }
}

fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
