//! HTTP policies of a Plan: groups of strings and of addresses, sets of rules, and what a virtual service has of them.

mod groups;
mod read;
mod rule;

use std::sync::Arc;

use weir_rules::{Choice, Policies, PolicySet};

pub(crate) use groups::{
    Groups, KeptAddressGroup, KeptStringGroup, read_addresses, read_strings, subject_of_addresses, subject_of_strings,
};
pub(crate) use read::{KeptPolicySet, subject as subject_of_set};

use crate::{Identity, Pool, Server, kept::both_or_neither};

/// The policy sets of a virtual service, with the pools that their rules choose, and what it asks clients for.
#[derive(Debug)]
pub struct ServicePolicies {
    pub rules: Policies,
    /// By set, in the order of the set's pools.
    pub(crate) pools: Vec<Vec<Arc<Pool>>>,
    /// `None`: who clients are is not asked.
    pub identity: Option<Identity>,
}

impl ServicePolicies {
    /// The pool that a rule chooses.
    pub fn pool(&self, choice: &Choice<'_>) -> Option<&Arc<Pool>> {
        self.pools.get(choice.set)?.get(choice.pool as usize)
    }

    /// The server of that pool, if the rule names one.
    pub fn server<'p>(&'p self, choice: &Choice<'_>) -> Option<&'p Server> {
        let pool = self.pool(choice)?;
        pool.servers.get(pool.position(choice.server?)?)
    }

    /// All pools that rules may choose.
    pub fn pools(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.pools.iter().flatten()
    }

    pub(crate) fn is_made_of(&self, parts: &Parts) -> bool {
        let (sets, pools) = (self.rules.sets(), &self.pools);
        let same_sets = sets.len() == parts.sets.len() && sets.iter().zip(&parts.sets).all(|(a, b)| Arc::ptr_eq(a, b));
        let same = |(one, other): (&Vec<Arc<Pool>>, &Vec<Arc<Pool>>)| {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        same_sets
            && pools.iter().zip(&parts.pools).all(same)
            && both_or_neither(self.identity.as_ref(), parts.identity.as_ref(), Identity::is)
    }
}

/// What the policies of a virtual service are made of.
#[derive(Default)]
pub(crate) struct Parts {
    pub sets: Vec<Arc<PolicySet>>,
    pub pools: Vec<Vec<Arc<Pool>>>,
    pub identity: Option<Identity>,
}

impl Parts {
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty() && self.identity.is_none()
    }

    pub fn into_policies(self) -> Option<Box<ServicePolicies>> {
        if self.is_empty() {
            return None;
        }
        let Self { sets, pools, identity } = self;
        Some(Box::new(ServicePolicies { rules: Policies::of(sets), pools, identity }))
    }
}
