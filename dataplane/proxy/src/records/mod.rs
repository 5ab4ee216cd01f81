//! The records of a worker: notes on each request while it lives, and at its end a record of it, if it should be recorded
//! and its virtual service has not enough of them already. `telemetry` decides which and packs them; here stands what of an
//! exchange goes into a record.
//!
//! The record of a request is made where the request ends: once it is answered, or when its client's connection or stream
//! closes before that (`flow/records.rs`). A virtual service that records nothing pays for one look per request.

mod asker;
mod batch;
mod draws;
mod headers;
mod intake;
mod keeper;
mod noted;
mod ruled;
mod said;
mod slot;
mod slots;

use std::sync::Arc;

use weir_rules::DecidedBy;
use weir_snapshot::{Analytics, Snapshot, VirtualService};
use weir_telemetry::{
    Cause, Limited,
    record::{Flags, Reasons, Slab, Waiting},
};

pub(crate) use asker::{Asker, flags_of};
pub use batch::Batch;
pub(crate) use draws::Draws;
pub(crate) use intake::Come;
pub(crate) use keeper::End;
pub(crate) use noted::Noted;
pub(crate) use said::Said;
pub(crate) use slot::{OfServer, OfTunnel, Slot};

use crate::records::{
    headers::Block,
    keeper::Keeper,
    slots::{SLOTS, Slots},
};

/// Requests with header fields in their records at once. One more has none, and says so.
const BLOCKS: usize = 256;
/// The driver is asked for the round trip to a client at most once in so many records.
const RECORDS_PER_QUESTION: u32 = 8;

#[derive(Default)]
pub(crate) struct Recorder {
    slots: Slots,
    blocks: Slab<Block>,
    /// For connections, of which notes are taken at their end.
    own: Slot,
    keeper: Keeper,
    /// The rule that has just barred a connection.
    pub barred: Option<DecidedBy>,
    /// Whose rate the request or the connection exceeds that was just refused for it.
    pub limited: Option<Limited>,
    /// `None`: it is handed over, and has not come back. Records gather in the current one, as long as that has room.
    spare: Option<Batch>,
    /// What waits of virtual services whose rows others have got since the last batch.
    left: Vec<Waiting>,
    /// For numbers that name requests and their spans.
    pub draws: Draws,
    /// Some virtual service has records.
    is_ready: bool,
    /// Since the driver was last asked for a round trip.
    unasked: u32,
    /// For filters that decode.
    scratch: Vec<u8>,
    /// Texts of which something is hidden: a query, and behind it a referer.
    hidden: Vec<u8>,
}

impl Recorder {
    /// Takes all of the first snapshot.
    pub fn begin(&mut self, snapshot: &Snapshot) {
        self.follow_services(snapshot, snapshot.parts());
    }

    /// Takes the virtual services and servers that a snapshot has and the one before has not.
    pub fn follow(&mut self, snapshot: &Snapshot) {
        let difference = snapshot.difference();
        self.follow_services(snapshot, difference.services.iter());
        if self.is_ready {
            self.keeper.listed.make_room(difference.services.iter(), difference.pools.iter());
        }
    }

    fn follow_services<'s>(&mut self, snapshot: &Snapshot, services: impl Iterator<Item = &'s Arc<VirtualService>>) {
        for service in services.filter(|service| service.analytics.is_some()) {
            if !std::mem::replace(&mut self.is_ready, true) {
                self.slots.make_room();
                (self.keeper.current, self.spare) = (Batch::empty(), Some(Batch::empty()));
                self.keeper.listed.make_room(snapshot.services(), snapshot.pools());
            }
            if service.analytics.as_ref().is_some_and(|analytics| analytics.may_want_headers()) {
                self.blocks.make_room(BLOCKS);
            }
            self.slots.make_room_for(service.id);
            self.keeper.throttle.begin(service.id, &service.uuid, &mut self.left);
        }
    }

    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Prepares for a batch of events. `unix_s`: seconds since 1970.
    #[inline]
    pub fn begin_batch(&mut self, unix_s: u64) {
        self.keeper.unix_s = unix_s;
    }

    /// Seconds since 1970, as in this batch.
    pub fn unix_s(&self) -> u64 {
        self.keeper.unix_s
    }

    #[inline]
    pub fn slot(&mut self, noted: Noted) -> Option<&mut Slot> {
        // Without a slot, it is a number beyond all of them.
        self.slots.find(noted.number())
    }

    /// Whether the batch that gathers now names a server.
    #[inline]
    pub fn lists(&self, server: u32) -> bool {
        self.keeper.listed.servers.has(server, self.keeper.batches)
    }

    /// Something about a request has failed.
    #[cold]
    pub fn note_cause(&mut self, noted: &mut Noted, analytics: &Analytics, cause: Cause) {
        match self.slot(*noted) {
            Some(slot) => slot.set_cause(Some(first_cause(slot.cause(), cause))),
            None => noted.weigh_cause(analytics, cause),
        }
    }

    /// Requests of which notes are kept, and those whose header fields are kept.
    pub fn requests_noted(&self) -> usize {
        self.slots.in_use().max(self.blocks.in_use())
    }

    /// Whether what lasts long should give up its slot.
    pub fn is_crowded(&self) -> bool {
        self.slots.in_use() > SLOTS / 2
    }

    /// Whether the driver may be asked for a round trip.
    #[inline]
    pub fn may_ask(&mut self) -> bool {
        self.unasked += 1;
        let may = self.unasked >= RECORDS_PER_QUESTION;
        if may {
            self.unasked = 0;
        }
        may
    }

    /// The request is over whose notes these are.
    #[inline(always)]
    pub fn end_request(&mut self, asker: &Asker<'_>, noted: Noted, end: End) {
        let Some(analytics) = asker.service.analytics.as_deref() else { return self.forget(noted) };
        let Some(at) = noted.slot() else {
            let significant = if noted.is_significant() { Reasons::ENGINE_RESOURCES } else { Reasons::default() };
            // What the rule logs that let the connection in is as if a filter held.
            let logged = u16::from(asker.flags.has(Flags::LOGGED));
            return self.keeper.end_without_notes(asker.service.id, analytics, significant, noted.filters() | logged);
        };
        let Some(slot) = self.slots.find(at) else { return };
        let holder = slot.draft.fixed.service;
        if self.keeper.end(asker, analytics, slot, end) {
            if slot.is_plain() && asker.texts.are_empty() {
                self.keeper.current.buffer.pack(&slot.draft);
            } else {
                let block = slot.block.and_then(|block| self.blocks.find(block));
                let mut headers = block.as_ref().map_or([&[][..]; 2], |block| block.parts());
                if slot.block.is_some() && slot.awaits_rule {
                    headers = [&[]; 2];
                    slot.draft.fixed.flags.remove(Flags::HEADERS_CUT);
                }
                self.keeper.pack_with(&asker.texts, asker.rule, slot, headers);
            }
        }
        slot.pool = None;
        if let Some(block) = slot.block.take() {
            self.blocks.put_back(block);
        }
        self.slots.put_back(at, holder);
    }

    /// A connection or a session is over. `note` notes what there is to note.
    #[cold]
    pub fn end_connection(&mut self, asker: &Asker<'_>, end: End, note: impl FnOnce(&mut Slot)) {
        let Some(analytics) = asker.service.analytics.as_deref() else { return };
        let slot = &mut self.own;
        slot.begin(end.now, 0, analytics.filters_of(asker.peer.ip(), None, self.keeper.unix_s, &mut self.scratch));
        note(slot);
        if self.keeper.end(asker, analytics, slot, end) {
            self.keeper.pack_with(&asker.texts, asker.rule, slot, [&[]; 2]);
        }
        slot.pool = None;
    }

    /// The rule that has just barred a connection, if `cause` says that one has.
    pub fn barring(&mut self, cause: Cause) -> Option<DecidedBy> {
        self.barred.take().filter(|_| matches!(cause, Cause::ClientNetworkDenied | Cause::ClientNetworkRate))
    }

    /// Drops notes: there is no record.
    #[cold]
    pub fn forget(&mut self, noted: Noted) {
        let Some(at) = noted.slot() else { return };
        let Some(slot) = self.slots.find(at) else { return };
        (slot.pool, slot.names) = (None, None);
        if let Some(block) = slot.block.take() {
            self.blocks.put_back(block);
        }
        let holder = slot.draft.fixed.service;
        self.slots.put_back(at, holder);
    }
}

/// An eviction is the cause also of what it entails.
pub(crate) fn first_cause(noted: Option<Cause>, cause: Cause) -> Cause {
    noted.filter(|noted| matches!(noted, Cause::EngineEvicted | Cause::EngineMemory)).unwrap_or(cause)
}

// Handing over.
impl Recorder {
    /// Whether a batch should be handed over before its time.
    #[inline]
    pub fn is_half_full(&self) -> bool {
        self.keeper.current.buffer.is_half_full() && self.spare.is_some()
    }

    /// What has gathered. `None`: nothing is new, or the last batch has not come back. `is_last`: no other comes.
    pub fn hand_over(&mut self, is_last: bool) -> Option<Batch> {
        let Self { keeper, left, spare, is_ready, .. } = self;
        let nothing_is_new = keeper.current.buffer.is_empty() && left.is_empty();
        if !*is_ready || nothing_is_new && !keeper.throttle.has_news() {
            return None;
        }
        let next = match spare.take() {
            Some(spare) => spare,
            None if is_last => Batch::empty(),
            None => return None,
        };
        let mut batch = std::mem::replace(&mut keeper.current, next);
        batch.waiting.append(left);
        keeper.throttle.say(&mut batch.waiting);
        keeper.batches += 1;
        batch.number = keeper.batches;
        Some(batch)
    }

    /// A batch comes back.
    pub fn take_back(&mut self, batch: Batch) {
        self.spare = Some(batch.emptied());
    }
}
