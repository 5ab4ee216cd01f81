//! HTTP policies of a Plan: groups of strings and of addresses, sets of rules, and what a virtual service has of them.

pub(crate) mod groups;
pub(crate) mod rate;
mod read;
pub(crate) mod rule;

use std::sync::Arc;

use weir_rate::{Limit, Tally};
use weir_rules::{Choice, Policies, PolicySet, RateRule};

pub(crate) use groups::{
    Groups, KeptAddressGroup, KeptStringGroup, addresses, read_addresses, read_strings, subject_of_addresses,
    subject_of_strings,
};
pub(crate) use rate::{check_numbers, read_limits};
pub(crate) use read::{ChosenUuid, KeptPolicySet, subject as subject_of_set};
pub(crate) use rule::number;

use crate::{Identity, Pool, PoolGroup, Server, Tokens, kept::both_or_neither};

/// Where a rule sends requests.
#[derive(Clone, Debug)]
pub enum Destination {
    Pool(Arc<Pool>),
    Group(Arc<PoolGroup>),
}

impl Destination {
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pool(one), Self::Pool(other)) => Arc::ptr_eq(one, other),
            (Self::Group(one), Self::Group(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// The policy sets of a virtual service, with the pools and groups that their rules choose,
/// and what it asks clients for.
#[derive(Debug)]
pub struct ServicePolicies {
    pub rules: Policies,
    /// By set, in the order of the set's pools.
    pub(crate) destinations: Vec<Vec<Destination>>,
    /// `None`: who clients are is not asked.
    pub identity: Option<Identity>,
    /// `None`: requests need no token.
    pub tokens: Option<Arc<Tokens>>,
}

impl ServicePolicies {
    /// The pool or group that a rule chooses.
    pub fn destination(&self, choice: &Choice<'_>) -> Option<&Destination> {
        self.destinations.get(choice.set)?.get(choice.pool as usize)
    }

    /// The server of that pool, if the rule names one.
    pub fn server<'p>(&'p self, choice: &Choice<'_>) -> Option<&'p Server> {
        let Destination::Pool(pool) = self.destination(choice)? else { return None };
        pool.servers.get(pool.position(choice.server?)?)
    }

    /// All pools and groups that rules may choose.
    pub fn destinations(&self) -> impl Iterator<Item = &Destination> {
        self.destinations.iter().flatten()
    }

    pub(crate) fn is_made_of(&self, parts: &Parts) -> bool {
        let (sets, destinations) = (self.rules.sets(), &self.destinations);
        let same_sets = sets.len() == parts.sets.len() && sets.iter().zip(&parts.sets).all(|(a, b)| Arc::ptr_eq(a, b));
        let same = |(one, other): (&Vec<Destination>, &Vec<Destination>)| {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.is(b))
        };
        same_sets
            && self.rules.limits() == parts.limits
            && destinations.iter().zip(&parts.destinations).all(same)
            && both_or_neither(self.identity.as_ref(), parts.identity.as_ref(), Identity::is)
            && both_or_neither(self.tokens.as_ref(), parts.tokens.as_ref(), |a, b| a.is(b))
    }
}

/// What the policies of a virtual service are made of.
#[derive(Default)]
pub(crate) struct Parts {
    pub sets: Vec<Arc<PolicySet>>,
    pub destinations: Vec<Vec<Destination>>,
    pub limits: Vec<RateRule>,
    pub identity: Option<Identity>,
    pub tokens: Option<Arc<Tokens>>,
}

impl Parts {
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty() && self.limits.is_empty() && self.identity.is_none() && self.tokens.is_none()
    }

    /// `tally` makes one for limits of the virtual service.
    pub fn into_policies(self, tally: impl FnOnce(Vec<Limit>) -> Tally) -> Option<Box<ServicePolicies>> {
        if self.is_empty() {
            return None;
        }
        let Self { sets, destinations, limits, identity, tokens } = self;
        let own = limits.iter().flat_map(|rate| rate.limit.limits());
        let counted: Vec<_> = own.chain(sets.iter().flat_map(|set| set.limits())).collect();
        let tally = (!counted.is_empty()).then(|| tally(counted));
        Some(Box::new(ServicePolicies { rules: Policies::of(sets, limits, tally), destinations, identity, tokens }))
    }
}
