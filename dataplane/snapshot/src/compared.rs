//! Which groups a virtual service compares with itself, without those of its policy sets.

use weir_api::dataplane::v1;

use crate::{access, pool_rules, tls_selectors, wanted};

/// The uuids of the groups, of strings and of addresses, that a virtual service compares with itself: for pools, for its SSL
/// profiles, for what it wants of its parent, and for what tokens are good for.
pub(crate) fn groups(service: &v1::VirtualService) -> impl Iterator<Item = &str> {
    let of_hosts = service.host_matches.iter().flat_map(|wanted| &wanted.rules);
    let of_hosts = of_hosts.filter_map(|rule| rule.r#match.as_ref());
    let of_hosts = of_hosts.flat_map(|matched| wanted::address_groups(matched).chain(wanted::string_groups(matched)));
    let access = service.tokens.iter().filter_map(|tokens| tokens.access.as_ref());
    let of_access = access.flat_map(|from| access::string_groups(from).chain(access::address_groups(from)));
    let of_tls = tls_selectors::address_groups(service);
    pool_rules::address_groups(service).chain(of_hosts).chain(of_access).chain(of_tls)
}
