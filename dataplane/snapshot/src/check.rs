//! Checks a change before any object is read: which objects it removes, how large the Plan becomes, whether every uuid
//! is unique.

use std::sync::Arc;

use foldhash::{HashSet, HashSetExt};

use crate::{
    Change, Snapshot,
    change::Source,
    finding::{Findings, Subject},
    shared::Shared,
};

/// The maximum of objects of one kind in a Plan, and of listeners.
const OBJECTS_MAX: usize = 16 * 1024;
/// Each worker compiles each of them, and loads what it runs.
const SCRIPT_SETS_MAX: usize = 1024;
/// The maximum of servers in all pools.
const SERVERS_MAX: usize = 100_000;

/// Uuids of the objects that the change removes, sorted.
pub(crate) struct Leaving {
    pub services: Vec<Arc<str>>,
    pub pools: Vec<Arc<str>>,
    pub pool_groups: Vec<Arc<str>>,
    pub error_pages: Vec<Arc<str>>,
    pub certificates: Vec<Arc<str>>,
    pub pki_profiles: Vec<Arc<str>>,
    pub policy_sets: Vec<Arc<str>>,
    pub script_sets: Vec<Arc<str>>,
    pub string_groups: Vec<Arc<str>>,
    pub address_groups: Vec<Arc<str>>,
    pub network_policies: Vec<Arc<str>>,
}

impl Leaving {
    pub fn of(before: &Snapshot, change: &Change) -> Self {
        let (whole, removed) = (change.base().is_none(), &change.removed);
        Self {
            services: leaving(&before.services, &change.services, &removed.virtual_services, whole),
            pools: leaving(&before.pools, &change.pools, &removed.pools, whole),
            error_pages: leaving(&before.error_pages, &change.error_pages, &removed.error_page_profiles, whole),
            pool_groups: leaving(&before.pool_groups, &change.pool_groups, &removed.pool_groups, whole),
            certificates: leaving(&before.certificates, &change.certificates, &removed.certificates, whole),
            pki_profiles: leaving(&before.pki_profiles, &change.pki_profiles, &removed.pki_profiles, whole),
            policy_sets: leaving(&before.policy_sets, &change.policy_sets, &removed.http_policy_sets, whole),
            script_sets: leaving(&before.script_sets, &change.script_sets, &removed.script_sets, whole),
            string_groups: leaving(&before.string_groups, &change.string_groups, &removed.string_groups, whole),
            address_groups: leaving(&before.address_groups, &change.address_groups, &removed.address_groups, whole),
            network_policies: leaving(
                &before.network_policies,
                &change.network_policies,
                &removed.network_policies,
                whole,
            ),
        }
    }
}

fn leaving<S: Source, T: Clone>(
    before: &Shared<Arc<str>, T>,
    changed: &[Arc<S>],
    removed: &[String],
    whole: bool,
) -> Vec<Arc<str>> {
    if !whole && removed.is_empty() {
        return Vec::new();
    }
    let staying: HashSet<&str> = changed.iter().map(|source| source.uuid()).collect();
    let leaves = |uuid: &str| before.contains(uuid) && !staying.contains(uuid);
    let mut leaving: Vec<Arc<str>> = match whole {
        true => before.keys().filter(|uuid| leaves(uuid)).cloned().collect(),
        false => removed.iter().filter(|uuid| leaves(uuid)).map(|uuid| uuid.as_str().into()).collect(),
    };
    leaving.sort_unstable();
    leaving.dedup();
    leaving
}

pub(crate) fn check_size(before: &Snapshot, change: &Change, leaving: &Leaving, findings: &mut Findings) {
    let services = |size| growth(&before.services, &change.services, &leaving.services, |kept| &kept.source, size);
    let pools = |size| growth(&before.pools, &change.pools, &leaving.pools, |kept| &kept.source, size);
    let pool_groups =
        growth(&before.pool_groups, &change.pool_groups, &leaving.pool_groups, |kept| &kept.source, |_| 1);
    let error_pages =
        growth(&before.error_pages, &change.error_pages, &leaving.error_pages, |kept| &kept.source, |_| 1);
    let certificates =
        growth(&before.certificates, &change.certificates, &leaving.certificates, |kept| &kept.source, |_| 1);
    let pki_profiles =
        growth(&before.pki_profiles, &change.pki_profiles, &leaving.pki_profiles, |kept| &kept.source, |_| 1);
    let policy_sets =
        growth(&before.policy_sets, &change.policy_sets, &leaving.policy_sets, |kept| &kept.source, |_| 1);
    let script_sets =
        growth(&before.script_sets, &change.script_sets, &leaving.script_sets, |kept| &kept.source, |_| 1);
    let string_groups =
        growth(&before.string_groups, &change.string_groups, &leaving.string_groups, |kept| &kept.source, |_| 1);
    let address_groups =
        growth(&before.address_groups, &change.address_groups, &leaving.address_groups, |kept| &kept.source, |_| 1);
    let network_policies = growth(
        &before.network_policies,
        &change.network_policies,
        &leaving.network_policies,
        |kept| &kept.source,
        |_| 1,
    );
    for (kind, what, change, len, most) in [
        ("virtualservice", "virtual services", services(|_| 1), before.services.len(), OBJECTS_MAX),
        ("virtualservice", "listeners", services(|source| source.listeners.len()), before.listeners.len(), OBJECTS_MAX),
        ("pool", "pools", pools(|_| 1), before.pools.len(), OBJECTS_MAX),
        ("pool", "servers", pools(|source| source.servers.len()), before.servers, SERVERS_MAX),
        ("poolgroup", "pool groups", pool_groups, before.pool_groups.len(), OBJECTS_MAX),
        ("errorpageprofile", "error page profiles", error_pages, before.error_pages.len(), OBJECTS_MAX),
        ("sslkeyandcertificate", "certificates", certificates, before.certificates.len(), OBJECTS_MAX),
        ("pkiprofile", "PKI profiles", pki_profiles, before.pki_profiles.len(), OBJECTS_MAX),
        ("httppolicyset", "HTTP policy sets", policy_sets, before.policy_sets.len(), OBJECTS_MAX),
        ("vsdatascriptset", "sets of DataScripts", script_sets, before.script_sets.len(), SCRIPT_SETS_MAX),
        ("stringgroup", "string groups", string_groups, before.string_groups.len(), OBJECTS_MAX),
        (
            "networksecuritypolicy",
            "network security policies",
            network_policies,
            before.network_policies.len(),
            OBJECTS_MAX,
        ),
        ("ipaddrgroup", "groups of addresses", address_groups, before.address_groups.len(), OBJECTS_MAX),
    ] {
        let len = len + change.comes - change.goes;
        if len > most {
            let everything = Subject { kind, uuid: "", name: "" };
            let message = format!("{len} {what} on one engine, at most {most} are possible; spread them");
            findings.error(everything, "", message);
        }
    }
}

struct Growth {
    comes: usize,
    goes: usize,
}

/// How a change changes the sum of the sizes of all objects of a kind.
fn growth<S: Source, T: Clone>(
    before: &Shared<Arc<str>, T>,
    changed: &[Arc<S>],
    leaving: &[Arc<str>],
    source: fn(&T) -> &Arc<S>,
    size: fn(&S) -> usize,
) -> Growth {
    if changed.is_empty() && leaving.is_empty() {
        return Growth { comes: 0, goes: 0 };
    }
    let replaced: HashSet<&str> = changed.iter().map(|source| source.uuid()).collect();
    let goes = leaving.iter().map(AsRef::as_ref).chain(replaced).filter_map(|uuid| before.get(uuid));
    Growth { comes: changed.iter().map(|source| size(source)).sum(), goes: goes.map(|kept| size(source(kept))).sum() }
}

/// An agent takes revision 0 for "no Plan".
pub(crate) fn check_revision(change: &Change, findings: &mut Findings) {
    if change.revision() == 0 {
        let plan = Subject { kind: "plan", uuid: "", name: "" };
        findings.error(plan, "revision", "the Plan has no revision");
    }
}

pub(crate) fn check_names(change: &Change, findings: &mut Findings) {
    unique(&change.services, findings);
    unique(&change.pools, findings);
    unique(&change.pool_groups, findings);
    unique(&change.error_pages, findings);
    unique(&change.certificates, findings);
    unique(&change.pki_profiles, findings);
    unique(&change.policy_sets, findings);
    unique(&change.script_sets, findings);
    unique(&change.string_groups, findings);
    unique(&change.address_groups, findings);
    unique(&change.network_policies, findings);
}

fn unique<S: Source>(sources: &[Arc<S>], findings: &mut Findings) {
    if sources.is_empty() {
        return;
    }
    let mut seen = HashSet::new();
    for subject in sources.iter().map(|source| source.subject()) {
        if subject.uuid.is_empty() {
            findings.error(subject, "uuid", "is empty");
        } else if !seen.insert(subject.uuid) {
            findings.error(subject, "uuid", "is in the Plan twice");
        }
    }
}
