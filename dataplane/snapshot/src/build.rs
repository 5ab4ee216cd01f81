//! From a Plan to a snapshot, or to every reason to refuse it.

use foldhash::{HashMap, HashMapExt};
use weir_api::dataplane::v1::{Plan, VirtualService};

use crate::{
    Finding, Listener, Recycled, Snapshot, Worker, certificate,
    finding::{Findings, Subject},
    pki_profile,
    pool::{self, PoolReader, server_key},
    server_tls::ServerTlsReader,
    service::{self, KeptService, ServiceReader, listener_address},
    snapshot::Numbers,
    transport::TransportAddress,
};

/// Objects of one kind in a Plan, and listeners in all.
const OBJECTS_MAX: usize = 16 * 1024;
/// Servers of all pools.
const SERVERS_MAX: usize = 100_000;

impl Snapshot {
    /// The snapshot of `plan` and the warnings about it, or every reason to refuse it. `previous` is the snapshot that
    /// this worker has now; what is unchanged is taken over from it. Workers that are given the same Plans in the same
    /// order have the same ids.
    pub fn build(
        plan: &Plan,
        previous: Option<&Snapshot>,
        worker: &Worker,
    ) -> Result<(Snapshot, Vec<Finding>), Vec<Finding>> {
        let nothing = Snapshot::empty();
        let previous = previous.unwrap_or(&nothing);
        let mut findings = Findings::default();
        check_size(plan, &mut findings);
        check_names(plan, &mut findings);
        if !findings.errors.is_empty() {
            return Err(findings.errors);
        }

        let (numbers, recycled) = number(plan, &previous.numbers);
        let certificates = read_all(&plan.certificates, |source| {
            let before = previous.certificates.get(&source.uuid);
            (&source.uuid, certificate::read(source, before, &worker.provider, &mut findings))
        });
        let pki_profiles = read_all(&plan.pki_profiles, |source| {
            (&source.uuid, pki_profile::read(source, previous.pki_profiles.get(&source.uuid), &mut findings))
        });
        let reader = PoolReader {
            pool_ids: &numbers.pools,
            server_ids: &numbers.servers,
            workers: worker.workers,
            offset: worker.offset,
            tls: ServerTlsReader {
                certificates: &certificates,
                pki_profiles: &pki_profiles,
                provider: &worker.provider,
            },
        };
        let pools = read_all(&plan.pools, |source| {
            (&source.uuid, reader.read(source, previous.pools.get(&source.uuid), &mut findings))
        });
        let reader = ServiceReader { ids: &numbers.services, pools: &pools, certificates: &certificates, worker };
        let services = read_all(&plan.virtual_services, |source| {
            (&source.uuid, reader.read(source, previous.services.get(&source.uuid), &mut findings))
        });
        let listeners = listeners(plan, &services, &mut findings);
        if !findings.errors.is_empty() {
            return Err(findings.errors);
        }
        let snapshot = Snapshot {
            revision: plan.revision,
            listeners,
            services: whole(services),
            pools: whole(pools),
            certificates: whole(certificates),
            pki_profiles: whole(pki_profiles),
            numbers,
            recycled,
        };
        Ok((snapshot, findings.warnings))
    }
}

/// By uuid; `None` stands for an object that cannot be used.
fn read_all<'p, S, T>(
    sources: &'p [S],
    read: impl FnMut(&'p S) -> (&'p String, Option<T>),
) -> HashMap<String, Option<T>> {
    sources.iter().map(read).map(|(uuid, object)| (uuid.clone(), object)).collect()
}

/// Without errors every object is there.
fn whole<T>(objects: HashMap<String, Option<T>>) -> HashMap<String, T> {
    objects.into_iter().filter_map(|(uuid, object)| Some((uuid, object?))).collect()
}

fn check_size(plan: &Plan, findings: &mut Findings) {
    let listeners = plan.virtual_services.iter().map(|service| service.listeners.len()).sum();
    let servers = plan.pools.iter().map(|pool| pool.servers.len()).sum();
    for (kind, what, len, most) in [
        ("virtualservice", "virtual services", plan.virtual_services.len(), OBJECTS_MAX),
        ("virtualservice", "listeners", listeners, OBJECTS_MAX),
        ("pool", "pools", plan.pools.len(), OBJECTS_MAX),
        ("pool", "servers", servers, SERVERS_MAX),
        ("sslkeyandcertificate", "certificates", plan.certificates.len(), OBJECTS_MAX),
        ("pkiprofile", "PKI profiles", plan.pki_profiles.len(), OBJECTS_MAX),
    ] {
        if len > most {
            let everything = Subject { kind, uuid: "", name: "" };
            findings.error(
                everything,
                "",
                format!("{len} {what} on one engine, at most {most} are possible; spread them"),
            );
        }
    }
}

fn check_names(plan: &Plan, findings: &mut Findings) {
    unique(plan.virtual_services.iter().map(service::subject), findings);
    unique(plan.pools.iter().map(pool::subject), findings);
    unique(plan.certificates.iter().map(certificate::subject), findings);
    unique(plan.pki_profiles.iter().map(pki_profile::subject), findings);
}

fn unique<'p>(subjects: impl Iterator<Item = Subject<'p>>, findings: &mut Findings) {
    let mut seen = HashMap::new();
    for subject in subjects {
        if subject.uuid.is_empty() {
            findings.error(subject, "uuid", "is empty");
        } else if seen.insert(subject.uuid, ()).is_some() {
            findings.error(subject, "uuid", "is in the Plan twice");
        }
    }
}

fn number(plan: &Plan, before: &Numbers) -> (Numbers, Recycled) {
    let (services, recycled_services) =
        before.services.renewed(plan.virtual_services.iter().map(|service| service.uuid.clone()));
    let (pools, _) = before.pools.renewed(plan.pools.iter().map(|pool| pool.uuid.clone()));
    let server_keys =
        plan.pools.iter().flat_map(|pool| pool.servers.iter().map(|server| server_key(&pool.uuid, &server.id)));
    let (servers, recycled_servers) = before.servers.renewed(server_keys);
    (Numbers { services, pools, servers }, Recycled { services: recycled_services, servers: recycled_servers })
}

/// Who listens where; an address has one owner.
fn listeners(
    plan: &Plan,
    services: &HashMap<String, Option<KeptService>>,
    findings: &mut Findings,
) -> HashMap<TransportAddress, Listener> {
    let mut owners: HashMap<TransportAddress, &VirtualService> = HashMap::new();
    let mut listeners = HashMap::new();
    for source in &plan.virtual_services {
        for listener in &source.listeners {
            let subject = service::subject(source);
            let Some(at) = listener_address(subject, listener, findings) else { continue };
            if let Some(owner) = owners.insert(at, source) {
                let (address, owner) = (at.address, &owner.name);
                let message = format!("{address} is taken by virtual service {owner}; choose another port or address");
                findings.error(subject, "services", message);
            }
            if let Some(Some(kept)) = services.get(&source.uuid) {
                listeners.insert(at, Listener { tls: listener.tls, service: kept.object.clone() });
            }
        }
    }
    listeners
}
