//! The change from one Plan to another, as an agent sends it. Tests of `snapshot` and `control` use it, too.

use weir_api::dataplane::v1::{Plan, PlanChange, Removed};

pub fn between(before: &Plan, after: &Plan) -> PlanChange {
    let (virtual_services, gone_services) =
        parted(&before.virtual_services, &after.virtual_services, |service| &service.uuid);
    let (pools, gone_pools) = parted(&before.pools, &after.pools, |pool| &pool.uuid);
    let (pool_groups, gone_pool_groups) = parted(&before.pool_groups, &after.pool_groups, |group| &group.uuid);
    let (error_page_profiles, gone_error_page_profiles) =
        parted(&before.error_page_profiles, &after.error_page_profiles, |profile| &profile.uuid);
    let (certificates, gone_certificates) =
        parted(&before.certificates, &after.certificates, |certificate| &certificate.uuid);
    let (pki_profiles, gone_pki_profiles) = parted(&before.pki_profiles, &after.pki_profiles, |profile| &profile.uuid);
    let (revision, worker_pinning) = (after.revision, after.worker_pinning);
    let (policy_sets, gone_policy_sets) = parted(&before.http_policy_sets, &after.http_policy_sets, |set| &set.uuid);
    let (string_groups, gone_string_groups) = parted(&before.string_groups, &after.string_groups, |group| &group.uuid);
    let (address_groups, gone_address_groups) =
        parted(&before.address_groups, &after.address_groups, |group| &group.uuid);
    let (script_sets, gone_script_sets) = parted(&before.script_sets, &after.script_sets, |set| &set.uuid);
    let (network_policies, gone_network_policies) =
        parted(&before.network_policies, &after.network_policies, |policy| &policy.uuid);
    let changed = Plan {
        revision,
        virtual_services,
        pools,
        pool_groups,
        error_page_profiles,
        certificates,
        pki_profiles,
        worker_pinning,
        http_policy_sets: policy_sets,
        string_groups,
        address_groups,
        script_sets,
        network_policies,
    };
    let removed = Removed {
        virtual_services: gone_services,
        pools: gone_pools,
        pool_groups: gone_pool_groups,
        error_page_profiles: gone_error_page_profiles,
        certificates: gone_certificates,
        pki_profiles: gone_pki_profiles,
        http_policy_sets: gone_policy_sets,
        string_groups: gone_string_groups,
        address_groups: gone_address_groups,
        script_sets: gone_script_sets,
        network_policies: gone_network_policies,
    };
    PlanChange { base_revision: before.revision, changed: Some(changed), removed: Some(removed) }
}

/// The new or changed objects, and the uuids of the removed ones.
fn parted<T: Clone + PartialEq>(before: &[T], after: &[T], uuid: fn(&T) -> &str) -> (Vec<T>, Vec<String>) {
    let gone = before.iter().filter(|old| !after.iter().any(|new| uuid(new) == uuid(old)));
    let changed = after.iter().filter(|new| !before.contains(new));
    (changed.cloned().collect(), gone.map(|old| uuid(old).to_owned()).collect())
}
