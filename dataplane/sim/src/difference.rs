//! The change from one Plan to another, as an agent sends it. Tests of `snapshot` and `control` use it, too.

use weir_api::dataplane::v1::{Plan, PlanChange, Removed};

pub fn between(before: &Plan, after: &Plan) -> PlanChange {
    let (virtual_services, gone_services) =
        parted(&before.virtual_services, &after.virtual_services, |service| &service.uuid);
    let (pools, gone_pools) = parted(&before.pools, &after.pools, |pool| &pool.uuid);
    let (certificates, gone_certificates) =
        parted(&before.certificates, &after.certificates, |certificate| &certificate.uuid);
    let (pki_profiles, gone_pki_profiles) = parted(&before.pki_profiles, &after.pki_profiles, |profile| &profile.uuid);
    let (revision, worker_pinning) = (after.revision, after.worker_pinning);
    let changed = Plan { revision, virtual_services, pools, certificates, pki_profiles, worker_pinning };
    let removed = Removed {
        virtual_services: gone_services,
        pools: gone_pools,
        certificates: gone_certificates,
        pki_profiles: gone_pki_profiles,
    };
    PlanChange { base_revision: before.revision, changed: Some(changed), removed: Some(removed) }
}

/// The new or changed objects, and the uuids of the removed ones.
fn parted<T: Clone + PartialEq>(before: &[T], after: &[T], uuid: fn(&T) -> &str) -> (Vec<T>, Vec<String>) {
    let gone = before.iter().filter(|old| !after.iter().any(|new| uuid(new) == uuid(old)));
    let changed = after.iter().filter(|new| !before.contains(new));
    (changed.cloned().collect(), gone.map(|old| uuid(old).to_owned()).collect())
}
