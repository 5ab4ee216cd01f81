//! Whether this process may send to servers from the addresses of clients. That needs capabilities, which the agent may
//! lack. Without them a virtual service whose servers are to see its clients is refused.

use std::{io, net::IpAddr};

use weir_api::dataplane::v1::{Finding, VirtualService};

/// Why virtual services that keep clients' addresses cannot be served.
pub fn refusals<'s>(services: impl Iterator<Item = &'s VirtualService>) -> Vec<Finding> {
    refusals_by(services, weir_reactor::check_client_addresses)
}

fn refusals_by<'s>(
    services: impl Iterator<Item = &'s VirtualService>,
    check: impl Fn(IpAddr) -> io::Result<()>,
) -> Vec<Finding> {
    let keeps = |service: &VirtualService| service.udp.as_ref().is_some_and(|udp| udp.keep_client_address);
    let any_keeps = |service: &&VirtualService| keeps(service) || service.variants.iter().any(keeps);
    services.filter(any_keeps).filter_map(|service| refusal(service, &check)).collect()
}

fn refusal(service: &VirtualService, check: impl Fn(IpAddr) -> io::Result<()>) -> Option<Finding> {
    // The snapshot reports an invalid address.
    let addresses = service.listeners.iter().filter_map(|listener| listener.address.parse().ok());
    let why = addresses.map(check).find_map(Result::err)?;
    Some(Finding {
        kind: "virtualservice".into(),
        uuid: service.uuid.clone(),
        name: service.name.clone(),
        field: "network_profile_ref".into(),
        message: format!(
            "servers are to see the addresses of clients, and this engine cannot send from them: {why}; give the agent \
             CAP_NET_ADMIN and CAP_NET_BIND_SERVICE, or set snat to true"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_api::dataplane::v1::{Listener, UdpProfile};

    fn service(name: &str, address: &str, keep_client_address: bool) -> VirtualService {
        VirtualService {
            name: name.into(),
            listeners: vec![Listener { address: address.into(), ..Listener::default() }],
            udp: Some(UdpProfile { keep_client_address, ..UdpProfile::default() }),
            ..VirtualService::default()
        }
    }

    #[test]
    fn services_that_keep_addresses_are_refused_where_the_kernel_refuses() {
        let services = [
            service("kept", "10.0.0.1", true),
            service("kept6", "2001:db8::1", true),
            service("not kept", "10.0.0.1", false),
        ];
        let only_v6 = |address: IpAddr| match address {
            IpAddr::V4(_) => Err(io::Error::from_raw_os_error(1)),
            IpAddr::V6(_) => Ok(()),
        };
        let found = refusals_by(services.iter(), only_v6);
        let [Finding { name, field, message, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&**name, &**field), ("kept", "network_profile_ref"));
        assert!(message.contains("Operation not permitted") && message.contains("CAP_NET_ADMIN"), "{message}");
    }
}
