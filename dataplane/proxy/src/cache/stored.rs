//! The store of a worker, and the flights to it.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use weir_cache::{Asked, Key, Store};
use weir_snapshot::Cached;

use crate::{
    cache::{
        flight::{Flight, Landed, Landing, Lead},
        object::{Filling, Object, Since},
        role::Caching,
        room::Room,
    },
    exchange::table::ExchangeId,
    io::Io,
};

/// Requests that wait for one.
const FOLLOWERS_MOST: usize = 4096;
/// Larger objects are stored when they are asked for once more.
pub(crate) const AT_ONCE_BYTES: u64 = 64 * 1024;
/// Resources that are known not to be stored.
const UNSTORED_MOST: usize = 4096;

pub(crate) struct Cache {
    store: RefCell<Store<Rc<Object>>>,
    flights: RefCell<HashMap<Key, Rc<Flight>>>,
    /// Flights that have come to their end.
    landed: Landed,
    unstored: RefCell<HashSet<Key>>,
    /// Content on its way into the store.
    filling_bytes: Rc<Cell<u64>>,
}

impl Cache {
    pub fn new(most_bytes: usize) -> Self {
        Self {
            store: RefCell::new(Store::new(most_bytes)),
            flights: RefCell::new(HashMap::new()),
            landed: Landed::default(),
            unstored: RefCell::new(HashSet::new()),
            filling_bytes: Rc::default(),
        }
    }

    /// What is stored for a request, fresh or not.
    pub fn find(&self, asked: &Asked, cached: &Cached, since: Since) -> Option<Rc<Object>> {
        self.store.borrow_mut().find(&asked.key, |object| object.is_for(asked, cached, since)).cloned()
    }

    /// The same, and the cache does not take it for a request.
    pub fn peek(&self, asked: &Asked, cached: &Cached) -> Option<Rc<Object>> {
        let since = Since::now(cached, asked);
        self.store.borrow().peek(&asked.key, |object| object.is_for(asked, cached, since)).cloned()
    }

    /// How much content of a response may be stored.
    pub fn most_bytes(&self, cached: &Cached, asked: &Asked) -> u64 {
        let all = self.store.borrow().most_bytes();
        let all = cached.share.map_or(all, |share| share.most_bytes.min(all));
        let most = cached.profile.settings.max_bytes.min(all as u64 / 4);
        if self.store.borrow_mut().note(&asked.key) { most } else { most.min(AT_ONCE_BYTES) }
    }

    /// Room for content on its way into the store: a quarter of what the store has.
    pub fn room(&self) -> Room {
        Room::of(&self.filling_bytes, self.store.borrow().most_bytes() as u64 / 4)
    }

    /// False: it is too large, and not stored.
    pub fn put(&self, asked: &Asked, object: Rc<Object>) -> bool {
        self.unstored.borrow_mut().remove(&asked.key);
        // The store has the key twice.
        let bytes = object.bytes() + 2 * asked.key.bytes();
        let (changes, share) = (object.since.changes, object.share);
        // Of all forms that the request selects, the latest is the one to use (RFC 9111 §4.1).
        let replaces = |other: &Rc<Object>| asked.is_selected_by(&other.selecting) || other.since.changes != changes;
        self.store.borrow_mut().put(asked.key.clone(), object, bytes, share, replaces)
    }

    pub fn remove(&self, key: &Key) {
        self.store.borrow_mut().remove(key);
    }

    /// All of a response has come.
    pub fn finish<I: Io>(&self, caching: &Caching, filling: Filling, io: &mut I) {
        let (object, lead) = filling.finish(io);
        let is_stored = match (caching.asked(), object) {
            (Some(asked), Some(object)) => self.put(asked, Rc::new(object)),
            _ => false,
        };
        if let Some(lead) = lead {
            lead.land(if is_stored { Landing::Stored } else { Landing::NotStored });
        }
    }

    /// Lets a request lead, or wait for the one that does. `None`: it goes its own way.
    pub fn join(&self, id: ExchangeId, key: &Key) -> Option<Joined> {
        if self.unstored.borrow().contains(key) {
            return None;
        }
        let mut flights = self.flights.borrow_mut();
        if let Some(flight) = flights.get(key) {
            let mut followers = flight.followers.borrow_mut();
            if followers.len() >= FOLLOWERS_MOST {
                return None;
            }
            followers.push(id);
            return Some(Joined::Follows);
        }
        let flight =
            Rc::new(Flight { key: key.clone(), followers: RefCell::default(), landing: Cell::new(Landing::Failed) });
        flights.insert(key.clone(), flight.clone());
        Some(Joined::Leads(Lead { flight, landed: self.landed.clone() }))
    }

    #[inline]
    pub fn has_landed(&self) -> bool {
        !self.landed.borrow().is_empty()
    }

    /// The flights that have ended since the last call.
    pub fn take_landed(&self) -> Vec<Rc<Flight>> {
        let landed = std::mem::take(&mut *self.landed.borrow_mut());
        for flight in &landed {
            self.flights.borrow_mut().remove(&flight.key);
            if flight.landing.get() == Landing::NotStored {
                let mut unstored = self.unstored.borrow_mut();
                if unstored.len() >= UNSTORED_MOST {
                    unstored.clear();
                }
                unstored.insert(flight.key.clone());
            }
        }
        landed
    }
}

pub(crate) enum Joined {
    Leads(Lead),
    Follows,
}
