//! Pools of a group on one worker, and the one that takes the next request: of the highest priority with servers enough,
//! in proportion to the ratios. Turns are taken as in a [`Balancer`](crate::Balancer): the same calls give the same pools.

use crate::hash::HashKey;

/// Pools of one group; a Plan with more is refused by `snapshot`.
pub const MEMBERS_MAX: usize = 1024;

/// The distance between two turns of a pool with ratio 1.
const STRIDE: u64 = 1 << 32;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupSpec {
    /// Those of a higher priority first.
    pub members: Vec<MemberSpec>,
    /// A priority with fewer servers is passed over, if another one has enough. At least 1.
    pub min_servers: usize,
    /// Shifts the first turns, so that workers and engines do not choose in step.
    pub offset: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberSpec {
    /// Of the pool; stays with it when the group changes.
    pub id: u32,
    /// Of the pool's name, the same on every engine.
    pub key: HashKey,
    /// Its share of the requests; 0: none that is not tied to it.
    pub ratio: u32,
    /// The higher, the earlier.
    pub priority: u32,
}

/// How the pool of a request is chosen among those of one priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// In turn.
    Turns,
    /// By the key, in proportion to the ratios, for as long as the pool takes part.
    Key(HashKey),
}

/// Results are positions in [`GroupSpec::members`].
#[derive(Debug)]
pub struct Group {
    spec: GroupSpec,
    /// The next turn of each member.
    turns: Vec<u128>,
    /// The latest turn that was taken.
    now: u128,
}

impl Group {
    pub fn new(spec: GroupSpec) -> Self {
        let mut group = Self { spec: GroupSpec { members: Vec::new(), ..spec }, turns: Vec::new(), now: 0 };
        group.reconcile(spec);
        group
    }

    /// Takes a changed group. A pool that stays keeps its turn.
    pub fn reconcile(&mut self, spec: GroupSpec) {
        let phase = phase_of(spec.offset);
        let before = self.spec.members.iter().map(|member| member.id).zip(self.turns.iter().copied());
        let before: Vec<(u32, u128)> = before.collect();
        let turn = |member: &MemberSpec| {
            let known = before.iter().find(|(id, _)| *id == member.id).map(|(_, turn)| *turn);
            // No further ahead than by one share: its ratio may have grown.
            let next = self.now + u128::from(member.stride());
            let first = self.now + ((u128::from(member.stride()) * u128::from(phase)) >> 32);
            known.map_or(first, |turn| turn.min(next))
        };
        self.turns = spec.members.iter().map(turn).collect();
        self.spec = spec;
    }

    pub fn members(&self) -> &[MemberSpec] {
        &self.spec.members
    }

    /// The pool for the next request. `None`: none has a server. `servers` tells how many a pool has for it.
    pub fn pick(&mut self, sharing: Sharing, servers: impl Fn(usize) -> usize) -> Option<usize> {
        let picked = self.preview(sharing, servers)?;
        self.now = self.now.max(self.turns[picked]);
        self.turns[picked] = self.now + u128::from(self.spec.members[picked].stride());
        Some(picked)
    }

    /// What [`pick`](Self::pick) would return.
    pub fn preview(&self, sharing: Sharing, servers: impl Fn(usize) -> usize) -> Option<usize> {
        let members = self.spec.members.as_slice();
        let takes_part = |position: &usize| members[*position].ratio > 0 && servers(*position) > 0;
        let mut lacking = None;
        let mut begin = 0;
        while begin < members.len() {
            let priority = members[begin].priority;
            let end = begin + members[begin..].iter().take_while(|member| member.priority == priority).count();
            let standing: usize = (begin..end).filter(takes_part).map(&servers).sum();
            if standing >= self.spec.min_servers.max(1) {
                return self.first_of(begin..end, sharing, takes_part);
            }
            if standing > 0 && lacking.is_none() {
                lacking = Some(begin..end);
            }
            begin = end;
        }
        self.first_of(lacking?, sharing, takes_part)
    }

    fn first_of(
        &self,
        tier: std::ops::Range<usize>,
        sharing: Sharing,
        takes_part: impl Fn(&usize) -> bool,
    ) -> Option<usize> {
        let candidates = tier.filter(takes_part);
        match sharing {
            Sharing::Turns => candidates.min_by_key(|position| (self.turns[*position], *position)),
            Sharing::Key(key) => {
                let rank = |position: &usize| self.spec.members[*position].rank_for(key);
                candidates.min_by(|one, other| rank(one).total_cmp(&rank(other)))
            }
        }
    }
}

impl MemberSpec {
    fn stride(&self) -> u64 {
        STRIDE / u64::from(self.ratio.max(1))
    }

    /// The pool with the lowest rank has the key: weighted rendezvous hashing (Schindelhauer and Schomaker, "Weighted
    /// Distributed Hash Tables", 2005). A pool that comes or goes, or whose ratio changes, moves its own keys only.
    fn rank_for(&self, key: HashKey) -> f64 {
        -key.with(self.key).ln() / f64::from(self.ratio.max(1))
    }
}

/// The part of its first share that each member waits, of 2^32: different for each offset, and even over many of them.
fn phase_of(offset: u32) -> u32 {
    const GOLDEN: u32 = 0x9e37_79b9;
    (1u32 << 31).wrapping_add(offset.wrapping_mul(GOLDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(members: &[(u32, u32)], min_servers: usize) -> Group {
        let members = members.iter().enumerate().map(|(id, (ratio, priority))| MemberSpec {
            id: id as u32,
            key: HashKey::of(format!("pool {id}").as_bytes()),
            ratio: *ratio,
            priority: *priority,
        });
        Group::new(GroupSpec { members: members.collect(), min_servers, offset: 0 })
    }

    fn counts(group: &mut Group, picks: usize, servers: impl Fn(usize) -> usize) -> Vec<usize> {
        let mut counts = vec![0; group.members().len()];
        for _ in 0..picks {
            if let Some(picked) = group.pick(Sharing::Turns, &servers) {
                counts[picked] += 1;
            }
        }
        counts
    }

    #[test]
    fn ratios_are_kept_to_the_request_and_spread_evenly() {
        let mut group = group(&[(9, 0), (1, 0)], 1);
        for _ in 0..100 {
            assert_eq!(counts(&mut group, 10, |_| 1), [9, 1]);
        }
        let mut group = super::tests::group(&[(1000, 0), (1, 0), (0, 0)], 1);
        assert_eq!(counts(&mut group, 10_010, |_| 1), [10_000, 10, 0]);
    }

    #[test]
    fn highest_priority_with_servers_enough_takes_all() {
        let mut group = group(&[(1, 3), (1, 2), (1, 2), (1, 1)], 1);
        assert_eq!(counts(&mut group, 10, |_| 1), [10, 0, 0, 0]);
        assert_eq!(counts(&mut group, 10, |member| usize::from(member > 0)), [0, 5, 5, 0]);
        assert_eq!(counts(&mut group, 10, |member| usize::from(member > 2)), [0, 0, 0, 10]);
        assert_eq!(counts(&mut group, 10, |_| 0), [0, 0, 0, 0]);
    }

    #[test]
    fn priority_with_too_few_servers_is_passed_over_unless_none_has_enough() {
        let mut group = group(&[(1, 3), (1, 2), (1, 2)], 3);
        assert_eq!(counts(&mut group, 10, |member| [2, 2, 1][member]), [0, 5, 5]);
        assert_eq!(counts(&mut group, 10, |member| [3, 9, 9][member]), [10, 0, 0]);
        assert_eq!(counts(&mut group, 10, |member| [0, 1, 1][member]), [0, 5, 5]);
        assert_eq!(counts(&mut group, 10, |member| [1, 1, 1][member]), [10, 0, 0]);
    }

    #[test]
    fn pool_without_a_share_gets_nothing_by_itself() {
        let mut group = group(&[(0, 2), (1, 1)], 1);
        assert_eq!(counts(&mut group, 10, |_| 5), [0, 10]);
        assert_eq!(counts(&mut group, 10, |member| usize::from(member == 0)), [0, 0]);
    }

    #[test]
    fn pool_that_comes_back_does_not_make_up_for_what_it_missed() {
        let mut group = group(&[(1, 0), (1, 0)], 1);
        counts(&mut group, 1000, |member| usize::from(member == 0));
        let counts = counts(&mut group, 100, |_| 1);
        assert!(counts[1] <= 51, "{counts:?}");
    }

    #[test]
    fn changed_ratio_counts_at_once() {
        let mut group = group(&[(1000, 0), (1, 0)], 1);
        counts(&mut group, 600, |_| 1);
        let mut spec = group.spec.clone();
        spec.members[1].ratio = 1000;
        group.reconcile(spec);
        let counts = counts(&mut group, 100, |_| 1);
        assert!(counts[1] >= 49, "{counts:?}");
    }

    #[test]
    fn workers_give_the_smaller_pool_its_turn_at_different_times() {
        let first_of = |offset| {
            let members =
                [(9, 0), (1, 1)].map(|(ratio, id)| MemberSpec { id, key: HashKey::default(), ratio, priority: 0 });
            let mut group = Group::new(GroupSpec { members: members.to_vec(), min_servers: 1, offset });
            (0..20).position(|_| group.pick(Sharing::Turns, |_| 1) == Some(1)).unwrap()
        };
        let firsts: std::collections::BTreeSet<_> = (0..32).map(first_of).collect();
        assert!(firsts.len() >= 4 && firsts.iter().all(|first| *first < 10), "{firsts:?}");
    }

    #[test]
    fn key_keeps_its_pool_and_shares_follow_the_ratios() {
        let group = group(&[(3, 0), (1, 0), (1, 0)], 1);
        let owner = |key: u32, servers: &dyn Fn(usize) -> usize| {
            group.preview(Sharing::Key(HashKey::of(&key.to_be_bytes())), servers).unwrap()
        };
        let mut counts = [0_u32; 3];
        for key in 0..10_000 {
            let of_all = owner(key, &|_| 1);
            counts[of_all] += 1;
            let without_last = owner(key, &|member| usize::from(member < 2));
            assert!(of_all == 2 || of_all == without_last, "key {key} moved without need");
        }
        assert!(counts[0].abs_diff(6000) < 200 && counts[1].abs_diff(2000) < 200, "{counts:?}");
    }
}
