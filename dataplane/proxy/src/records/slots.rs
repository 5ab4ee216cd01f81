//! The slots of a worker. Where requests of one virtual service hang for long and take most of them, the rest is for the
//! others: each of them still gets a few.

use weir_telemetry::{id, record::Slab};

use crate::records::slot::Slot;

/// Requests of which notes are kept at once. One more leaves no record, and waits to be stood for.
pub(super) const SLOTS: usize = 4096;
/// The last of them are for virtual services that have few.
const LAST: usize = SLOTS / 4;
const FEW: u16 = 16;

#[derive(Default)]
pub(super) struct Slots {
    slab: Slab<Slot>,
    /// How many are in use, by the index of the virtual service.
    held: Vec<u16>,
}

impl Slots {
    pub fn make_room(&mut self) {
        self.slab.make_room(SLOTS);
    }

    pub fn make_room_for(&mut self, service: u32) {
        let services = self.held.len().max(id::index(service) + 1);
        self.held.resize(services, 0);
    }

    /// A slot for a request of this virtual service, as its last user has left it.
    #[inline(always)]
    pub fn take(&mut self, service: u32) -> Option<(u32, &mut Slot)> {
        let held = self.held.get_mut(id::index(service))?;
        if *held >= FEW && self.slab.in_use() >= SLOTS - LAST {
            return None;
        }
        let (at, slot) = self.slab.take()?;
        *held += 1;
        slot.draft.fixed.service = service;
        Some((at, slot))
    }

    #[inline]
    pub fn find(&mut self, at: u32) -> Option<&mut Slot> {
        self.slab.find(at)
    }

    /// `service` is the one that had it.
    #[inline(always)]
    pub fn put_back(&mut self, at: u32, service: u32) {
        if let Some(held) = self.held.get_mut(id::index(service)) {
            *held -= 1;
        }
        self.slab.put_back(at);
    }

    pub fn in_use(&self) -> usize {
        self.slab.in_use()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(slots: &mut Slots, service: u32) -> Vec<u32> {
        std::iter::from_fn(|| slots.take(service).map(|(at, _)| at)).collect()
    }

    #[test]
    fn virtual_service_whose_requests_hang_leaves_slots_to_others() {
        let mut slots = Slots::default();
        slots.make_room();
        (0..80).for_each(|service| slots.make_room_for(service));
        let hanging = taken(&mut slots, 0);
        assert_eq!(hanging.len(), SLOTS - LAST);
        let others: Vec<_> = (1..80).map(|service| taken(&mut slots, service).len()).collect();
        assert_eq!(others.iter().filter(|had| **had == usize::from(FEW)).count(), LAST / usize::from(FEW));
        assert_eq!(slots.in_use(), SLOTS);
        slots.put_back(hanging[0], 0);
        assert!(slots.take(0).is_none(), "it still has many");
        assert!(slots.take(79).is_some());
        (1..=LAST).for_each(|n| slots.put_back(hanging[n], 0));
        assert_eq!(taken(&mut slots, 0).len(), 0, "the last are not for it");
        slots.put_back(hanging[LAST + 1], 0);
        slots.put_back(hanging[LAST + 2], 0);
        assert!(slots.take(0).is_some());
    }
}
