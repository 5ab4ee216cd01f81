//! Sequences of changes. Each must lead to the same snapshot as the whole Plan.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use proptest::{prelude::*, sample::subsequence};
use weir_api::dataplane::v1::*;
use weir_snapshot::{Change, Difference, Finding, Snapshot};

use crate::plan::*;

/// One action of an operator.
#[derive(Clone, Debug)]
enum Step {
    PutService { n: usize, pool: usize, ports: Vec<u32>, tls: bool, certificates: Vec<usize>, layer4: bool },
    RemoveService(usize),
    PutPool { n: usize, servers: Vec<u32>, certificate: Option<usize>, odd_suite: bool },
    RemovePool(usize),
    PutCertificate { n: usize, content: usize },
    RemoveCertificate(usize),
    PutPkiProfile { content: usize },
    RemovePkiProfile,
}

fn step() -> impl Strategy<Value = Step> {
    let service = (0..4_usize, 0..4_usize, subsequence(vec![80, 81, 82, 83, 443], 0..3), any::<bool>());
    let service = (service, subsequence(vec![0, 1], 0..=2), prop::bool::weighted(0.2));
    let pool = (0..3_usize, subsequence((1..8).collect::<Vec<_>>(), 0..5), prop::option::of(0..2_usize), any::<bool>());
    prop_oneof![
        6 => service.prop_map(|((n, pool, ports, tls), certificates, layer4)|
            Step::PutService { n, pool, ports, tls, certificates, layer4 }),
        1 => (0..4_usize).prop_map(Step::RemoveService),
        4 => pool.prop_map(|(n, servers, certificate, odd_suite)| Step::PutPool { n, servers, certificate, odd_suite }),
        1 => (0..3_usize).prop_map(Step::RemovePool),
        2 => (0..2_usize, 0..2_usize).prop_map(|(n, content)| Step::PutCertificate { n, content }),
        1 => (0..2_usize).prop_map(Step::RemoveCertificate),
        2 => (0..2_usize).prop_map(|content| Step::PutPkiProfile { content }),
        1 => Just(Step::RemovePkiProfile),
    ]
}

/// The objects that services refer to.
fn foundation() -> Vec<Step> {
    let pool = |n| Step::PutPool { n, servers: vec![1, 2], certificate: Some(0), odd_suite: true };
    let mut steps = vec![Step::PutPkiProfile { content: 0 }];
    steps.extend((0..2).map(|n| Step::PutCertificate { n, content: n }));
    steps.extend((0..3).map(pool));
    steps
}

fn put<T>(all: &mut Vec<T>, new: T, uuid: fn(&T) -> &str) {
    match all.iter().position(|old| uuid(old) == uuid(&new)) {
        Some(at) => all[at] = new,
        None => all.push(new),
    }
}

fn take(plan: &mut Plan, step: &Step) {
    let model = crate::plan::plan();
    match step {
        Step::PutService { n, pool, ports, tls, certificates, layer4 } => {
            let mut new = model.virtual_services[0].clone();
            new.uuid = format!("virtualservice-{n}");
            new.listeners = ports.iter().map(|port| listener("192.0.2.1", *port, *tls && *port == 443)).collect();
            new.pool_uuid = if *pool == 3 { String::new() } else { format!("pool-{pool}") };
            new.certificate_uuids = certificates.iter().map(|n| format!("certificate-{n}")).collect();
            if *layer4 {
                (new.http, new.l4) = (None, Some(L4Profile::default()));
            }
            put(&mut plan.virtual_services, new, |service| &service.uuid);
        }
        Step::RemoveService(n) => plan.virtual_services.retain(|old| old.uuid != format!("virtualservice-{n}")),
        Step::PutPool { n, servers, certificate, odd_suite } => {
            let mut new = model.pools[0].clone();
            new.uuid = format!("pool-{n}");
            new.servers = servers.iter().map(|n| server(&format!("10.0.0.{n}"), 80)).collect();
            new.server_tls = certificate.map(|n| {
                let mut tls = model.pools[1].server_tls.clone().unwrap();
                (tls.certificate_uuid, tls.pki_profile_uuid) = (format!("certificate-{n}"), "pkiprofile".to_owned());
                if *odd_suite {
                    tls.profile.as_mut().unwrap().cipher_suites.push("TLS_RSA_WITH_AES_128_CBC_SHA".to_owned());
                }
                tls
            });
            put(&mut plan.pools, new, |pool| &pool.uuid);
        }
        Step::RemovePool(n) => plan.pools.retain(|old| old.uuid != format!("pool-{n}")),
        Step::PutCertificate { n, content } => {
            let new = Certificate { uuid: format!("certificate-{n}"), ..model.certificates[*content].clone() };
            put(&mut plan.certificates, new, |certificate| &certificate.uuid);
        }
        Step::RemoveCertificate(n) => plan.certificates.retain(|old| old.uuid != format!("certificate-{n}")),
        Step::PutPkiProfile { content } => {
            let mut new = PkiProfile { uuid: "pkiprofile".to_owned(), ..model.pki_profiles[0].clone() };
            if *content == 1 {
                new.ca_certs_der = model.certificates[1].chain_der.clone();
            }
            put(&mut plan.pki_profiles, new, |profile| &profile.uuid);
        }
        Step::RemovePkiProfile => plan.pki_profiles.clear(),
    }
}

/// The new or changed objects, and the uuids of the removed ones.
fn parted<T: Clone + PartialEq>(before: &[T], after: &[T], uuid: fn(&T) -> &str) -> (Vec<T>, Vec<String>) {
    let gone = before.iter().filter(|old| !after.iter().any(|new| uuid(new) == uuid(old)));
    let changed = after.iter().filter(|new| !before.contains(new));
    (changed.cloned().collect(), gone.map(|old| uuid(old).to_owned()).collect())
}

fn change(before: &Plan, after: &Plan) -> Change {
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
    Change::from(PlanChange { base_revision: before.revision, changed: Some(changed), removed: Some(removed) })
}

/// The contents of a snapshot without its ids.
fn contents(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (at, listener) in snapshot.listeners() {
        all.insert(format!("listener {at}"), format!("{} {}", listener.service.uuid, listener.tls));
        assert!(Arc::ptr_eq(&listener.service, snapshot.service(&listener.service.uuid).unwrap()));
    }
    for service in snapshot.services() {
        let pool = service.pool.as_ref().map(|pool| pool.uuid.clone());
        assert!(service.pool.iter().all(|pool| Arc::ptr_eq(pool, snapshot.pool(&pool.uuid).unwrap())));
        let what =
            format!("{} {:?} {:?} {pool:?} {}", service.name, service.application, service.tcp, service.tls.is_some());
        all.insert(service.uuid.clone(), what);
    }
    for pool in snapshot.pools() {
        let servers: Vec<_> = pool.servers_by_name().map(|server| (&server.name, server.address)).collect();
        all.insert(pool.uuid.clone(), format!("{servers:?} {}", pool.tls.is_some()));
    }
    all
}

/// The ids by uuid. Those of a pool's servers are in the order of their names.
fn ids(snapshot: &Snapshot) -> BTreeMap<String, Vec<u32>> {
    let services = snapshot.services().map(|service| (service.uuid.clone(), vec![service.id]));
    let pools = snapshot.pools().map(|pool| {
        let servers = pool.servers_by_name().map(|server| server.id);
        (pool.uuid.clone(), std::iter::once(pool.id).chain(servers).collect())
    });
    services.chain(pools).collect()
}

/// Which objects are the same `Arc` as in the previous snapshot.
fn kept(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, bool> {
    let services = after.services().map(|service| {
        (service.uuid.clone(), before.service(&service.uuid).is_some_and(|other| Arc::ptr_eq(other, service)))
    });
    let pools = after
        .pools()
        .map(|pool| (pool.uuid.clone(), before.pool(&pool.uuid).is_some_and(|other| Arc::ptr_eq(other, pool))));
    services.chain(pools).collect()
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

fn sorted(findings: Vec<Finding>) -> Vec<String> {
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
            let by_change = changed.changed(&change(&plan, &next), &worker);
            let by_plan = Snapshot::build(&next, Some(&replaced), &worker);
            let at_once = Snapshot::build(&next, None, &worker);
            match (by_change, by_plan, at_once) {
                (Ok((by_change, warnings)), Ok((by_plan, others)), Ok((at_once, those))) => {
                    prop_assert_eq!(by_change.revision(), next.revision);
                    prop_assert_eq!(contents(&by_change), contents(&at_once));
                    prop_assert_eq!(ids(&by_change), ids(&by_plan));
                    prop_assert_eq!(kept(&changed, &by_change), kept(&replaced, &by_plan));
                    let said = sorted(warnings);
                    prop_assert_eq!((&said, &said), (&sorted(others), &sorted(those)));
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
