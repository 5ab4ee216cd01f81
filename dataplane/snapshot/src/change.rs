//! A change from one Plan to the next, as an agent sends it. All workers share its objects.

use std::sync::Arc;

use weir_api::dataplane::v1::{self, Plan, PlanChange, Removed};

use crate::{
    certificate, error_pages, finding::Subject, network_policy, pki_profile, policies, pool, pool_group, scripts,
    service,
};

#[derive(Debug)]
pub struct Change {
    revision: u64,
    /// Revision of the Plan that it starts from; `None`: the change is a whole Plan.
    base: Option<u64>,
    pub(crate) services: Vec<Arc<v1::VirtualService>>,
    pub(crate) pools: Vec<Arc<v1::Pool>>,
    pub(crate) pool_groups: Vec<Arc<v1::PoolGroup>>,
    pub(crate) error_pages: Vec<Arc<v1::ErrorPageProfile>>,
    pub(crate) certificates: Vec<Arc<v1::Certificate>>,
    pub(crate) pki_profiles: Vec<Arc<v1::PkiProfile>>,
    pub(crate) policy_sets: Vec<Arc<v1::HttpPolicySet>>,
    pub(crate) script_sets: Vec<Arc<v1::ScriptSet>>,
    pub(crate) string_groups: Vec<Arc<v1::StringGroup>>,
    pub(crate) address_groups: Vec<Arc<v1::AddressGroup>>,
    pub(crate) network_policies: Vec<Arc<v1::NetworkPolicy>>,
    pub(crate) removed: Removed,
    worker_pinning: i32,
}

impl Change {
    /// Replaces whatever was there by this Plan.
    pub fn whole(plan: Plan) -> Self {
        Self::of(None, plan, Removed::default())
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Revision of the Plan that it starts from; `None`: the change is a whole Plan.
    pub fn base(&self) -> Option<u64> {
        self.base
    }

    /// The virtual services that are new or differ.
    pub fn services(&self) -> impl Iterator<Item = &v1::VirtualService> {
        self.services.iter().map(AsRef::as_ref)
    }

    /// An unchecked enumerator of the contract.
    pub fn worker_pinning(&self) -> i32 {
        self.worker_pinning
    }

    fn of(base: Option<u64>, plan: Plan, removed: Removed) -> Self {
        Self {
            revision: plan.revision,
            base,
            worker_pinning: plan.worker_pinning,
            services: shared(plan.virtual_services),
            pools: shared(plan.pools),
            pool_groups: shared(plan.pool_groups),
            error_pages: shared(plan.error_page_profiles),
            certificates: shared(plan.certificates),
            pki_profiles: shared(plan.pki_profiles),
            policy_sets: shared(plan.http_policy_sets),
            script_sets: shared(plan.script_sets),
            string_groups: shared(plan.string_groups),
            address_groups: shared(plan.address_groups),
            network_policies: shared(plan.network_policies),
            removed,
        }
    }
}

impl From<PlanChange> for Change {
    fn from(change: PlanChange) -> Self {
        let (plan, removed) = (change.changed.unwrap_or_default(), change.removed.unwrap_or_default());
        Self::of(Some(change.base_revision), plan, removed)
    }
}

/// An object of a Plan.
pub(crate) trait Source {
    fn subject(&self) -> Subject<'_>;

    fn uuid(&self) -> &str {
        self.subject().uuid
    }
}

impl Source for v1::VirtualService {
    fn subject(&self) -> Subject<'_> {
        service::subject(self)
    }
}

impl Source for v1::Pool {
    fn subject(&self) -> Subject<'_> {
        pool::subject(self)
    }
}

impl Source for v1::PoolGroup {
    fn subject(&self) -> Subject<'_> {
        pool_group::subject(self)
    }
}

impl Source for v1::ErrorPageProfile {
    fn subject(&self) -> Subject<'_> {
        error_pages::subject(self)
    }
}

impl Source for v1::Certificate {
    fn subject(&self) -> Subject<'_> {
        certificate::subject(self)
    }
}

impl Source for v1::PkiProfile {
    fn subject(&self) -> Subject<'_> {
        pki_profile::subject(self)
    }
}

impl Source for v1::HttpPolicySet {
    fn subject(&self) -> Subject<'_> {
        policies::subject_of_set(self)
    }
}

impl Source for v1::ScriptSet {
    fn subject(&self) -> Subject<'_> {
        scripts::subject(self)
    }
}

impl Source for v1::NetworkPolicy {
    fn subject(&self) -> Subject<'_> {
        network_policy::subject(self)
    }
}

impl Source for v1::StringGroup {
    fn subject(&self) -> Subject<'_> {
        policies::subject_of_strings(self)
    }
}

impl Source for v1::AddressGroup {
    fn subject(&self) -> Subject<'_> {
        policies::subject_of_addresses(self)
    }
}

fn shared<T>(sources: Vec<T>) -> Vec<Arc<T>> {
    sources.into_iter().map(Arc::new).collect()
}
