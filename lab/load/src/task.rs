//! What one thread has to do: where to, which bytes, how often, for how long.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs},
    time::Duration,
};

use weir_tls::{ClientConfig, ClientSettings, Group, Provider, ServerName, Version};
use weir_wire::head::Method;

use crate::{
    Failure,
    flags::Flags,
    script::{Protocol, Script},
    url::Url,
};

/// Datagrams under way at once, unless told otherwise: a queue of the kernel holds about 270 small ones.
const IN_FLIGHT: usize = 64;

pub struct Task {
    pub address: SocketAddr,
    pub tls: Option<Tls>,
    pub method: Method,
    pub script: Script,
    pub grpc: bool,
    pub answer_bytes: Option<u64>,
    pub connections: usize,
    /// Requests at once on each connection.
    pub streams: usize,
    /// Datagrams under way at once.
    pub in_flight: usize,
    pub idle_connections: usize,
    /// On each of them.
    pub waiting_streams: usize,
    pub drain: bool,
    /// 0: no limit.
    pub requests_per_connection: u64,
    pub duration: Duration,
    pub count: Option<u64>,
    /// Between two requests.
    pub interval: Option<Duration>,
    pub timeout: Duration,
    pub reset: bool,
    pub sources: Vec<IpAddr>,
    pub timeline: bool,
    pub server_header: Option<Vec<u8>>,
}

pub struct Tls {
    pub config: ClientConfig,
    pub name: ServerName,
}

impl Task {
    /// The share of thread `index`.
    pub fn new(flags: &Flags, index: usize) -> Result<Self, Failure> {
        let url = Url::parse(&flags.url)?;
        let protocol = Protocol::of(&url, flags);
        protocol.check(flags)?;
        let address = (url.host, url.port).to_socket_addrs();
        let address = address.map_err(|why| format!("{} cannot be resolved: {why}", url.host))?.next();
        let address = address.ok_or_else(|| format!("{} has no address", url.host))?;
        let tls = match url.tls {
            true => {
                let name = ServerName::parse(flags.sni.as_deref().unwrap_or(url.host)).map_err(|e| e.to_string())?;
                Some(Tls { config: client_config(flags)?.offering(protocol.names()), name })
            }
            false => None,
        };
        let share =
            |whole: u64| whole / flags.threads as u64 + u64::from((index as u64) < whole % flags.threads as u64);
        let connections = share(flags.connections as u64) as usize;
        Ok(Self {
            address,
            tls,
            method: Method::of(protocol.method(flags).as_bytes()),
            script: Script::new(protocol, flags, &url),
            grpc: protocol == Protocol::Grpc,
            answer_bytes: flags.answer_bytes,
            connections,
            streams: flags.streams,
            in_flight: (share(flags.in_flight.unwrap_or(IN_FLIGHT) as u64) as usize).clamp(1, connections),
            idle_connections: share(flags.idle_connections as u64) as usize,
            waiting_streams: flags.waiting_streams,
            drain: flags.drain,
            requests_per_connection: flags.requests_per_connection,
            duration: flags.duration,
            count: flags.count.map(share),
            interval: flags.rate.map(|rate| Duration::from_secs_f64(flags.threads as f64 / rate)),
            timeout: flags.timeout,
            reset: flags.reset,
            sources: sources(flags),
            timeline: flags.timeline,
            server_header: flags.server_header.as_ref().map(|name| name.to_ascii_lowercase().into_bytes()),
        })
    }
}

fn sources(flags: &Flags) -> Vec<IpAddr> {
    let on_loopback = (1..=flags.source_addresses).map(|n| Ipv4Addr::new(127, 0, 0, n).into());
    on_loopback.chain(flags.sources.iter().copied()).collect()
}

fn client_config(flags: &Flags) -> Result<ClientConfig, Failure> {
    let settings = ClientSettings {
        versions: flags.tls.map_or(vec![Version::Tls13, Version::Tls12], |version| vec![version]),
        cipher_suites: flags.cipher.iter().cloned().collect(),
        groups: flags.group.map_or(Group::ALL.to_vec(), |group| vec![group]),
        session_resumption: flags.resume,
    };
    Ok(ClientConfig::unverified(&settings, &Provider::new())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_connections_count_and_rate_without_loss() {
        let flags = Flags {
            url: "http://127.0.0.1".into(),
            threads: 3,
            connections: 10,
            count: Some(100),
            rate: Some(30.0),
            ..Flags::default()
        };
        let tasks: Vec<_> = (0..3).map(|index| Task::new(&flags, index).unwrap()).collect();
        assert_eq!(tasks.iter().map(|task| task.connections).sum::<usize>(), 10);
        assert_eq!(tasks.iter().filter_map(|task| task.count).sum::<u64>(), 100);
        assert_eq!(tasks[0].interval, Some(Duration::from_millis(100)));
    }
}
