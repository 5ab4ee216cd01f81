//! Random actions of operators, and what they make of a Plan.

use proptest::{prelude::*, sample::subsequence};
use weir_api::dataplane::v1::*;

use super::plan::{self, listener, server};

/// Hosts of children, some of which match others.
pub const HOSTS: [&str; 5] = ["a.test", "*.test", ".test", "b.a.test", "a.*"];

/// One action of an operator.
#[derive(Clone, Debug)]
pub enum Step {
    PutService {
        n: usize,
        pool: usize,
        ports: Vec<u32>,
        tls: bool,
        certificates: Vec<usize>,
        layer4: bool,
        drains: bool,
        hosting: i32,
    },
    RemoveService(usize),
    PutChild {
        n: usize,
        parent: usize,
        pool: usize,
        /// Of [`HOSTS`].
        hosts: Vec<&'static str>,
        by_request: bool,
        layer4: bool,
    },
    RemoveChild(usize),
    PutPool {
        n: usize,
        servers: Vec<u32>,
        certificate: Option<usize>,
        odd_suite: bool,
        settings: u32,
    },
    RemovePool(usize),
    PutGroup {
        n: usize,
        pools: Vec<usize>,
        ratio: u32,
        /// The pool that takes over.
        backup: Option<usize>,
    },
    RemoveGroup(usize),
    PutCertificate {
        n: usize,
        content: usize,
    },
    RemoveCertificate(usize),
    PutPkiProfile {
        content: usize,
    },
    RemovePkiProfile,
}

pub fn step() -> impl Strategy<Value = Step> {
    let service = (0..4_usize, 0..6_usize, subsequence(vec![80, 81, 82, 83, 443], 0..3), any::<bool>());
    let certificates = subsequence(vec![0, 1], 0..=2);
    let service = (service, certificates, prop::bool::weighted(0.2), prop::bool::weighted(0.2), 0..3_i32);
    let child = (0..3_usize, 0..4_usize, 0..4_usize, subsequence(HOSTS.to_vec(), 1..4));
    let child = (child, any::<bool>(), prop::bool::weighted(0.2));
    let servers = subsequence((1..8).collect::<Vec<_>>(), 0..5);
    let pool = (0..3_usize, servers, prop::option::of(0..2_usize), any::<bool>(), 0..3_u32);
    prop_oneof![
        6 => service.prop_map(|((n, pool, ports, tls), certificates, layer4, drains, hosting)|
            Step::PutService { n, pool, ports, tls, certificates, layer4, drains, hosting }),
        1 => (0..4_usize).prop_map(Step::RemoveService),
        6 => child.prop_map(|((n, parent, pool, hosts), by_request, layer4)|
            Step::PutChild { n, parent, pool, hosts, by_request, layer4 }),
        2 => (0..3_usize).prop_map(Step::RemoveChild),
        4 => pool.prop_map(|(n, servers, certificate, odd_suite, settings)|
            Step::PutPool { n, servers, certificate, odd_suite, settings }),
        1 => (0..3_usize).prop_map(Step::RemovePool),
        3 => (0..2_usize, subsequence(vec![0, 1, 2], 0..=3), 0..3_u32, prop::option::of(0..3_usize)).prop_map(
            |(n, pools, ratio, backup)| Step::PutGroup { n, pools, ratio, backup }),
        1 => (0..2_usize).prop_map(Step::RemoveGroup),
        2 => (0..2_usize, 0..2_usize).prop_map(|(n, content)| Step::PutCertificate { n, content }),
        1 => (0..2_usize).prop_map(Step::RemoveCertificate),
        2 => (0..2_usize).prop_map(|content| Step::PutPkiProfile { content }),
        1 => Just(Step::RemovePkiProfile),
    ]
}

/// The objects that services refer to.
pub fn foundation() -> Vec<Step> {
    let pool = |n| Step::PutPool { n, servers: vec![1, 2], certificate: Some(0), odd_suite: true, settings: 0 };
    let mut steps = vec![Step::PutPkiProfile { content: 0 }];
    steps.extend((0..2).map(|n| Step::PutCertificate { n, content: n }));
    steps.extend((0..3).map(pool));
    steps.extend((0..2).map(|n| Step::PutGroup { n, pools: vec![0, n + 1], ratio: 1, backup: None }));
    steps
}

fn put<T>(all: &mut Vec<T>, new: T, uuid: fn(&T) -> &str) {
    match all.iter().position(|old| uuid(old) == uuid(&new)) {
        Some(at) => all[at] = new,
        None => all.push(new),
    }
}

/// Child 0 wants every path, the others one each.
fn host_match(host: &str, n: usize) -> HostMatch {
    let path = TextMatch {
        criterion: TextCriterion::BeginsWith.into(),
        values: vec![format!("/{n}")],
        ..TextMatch::default()
    };
    let rules = if n == 0 { Vec::new() } else { vec![HostRule { path: Some(path), ..HostRule::default() }] };
    HostMatch { host: host.to_owned(), rules }
}

pub fn take(plan: &mut Plan, step: &Step) {
    let model = plan::plan();
    match step {
        Step::PutService { n, pool, ports, tls, certificates, layer4, drains, hosting } => {
            let mut new = model.virtual_services[0].clone();
            new.uuid = format!("virtualservice-{n}");
            new.listeners = ports.iter().map(|port| listener("192.0.2.1", *port, *tls && *port == 443)).collect();
            new.pool_uuid = if *pool >= 3 { String::new() } else { format!("pool-{pool}") };
            new.pool_group_uuid = if *pool > 3 { format!("poolgroup-{}", pool - 4) } else { String::new() };
            new.certificate_uuids = certificates.iter().map(|n| format!("certificate-{n}")).collect();
            if *layer4 {
                (new.http, new.l4) = (None, Some(L4Profile::default()));
            }
            new.hosting = *hosting;
            if *drains {
                new.duty = Duty::Drain.into();
            }
            put(&mut plan.virtual_services, new, |service| &service.uuid);
        }
        Step::PutChild { n, parent, pool, hosts, by_request, layer4 } => {
            let mut new = model.virtual_services[0].clone();
            (new.uuid, new.name) = (format!("child-{n}"), format!("child {n}"));
            new.listeners.clear();
            new.parent_uuid = format!("virtualservice-{parent}");
            new.pool_uuid = if *pool == 3 { String::new() } else { format!("pool-{pool}") };
            if *layer4 {
                (new.http, new.l4) = (None, Some(L4Profile::default()));
            }
            match by_request {
                true => new.host_matches = hosts.iter().map(|host| host_match(host, *n)).collect(),
                false => new.server_names = hosts.iter().map(|host| host.to_string()).collect(),
            }
            put(&mut plan.virtual_services, new, |service| &service.uuid);
        }
        Step::RemoveChild(n) => plan.virtual_services.retain(|old| old.uuid != format!("child-{n}")),
        Step::RemoveService(n) => plan.virtual_services.retain(|old| old.uuid != format!("virtualservice-{n}")),
        Step::PutPool { n, servers, certificate, odd_suite, settings } => {
            let mut new = model.pools[0].clone();
            new.uuid = format!("pool-{n}");
            new.algorithm = *settings as i32;
            (new.response_timeout_ms, new.max_connection_reuse) = (*settings, *settings);
            let settled = |n: &u32| Server { ratio: settings + 1, ..server(&format!("10.0.0.{n}"), 80) };
            new.servers = servers.iter().map(settled).collect();
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
        Step::PutGroup { n, pools, ratio, backup } => {
            let member = |pool: &usize| GroupMember { pool_uuid: format!("pool-{pool}"), ratio: *ratio, priority: 0 };
            let answer = |pool: usize| fail_answer::Answer::BackupPoolUuid(format!("pool-{pool}"));
            let new = PoolGroup {
                uuid: format!("poolgroup-{n}"),
                members: pools.iter().map(member).collect(),
                fail_answer: backup.map(|pool| FailAnswer { answer: Some(answer(pool)) }),
                ..PoolGroup::default()
            };
            put(&mut plan.pool_groups, new, |group| &group.uuid);
        }
        Step::RemoveGroup(n) => plan.pool_groups.retain(|old| old.uuid != format!("poolgroup-{n}")),
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
