//! A persistent hash map: copies share their entries, and an insertion copies a small part of the map. So a snapshot
//! shares all unchanged objects with the previous one, however many there are.

use std::{
    borrow::Borrow,
    fmt,
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use foldhash::fast::FixedState;

/// An insertion copies the list of branches, one branch, and one shard. The largest map (16,384 objects of one kind) has
/// 64 entries per shard.
const BRANCHES: usize = 16;
const SHARDS: usize = BRANCHES * SHARDS_PER_BRANCH;
const SHARDS_PER_BRANCH: usize = 16;

pub(crate) struct Shared<K, V> {
    /// Empty, or [`BRANCHES`] of them.
    branches: Arc<Vec<Branch<K, V>>>,
    len: usize,
}

/// Empty, or [`SHARDS_PER_BRANCH`] of them.
type Branch<K, V> = Arc<Vec<Shard<K, V>>>;

/// Sorted by hash.
type Shard<K, V> = Arc<Vec<Entry<K, V>>>;

#[derive(Clone)]
struct Entry<K, V> {
    hash: u64,
    key: K,
    value: V,
}

impl<K: Clone + Eq + Hash, V: Clone> Shared<K, V> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get<Q: ?Sized + Eq + Hash>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let hash = hash(key);
        let shard = self.shard(hash)?;
        find(shard, hash, key).ok().map(|at| &shard[at].value)
    }

    pub fn contains<Q: ?Sized + Eq + Hash>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// Returns the value that the key had before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = hash(&key);
        let shard = self.shard_mut(hash);
        match find(shard, hash, &key) {
            Ok(at) => Some(std::mem::replace(&mut shard[at].value, value)),
            Err(at) => {
                shard.insert(at, Entry { hash, key, value });
                self.len += 1;
                None
            }
        }
    }

    pub fn remove<Q: ?Sized + Eq + Hash>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let hash = hash(key);
        // Look first, so that the removal of an unknown key copies nothing.
        let at = find(self.shard(hash)?, hash, key).ok()?;
        self.len -= 1;
        Some(self.shard_mut(hash).remove(at).value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let shards = self.branches.iter().flat_map(|branch| branch.iter());
        shards.flat_map(|shard| shard.iter()).map(|entry| (&entry.key, &entry.value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    #[inline]
    fn shard(&self, hash: u64) -> Option<&Shard<K, V>> {
        let (branch, shard) = place_of(hash);
        self.branches.get(branch)?.get(shard)
    }

    /// The shard of a hash, copied if another map shares it.
    fn shard_mut(&mut self, hash: u64) -> &mut Vec<Entry<K, V>> {
        let (branch, shard) = place_of(hash);
        let branch = &mut unshared(&mut self.branches, BRANCHES)[branch];
        Arc::make_mut(&mut unshared(branch, SHARDS_PER_BRANCH)[shard])
    }
}

fn hash(key: &(impl ?Sized + Hash)) -> u64 {
    FixedState::default().hash_one(key)
}

/// The indices of the branch and of the shard in it: the highest bits of the hash.
fn place_of(hash: u64) -> (usize, usize) {
    let shard = (hash >> (u64::BITS - SHARDS.ilog2())) as usize;
    (shard / SHARDS_PER_BRANCH, shard % SHARDS_PER_BRANCH)
}

/// The items of a list, copied if another map shares them. An empty list gets as many as it has when it is not.
fn unshared<T: Clone + Default>(list: &mut Arc<Vec<T>>, len: usize) -> &mut Vec<T> {
    let list = Arc::make_mut(list);
    if list.is_empty() {
        list.resize_with(len, T::default);
    }
    list
}

/// The index of a key; `Err`: where to insert it.
fn find<K: Borrow<Q>, V, Q: ?Sized + Eq>(shard: &[Entry<K, V>], hash: u64, key: &Q) -> Result<usize, usize> {
    let first = first_from(shard, hash);
    let alike = shard[first..].iter().take_while(|entry| entry.hash == hash);
    alike.enumerate().find(|(_, entry)| entry.key.borrow() == key).map(|(at, _)| first + at).ok_or(first)
}

/// The index of the first entry whose hash is not smaller. Hashes spread evenly, so it lies near the place that the hash
/// has among all that a shard can have.
#[inline]
fn first_from<K, V>(shard: &[Entry<K, V>], hash: u64) -> usize {
    let place = u128::from(hash << SHARDS.ilog2()) * shard.len() as u128;
    let mut at = (place >> u64::BITS) as usize;
    while at > 0 && shard[at - 1].hash >= hash {
        at -= 1;
    }
    while at < shard.len() && shard[at].hash < hash {
        at += 1;
    }
    at
}

impl<K, V> Clone for Shared<K, V> {
    fn clone(&self) -> Self {
        Self { branches: Arc::clone(&self.branches), len: self.len }
    }
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self { branches: Arc::default(), len: 0 }
    }
}

impl<K, V> fmt::Debug for Shared<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries", self.len)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// All keys have the same hash.
    #[derive(Clone, PartialEq, Eq, Debug)]
    struct Alike(u32);

    impl Hash for Alike {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            state.write_u32(7);
        }
    }

    #[test]
    fn shared_map_behaves_like_a_plain_map() {
        let (mut shared, mut plain) = (Shared::default(), BTreeMap::new());
        for step in 0..20_000_u32 {
            let key = step.wrapping_mul(2_654_435_761) % 3000;
            if step % 3 == 0 {
                assert_eq!(shared.remove(&key), plain.remove(&key));
            } else {
                assert_eq!(shared.insert(key, step), plain.insert(key, step));
            }
            assert_eq!(shared.len(), plain.len());
        }
        assert!((0..3000).all(|key| shared.get(&key) == plain.get(&key)));
        assert_eq!(shared.iter().map(|(key, value)| (*key, *value)).collect::<BTreeMap<_, _>>(), plain);
    }

    #[test]
    fn change_of_a_copy_leaves_the_original_and_shares_the_rest() {
        let mut one = Shared::default();
        (0..1000).for_each(|key| assert_eq!(one.insert(key, key), None));
        let mut other = one.clone();
        other.insert(5, 0);
        other.remove(&6);
        assert_eq!((one.get(&5), one.get(&6), one.len()), (Some(&5), Some(&6), 1000));
        assert_eq!((other.get(&5), other.get(&6), other.len()), (Some(&0), None, 999));
        let shards = |of: &Shared<_, _>| of.branches.iter().flat_map(|branch| branch.to_vec()).collect::<Vec<_>>();
        let [mine, others] = [&one, &other].map(shards);
        assert!(mine.iter().zip(&others).filter(|(mine, others)| !Arc::ptr_eq(mine, others)).count() <= 2);
        let branches = one.branches.iter().zip(other.branches.iter());
        assert!(branches.filter(|(mine, others)| !Arc::ptr_eq(mine, others)).count() <= 2);
    }

    #[test]
    fn keys_with_the_same_hash_stay_distinct() {
        let mut map = Shared::default();
        (0..5).for_each(|key| assert_eq!(map.insert(Alike(key), key), None));
        assert_eq!(map.remove(&Alike(2)), Some(2));
        assert_eq!([1, 2, 3].map(|key| map.get(&Alike(key)).copied()), [Some(1), None, Some(3)]);
    }
}
