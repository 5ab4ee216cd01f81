//! A persistent hash map: copies share their entries, and an insertion copies a small part of the map. So a snapshot
//! shares all unchanged objects with the previous one, however many there are.

use std::{
    fmt,
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use foldhash::fast::FixedState;
use hashbrown::{Equivalent, HashTable};

/// An insertion copies the list of branches, one branch, and one shard. The largest map (16,384 objects of one kind) has
/// 64 entries per shard.
const BRANCHES: usize = 16;
const SHARDS_PER_BRANCH: usize = 16;

/// Lists of branches and of shards have a fixed length, so that to look one up takes one step, and not two.
pub(crate) struct Shared<K, V> {
    /// `None`: no key was ever there.
    branches: Option<Arc<[Branch<K, V>; BRANCHES]>>,
    len: usize,
}

/// `None`: no key was ever in it.
type Branch<K, V> = Option<Arc<[Shard<K, V>; SHARDS_PER_BRANCH]>>;

type Shard<K, V> = Arc<HashTable<Entry<K, V>>>;

#[derive(Clone)]
struct Entry<K, V> {
    key: K,
    value: V,
}

impl<K: Clone + Eq + Hash, V: Clone> Shared<K, V> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get<Q: ?Sized + Hash + Equivalent<K>>(&self, key: &Q) -> Option<&V> {
        let hash = hash(key);
        let entry = self.shard(hash)?.find(hash, |entry| key.equivalent(&entry.key));
        entry.map(|entry| &entry.value)
    }

    pub fn contains<Q: ?Sized + Hash + Equivalent<K>>(&self, key: &Q) -> bool {
        self.get(key).is_some()
    }

    /// Returns the value that the key had before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = hash(&key);
        let shard = self.shard_mut(hash);
        if let Some(entry) = shard.find_mut(hash, |entry| entry.key == key) {
            return Some(std::mem::replace(&mut entry.value, value));
        }
        shard.insert_unique(hash, Entry { key, value }, |entry| self::hash(&entry.key));
        self.len += 1;
        None
    }

    pub fn remove<Q: ?Sized + Hash + Equivalent<K>>(&mut self, key: &Q) -> Option<V> {
        // Look first, so that the removal of an unknown key copies nothing.
        self.get(key)?;
        let hash = hash(key);
        let found = self.shard_mut(hash).find_entry(hash, |entry| key.equivalent(&entry.key)).ok()?;
        let (Entry { value, .. }, _) = found.remove();
        self.len -= 1;
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let branches = self.branches.iter().flat_map(|branches| branches.iter()).flatten();
        branches.flat_map(|branch| branch.iter()).flat_map(|shard| shard.iter()).map(|entry| (&entry.key, &entry.value))
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
        Some(&self.branches.as_ref()?[branch].as_ref()?[shard])
    }

    /// The shard of a hash, copied if another map shares it.
    fn shard_mut(&mut self, hash: u64) -> &mut HashTable<Entry<K, V>> {
        let (branch, shard) = place_of(hash);
        let branch = &mut unshared(&mut self.branches)[branch];
        Arc::make_mut(&mut unshared(branch)[shard])
    }
}

fn hash(key: &(impl ?Sized + Hash)) -> u64 {
    FixedState::default().hash_one(key)
}

/// The indices of the branch and of the shard in it. A shard finds its entries by the other bits of the hash: the lowest
/// and the highest.
fn place_of(hash: u64) -> (usize, usize) {
    ((hash >> 44) as usize % BRANCHES, (hash >> 48) as usize % SHARDS_PER_BRANCH)
}

/// The items of a list, copied if another map shares them.
fn unshared<T: Clone + Default, const N: usize>(list: &mut Option<Arc<[T; N]>>) -> &mut [T; N] {
    Arc::make_mut(list.get_or_insert_with(|| Arc::new(std::array::from_fn(|_| T::default()))))
}

impl<K, V> Clone for Shared<K, V> {
    fn clone(&self) -> Self {
        Self { branches: self.branches.clone(), len: self.len }
    }
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self { branches: None, len: 0 }
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
        let branches =
            |of: &Shared<_, _>| of.branches.as_deref().expect("branches").clone().map(|branch| branch.expect("shards"));
        let shards = |of: &Shared<_, _>| branches(of).iter().flat_map(|branch| branch.to_vec()).collect::<Vec<_>>();
        let [mine, others] = [&one, &other].map(shards);
        assert!(mine.iter().zip(&others).filter(|(mine, others)| !Arc::ptr_eq(mine, others)).count() <= 2);
        let [mine, others] = [&one, &other].map(branches);
        assert!(mine.iter().zip(&others).filter(|(mine, others)| !Arc::ptr_eq(mine, others)).count() <= 2);
    }

    #[test]
    fn keys_with_the_same_hash_stay_distinct() {
        let mut map = Shared::default();
        (0..5).for_each(|key| assert_eq!(map.insert(Alike(key), key), None));
        assert_eq!(map.remove(&Alike(2)), Some(2));
        assert_eq!([1, 2, 3].map(|key| map.get(&Alike(key)).copied()), [Some(1), None, Some(3)]);
    }
}
