//! What a virtual service refers to, with its variants: it is read again when one of these objects changes.

use crate::{Destination, compared, kept::reference, service::KeptService};

impl KeptService {
    /// The uuids of its pools: its own, and those that rules choose. Not those of groups.
    pub fn pools(&self) -> impl Iterator<Item = &str> {
        self.parts().flat_map(Self::own_pools)
    }

    fn own_pools(&self) -> impl Iterator<Item = &str> {
        let chosen = self.destinations().filter_map(|destination| match destination {
            Destination::Pool(pool) => Some(pool.uuid.as_str()),
            Destination::Group(_) => None,
        });
        let scripted = self.object.scripts.iter().flat_map(|scripts| scripts.pools()).map(|pool| pool.uuid.as_str());
        reference(&self.source.pool_uuid).into_iter().chain(chosen).chain(scripted)
    }

    /// The uuids of its groups of pools.
    pub fn pool_groups(&self) -> impl Iterator<Item = &str> {
        self.parts().flat_map(Self::own_groups)
    }

    fn own_groups(&self) -> impl Iterator<Item = &str> {
        let chosen = self.destinations().filter_map(|destination| match destination {
            Destination::Pool(_) => None,
            Destination::Group(group) => Some(group.uuid.as_str()),
        });
        let scripted = self.object.scripts.iter().flat_map(|scripts| scripts.groups());
        let scripted = scripted.map(|group| group.uuid.as_str());
        reference(&self.source.pool_group_uuid).into_iter().chain(chosen).chain(scripted)
    }

    /// What its rules choose.
    fn destinations(&self) -> impl Iterator<Item = &Destination> {
        let of_http = self.object.policies.iter().flat_map(|policies| policies.destinations());
        of_http.chain(self.object.pool_rules.iter().flat_map(|rules| rules.destinations()))
    }

    /// The uuids of the groups, of strings and of addresses, that it compares with itself: not those of policy sets.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.parts().flat_map(|part| compared::groups(&part.source))
    }

    /// The uuid of its error pages.
    pub fn error_pages(&self) -> Option<&str> {
        self.parts().find_map(|part| reference(&part.source.error_page_profile_uuid))
    }

    /// The uuid of its network policy.
    pub fn network_policy(&self) -> Option<&str> {
        self.parts().find_map(|part| reference(&part.source.network_policy_uuid))
    }

    /// The uuids of its policy sets.
    pub fn policy_sets(&self) -> impl Iterator<Item = &str> {
        self.parts().flat_map(|part| &part.source.http_policy_set_uuids).map(String::as_str)
    }

    /// The uuids of its sets of scripts.
    pub fn script_sets(&self) -> impl Iterator<Item = &str> {
        self.parts().flat_map(|part| &part.source.script_set_uuids).map(String::as_str)
    }

    /// The uuid of its parent.
    pub fn parent(&self) -> Option<&str> {
        reference(&self.source.parent_uuid)
    }

    /// The uuids of the PKI profiles that its clients are judged by.
    pub fn pki_profiles(&self) -> impl Iterator<Item = &str> {
        let clients = self.parts().filter_map(|part| part.source.client_certificates.as_ref());
        clients.filter_map(|clients| reference(&clients.pki_profile_uuid))
    }

    /// The uuids of its certificates.
    pub fn certificates(&self) -> impl Iterator<Item = &str> {
        self.parts().flat_map(|part| &part.source.certificate_uuids).map(String::as_str)
    }

    /// Itself and its variants.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.variants.iter().map(AsRef::as_ref))
    }
}
