//! Pools of a group on one worker, and the one that takes the next request: of the highest priority with servers enough,
//! in proportion to the ratios. Turns are taken as in a [`Balancer`](crate::Balancer): the same calls give the same pools.

use std::ops::Range;

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
    /// Once the pools of the highest priority are down and others take over, they take no requests until this number is
    /// another. `None`: they do as soon as they have servers enough.
    pub activation: Option<u32>,
}

impl GroupSpec {
    /// The pools of the highest priority that requests are shared out to.
    fn primary(&self) -> Range<usize> {
        let Some(first) = self.members.iter().find(|member| member.ratio > 0) else { return 0..0 };
        let tier = self.members.iter().skip_while(|member| member.priority != first.priority);
        let begin = self.members.partition_point(|member| member.priority > first.priority);
        begin..begin + tier.take_while(|member| member.priority == first.priority).count()
    }
}

/// What has become of the pools of the highest priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Primary {
    /// They have not had servers enough yet.
    New,
    Up,
    /// They were down, and others took over.
    Deactivated,
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
    primary: Primary,
}

impl Group {
    pub fn new(spec: GroupSpec) -> Self {
        let empty = GroupSpec { members: Vec::new(), ..spec };
        let mut group = Self { spec: empty, turns: Vec::new(), now: 0, primary: Primary::New };
        group.reconcile(spec);
        group
    }

    /// Takes a changed group. A pool that stays keeps its turn. If all pools of the highest priority are others, or the number
    /// of the activation is, they are active.
    pub fn reconcile(&mut self, spec: GroupSpec) {
        let ids = |spec: &GroupSpec| spec.members[spec.primary()].iter().map(|member| member.id).collect::<Vec<_>>();
        let before_were = ids(&self.spec);
        if spec.activation != self.spec.activation || !ids(&spec).iter().any(|id| before_were.contains(id)) {
            self.primary = Primary::New;
        }
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

    /// Servers have come up or gone down. `servers` tells how many of a pool are up, whatever a request has tried.
    pub fn observe(&mut self, servers: impl Fn(usize) -> usize) {
        if self.spec.activation.is_none() || self.primary == Primary::Deactivated {
            return;
        }
        let primary = self.spec.primary();
        let has_enough = |tier: Range<usize>| self.standing(tier, &servers) >= self.spec.min_servers.max(1);
        if has_enough(primary.clone()) {
            self.primary = Primary::Up;
        } else if self.primary == Primary::Up && self.tiers(primary.end).any(has_enough) {
            self.primary = Primary::Deactivated;
        }
    }

    /// The pools that take no requests although they may have servers.
    pub fn deactivated(&self) -> Range<usize> {
        if self.primary == Primary::Deactivated { self.spec.primary() } else { 0..0 }
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
        let takes_part = |position: &usize| self.spec.members[*position].ratio > 0 && servers(*position) > 0;
        let mut lacking = None;
        for tier in self.tiers(self.deactivated().end) {
            let standing = self.standing(tier.clone(), &servers);
            if standing >= self.spec.min_servers.max(1) {
                return self.first_of(tier, sharing, takes_part);
            }
            if standing > 0 && lacking.is_none() {
                lacking = Some(tier);
            }
        }
        self.first_of(lacking?, sharing, takes_part)
    }

    /// The pools of each priority, from one of them on.
    fn tiers(&self, mut begin: usize) -> impl Iterator<Item = Range<usize>> {
        let members = self.spec.members.as_slice();
        std::iter::from_fn(move || {
            let priority = members.get(begin)?.priority;
            let end = begin + members[begin..].iter().take_while(|member| member.priority == priority).count();
            Some(std::mem::replace(&mut begin, end)..end)
        })
    }

    /// How many servers the pools of a priority have that requests are shared out to.
    fn standing(&self, tier: Range<usize>, servers: impl Fn(usize) -> usize) -> usize {
        tier.filter(|position| self.spec.members[*position].ratio > 0).map(servers).sum()
    }

    fn first_of(&self, tier: Range<usize>, sharing: Sharing, takes_part: impl Fn(&usize) -> bool) -> Option<usize> {
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
        Group::new(GroupSpec { members: members.collect(), min_servers, offset: 0, activation: None })
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
            let mut group =
                Group::new(GroupSpec { members: members.to_vec(), min_servers: 1, offset, activation: None });
            (0..20).position(|_| group.pick(Sharing::Turns, |_| 1) == Some(1)).unwrap()
        };
        let firsts: std::collections::BTreeSet<_> = (0..32).map(first_of).collect();
        assert!(firsts.len() >= 4 && firsts.iter().all(|first| *first < 10), "{firsts:?}");
    }

    /// The same group, whose pools of the highest priority do not come back by themselves.
    fn sticky(members: &[(u32, u32)], min_servers: usize) -> Group {
        let spec = GroupSpec { activation: Some(0), ..group(members, min_servers).spec };
        Group::new(spec)
    }

    /// How ten requests are shared out after servers came up or went down.
    fn then(group: &mut Group, servers: &[usize]) -> Vec<usize> {
        group.observe(|at| servers[at]);
        counts(group, 10, |at| servers[at])
    }

    #[test]
    fn primary_pool_that_was_down_takes_nothing_until_it_is_activated() {
        let mut group = sticky(&[(1, 3), (1, 2), (1, 1)], 1);
        assert_eq!(then(&mut group, &[0, 1, 1]), [0, 10, 0], "it is not checked yet");
        assert_eq!(then(&mut group, &[1, 1, 1]), [10, 0, 0]);
        assert_eq!(then(&mut group, &[0, 1, 1]), [0, 10, 0]);
        assert_eq!(then(&mut group, &[1, 1, 1]), [0, 10, 0]);
        assert_eq!(then(&mut group, &[1, 0, 1]), [0, 0, 10]);
        assert_eq!(then(&mut group, &[1, 1, 1]), [0, 10, 0], "the second is not the primary pool");
        assert_eq!(then(&mut group, &[1, 0, 0]), [0, 0, 0], "nor does it help out");
        assert_eq!(group.deactivated(), 0..1);
        let mut spec = group.spec.clone();
        group.reconcile(spec.clone());
        assert_eq!(then(&mut group, &[1, 1, 1]), [0, 10, 0], "a Plan changes nothing");
        spec.activation = Some(1);
        group.reconcile(spec.clone());
        assert_eq!(then(&mut group, &[0, 1, 1]), [0, 10, 0]);
        assert_eq!(then(&mut group, &[1, 1, 1]), [10, 0, 0], "activated while it was down");
        then(&mut group, &[0, 1, 1]);
        assert_eq!(group.deactivated(), 0..1);
        spec.activation = None;
        group.reconcile(spec);
        assert_eq!(then(&mut group, &[1, 1, 1]), [10, 0, 0]);
    }

    #[test]
    fn primary_pool_stays_active_while_no_other_takes_over() {
        let mut group = sticky(&[(1, 3), (1, 2)], 2);
        then(&mut group, &[2, 2]);
        assert_eq!(then(&mut group, &[1, 1]), [10, 0], "none has enough");
        assert_eq!(then(&mut group, &[0, 1]), [0, 10]);
        assert_eq!(then(&mut group, &[2, 1]), [10, 0]);
        assert_eq!(then(&mut group, &[1, 2]), [0, 10]);
        assert_eq!(then(&mut group, &[2, 2]), [0, 10]);
        let mut alone = sticky(&[(1, 3), (1, 3)], 1);
        then(&mut alone, &[1, 1]);
        assert_eq!(then(&mut alone, &[0, 0]), [0, 0]);
        assert_eq!(then(&mut alone, &[1, 1]), [5, 5], "no other priority is there");
    }

    #[test]
    fn other_pools_of_the_highest_priority_are_active() {
        let mut group = sticky(&[(0, 4), (1, 3), (1, 3), (1, 2)], 1);
        then(&mut group, &[1, 1, 1, 1]);
        assert_eq!(then(&mut group, &[1, 0, 0, 1]), [0, 0, 0, 10], "one without a share is no primary pool");
        let mut spec = group.spec.clone();
        spec.members[1].id = 9;
        group.reconcile(spec.clone());
        assert_eq!(then(&mut group, &[1, 1, 1, 1]), [0, 0, 0, 10], "one of them is still there");
        (spec.members[1].id, spec.members[2].id) = (10, 11);
        group.reconcile(spec);
        assert_eq!(then(&mut group, &[1, 1, 1, 1]), [0, 5, 5, 0]);
    }

    /// A primary pool takes requests if it has servers enough, and has had them all the time since it first had them, or no
    /// other priority has had them while it had not.
    #[test]
    fn primary_pool_takes_requests_unless_another_has_taken_over() {
        let mut seed = 1_u64;
        let mut below = |end: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % end
        };
        for _ in 0..300 {
            let members: Vec<(u32, u32)> = [4, 4, 3, 2].map(|priority| (below(3) as u32, priority)).to_vec();
            let min_servers = 1 + below(3) as usize;
            let mut group = sticky(&members, min_servers);
            let Some(first) = members.iter().find(|(ratio, _)| *ratio > 0).map(|(_, priority)| *priority) else {
                continue;
            };
            let (mut was_up, mut is_out) = (false, false);
            for _ in 0..20 {
                let servers: Vec<usize> = (0..4).map(|_| below(3) as usize).collect();
                let standing = |priority: u32| -> usize {
                    let of = members.iter().zip(&servers).filter(|((ratio, at), _)| *ratio > 0 && *at == priority);
                    of.map(|(_, servers)| servers).sum()
                };
                let is_up = standing(first) >= min_servers;
                was_up |= is_up;
                is_out |= was_up && !is_up && (0..first).any(|priority| standing(priority) >= min_servers);
                group.observe(|at| servers[at]);
                let picked = group.pick(Sharing::Turns, |at| servers[at]).map(|at| members[at].1);
                let others = (0..first).any(|priority| standing(priority) > 0);
                match picked {
                    Some(priority) if priority == first => assert!(!is_out && standing(first) > 0),
                    Some(_) => assert!(is_out || !is_up),
                    None => assert!((is_out || standing(first) == 0) && !others),
                }
                assert!(is_out || !is_up || picked == Some(first), "it is up, and never was away");
            }
        }
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
