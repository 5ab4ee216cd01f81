//! Sequences of changes. Each must lead to the same snapshot as the whole Plan.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use proptest::prelude::*;
use weir_api::dataplane::v1::*;
use weir_snapshot::{Change, Difference, Finding, HostName, PoolGroup, Snapshot};

use crate::{difference, plan::worker, steps::*};

/// The contents of a snapshot.
fn contents(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (at, listener) in snapshot.listeners() {
        all.insert(format!("listener {at}"), format!("{} {}", listener.service.uuid, listener.tls));
        assert!(Arc::ptr_eq(&listener.service, snapshot.service(&listener.service.uuid).unwrap()));
    }
    for service in snapshot.services() {
        assert!(service.pools().all(|pool| Arc::ptr_eq(pool, snapshot.pool(&pool.uuid).unwrap())));
        let its_group = |group: &&Arc<PoolGroup>| service.group.iter().any(|its| Arc::ptr_eq(its, group));
        assert_eq!(snapshot.pool_groups().filter(its_group).count(), service.group.iter().count());
        all.insert(service.uuid.clone(), format!("{service:?}"));
        for host in ["a.test", "test", "b.a.test", "x.y.test", "a.other", "other"] {
            let name = HostName::of(host.as_bytes()).unwrap();
            let by_path = ["/1", "/2", "/"]
                .map(|path| snapshot.child_by_request(service, name, path.as_bytes(), &mut |_| true).unwrap());
            let by_path = by_path.map(|found| found.map(|found| &found.child));
            for child in by_path.into_iter().chain([snapshot.child_by_name(service, name)]) {
                assert!(child.is_none_or(|child| Arc::ptr_eq(child, snapshot.service(&child.uuid).unwrap())));
                let entry = all.entry(format!("{host} of {}", service.uuid)).or_default();
                *entry += child.map_or("none", |child| &child.uuid);
            }
        }
    }
    all.extend(snapshot.pools().map(|pool| (pool.uuid.clone(), format!("{pool:?}"))));
    all.extend(snapshot.pool_groups().map(|group| (group.uuid.clone(), format!("{group:?}"))));
    all
}

fn without_ids(contents: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let without = |text: String| text.split("{ id: ").map(|rest| rest.trim_start_matches(char::is_numeric)).collect();
    contents.into_iter().map(|(uuid, text)| (uuid, without(text))).collect()
}

/// Which objects are the same `Arc` as in the previous snapshot.
fn kept(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, bool> {
    let services = after.services().map(|service| {
        (service.uuid.clone(), before.service(&service.uuid).is_some_and(|other| Arc::ptr_eq(other, service)))
    });
    let pools = after
        .pools()
        .map(|pool| (pool.uuid.clone(), before.pool(&pool.uuid).is_some_and(|other| Arc::ptr_eq(other, pool))));
    let groups = after.pool_groups().map(|group| {
        let is_same = |other: &Arc<PoolGroup>| Arc::ptr_eq(other, group);
        (group.uuid.clone(), before.pool_groups().any(is_same))
    });
    services.chain(pools).chain(groups).collect()
}

/// Which objects may stay: they and all that they use are the same in both Plans.
fn unchanged(before: &Plan, after: &Plan) -> BTreeMap<String, bool> {
    let uses = |plan: &Plan, certificates: &[String], pki_profile: &str| {
        let used = certificates.iter().map(|uuid| plan.certificates.iter().find(|each| each.uuid == *uuid).cloned());
        let trusted = plan.pki_profiles.iter().find(|each| each.uuid == pki_profile).cloned();
        (used.collect::<Vec<_>>(), trusted)
    };
    let same_use = |certificates: &[String], pki_profile: &str| {
        uses(before, certificates, pki_profile) == uses(after, certificates, pki_profile)
    };
    let mut all = BTreeMap::new();
    for pool in &after.pools {
        let tls = pool.server_tls.as_ref();
        let stays = tls.is_none_or(|tls| same_use(std::slice::from_ref(&tls.certificate_uuid), &tls.pki_profile_uuid));
        all.insert(pool.uuid.clone(), stays && before.pools.contains(pool));
    }
    for group in &after.pool_groups {
        let stay = group.members.iter().all(|member| all[&member.pool_uuid]);
        all.insert(group.uuid.clone(), stay && before.pool_groups.contains(group));
    }
    for service in &after.virtual_services {
        let is_child = !service.parent_uuid.is_empty();
        let is_tls = is_child || service.listeners.iter().any(|listener| listener.tls);
        let hosting = |plan: &Plan| {
            let parent = plan.virtual_services.iter().find(|each| each.uuid == service.parent_uuid);
            parent.map(|parent| parent.hosting)
        };
        let stays = !is_tls || same_use(&service.certificate_uuids, "");
        let pool_stays = all.get(&service.pool_uuid).copied().unwrap_or(true);
        let group_stays = all.get(&service.pool_group_uuid).copied().unwrap_or(true);
        let pool_stays = pool_stays && group_stays && hosting(before) == hosting(after);
        all.insert(service.uuid.clone(), stays && pool_stays && before.virtual_services.contains(service));
    }
    all
}

/// A worker that applies only the differences.
#[derive(Default)]
struct Follower {
    services: HashMap<String, u32>,
    pools: HashMap<u32, String>,
    listeners: BTreeMap<String, ()>,
}

impl Follower {
    fn follow(&mut self, difference: &Difference) {
        for gone in &difference.services_gone {
            assert_eq!(self.services.remove(&gone.uuid), Some(gone.id));
        }
        for gone in &difference.pools_gone {
            assert_eq!(self.pools.remove(&gone.id), Some(gone.uuid.clone()));
        }
        self.services.extend(difference.services.iter().map(|service| (service.uuid.clone(), service.id)));
        self.pools.extend(difference.pools.iter().map(|pool| (pool.id, pool.uuid.clone())));
        for at in &difference.listeners_gone {
            assert!(self.listeners.remove(&at.to_string()).is_some());
        }
        self.listeners.extend(difference.listeners.iter().map(|at| (at.to_string(), ())));
    }

    fn has(&self, snapshot: &Snapshot) {
        let services: HashMap<_, _> = snapshot.services().map(|service| (service.uuid.clone(), service.id)).collect();
        let pools: HashMap<_, _> = snapshot.pools().map(|pool| (pool.id, pool.uuid.clone())).collect();
        let listeners: BTreeMap<_, _> = snapshot.listeners().map(|(at, _)| (at.to_string(), ())).collect();
        assert_eq!((&self.services, &self.pools, &self.listeners), (&services, &pools, &listeners));
    }
}

fn sorted(findings: &[Finding]) -> Vec<String> {
    let mut all: Vec<_> = findings.iter().map(|finding| format!("{finding:?}")).collect();
    all.sort();
    all
}

proptest! {
    #[test]
    fn changes_lead_to_what_the_whole_plan_leads_to(
        sequence in prop::collection::vec(prop::collection::vec(step(), 1..4), 1..30),
    ) {
        let worker = worker();
        let mut plan = Plan { revision: 0, ..Plan::default() };
        let (mut changed, mut replaced, mut follower) = (Snapshot::empty(), Snapshot::empty(), Follower::default());
        for steps in std::iter::once(foundation()).chain(sequence) {
            let mut next = plan.clone();
            next.revision += 1;
            steps.iter().for_each(|step| take(&mut next, step));
            let change = Change::from(difference::between(&plan, &next));
            let by_change = changed.changed(&change, &worker);
            let by_plan = Snapshot::build(&next, Some(&replaced), &worker);
            let at_once = Snapshot::build(&next, None, &worker);
            match (by_change, by_plan, at_once) {
                (Ok((by_change, warnings)), Ok((by_plan, others)), Ok((at_once, those))) => {
                    prop_assert_eq!(by_change.revision(), next.revision);
                    prop_assert_eq!(contents(&by_change), contents(&by_plan));
                    prop_assert_eq!(without_ids(contents(&by_change)), without_ids(contents(&at_once)));
                    prop_assert_eq!(kept(&changed, &by_change), unchanged(&plan, &next));
                    prop_assert_eq!(kept(&replaced, &by_plan), unchanged(&plan, &next));
                    let said = sorted(&warnings);
                    prop_assert_eq!((&said, &said), (&sorted(&others), &sorted(&those)));
                    follower.follow(by_change.difference());
                    follower.has(&by_change);
                    (plan, changed, replaced) = (next, by_change, by_plan);
                }
                (Err(errors), Err(others), Err(_)) => prop_assert!(!errors.is_empty() && !others.is_empty()),
                (by_change, by_plan, at_once) => prop_assert!(
                    false,
                    "accepted as change, with a Plan before, at once: {} {} {}",
                    by_change.is_ok(), by_plan.is_ok(), at_once.is_ok()
                ),
            }
        }
    }
}
