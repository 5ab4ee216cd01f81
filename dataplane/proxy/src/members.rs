//! Which pool takes a request, a connection or a session: one of a group, or one that takes over.

use std::{net::SocketAddr, sync::Arc};

use weir_balance::{Balancer, Bound, Sharing};
use weir_snapshot::{Aim, FailAction, Pool, PoolGroup};
use weir_wire::head::Fields;

use crate::{
    core::Core,
    groups::{GroupRow, PickedMember},
    io::Time,
    pool::{Place, Pools, Row, address_key},
};

/// What would be chosen in a group.
pub(crate) struct Foreseen {
    /// The pool, and why. `None`: no pool has a server.
    pub chosen: Option<(Arc<Pool>, PickedMember)>,
    pub group: Arc<PoolGroup>,
    /// Each pool of the group.
    pub members: Vec<MemberNow>,
}

/// A pool of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberNow {
    pub servers: usize,
    pub is_deactivated: bool,
}

// Choosing.
impl Core {
    /// The pool for a request of a group's. If no pool has a server, it is one of them all the same, so that the request
    /// can be written. `None`: the group is empty.
    #[cold]
    #[inline(never)]
    pub fn choose_pool(
        pools: &mut Pools,
        (now, unix_s): (Time, u64),
        group: &PoolGroup,
        fields: &Fields<'_>,
        peer: SocketAddr,
    ) -> Option<Arc<Pool>> {
        let named = pools.named_in((now, unix_s), group, fields);
        named.or_else(|| pools.choose_in(now, group, peer, &[])).or_else(|| pools.first_in(group))
    }

    /// The pool whose servers get a connection or a session, after all those that it has `left`. `None`: there is no other.
    #[cold]
    #[inline(never)]
    pub fn pool_after(&mut self, now: Time, aim: Aim<'_>, peer: SocketAddr, left: &[u32]) -> Option<Arc<Pool>> {
        if let Some(pool) = aim.pool.filter(|pool| !left.contains(&pool.id)) {
            return Some(pool.clone());
        }
        if let Some(group) = aim.group
            && let Some(pool) = self.pools.choose_in(now, group, peer, left)
        {
            return Some(pool);
        }
        let action = aim.group.and_then(|group| group.fail_action.as_ref());
        let mut own = aim.pools().filter(|pool| left.is_empty() || left.contains(&pool.id));
        let backup = action.or_else(|| Some(&own.next()?.fail_action))?.backup()?;
        self.snapshot.pool(backup).filter(|pool| !left.contains(&pool.id)).cloned()
    }

    /// Whether clients that go there may come to this pool.
    #[cold]
    #[inline(never)]
    pub fn leads_to(&self, aim: Aim<'_>, pool: u32) -> bool {
        let of_group = aim.group.and_then(|group| group.fail_action.as_ref());
        let actions = aim.pools().map(|pool| &pool.fail_action).chain(of_group);
        let mut backups = actions.filter_map(FailAction::backup).filter_map(|uuid| self.snapshot.pool(uuid));
        aim.pools().any(|own| own.id == pool) || backups.any(|backup| backup.id == pool)
    }
}

impl Pools {
    /// The pool of a group that has the server which a cookie or a header field names, if that server takes requests, or
    /// will take them when it has fewer connections and the pool has a queue, or no other one may.
    fn named_in(&self, (now, unix_s): (Time, u64), group: &PoolGroup, fields: &Fields<'_>) -> Option<Arc<Pool>> {
        let names = |pool: &&Arc<Pool>| {
            let named = pool.persistence.as_ref().and_then(|of| of.named_by(fields, unix_s).server());
            let balancer = self.balancer(pool.id);
            named.zip(balancer).is_some_and(|(named, balancer)| {
                balancer.bound(now.nanos, named) != Bound::Another
                    || pool.queue_depth.is_some() && balancer.is_only_full(now.nanos, named)
            })
        };
        let row = self.groups.peek(group);
        let is_active = |pool: &&Arc<Pool>| !row.is_some_and(|row| row.is_deactivated(pool));
        group.pools.iter().filter(names).find(is_active).cloned()
    }

    /// The first pool of a group, as long as it is active.
    pub fn first_in(&self, group: &PoolGroup) -> Option<Arc<Pool>> {
        let row = self.groups.peek(group);
        group.pools.iter().find(|pool| !row.is_some_and(|row| row.is_deactivated(pool))).cloned()
    }

    /// How many servers of a pool are up and enabled.
    pub fn up_of(&self, pool: &Pool) -> usize {
        let row = self.rows.get(pool.id as usize).and_then(Option::as_ref).filter(|row| row.is_of(pool));
        row.map_or(0, |row| row.balancer.standing_servers())
    }

    /// Where a server has a session whose client chose this port of the engine.
    pub fn address_at(&self, at: Place, port: u16) -> SocketAddr {
        let row = self.rows.get(at.pool as usize).and_then(Option::as_ref);
        row.map_or(at.address, |row| row.pool.address_at(at.address, port))
    }

    /// Servers have come up or gone down.
    pub fn observe_groups(&mut self) {
        let Self { rows, groups, .. } = self;
        for GroupRow { group, turns } in groups.watched() {
            let members = Members { rows, group, left: &[] };
            turns.observe(|at| members.servers(at, Balancer::standing_servers));
        }
    }

    /// The pool of a group whose turn it is, of those that have servers and that the request has not left; or that of
    /// the client's address.
    pub fn choose_in(&mut self, now: Time, group: &PoolGroup, peer: SocketAddr, left: &[u32]) -> Option<Arc<Pool>> {
        let Self { rows, groups, .. } = self;
        let GroupRow { group, turns } = groups.row(group)?;
        let sharing = sharing(group, peer);
        let members = Members { rows, group, left };
        let picked = turns.pick(sharing, |at| members.servers(at, |balancer| balancer.sound_servers(now.nanos)));
        let picked = picked.or_else(|| turns.pick(sharing, |at| members.servers(at, Balancer::standing_servers)))?;
        let pool = group.pools.get(picked)?.clone();
        if let Some(row) = rows.get_mut(pool.id as usize).and_then(Option::as_mut) {
            row.balancer.try_suspects(now.nanos);
        }
        Some(pool)
    }

    /// What [`Core::choose_pool`] would choose.
    pub fn preview_in(
        &mut self,
        (now, unix_s): (Time, u64),
        group: &PoolGroup,
        fields: Option<&Fields<'_>>,
        peer: SocketAddr,
    ) -> Option<Foreseen> {
        let named = fields.and_then(|fields| self.named_in((now, unix_s), group, fields));
        let Self { rows, groups, .. } = self;
        let GroupRow { group, turns } = groups.row(group)?;
        let sharing = sharing(group, peer);
        let members = Members { rows, group, left: &[] };
        let sound = |at: usize| members.servers(at, |balancer| balancer.sound_servers(now.nanos));
        let picked = turns.preview(sharing, sound);
        let picked = picked.or_else(|| turns.preview(sharing, |at| members.servers(at, Balancer::standing_servers)));
        let why = if group.by_client_address { PickedMember::ByAddress } else { PickedMember::ByRatio };
        let by_turn = picked.and_then(|at| Some((group.pools.get(at)?.clone(), why)));
        let chosen = named.map(|pool| (pool, PickedMember::ByPersistence)).or(by_turn);
        let count = |pool: &Arc<Pool>| balancer_of(rows, pool.id).map_or(0, |b| b.sound_servers(now.nanos));
        let deactivated = turns.deactivated();
        let member = |(at, pool)| MemberNow { servers: count(pool), is_deactivated: deactivated.contains(&at) };
        Some(Foreseen { chosen, group: group.clone(), members: group.pools.iter().enumerate().map(member).collect() })
    }

    /// The pools of a group that may get a request after those that it has left.
    #[cold]
    pub fn others_in(&mut self, group: &PoolGroup, left: &[u32]) -> Vec<Arc<Pool>> {
        let Self { rows, groups, .. } = self;
        let Some(GroupRow { group, turns }) = groups.row(group) else { return Vec::new() };
        let (members, deactivated) = (Members { rows, group, left }, turns.deactivated());
        let takes_part = |at: &usize| {
            let is_active = group.balance.members[*at].ratio > 0 && !deactivated.contains(at);
            is_active && members.servers(*at, Balancer::standing_servers) > 0
        };
        (0..group.pools.len()).filter(takes_part).map(|at| group.pools[at].clone()).collect()
    }

    /// Whether a pool has a server that is not suspect, beside those that a request has tried.
    pub fn has_sound(&self, pool: &Pool, tried: &[u32]) -> bool {
        self.balancer(pool.id).is_some_and(|balancer| balancer.has_other_than(tried))
    }

    fn balancer(&self, pool: u32) -> Option<&Balancer> {
        balancer_of(&self.rows, pool)
    }
}

fn sharing(group: &PoolGroup, peer: SocketAddr) -> Sharing {
    if group.by_client_address { Sharing::Key(address_key(peer, group.address_bits)) } else { Sharing::Turns }
}

fn balancer_of(rows: &[Option<Row>], pool: u32) -> Option<&Balancer> {
    rows.get(pool as usize)?.as_ref().map(|row| &row.balancer)
}

/// The pools of a group, except those that a request has left.
struct Members<'m> {
    rows: &'m [Option<Row>],
    group: &'m PoolGroup,
    left: &'m [u32],
}

impl Members<'_> {
    /// How many servers a pool has; 0 if it has fewer than it needs.
    fn servers(&self, at: usize, count: impl Fn(&Balancer) -> usize) -> usize {
        let Some(pool) = self.group.pools.get(at).filter(|pool| !self.left.contains(&pool.id)) else { return 0 };
        let servers = balancer_of(self.rows, pool.id).map_or(0, count);
        if servers < pool.min_servers_up { 0 } else { servers }
    }
}
