//! HTTP policies of a Plan: groups of strings and of addresses, sets of rules, and what a virtual service has of them.

mod groups;
mod rate;
mod read;
mod rule;

use std::sync::Arc;

use weir_rate::Tally;
use weir_rules::{Choice, Policies, PolicySet, RateRule};

pub(crate) use groups::{
    Groups, KeptAddressGroup, KeptStringGroup, read_addresses, read_strings, subject_of_addresses, subject_of_strings,
};
pub(crate) use rate::{check_numbers, read_limits};
pub(crate) use read::{KeptPolicySet, subject as subject_of_set};

use crate::{Pool, Server};

/// The policy sets of a virtual service, with the pools that their rules choose.
#[derive(Debug)]
pub struct ServicePolicies {
    pub rules: Policies,
    /// By set, in the order of the set's pools.
    pub(crate) pools: Vec<Vec<Arc<Pool>>>,
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
        same_sets && self.rules.limits() == parts.limits && pools.iter().zip(&parts.pools).all(same)
    }
}

/// What the policies of a virtual service are made of.
#[derive(Default)]
pub(crate) struct Parts {
    pub sets: Vec<Arc<PolicySet>>,
    pub pools: Vec<Vec<Arc<Pool>>>,
    pub limits: Vec<RateRule>,
}

impl Parts {
    /// `tally` is that of the virtual service, in which limits count.
    pub fn into_policies(self, tally: impl FnOnce() -> Arc<Tally>) -> Option<Box<ServicePolicies>> {
        let Self { sets, pools, limits } = self;
        let counts = !limits.is_empty() || sets.iter().any(|set| set.limits_rates());
        let tally = counts.then(tally);
        Policies::of(sets, limits, tally).map(|rules| Box::new(ServicePolicies { rules, pools }))
    }
}
