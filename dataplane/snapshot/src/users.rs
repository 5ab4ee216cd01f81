//! An index of references: which objects must be read again when an object changes.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    network_policy::KeptNetworkPolicy, policies::KeptPolicySet, pool::KeptPool, pool_group::KeptGroup,
    scripts::KeptScriptSet, service::KeptService, shared::Shared,
};

/// Which objects refer to which.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    pub services_of_pools: Users,
    pub services_of_groups: Users,
    pub services_of_error_pages: Users,
    pub services_of_certificates: Users,
    pub services_of_policy_sets: Users,
    pub services_of_script_sets: Users,
    pub script_sets_of_string_groups: Users,
    pub script_sets_of_address_groups: Users,
    pub sets_of_string_groups: Users,
    pub sets_of_address_groups: Users,
    pub network_policies_of_address_groups: Users,
    pub services_of_network_policies: Users,
    /// Of groups of strings and of addresses.
    pub services_of_compared: Users,
    pub children_of_services: Users,
    pub groups_of_pools: Users,
    pub pools_of_backups: Users,
    pub pools_of_certificates: Users,
    pub pools_of_pki_profiles: Users,
    pub services_of_pki_profiles: Users,
}

impl References {
    pub fn follow_pool(&mut self, uuid: &str, before: Option<&KeptPool>, after: Option<&KeptPool>) {
        let backups = (before.and_then(KeptPool::backup), after.and_then(KeptPool::backup));
        self.pools_of_backups.follow(uuid, || backups.0, || backups.1);
        self.pools_of_certificates.follow(
            uuid,
            || before.and_then(KeptPool::certificate),
            || after.and_then(KeptPool::certificate),
        );
        self.pools_of_pki_profiles.follow(
            uuid,
            || before.and_then(KeptPool::pki_profile),
            || after.and_then(KeptPool::pki_profile),
        );
    }

    pub fn follow_group(&mut self, uuid: &str, before: Option<&KeptGroup>, after: Option<&KeptGroup>) {
        self.groups_of_pools.follow(
            uuid,
            || before.into_iter().flat_map(KeptGroup::pools),
            || after.into_iter().flat_map(KeptGroup::pools),
        );
    }

    pub fn follow_policy_set(&mut self, uuid: &str, before: Option<&KeptPolicySet>, after: Option<&KeptPolicySet>) {
        self.sets_of_string_groups.follow(
            uuid,
            || before.into_iter().flat_map(KeptPolicySet::string_groups),
            || after.into_iter().flat_map(KeptPolicySet::string_groups),
        );
        self.sets_of_address_groups.follow(
            uuid,
            || before.into_iter().flat_map(KeptPolicySet::address_groups),
            || after.into_iter().flat_map(KeptPolicySet::address_groups),
        );
    }

    pub fn follow_script_set(&mut self, uuid: &str, before: Option<&KeptScriptSet>, after: Option<&KeptScriptSet>) {
        self.script_sets_of_string_groups.follow(
            uuid,
            || before.into_iter().flat_map(KeptScriptSet::string_groups),
            || after.into_iter().flat_map(KeptScriptSet::string_groups),
        );
        self.script_sets_of_address_groups.follow(
            uuid,
            || before.into_iter().flat_map(KeptScriptSet::address_groups),
            || after.into_iter().flat_map(KeptScriptSet::address_groups),
        );
    }

    pub fn follow_network_policy(
        &mut self,
        uuid: &str,
        before: Option<&KeptNetworkPolicy>,
        after: Option<&KeptNetworkPolicy>,
    ) {
        self.network_policies_of_address_groups.follow(
            uuid,
            || before.into_iter().flat_map(KeptNetworkPolicy::address_groups),
            || after.into_iter().flat_map(KeptNetworkPolicy::address_groups),
        );
    }

    pub fn follow_service(&mut self, uuid: &str, before: Option<&KeptService>, after: Option<&KeptService>) {
        let parents = (before.and_then(KeptService::parent), after.and_then(KeptService::parent));
        self.children_of_services.follow(uuid, || parents.0, || parents.1);
        self.services_of_pools.follow(
            uuid,
            || before.into_iter().flat_map(KeptService::pools),
            || after.into_iter().flat_map(KeptService::pools),
        );
        let pages = (before.and_then(KeptService::error_pages), after.and_then(KeptService::error_pages));
        self.services_of_error_pages.follow(uuid, || pages.0, || pages.1);
        self.services_of_groups.follow(
            uuid,
            || before.into_iter().flat_map(KeptService::pool_groups),
            || after.into_iter().flat_map(KeptService::pool_groups),
        );
        self.services_of_policy_sets.follow(
            uuid,
            || before.into_iter().flat_map(KeptService::policy_sets),
            || after.into_iter().flat_map(KeptService::policy_sets),
        );
        self.services_of_script_sets.follow(
            uuid,
            || before.into_iter().flat_map(KeptService::script_sets),
            || after.into_iter().flat_map(KeptService::script_sets),
        );
        self.services_of_compared.follow(
            uuid,
            || before.into_iter().flat_map(KeptService::groups),
            || after.into_iter().flat_map(KeptService::groups),
        );
        let network = (before.and_then(KeptService::network_policy), after.and_then(KeptService::network_policy));
        self.services_of_network_policies.follow(uuid, || network.0, || network.1);
        self.services_of_pki_profiles.follow(
            uuid,
            || before.into_iter().flat_map(KeptService::pki_profiles),
            || after.into_iter().flat_map(KeptService::pki_profiles),
        );
        self.services_of_certificates.follow(
            uuid,
            || before.into_iter().flat_map(KeptService::certificates),
            || after.into_iter().flat_map(KeptService::certificates),
        );
    }
}

/// The users of the objects of one kind, by uuid.
#[derive(Clone, Default, Debug)]
pub(crate) struct Users(Shared<Arc<str>, Arc<BTreeSet<Arc<str>>>>);

impl Users {
    /// The references of `user` change from `before` to `after`.
    pub fn follow<'u, B, A>(&mut self, user: &str, before: impl Fn() -> B, after: impl Fn() -> A)
    where
        B: IntoIterator<Item = &'u str>,
        A: IntoIterator<Item = &'u str>,
    {
        // Mostly they are the same ones.
        if before().into_iter().eq(after()) {
            return;
        }
        let (before, after) = (BTreeSet::from_iter(before()), BTreeSet::from_iter(after()));
        before.difference(&after).for_each(|used| self.remove(used, user));
        after.difference(&before).for_each(|used| self.add(used, user));
    }

    /// In the order of their uuids.
    pub fn of(&self, used: &str) -> impl Iterator<Item = &Arc<str>> {
        self.0.get(used).into_iter().flat_map(|users| users.iter())
    }

    fn add(&mut self, used: &str, user: &str) {
        let mut users = self.0.remove(used).unwrap_or_default();
        Arc::make_mut(&mut users).insert(user.into());
        self.0.insert(used.into(), users);
    }

    fn remove(&mut self, used: &str, user: &str) {
        let Some(mut users) = self.0.remove(used) else { return };
        Arc::make_mut(&mut users).remove(user);
        if !users.is_empty() {
            self.0.insert(used.into(), users);
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_api::dataplane::v1::{L4Profile, Plan, TcpProfile, VirtualService};

    use super::*;
    use crate::{Snapshot, Worker};

    fn of(users: &Users, used: &str) -> Vec<String> {
        users.of(used).map(|user| user.to_string()).collect()
    }

    #[test]
    fn object_without_a_reference_uses_nothing() {
        let service = VirtualService {
            uuid: "shop".into(),
            l4: Some(L4Profile::default()),
            tcp: Some(TcpProfile::default()),
            ..VirtualService::default()
        };
        let plan = Plan { revision: 1, virtual_services: vec![service], ..Plan::default() };
        let snapshot = Snapshot::build(&plan, None, &Worker::all(1, 0)[0]).unwrap().0;
        assert_eq!(of(&snapshot.references.services_of_pools, ""), [""; 0]);
    }

    #[test]
    fn users_are_added_and_removed_with_their_references() {
        let mut users = Users::default();
        users.follow("shop", || [], || ["a", "b", "a"]);
        users.follow("intranet", || [], || ["b"]);
        assert_eq!(
            (of(&users, "a"), of(&users, "b")),
            (vec!["shop".to_owned()], vec!["intranet".into(), "shop".into()])
        );
        let before = users.clone();
        users.follow("shop", || ["a", "b"], || ["b", "c"]);
        assert_eq!((of(&users, "a"), of(&users, "c")), (vec![], vec!["shop".to_owned()]));
        assert_eq!(of(&before, "a"), ["shop"]);
    }
}
