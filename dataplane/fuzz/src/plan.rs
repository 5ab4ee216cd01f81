//! What must hold for any bytes that come as a Plan. The fuzz target feeds it with what libFuzzer finds, the tests of
//! `snapshot` with damaged Plans and the corpus.

use std::{collections::HashSet, sync::Arc};

use prost::Message;
use weir_api::dataplane::v1::{Plan, PlanChange, Removed};
use weir_snapshot::{Change, Finding, Snapshot, VirtualService, Worker};

/// Returns whether `input` is a Plan that is accepted.
pub fn check_plan(input: &[u8]) -> bool {
    let Ok(plan) = Plan::decode(input) else { return false };
    let workers = Worker::all(1, 0);
    match Snapshot::build(&plan, None, &workers[0]) {
        Ok((snapshot, warnings)) => {
            check_findings(&warnings);
            check_snapshot(&plan, &snapshot);
            let again = Snapshot::build(&plan, Some(&snapshot), &workers[0]);
            check_same(&snapshot, &again.expect("what was accepted is accepted again").0);
            check_changes(&plan, &snapshot, &workers[0]);
            true
        }
        Err(errors) => {
            assert!(!errors.is_empty(), "a refusal says why");
            check_findings(&errors);
            false
        }
    }
}

/// To nothing, and back.
fn check_changes(plan: &Plan, snapshot: &Snapshot, worker: &Worker) {
    let removed = Removed {
        virtual_services: plan.virtual_services.iter().map(|service| service.uuid.clone()).collect(),
        pools: plan.pools.iter().map(|pool| pool.uuid.clone()).collect(),
        pool_groups: plan.pool_groups.iter().map(|group| group.uuid.clone()).collect(),
        script_sets: plan.script_sets.iter().map(|set| set.uuid.clone()).collect(),
        error_page_profiles: plan.error_page_profiles.iter().map(|profile| profile.uuid.clone()).collect(),
        certificates: plan.certificates.iter().map(|certificate| certificate.uuid.clone()).collect(),
        pki_profiles: plan.pki_profiles.iter().map(|profile| profile.uuid.clone()).collect(),
        http_policy_sets: plan.http_policy_sets.iter().map(|set| set.uuid.clone()).collect(),
        string_groups: plan.string_groups.iter().map(|group| group.uuid.clone()).collect(),
        address_groups: plan.address_groups.iter().map(|group| group.uuid.clone()).collect(),
        network_policies: plan.network_policies.iter().map(|policy| policy.uuid.clone()).collect(),
    };
    let empty = Plan { revision: plan.revision, ..Plan::default() };
    let away = PlanChange { base_revision: plan.revision, changed: Some(empty), removed: Some(removed) };
    let (nothing, warnings) = snapshot.changed(&Change::from(away), worker).expect("a Plan of nothing is sound");
    assert!(nothing.services().count() + nothing.pools().count() + nothing.listeners().count() + warnings.len() == 0);
    assert_eq!(nothing.pool_groups().count(), 0);
    assert_eq!(nothing.difference().listeners_gone.len(), snapshot.listeners().count());

    let back = PlanChange { changed: Some(plan.clone()), ..PlanChange::default() };
    let (again, _) = nothing.changed(&Change::from(back), worker).expect("what was accepted is accepted again");
    check_contents(plan, &again);
}

fn check_findings(findings: &[Finding]) {
    assert!(findings.iter().all(|finding| !finding.kind.is_empty() && !finding.message.is_empty()));
}

fn check_snapshot(plan: &Plan, snapshot: &Snapshot) {
    let ids = check_contents(plan, snapshot);
    assert!(ids.iter().all(|id| (*id as usize) < ids.len()), "ids are dense");
}

/// Returns the ids of all servers.
fn check_contents(plan: &Plan, snapshot: &Snapshot) -> HashSet<u32> {
    assert_eq!(snapshot.services().count(), plan.virtual_services.len());
    assert_eq!(snapshot.pools().count(), plan.pools.len());
    assert_eq!(snapshot.pool_groups().count(), plan.pool_groups.len());
    for group in snapshot.pool_groups() {
        let ids = group.balance.members.iter().map(|member| member.id);
        assert!(group.pools.iter().map(|pool| pool.id).eq(ids));
        assert!(group.pools.iter().all(|pool| snapshot.pool(&pool.uuid).is_some_and(|its| Arc::ptr_eq(its, pool))));
    }
    assert_eq!(
        snapshot.listeners().count(),
        plan.virtual_services.iter().map(|service| service.listeners.len()).sum::<usize>()
    );
    for (at, listener) in snapshot.listeners() {
        assert!(at.address.port() > 0);
        assert!(!listener.tls || listener.service.tls.is_some());
        let variants = plan.virtual_services.iter().find(|service| service.uuid == listener.service.uuid);
        let has_variants = variants.is_some_and(|service| !service.variants.is_empty());
        let is_it = |service: &Arc<VirtualService>| {
            service.id == listener.service.id && (has_variants || Arc::ptr_eq(service, &listener.service))
        };
        assert!(snapshot.service(&listener.service.uuid).is_some_and(is_it));
    }
    let mut ids = HashSet::new();
    for pool in snapshot.pools() {
        assert_eq!(pool.servers.len(), pool.balance.servers.len());
        for (server, spec) in pool.servers.iter().zip(&pool.balance.servers) {
            assert!(server.address.port() > 0 && spec.ratio > 0 && spec.id == server.id);
            assert!(ids.insert(server.id), "an id names one server");
        }
    }
    ids
}

fn check_same(snapshot: &Snapshot, again: &Snapshot) {
    assert!(snapshot.pools().all(|pool| again.pool(&pool.uuid).is_some_and(|other| Arc::ptr_eq(pool, other))));
    for service in snapshot.services() {
        assert!(again.service(&service.uuid).is_some_and(|other| Arc::ptr_eq(service, other)));
    }
}
