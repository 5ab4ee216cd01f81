//! A group of pools as a worker uses it, built from a group of the Plan.

use std::{cmp::Reverse, sync::Arc};

use weir_api::dataplane::v1;
use weir_balance::{GroupSpec, HashKey, MEMBERS_MAX, MemberSpec};

use crate::{
    FailAction, Pool,
    finding::{Findings, Subject},
    ids::Renumbering,
    kept::{Kept, Objects},
    pool::{self, KeptPool},
};

const RATIO_MAX: u32 = 1000;

#[derive(Debug)]
pub struct PoolGroup {
    /// Stays the same in all snapshots. An index for tables of groups, which no pool has.
    pub id: u32,
    pub uuid: String,
    pub name: String,
    /// In the order of `balance.members`, so a picked position is valid in both.
    pub pools: Vec<Arc<Pool>>,
    pub balance: GroupSpec,
    /// The address of a client decides between the pools of a priority, not their turns.
    pub by_client_address: bool,
    /// So many first bits of it.
    pub address_bits: u8,
    /// `None`: that of the pool counts.
    pub fail_action: Option<FailAction>,
}

impl PoolGroup {
    /// The pool of the group with this id.
    pub fn pool(&self, id: u32) -> Option<&Arc<Pool>> {
        self.pools.iter().find(|pool| pool.id == id)
    }
}

pub(crate) type KeptGroup = Kept<v1::PoolGroup, Arc<PoolGroup>>;

impl KeptGroup {
    /// The uuids of its pools.
    pub fn pools(&self) -> impl Iterator<Item = &str> {
        let backup = self.object.fail_action.as_ref().and_then(FailAction::backup);
        self.source.members.iter().map(|member| member.pool_uuid.as_str()).chain(backup)
    }

    fn is_made_of(&self, pools: &[Arc<Pool>]) -> bool {
        self.object.pools.len() == pools.len() && self.object.pools.iter().zip(pools).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// What all groups of one snapshot are read with.
pub(crate) struct GroupReader<'s> {
    pub ids: &'s mut Renumbering,
    pub pools: &'s Objects<Arc<KeptPool>>,
    pub offset: u32,
}

pub(crate) fn subject(source: &v1::PoolGroup) -> Subject<'_> {
    Subject { kind: "poolgroup", uuid: &source.uuid, name: &source.name }
}

impl GroupReader<'_> {
    /// `None` if the group is unusable; the findings give the reasons.
    pub fn read(
        &mut self,
        source: &Arc<v1::PoolGroup>,
        before: Option<&KeptGroup>,
        findings: &mut Findings,
    ) -> Option<KeptGroup> {
        let subject = subject(source);
        let found = findings.errors.len();
        if source.members.len() > MEMBERS_MAX {
            let message = format!("{} pools, at most {MEMBERS_MAX} are possible", source.members.len());
            findings.error(subject, "members", message);
            return None;
        }
        let fail_action = match &source.fail_answer {
            Some(answer) => Some(FailAction::read(answer, subject, findings)?),
            None => None,
        };
        if let Some(backup) = fail_action.as_ref().and_then(FailAction::backup) {
            check_backup(subject, backup, self.pools, findings);
        }
        let members: Vec<_> = (0..source.members.len()).map(|at| self.member(source, at, findings)).collect();
        let mut members = members.into_iter().collect::<Option<Vec<_>>>()?;
        if findings.errors.len() > found {
            return None;
        }
        members.sort_by_key(|(spec, _)| Reverse(spec.priority));
        let (specs, pools): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        if let Some(kept) = before.filter(|kept| kept.source == *source && kept.is_made_of(&pools)) {
            return Some(kept.clone());
        }
        let object = PoolGroup {
            id: before.map_or_else(|| self.ids.take_index(), |kept| kept.object.id),
            uuid: source.uuid.clone(),
            name: source.name.clone(),
            pools,
            balance: GroupSpec {
                members: specs,
                min_servers: source.min_servers.max(1) as usize,
                offset: self.offset,
                activation: source.activation,
            },
            by_client_address: source.by_client_address,
            address_bits: pool::bits(source.address_bits),
            fail_action,
        };
        Some(Kept { source: source.clone(), object: Arc::new(object) })
    }

    fn member(&self, source: &v1::PoolGroup, at: usize, findings: &mut Findings) -> Option<(MemberSpec, Arc<Pool>)> {
        let (subject, member) = (subject(source), &source.members[at]);
        if member.ratio > RATIO_MAX {
            let message = format!("is {}, must be 0 to {RATIO_MAX}", member.ratio);
            findings.error(subject, format!("members[{at}].ratio"), message);
        }
        if source.members[..at].iter().any(|other| other.pool_uuid == member.pool_uuid) {
            findings.error(subject, format!("members[{at}].pool_ref"), "is in the group twice; remove one");
        }
        let Some(pool) = self.pools.find(&member.pool_uuid) else {
            let message = format!("there is no pool {}", member.pool_uuid);
            findings.error(subject, format!("members[{at}].pool_ref"), message);
            return None;
        };
        let pool = pool?.object.clone();
        let key = HashKey::of(pool.uuid.as_bytes());
        Some((MemberSpec { id: pool.id, key, ratio: member.ratio, priority: member.priority }, pool))
    }
}

/// A pool that takes over must be there.
pub(crate) fn check_backup(of: Subject<'_>, backup: &str, pools: &Objects<Arc<KeptPool>>, findings: &mut Findings) {
    if pools.find(backup).is_none() {
        findings.error(of, "fail_action.backup_pool.backup_pool_ref", format!("there is no pool {backup}"));
    }
}
