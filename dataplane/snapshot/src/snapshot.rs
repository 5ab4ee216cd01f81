//! The snapshot: listeners, services and pools, indexed by their keys.

use std::{net::IpAddr, sync::Arc};

use weir_rules::Conditions;
use weir_tls::ServerConfig;

use crate::{
    AmbiguousPath, Difference, HostName, Pool, PoolGroup, TransportAddress, VirtualService,
    certificate::KeptCertificate,
    children::{Children, Wanting},
    error_pages::KeptErrorPages,
    ids::Ids,
    network_policy::KeptNetworkPolicy,
    pki_profile::KeptPkiProfile,
    policies::{KeptAddressGroup, KeptPolicySet, KeptStringGroup},
    pool::KeptPool,
    pool_group::KeptGroup,
    scripts::KeptScriptSet,
    service::KeptService,
    shared::Shared,
    users::References,
    warnings::Warnings,
};

/// Built by [`Snapshot::build`] and [`Snapshot::changed`].
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) listeners: Shared<TransportAddress, Listener>,
    pub(crate) services: Shared<Arc<str>, Arc<KeptService>>,
    /// By the ids of their parents.
    pub(crate) children: Shared<u32, Arc<Children>>,
    pub(crate) pools: Shared<Arc<str>, Arc<KeptPool>>,
    pub(crate) pool_groups: Shared<Arc<str>, KeptGroup>,
    pub(crate) error_pages: Shared<Arc<str>, KeptErrorPages>,
    pub(crate) certificates: Shared<Arc<str>, KeptCertificate>,
    pub(crate) pki_profiles: Shared<Arc<str>, KeptPkiProfile>,
    pub(crate) policy_sets: Shared<Arc<str>, KeptPolicySet>,
    pub(crate) script_sets: Shared<Arc<str>, KeptScriptSet>,
    pub(crate) string_groups: Shared<Arc<str>, KeptStringGroup>,
    pub(crate) address_groups: Shared<Arc<str>, KeptAddressGroup>,
    pub(crate) network_policies: Shared<Arc<str>, KeptNetworkPolicy>,
    pub(crate) references: References,
    pub(crate) warnings: Warnings,
    pub(crate) numbers: Numbers,
    /// The number of servers in all pools.
    pub(crate) servers: usize,
    pub(crate) datagram_listeners: usize,
    pub(crate) difference: Difference,
}

#[derive(Clone, Debug)]
pub struct Listener {
    pub tls: bool,
    /// Its clients may speak HTTP/2.
    pub http2: bool,
    pub service: Arc<VirtualService>,
}

impl Listener {
    /// How TLS of a client at this address begins; `None`: clients use none.
    pub fn tls(&self, client: IpAddr) -> Option<&ServerConfig> {
        self.tls_of(&self.service, client)
    }

    /// How TLS begins with a client of a child.
    pub fn tls_of<'s>(&self, service: &'s VirtualService, client: IpAddr) -> Option<&'s ServerConfig> {
        let selectors = service.tls_selectors.as_deref().filter(|_| self.tls);
        if let Some(config) = selectors.and_then(|selectors| selectors.find(client, self.http2)) {
            return Some(config);
        }
        match (self.tls, self.http2) {
            (false, _) => None,
            (true, true) if service.tls_http2.is_some() => service.tls_http2.as_ref(),
            (true, _) => service.tls.as_ref(),
        }
    }

    /// Whether a client of one listener could also be a client of the other.
    pub(crate) fn speaks_like(&self, other: &Self) -> bool {
        (self.tls, self.http2) == (other.tls, other.http2)
            && self.service.http().is_some() == other.service.http().is_some()
    }
}

/// The ids of all objects that have one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub services: Ids,
    /// Groups of pools have theirs from here, too.
    pub pools: Ids,
    pub servers: Ids,
}

impl Snapshot {
    /// The snapshot that a worker has before its first Plan. It has no listener.
    pub fn empty() -> Self {
        Self::default()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The listener that a client connected to.
    pub fn listener(&self, at: TransportAddress) -> Option<&Listener> {
        self.listeners.get(&at)
    }

    pub fn listeners(&self) -> impl Iterator<Item = (TransportAddress, &Listener)> {
        self.listeners.iter().map(|(at, listener)| (*at, listener))
    }

    /// Whether some listeners are for datagrams.
    pub fn takes_datagrams(&self) -> bool {
        self.datagram_listeners > 0
    }

    /// A virtual service, if it is a child of this one.
    pub fn child(&self, parent: &VirtualService, uuid: &str) -> Option<&Arc<VirtualService>> {
        let kept = self.services.get(uuid)?;
        (kept.parent() == Some(&parent.uuid)).then_some(&kept.object)
    }

    /// The child of a virtual service that has this server name.
    pub fn child_by_name(&self, parent: &VirtualService, name: HostName<'_>) -> Option<&Arc<VirtualService>> {
        self.children.get(&parent.id)?.by_name(name)
    }

    /// The child of a virtual service that wants a request; `None`: none does. `target` is what a server would get of its
    /// target; `hold` tells whether the request matches what a child wants beside host and path.
    pub fn child_by_request(
        &self,
        parent: &VirtualService,
        host: HostName<'_>,
        target: &[u8],
        hold: &mut dyn FnMut(&Conditions) -> bool,
    ) -> Result<Option<&Wanting>, AmbiguousPath> {
        self.children.get(&parent.id).map_or(Ok(None), |children| children.by_request(host, target, hold))
    }

    pub fn services(&self) -> impl Iterator<Item = &Arc<VirtualService>> {
        self.services.values().map(|kept| &kept.object)
    }

    /// All virtual services, each with what it is for ports that have profiles of their own.
    pub fn parts(&self) -> impl Iterator<Item = &Arc<VirtualService>> {
        self.services.values().flat_map(|kept| kept.parts()).map(|part| &part.object)
    }

    pub fn service(&self, uuid: &str) -> Option<&Arc<VirtualService>> {
        self.services.get(uuid).map(|kept| &kept.object)
    }

    pub fn pools(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.pools.values().map(|kept| &kept.object)
    }

    pub fn pool(&self, uuid: &str) -> Option<&Arc<Pool>> {
        self.pools.get(uuid).map(|kept| &kept.object)
    }

    pub fn pool_groups(&self) -> impl Iterator<Item = &Arc<PoolGroup>> {
        self.pool_groups.values().map(|kept| &kept.object)
    }

    /// The difference from the snapshot that this one was made from.
    pub fn difference(&self) -> &Difference {
        &self.difference
    }
}
