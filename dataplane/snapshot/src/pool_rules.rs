//! Where connections go, by where they come from and to: rules, the first of which that matches chooses.

use std::{net::SocketAddr, sync::Arc};

use weir_api::dataplane::v1;
use weir_rules::{AddressGroup, ConnectionMatch};

use crate::{
    Destination, Pool, PoolGroup,
    finding::{Findings, Subject},
    kept::{Objects, reference},
    network_policy,
    policies::Groups,
    pool::KeptPool,
    pool_group::KeptGroup,
};

/// Most rules of one virtual service: they are tried one after the other.
const RULES_MAX: usize = 1024;

#[derive(Debug)]
pub struct PoolRules(Vec<PoolRule>);

#[derive(Debug)]
struct PoolRule {
    name: String,
    matched: ConnectionMatch,
    to: Destination,
}

/// Where a client goes: to a pool, to a group of pools, or nowhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aim<'s> {
    pub pool: Option<&'s Arc<Pool>>,
    pub group: Option<&'s Arc<PoolGroup>>,
}

impl<'s> Aim<'s> {
    /// All pools that it may come to, without those that take over for them.
    pub fn pools(self) -> impl Iterator<Item = &'s Arc<Pool>> {
        self.pool.into_iter().chain(self.group.into_iter().flat_map(|group| &group.pools))
    }
}

impl<'s> From<&'s Destination> for Aim<'s> {
    fn from(to: &'s Destination) -> Self {
        match to {
            Destination::Pool(pool) => Self { pool: Some(pool), group: None },
            Destination::Group(group) => Self { pool: None, group: Some(group) },
        }
    }
}

impl PoolRules {
    /// Where a rule sends a client of this listener. `None`: where the others go.
    pub fn choose(&self, client: SocketAddr, listener_port: u16) -> Option<&Destination> {
        self.choosing(client, listener_port).map(|(_, to)| to)
    }

    /// The same, with the name of the rule.
    pub fn choosing(&self, client: SocketAddr, listener_port: u16) -> Option<(&str, &Destination)> {
        let mut rules = self.0.iter();
        let rule = rules.find(|rule| rule.matched.holds_any(client, listener_port))?;
        Some((&rule.name, &rule.to))
    }

    pub(crate) fn destinations(&self) -> impl Iterator<Item = &Destination> {
        self.0.iter().map(|rule| &rule.to)
    }

    /// Whether two that were read of equal sources are made of the same objects.
    pub(crate) fn are(&self, others: &Self) -> bool {
        let groups = |rule: &PoolRule| {
            let addresses = rule.matched.client.iter().chain(&rule.matched.place);
            addresses.flat_map(|addresses| addresses.groups()).cloned().collect()
        };
        self.0.iter().zip(&others.0).all(|(one, other)| {
            let (ones, others): (Vec<Arc<AddressGroup>>, Vec<_>) = (groups(one), groups(other));
            one.to.is(&other.to) && ones.iter().zip(&others).all(|(one, other)| Arc::ptr_eq(one, other))
        })
    }
}

/// The uuids of the groups of addresses that the rules of a service compare with.
pub(crate) fn address_groups(source: &v1::VirtualService) -> impl Iterator<Item = &str> {
    source.pool_rules.iter().flat_map(|rule| network_policy::address_groups(rule.r#match.as_ref()))
}

/// What the rules of a snapshot are read with.
pub(crate) struct PoolRuleReader<'s> {
    pub pools: &'s Objects<Arc<KeptPool>>,
    pub pool_groups: &'s Objects<KeptGroup>,
    pub groups: Groups<'s>,
}

impl PoolRuleReader<'_> {
    /// `None`: a service has none, or one cannot be used; the findings say why.
    pub fn read(
        &self,
        subject: Subject<'_>,
        source: &v1::VirtualService,
        findings: &mut Findings,
    ) -> Option<Box<PoolRules>> {
        if source.pool_rules.len() > RULES_MAX {
            let message = format!("make {} rules, and engines try at most {RULES_MAX}", source.pool_rules.len());
            findings.error(subject, "l4_policies", message);
        }
        if source.pool_rules.is_empty() || source.pool_rules.len() > RULES_MAX {
            return None;
        }
        let rules = source.pool_rules.iter().map(|from| self.pool_rule(subject, from, findings));
        let rules: Vec<_> = rules.collect();
        let rules: Option<_> = rules.into_iter().collect();
        rules.map(|rules| Box::new(PoolRules(rules)))
    }

    fn pool_rule(&self, subject: Subject<'_>, from: &v1::PoolRule, findings: &mut Findings) -> Option<PoolRule> {
        let matched = match &from.r#match {
            None => Some(ConnectionMatch::default()),
            Some(matched) => self.groups.connection_match(subject, &format!("{}.", from.field), matched, findings),
        };
        let chosen = from.pool.as_ref();
        let (kind, uuid, found) = match chosen.and_then(|chosen| reference(&chosen.pool_group_uuid)) {
            Some(uuid) => {
                let group = self.pool_groups.find(uuid);
                ("pool group", uuid, group.map(|group| group.map(|kept| Destination::Group(kept.object.clone()))))
            }
            None => {
                let uuid = chosen.map_or("", |chosen| &chosen.pool_uuid);
                let pool = self.pools.find(uuid);
                ("pool", uuid, pool.map(|pool| pool.map(|kept| Destination::Pool(kept.object.clone()))))
            }
        };
        let Some(found) = found else {
            let message = format!("rule {:?} chooses the {kind} {uuid}, which is not there", from.name);
            findings.error(subject, &*from.field, message);
            return None;
        };
        Some(PoolRule { name: from.name.clone(), matched: matched?, to: found? })
    }
}
