//! The profile of a virtual service whose clients send datagrams.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use weir_api::dataplane::v1;

use crate::{
    Pool, Server,
    finding::{Findings, Subject},
    transport::Protocol,
};

const NETWORK: &str = "network_profile_ref";
const IDLE_S: RangeInclusive<u32> = 1..=86_400;
/// How long a session stays whose servers never answer.
const ONE_WAY_IDLE: Duration = Duration::from_secs(1);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Udp {
    /// A session without datagrams for this long ends.
    pub idle: Duration,
    /// The algorithm chooses the server of each datagram, not of each session.
    pub per_datagram: bool,
    /// Each datagram of a client gets one answer: a session ends when it has all of them.
    pub counts_answers: bool,
    /// Servers see the client's address and port, not the engine's.
    pub keeps_client_address: bool,
}

/// The UDP profile; `Some(None)`: the service uses TCP. `None` if the profile is unusable, with a finding.
pub(crate) fn read<'p>(
    service: Subject<'_>,
    source: &v1::VirtualService,
    pools: impl Iterator<Item = &'p Arc<Pool>>,
    findings: &mut Findings,
) -> Option<Option<Udp>> {
    check_listeners(service, source, findings);
    let Some(profile) = &source.udp else { return Some(None) };
    for pool in pools {
        if pool.tls.is_some() {
            findings.error(service, "pool_ref", "encrypts connections to servers, and there is no TLS over UDP");
        }
        if profile.keep_client_address {
            check_families(service, source, pool, findings);
        }
    }
    if source.tcp.is_some() {
        findings.error(service, NETWORK, "cannot be TCP and UDP at once");
    }
    if source.l4.is_none() {
        findings.error(service, "application_profile_ref", "is not of layer 4, so it needs TCP");
    }
    if !IDLE_S.contains(&profile.idle_timeout_s) {
        let message = format!(
            "session_idle_timeout is {} s, must be {} to {}",
            profile.idle_timeout_s,
            IDLE_S.start(),
            IDLE_S.end()
        );
        findings.error(service, NETWORK, message);
        return None;
    }
    let idle = Duration::from_secs(profile.idle_timeout_s.into());
    let (idle, counts_answers) = match v1::UdpAnswers::try_from(profile.answers) {
        Ok(v1::UdpAnswers::Unknown) => (idle, false),
        Ok(v1::UdpAnswers::OneEach) => (idle, true),
        Ok(v1::UdpAnswers::None) => (idle.min(ONE_WAY_IDLE), false),
        Err(_) => {
            findings.error(service, NETWORK, "is unknown to this engine; upgrade the engine");
            return None;
        }
    };
    let (per_datagram, keeps_client_address) = (profile.per_datagram, profile.keep_client_address);
    Some(Some(Udp { idle, per_datagram, counts_answers, keeps_client_address }))
}

/// A client's address can only be kept towards a server with an address of the same family.
fn check_families(service: Subject<'_>, source: &v1::VirtualService, pool: &Pool, findings: &mut Findings) {
    let listeners = source.listeners.iter().filter_map(|listener| crate::address::ip(&listener.address));
    let families: Vec<_> = listeners.map(|address| address.is_ipv4()).collect();
    let differs = |server: &&Server| families.iter().any(|is_ipv4| *is_ipv4 != server.address.is_ipv4());
    if let Some(server) = pool.servers.iter().find(differs) {
        let message = format!(
            "server {} has another kind of address than the clients, whose addresses are to be kept",
            server.address
        );
        findings.error(service, "pool_ref", message);
    }
}

/// Listeners have the protocol of their service. A datagram listener has an address of its own: at a wildcard address
/// the engine would not know from which address to answer.
fn check_listeners(service: Subject<'_>, source: &v1::VirtualService, findings: &mut Findings) {
    for (index, listener) in source.listeners.iter().enumerate() {
        let mut refuse = |why: &str| {
            findings.error(service, format!("services[{index}]"), format!("port {}: {why}", listener.port));
        };
        match (protocol(listener), source.udp.is_some()) {
            (None, _) => refuse("its protocol is unknown to this engine; upgrade the engine"),
            (Some(Protocol::Tcp), true) => refuse("listens for TCP, but the network profile is of UDP"),
            (Some(Protocol::Udp), false) => refuse("listens for UDP, but the network profile is of TCP"),
            (Some(Protocol::Udp), true) if listener.tls => refuse("cannot speak TLS over UDP; remove enable_ssl"),
            (Some(Protocol::Udp), true) if is_wildcard(listener) => {
                refuse("UDP needs an address of its own, not a wildcard address")
            }
            (Some(_), _) => {}
        }
    }
}

pub(crate) fn protocol(listener: &v1::Listener) -> Option<Protocol> {
    match v1::TransportProtocol::try_from(listener.protocol).ok()? {
        v1::TransportProtocol::Tcp => Some(Protocol::Tcp),
        v1::TransportProtocol::Udp => Some(Protocol::Udp),
    }
}

fn is_wildcard(listener: &v1::Listener) -> bool {
    crate::address::ip(&listener.address).is_some_and(|address| address.is_unspecified())
}
