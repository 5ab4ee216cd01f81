//! Builds the next snapshot from a snapshot and a change, or returns every reason to refuse the change.
//!
//! Kinds are read in the order of their references, certificates first. An object is read if it is in the change, or if an
//! object that it refers to was rebuilt or removed.

use std::{collections::BTreeSet, sync::Arc};

use foldhash::{HashMap, HashMapExt};
use weir_api::dataplane::v1::{self, Plan};

use crate::{
    Change, Difference, Finding, Gone, Listener, Protocol, Recycled, Snapshot, TransportAddress, Worker, certificate,
    change::Source,
    check::{Leaving, check_names, check_revision, check_size},
    children::Children,
    error_pages::{self, KeptErrorPages},
    finding::Findings,
    ids::Renumbering,
    kept::Objects,
    network_policy::KeptNetworkPolicy,
    pki_profile,
    policies::{self, KeptAddressGroup, KeptPolicySet, KeptStringGroup},
    pool::{KeptPool, PoolReader},
    pool_group::{self, GroupReader, KeptGroup},
    scripts::KeptScriptSet,
    server_tls::ServerTlsReader,
    service::{self, KeptService, ServiceReader, listener_address},
    shared::Shared,
    snapshot::Numbers,
    users::References,
    warnings::Warnings,
};

impl Snapshot {
    /// The snapshot of `plan` and the warnings about it, or every reason to refuse it. `previous` is the snapshot that
    /// this worker has now; what is unchanged is taken over from it. Workers that are given the same Plans in the same
    /// order have the same ids.
    pub fn build(
        plan: &Plan,
        previous: Option<&Snapshot>,
        worker: &Worker,
    ) -> Result<(Snapshot, Arc<[Finding]>), Vec<Finding>> {
        previous.unwrap_or(&Snapshot::empty()).changed(&Change::whole(plan.clone()), worker)
    }

    /// The snapshot after a change of this one. The cost is that of the changed objects and of those that refer to them.
    pub fn changed(&self, change: &Change, worker: &Worker) -> Result<(Snapshot, Arc<[Finding]>), Vec<Finding>> {
        let mut findings = Findings::default();
        check_revision(change, &mut findings);
        let leaving = Leaving::of(self, change);
        check_size(self, change, &leaving, &mut findings);
        check_names(change, &mut findings);
        if !findings.errors.is_empty() {
            return Err(findings.errors);
        }
        let mut draft = Draft::new(self, change, worker);
        let certificates = draft.certificates(&leaving.certificates);
        let pki_profiles = draft.pki_profiles(&leaving.pki_profiles);
        let pools = draft.pools(&leaving.pools, &certificates, &pki_profiles);
        let pool_groups = draft.pool_groups(&leaving.pool_groups, &pools);
        let error_pages = draft.error_pages(&leaving.error_pages);
        let groups = draft.groups(&leaving);
        let policy_sets = draft.policy_sets(&leaving.policy_sets, &groups);
        let script_sets = draft.script_sets(&leaving.script_sets, &groups);
        let network_policies = draft.network_policies(&leaving.network_policies, &groups);
        let parts = PartsOfServices {
            certificates,
            pki_profiles,
            pools,
            pool_groups,
            error_pages,
            policy_sets,
            network_policies,
            groups,
            script_sets,
        };
        let services = draft.services(&leaving.services, &parts);
        draft.listeners(&leaving.services, &services);
        draft.hosts(&leaving.services, &services);
        draft.done()
    }
}

/// A snapshot under construction.
struct Draft<'c> {
    before: &'c Snapshot,
    change: &'c Change,
    worker: &'c Worker,
    listeners: Shared<TransportAddress, Listener>,
    services: Objects<Arc<KeptService>>,
    children: Shared<u32, Arc<Children>>,
    pools: Objects<Arc<KeptPool>>,
    pool_groups: Objects<KeptGroup>,
    error_pages: Objects<KeptErrorPages>,
    certificates: Objects<certificate::KeptCertificate>,
    pki_profiles: Objects<pki_profile::KeptPkiProfile>,
    policy_sets: Objects<KeptPolicySet>,
    script_sets: Objects<KeptScriptSet>,
    string_groups: Objects<KeptStringGroup>,
    address_groups: Objects<KeptAddressGroup>,
    network_policies: Objects<KeptNetworkPolicy>,
    references: References,
    warnings: Warnings,
    service_ids: Renumbering,
    pool_ids: Renumbering,
    server_ids: Renumbering,
    servers: usize,
    datagram_listeners: usize,
    difference: Difference,
    findings: Findings,
}

/// Uuids of objects that were rebuilt, cannot be used, or were removed: the objects that refer to them are read again.
type Stale = Vec<Arc<str>>;

/// Of all that virtual services refer to.
struct PartsOfServices {
    certificates: Stale,
    pki_profiles: Stale,
    pools: Stale,
    pool_groups: Stale,
    error_pages: Stale,
    policy_sets: Stale,
    script_sets: Stale,
    network_policies: Stale,
    groups: Stale,
}

impl<'c> Draft<'c> {
    fn new(before: &'c Snapshot, change: &'c Change, worker: &'c Worker) -> Self {
        Self {
            before,
            change,
            worker,
            listeners: before.listeners.clone(),
            services: Objects::of(&before.services),
            children: before.children.clone(),
            pools: Objects::of(&before.pools),
            pool_groups: Objects::of(&before.pool_groups),
            error_pages: Objects::of(&before.error_pages),
            certificates: Objects::of(&before.certificates),
            pki_profiles: Objects::of(&before.pki_profiles),
            policy_sets: Objects::of(&before.policy_sets),
            script_sets: Objects::of(&before.script_sets),
            string_groups: Objects::of(&before.string_groups),
            address_groups: Objects::of(&before.address_groups),
            network_policies: Objects::of(&before.network_policies),
            references: before.references.clone(),
            warnings: before.warnings.clone(),
            service_ids: before.numbers.services.renumbering(),
            pool_ids: before.numbers.pools.renumbering(),
            server_ids: before.numbers.servers.renumbering(),
            servers: before.servers,
            datagram_listeners: before.datagram_listeners,
            difference: Difference::default(),
            findings: Findings::default(),
        }
    }

    fn certificates(&mut self, leaving: &[Arc<str>]) -> Stale {
        let mut stale = leaving.to_vec();
        leaving.iter().for_each(|uuid| drop(self.certificates.all.remove(uuid)));
        for source in &self.change.certificates {
            let before = self.before.certificates.get(source.uuid());
            let read = certificate::read(source, before, &self.worker.provider, &mut self.findings);
            let same = read.as_ref().zip(before).is_some_and(|(read, before)| read.object.is(&before.object));
            if !same {
                stale.push(source.uuid().into());
                self.certificates.put(source.uuid(), read);
            }
        }
        stale
    }

    fn pki_profiles(&mut self, leaving: &[Arc<str>]) -> Stale {
        let mut stale = leaving.to_vec();
        leaving.iter().for_each(|uuid| drop(self.pki_profiles.all.remove(uuid)));
        for source in &self.change.pki_profiles {
            let before = self.before.pki_profiles.get(source.uuid());
            let read = pki_profile::read(source, before, &mut self.findings);
            let same = read.as_ref().zip(before).is_some_and(|(read, before)| read.object.are(&before.object));
            if !same {
                stale.push(source.uuid().into());
                self.pki_profiles.put(source.uuid(), read);
            }
        }
        stale
    }

    fn pools(&mut self, leaving: &[Arc<str>], certificates: &Stale, pki_profiles: &Stale) -> Stale {
        let mut stale = leaving.to_vec();
        leaving.iter().for_each(|uuid| self.pool_leaves(uuid));
        let known = &self.before.references;
        let users = certificates.iter().flat_map(|uuid| known.pools_of_certificates.of(uuid));
        let users = users.chain(pki_profiles.iter().flat_map(|uuid| known.pools_of_pki_profiles.of(uuid)));
        for source in due(&self.change.pools, users, leaving, &self.before.pools, |kept| &kept.source) {
            let before = self.before.pools.get(source.uuid());
            let mut reader = PoolReader {
                pool_ids: &mut self.pool_ids,
                server_ids: &mut self.server_ids,
                worker: self.worker,
                tls: ServerTlsReader {
                    certificates: &self.certificates,
                    pki_profiles: &self.pki_profiles,
                    provider: &self.worker.provider,
                },
            };
            let read = reader.read(&source, before, &mut self.findings);
            if !is_same(before, read.as_ref()) {
                stale.push(source.uuid().into());
                self.put_pool(source.uuid(), before, read);
            }
        }
        self.check_backups(leaving);
        stale
    }

    /// Pools that take over for others must be there.
    fn check_backups(&mut self, leaving: &[Arc<str>]) {
        let left_alone = leaving.iter().flat_map(|uuid| self.references.pools_of_backups.of(uuid));
        let sources = left_alone.filter_map(|uuid| self.pools.all.get(uuid.as_ref())).map(|kept| kept.source.clone());
        let sources: Vec<_> = sources.collect();
        for source in self.change.pools.iter().chain(&sources) {
            if let Some(backup) = self.pools.all.get(source.uuid()).and_then(|kept| kept.backup()) {
                pool_group::check_backup(source.subject(), backup, &self.pools, &mut self.findings);
            }
        }
    }

    fn error_pages(&mut self, leaving: &[Arc<str>]) -> Stale {
        let mut stale = leaving.to_vec();
        leaving.iter().for_each(|uuid| drop(self.error_pages.all.remove(uuid)));
        for source in &self.change.error_pages {
            let before = self.before.error_pages.get(source.uuid());
            let read = error_pages::read(source, before, &mut self.findings);
            let same =
                read.as_ref().zip(before).is_some_and(|(read, before)| Arc::ptr_eq(&read.object, &before.object));
            if !same {
                stale.push(source.uuid().into());
                self.error_pages.put(source.uuid(), read);
            }
        }
        stale
    }

    fn pool_groups(&mut self, leaving: &[Arc<str>], pools: &Stale) -> Stale {
        if leaving.is_empty() && self.change.pool_groups.is_empty() && self.before.pool_groups.len() == 0 {
            return Stale::new();
        }
        let mut stale = leaving.to_vec();
        for uuid in leaving {
            let Some(gone) = self.pool_groups.all.remove(uuid) else { continue };
            self.pool_ids.free(gone.object.id);
            self.references.follow_group(uuid, Some(&gone), None);
            self.difference.groups_gone.push(Gone { uuid: gone.object.uuid.clone(), id: gone.object.id });
        }
        let users = pools.iter().flat_map(|uuid| self.before.references.groups_of_pools.of(uuid));
        for source in due(&self.change.pool_groups, users, leaving, &self.before.pool_groups, |kept| &kept.source) {
            let before = self.before.pool_groups.get(source.uuid());
            let mut reader = GroupReader { ids: &mut self.pool_ids, pools: &self.pools, offset: self.worker.offset };
            let read = reader.read(&source, before, &mut self.findings);
            let same =
                read.as_ref().zip(before).is_some_and(|(read, before)| Arc::ptr_eq(&read.object, &before.object));
            if same {
                continue;
            }
            stale.push(source.uuid().into());
            if let Some(read) = &read {
                self.references.follow_group(source.uuid(), before, Some(read));
                self.difference.groups.push(read.object.clone());
            }
            self.pool_groups.put(source.uuid(), read);
        }
        stale
    }

    /// Groups of strings, and groups of addresses. Their uuids differ.
    fn groups(&mut self, leaving: &Leaving) -> Stale {
        let mut stale = [leaving.string_groups.as_slice(), &leaving.address_groups].concat();
        leaving.string_groups.iter().for_each(|uuid| drop(self.string_groups.all.remove(uuid)));
        leaving.address_groups.iter().for_each(|uuid| drop(self.address_groups.all.remove(uuid)));
        for source in &self.change.string_groups {
            let before = self.before.string_groups.get(source.uuid());
            let read = policies::read_strings(source, before);
            if !before.is_some_and(|before| Arc::ptr_eq(&before.object, &read.object)) {
                stale.push(source.uuid().into());
                self.string_groups.put(source.uuid(), Some(read));
            }
        }
        for source in &self.change.address_groups {
            let before = self.before.address_groups.get(source.uuid());
            let read = policies::read_addresses(source, before, &mut self.findings);
            let same =
                read.as_ref().zip(before).is_some_and(|(read, before)| Arc::ptr_eq(&read.object, &before.object));
            if !same {
                stale.push(source.uuid().into());
                self.address_groups.put(source.uuid(), read);
            }
        }
        stale
    }

    fn policy_sets(&mut self, leaving: &[Arc<str>], groups: &Stale) -> Stale {
        if leaving.is_empty() && groups.is_empty() && self.change.policy_sets.is_empty() {
            return Stale::new();
        }
        let mut stale = leaving.to_vec();
        for uuid in leaving {
            let gone = self.policy_sets.all.remove(uuid);
            self.references.follow_policy_set(uuid, gone.as_ref(), None);
        }
        let known = &self.before.references;
        let users = groups.iter().flat_map(|uuid| known.sets_of_string_groups.of(uuid));
        let users = users.chain(groups.iter().flat_map(|uuid| known.sets_of_address_groups.of(uuid)));
        for source in due(&self.change.policy_sets, users, leaving, &self.before.policy_sets, |kept| &kept.source) {
            let before = self.before.policy_sets.get(source.uuid());
            let groups_now = policies::Groups { strings: &self.string_groups, addresses: &self.address_groups };
            let has_stale_groups = before.is_some_and(|kept| {
                let stale = |uuid: &str| groups.iter().any(|group| **group == *uuid);
                kept.string_groups().any(stale) || kept.address_groups().any(stale)
            });
            if before.is_some_and(|kept| kept.source == source) && !has_stale_groups {
                continue;
            }
            let read = groups_now.read_set(&source, &mut self.findings);
            stale.push(source.uuid().into());
            if let Some(read) = &read {
                self.references.follow_policy_set(source.uuid(), before, Some(read));
            }
            self.policy_sets.put(source.uuid(), read);
        }
        stale
    }

    fn script_sets(&mut self, leaving: &[Arc<str>], groups: &Stale) -> Stale {
        if leaving.is_empty() && groups.is_empty() && self.change.script_sets.is_empty() {
            return Stale::new();
        }
        let mut stale = leaving.to_vec();
        for uuid in leaving {
            let gone = self.script_sets.all.remove(uuid);
            self.references.follow_script_set(uuid, gone.as_ref(), None);
        }
        let known = &self.before.references;
        let users = groups.iter().flat_map(|uuid| known.script_sets_of_string_groups.of(uuid));
        let users = users.chain(groups.iter().flat_map(|uuid| known.script_sets_of_address_groups.of(uuid)));
        for source in due(&self.change.script_sets, users, leaving, &self.before.script_sets, |kept| &kept.source) {
            let before = self.before.script_sets.get(source.uuid());
            let groups_now = policies::Groups { strings: &self.string_groups, addresses: &self.address_groups };
            let has_stale_groups = before.is_some_and(|kept| {
                let stale = |uuid: &str| groups.iter().any(|group| **group == *uuid);
                kept.string_groups().any(stale) || kept.address_groups().any(stale)
            });
            if before.is_some_and(|kept| kept.source == source) && !has_stale_groups {
                continue;
            }
            let read = groups_now.read_scripts(&source, &mut self.findings);
            stale.push(source.uuid().into());
            if let Some(read) = &read {
                self.references.follow_script_set(source.uuid(), before, Some(read));
            }
            self.script_sets.put(source.uuid(), read);
        }
        stale
    }

    fn network_policies(&mut self, leaving: &[Arc<str>], groups: &Stale) -> Stale {
        if leaving.is_empty() && groups.is_empty() && self.change.network_policies.is_empty() {
            return Stale::new();
        }
        let mut stale = leaving.to_vec();
        for uuid in leaving {
            let gone = self.network_policies.all.remove(uuid);
            self.references.follow_network_policy(uuid, gone.as_ref(), None);
        }
        let known = &self.before.references.network_policies_of_address_groups;
        let users = groups.iter().flat_map(|uuid| known.of(uuid));
        let (changed, before) = (&self.change.network_policies, &self.before.network_policies);
        for source in due(changed, users, leaving, before, |kept| &kept.source) {
            let before = before.get(source.uuid());
            let has_stale_groups = before
                .is_some_and(|kept| kept.address_groups().any(|uuid| groups.iter().any(|group| **group == *uuid)));
            if before.is_some_and(|kept| kept.source == source) && !has_stale_groups {
                continue;
            }
            let groups_now = policies::Groups { strings: &self.string_groups, addresses: &self.address_groups };
            let read = groups_now.read_network_policy(&source, &mut self.findings);
            stale.push(source.uuid().into());
            if let Some(read) = &read {
                self.references.follow_network_policy(source.uuid(), before, Some(read));
            }
            self.network_policies.put(source.uuid(), read);
        }
        stale
    }

    fn pool_leaves(&mut self, uuid: &str) {
        let Some(gone) = self.pools.all.remove(uuid) else { return };
        self.servers -= gone.object.servers.len();
        self.pool_ids.free(gone.object.id);
        gone.object.servers.iter().for_each(|server| self.server_ids.free(server.id));
        self.references.follow_pool(uuid, Some(&gone), None);
        self.warnings.follow(&gone.warnings, &[]);
        self.difference.pools_gone.push(Gone { uuid: uuid.to_owned(), id: gone.object.id });
    }

    fn put_pool(&mut self, uuid: &str, before: Option<&Arc<KeptPool>>, read: Option<Arc<KeptPool>>) {
        if let Some(read) = &read {
            let known = before.into_iter().flat_map(|before| &before.object.servers);
            let gone = known.clone().filter(|server| read.object.position(&server.name).is_none());
            gone.for_each(|server| self.server_ids.free(server.id));
            self.servers = self.servers + read.object.servers.len() - known.count();
            self.references.follow_pool(uuid, before.map(AsRef::as_ref), Some(read));
            self.warnings.follow(before.map_or(&[], |before| &before.warnings), &read.warnings);
            self.difference.pools.push(read.object.clone());
        }
        self.pools.put(uuid, read);
    }

    /// Returns the sources of the services that are new, were rebuilt, or cannot be used.
    fn services(&mut self, leaving: &[Arc<str>], parts: &PartsOfServices) -> Vec<Arc<v1::VirtualService>> {
        let PartsOfServices {
            certificates,
            pki_profiles,
            pools,
            pool_groups,
            error_pages,
            policy_sets,
            network_policies,
            groups,
            script_sets,
        } = parts;
        leaving.iter().for_each(|uuid| self.service_leaves(uuid));
        let known = &self.before.references;
        let users = certificates.iter().flat_map(|uuid| known.services_of_certificates.of(uuid));
        let users = users.chain(pki_profiles.iter().flat_map(|uuid| known.services_of_pki_profiles.of(uuid)));
        let users = users.chain(pools.iter().flat_map(|uuid| known.services_of_pools.of(uuid)));
        let users = users.chain(pool_groups.iter().flat_map(|uuid| known.services_of_groups.of(uuid)));
        let users = users.chain(error_pages.iter().flat_map(|uuid| known.services_of_error_pages.of(uuid)));
        let users = users.chain(policy_sets.iter().flat_map(|uuid| known.services_of_policy_sets.of(uuid)));
        let users = users.chain(script_sets.iter().flat_map(|uuid| known.services_of_script_sets.of(uuid)));
        let users = users.chain(network_policies.iter().flat_map(|uuid| known.services_of_network_policies.of(uuid)));
        let users = users.chain(groups.iter().flat_map(|uuid| known.services_of_compared.of(uuid)));
        let users = users.chain(leaving.iter().flat_map(|uuid| known.children_of_services.of(uuid)));
        let mut due = due(&self.change.services, users, leaving, &self.before.services, |kept| &kept.source);
        due.sort_by_key(|source| !source.parent_uuid.is_empty());
        let children = due.split_off(due.partition_point(|source| source.parent_uuid.is_empty()));
        let mut read = self.read_services(due);
        let children = self.with_those_of(&read, leaving, children);
        read.append(&mut self.read_services(children));
        read
    }

    /// Adds the children of those parents that host in another way than before.
    fn with_those_of(
        &self,
        parents: &[Arc<v1::VirtualService>],
        leaving: &[Arc<str>],
        mut children: Vec<Arc<v1::VirtualService>>,
    ) -> Vec<Arc<v1::VirtualService>> {
        if self.before.children.len() == 0 {
            return children;
        }
        let differs = |parent: &&Arc<v1::VirtualService>| {
            let before = self.before.services.get(parent.uuid()).filter(|before| before.object.hosting().is_some());
            let after = self.services.all.get(parent.uuid());
            before.is_some_and(|before| after.is_none_or(|after| !before.hosts_like(after)))
        };
        let users = &self.before.references.children_of_services;
        let others = parents.iter().filter(differs).flat_map(|parent| users.of(parent.uuid()));
        let known: BTreeSet<&str> =
            children.iter().map(|child| child.uuid()).chain(leaving.iter().map(|uuid| &**uuid)).collect();
        let others = others
            .filter(|uuid| !known.contains(uuid.as_ref()))
            .filter_map(|uuid| self.before.services.get(uuid.as_ref()));
        let others: Vec<_> = others.map(|kept| kept.source.clone()).collect();
        children.extend(others);
        children
    }

    /// Returns the sources of those that are new, were rebuilt, or cannot be used.
    fn read_services(&mut self, mut due: Vec<Arc<v1::VirtualService>>) -> Vec<Arc<v1::VirtualService>> {
        due.retain(|source| {
            let before = self.before.services.get(source.uuid());
            let mut reader = ServiceReader {
                services: &self.services,
                ids: &mut self.service_ids,
                pools: &self.pools,
                pool_groups: &self.pool_groups,
                error_pages: &self.error_pages,
                policy_sets: &self.policy_sets,
                script_sets: &self.script_sets,
                network_policies: &self.network_policies,
                string_groups: &self.string_groups,
                address_groups: &self.address_groups,
                certificates: &self.certificates,
                pki_profiles: &self.pki_profiles,
                worker: self.worker,
            };
            let read = reader.read(source, before, &mut self.findings);
            let is_due = !is_same(before, read.as_ref());
            if is_due {
                self.put_service(source.uuid(), before, read);
            }
            is_due
        });
        due
    }

    fn service_leaves(&mut self, uuid: &str) {
        let Some(gone) = self.services.all.remove(uuid) else { return };
        self.service_ids.free(gone.object.id);
        self.references.follow_service(uuid, Some(&gone), None);
        self.warnings.follow(&gone.warnings, &[]);
        self.difference.services_gone.push(Gone { uuid: uuid.to_owned(), id: gone.object.id });
    }

    fn put_service(&mut self, uuid: &str, before: Option<&Arc<KeptService>>, read: Option<Arc<KeptService>>) {
        if let Some(read) = &read {
            self.references.follow_service(uuid, before.map(AsRef::as_ref), Some(read));
            self.warnings.follow(before.map_or(&[], |before| &before.warnings), &read.warnings);
            self.difference.services.push(read.object.clone());
            self.difference.services.extend(read.variants.iter().map(|variant| variant.object.clone()));
        }
        self.services.put(uuid, read);
    }

    /// Assigns the listeners. An address belongs to one service.
    fn listeners(&mut self, leaving: &[Arc<str>], services: &[Arc<v1::VirtualService>]) {
        let known = leaving.iter().map(AsRef::as_ref).chain(services.iter().map(|source| source.uuid()));
        let known = known.filter_map(|uuid| self.before.services.get(uuid));
        let left: Vec<TransportAddress> = known.flat_map(|kept| kept.addresses()).collect();
        for at in &left {
            let was_there = self.listeners.remove(at).is_some();
            self.datagram_listeners -= usize::from(was_there && at.protocol == Protocol::Udp);
        }
        let mut owners = HashMap::new();
        for source in services {
            for listener in &source.listeners {
                self.listen(source, listener, &mut owners);
            }
        }
        for at in left {
            let after = self.listeners.get(&at);
            if after.is_none() {
                self.difference.listeners_gone.push(at);
            }
            let before = self.before.listeners.get(&at);
            let speaks_alike = before.zip(after).is_some_and(|(before, after)| before.speaks_like(after));
            self.difference.displaces_clients |= !speaks_alike;
        }
    }

    fn listen<'s>(
        &mut self,
        source: &'s v1::VirtualService,
        listener: &v1::Listener,
        owners: &mut HashMap<TransportAddress, &'s v1::VirtualService>,
    ) {
        let subject = service::subject(source);
        let Some(at) = listener_address(subject, listener, &mut self.findings) else { return };
        let other = owners.insert(at, source).map(|owner| owner.name.as_str());
        if let Some(owner) = other.or_else(|| Some(self.listeners.get(&at)?.service.name.as_str())) {
            let address = at.address;
            let message = format!("{address} is taken by virtual service {owner}; choose another port or address");
            self.findings.error(subject, "services", message);
        }
        if let Some(Some(kept)) = self.services.find(&source.uuid) {
            let Some(service) = kept.variant(listener.variant) else {
                let message = format!("port {} has variant {}, which is not there", listener.port, listener.variant);
                return self.findings.error(subject, "services", message);
            };
            let listener = Listener { tls: listener.tls, http2: listener.http2, service: service.clone() };
            let is_new = self.listeners.insert(at, listener).is_none();
            self.datagram_listeners += usize::from(is_new && at.protocol == Protocol::Udp);
            self.difference.listeners.push(at);
        }
    }

    /// Gives the children their hosts. A host belongs to one child of a parent, or each of its rules does.
    fn hosts(&mut self, leaving: &[Arc<str>], services: &[Arc<v1::VirtualService>]) {
        if self.before.children.len() > 0 {
            let known = leaving.iter().map(AsRef::as_ref).chain(services.iter().map(|source| source.uuid()));
            known.filter_map(|uuid| self.before.services.get(uuid)).for_each(|kept| self.hosts_leave(kept));
        }
        for source in services.iter().filter(|source| !source.parent_uuid.is_empty()) {
            let Some(Some(kept)) = self.services.find(&source.uuid) else { continue };
            let Some(Some(parent)) = self.services.find(&source.parent_uuid) else { continue };
            let mut children = self.children.remove(&parent.object.id).map(Arc::unwrap_or_clone).unwrap_or_default();
            for wish in &kept.wishes {
                if let Err(other) = children.add(wish, &kept.object) {
                    let message = format!("is taken by virtual service {other} of the same parent");
                    self.findings.error(service::subject(source), wish.field.clone(), message);
                }
            }
            self.children.insert(parent.object.id, Arc::new(children));
        }
    }

    /// Removes what was known of a service as a parent, and as a child.
    fn hosts_leave(&mut self, kept: &KeptService) {
        let after = self.services.all.get(kept.source.uuid());
        if kept.object.hosting().is_some() && after.is_none_or(|after| after.object.hosting().is_none()) {
            self.children.remove(&kept.object.id);
        }
        let Some(parent) = kept.parent().and_then(|uuid| self.before.services.get(uuid)) else { return };
        let wants_the_same = |after: &Arc<KeptService>| after.parent() == kept.parent() && after.wishes == kept.wishes;
        self.difference.displaces_clients |= !after.is_some_and(wants_the_same);
        let Some(children) = self.children.remove(&parent.object.id) else { return };
        let mut children = Arc::unwrap_or_clone(children);
        kept.wishes.iter().for_each(|wish| children.remove(wish, kept.source.uuid()));
        self.children.insert(parent.object.id, Arc::new(children));
    }

    fn done(mut self) -> Result<(Snapshot, Arc<[Finding]>), Vec<Finding>> {
        if !self.findings.errors.is_empty() {
            return Err(self.findings.errors);
        }
        let (services, recycled_services) = self.service_ids.done();
        let (servers, recycled_servers) = self.server_ids.done();
        let recycled = Recycled { services: recycled_services, servers: recycled_servers };
        let warnings = self.warnings.all();
        let snapshot = Snapshot {
            revision: self.change.revision(),
            listeners: self.listeners,
            services: self.services.all,
            children: self.children,
            pools: self.pools.all,
            pool_groups: self.pool_groups.all,
            error_pages: self.error_pages.all,
            certificates: self.certificates.all,
            pki_profiles: self.pki_profiles.all,
            policy_sets: self.policy_sets.all,
            script_sets: self.script_sets.all,
            string_groups: self.string_groups.all,
            address_groups: self.address_groups.all,
            network_policies: self.network_policies.all,
            references: self.references,
            warnings: self.warnings,
            numbers: Numbers { services, pools: self.pool_ids.done().0, servers },
            servers: self.servers,
            datagram_listeners: self.datagram_listeners,
            difference: Difference { recycled, ..self.difference },
        };
        Ok((snapshot, warnings))
    }
}

fn is_same<T>(before: Option<&Arc<T>>, after: Option<&Arc<T>>) -> bool {
    before.zip(after).is_some_and(|(before, after)| Arc::ptr_eq(before, after))
}

/// The sources to read: those in the change, and those of unchanged objects that use a stale one.
fn due<'u, S: Source, T: Clone>(
    changed: &[Arc<S>],
    users: impl Iterator<Item = &'u Arc<str>>,
    leaving: &[Arc<str>],
    before: &Shared<Arc<str>, T>,
    source: fn(&T) -> &Arc<S>,
) -> Vec<Arc<S>> {
    let said: BTreeSet<&str> = changed.iter().map(|source| source.uuid()).collect();
    let users: BTreeSet<&Arc<str>> = users.collect();
    let others = users.into_iter().filter(|user| !said.contains(user.as_ref()) && leaving.binary_search(user).is_err());
    let others = others.filter_map(|user| before.get(user.as_ref())).map(source);
    changed.iter().chain(others).cloned().collect()
}
