//! The listening sockets of this process: an agent passes them, workers listen on them, and the next agent gets them
//! back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io,
    net::{IpAddr, SocketAddr},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::MetadataExt,
    },
};

use weir_api::dataplane::v1::{Finding, Listener, Socket, Sockets, TransportProtocol, VirtualService};
use weir_reactor::unix::{self, FDS_MAX};
use weir_snapshot::{Protocol, TransportAddress};

use crate::Error;

/// The maximum of sockets. A frame with one more is refused.
const SOCKETS_MAX: usize = 65_536;

pub struct Held {
    sockets: BTreeMap<(TransportAddress, u32), OwnedFd>,
    workers: u32,
    /// Addresses of sockets that arrived since the last Plan was settled.
    fresh: BTreeSet<TransportAddress>,
}

impl Held {
    pub fn new(workers: u32) -> Self {
        Self { sockets: BTreeMap::new(), workers, fresh: BTreeSet::new() }
    }

    /// Takes the sockets of one frame. Returns the addresses whose socket was replaced.
    pub fn take(&mut self, frame: &Sockets, fds: Vec<OwnedFd>) -> Result<BTreeSet<TransportAddress>, Error> {
        if frame.sockets.len() != fds.len() {
            let why = format!("{} named, {} descriptors came", frame.sockets.len(), fds.len());
            return Err(Error::BadSockets(why));
        }
        if self.sockets.len() + fds.len() > SOCKETS_MAX {
            return Err(Error::BadSockets(format!("with them the data plane would hold more than {SOCKETS_MAX}")));
        }
        let mut changed = BTreeSet::new();
        for (named, fd) in frame.sockets.iter().zip(fds) {
            let address = address_of(named)?;
            if named.worker >= self.workers {
                return Err(Error::BadSockets(format!(
                    "{address} is for worker {}, which does not exist",
                    named.worker
                )));
            }
            let bound = unix::bound_to(fd.as_fd())?;
            if bound != address {
                return Err(Error::BadSockets(format!("{address} is bound to {bound}")));
            }
            let known = self.sockets.get(&(address, named.worker));
            if known.map(inode).transpose()? != Some(inode(&fd)?) {
                self.sockets.insert((address, named.worker), fd);
                self.fresh.insert(address);
                changed.insert(address);
            }
        }
        Ok(changed)
    }

    /// A descriptor of its own for `worker`.
    pub fn share(&self, address: TransportAddress, worker: u32) -> io::Result<Option<OwnedFd>> {
        self.sockets.get(&(address, worker)).map(OwnedFd::try_clone).transpose()
    }

    /// What these virtual services lack: each listener needs a socket for each worker.
    pub fn missing<'s>(&self, services: impl Iterator<Item = &'s VirtualService>) -> Vec<Finding> {
        services.flat_map(|service| self.missing_for(service)).collect()
    }

    fn missing_for(&self, service: &VirtualService) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (index, listener) in service.listeners.iter().enumerate() {
            // The snapshot reports an invalid address.
            let Some(address) = wanted_by(listener) else { continue };
            let lacking = (0..self.workers).filter(|worker| !self.sockets.contains_key(&(address, *worker))).count();
            if lacking > 0 {
                findings.push(Finding {
                    kind: "virtualservice".into(),
                    uuid: service.uuid.clone(),
                    name: service.name.clone(),
                    field: format!("services[{index}]"),
                    message: format!(
                        "the engine holds no socket on {address} for {lacking} of {} workers; see the agent's \
                         log for why it could not open it (port in use, address not on this host, no permission)",
                        self.workers
                    ),
                });
            }
        }
        findings
    }

    /// Called after a Plan has been accepted or refused. Drops the sockets that came for it, and those at the addresses
    /// that it removed, except where the workers listen.
    pub fn settle(&mut self, listening: &BTreeSet<TransportAddress>, left: impl IntoIterator<Item = TransportAddress>) {
        let unused = std::mem::take(&mut self.fresh).into_iter().chain(left);
        for address in unused.filter(|address| !listening.contains(address)) {
            (0..self.workers).for_each(|worker| drop(self.sockets.remove(&(address, worker))));
        }
    }

    /// All sockets held, in frames for a new agent. There is at least one frame, and the last one is marked.
    pub fn hand_back(&self) -> Vec<(Sockets, Vec<BorrowedFd<'_>>)> {
        let mut frames: Vec<(Sockets, Vec<BorrowedFd<'_>>)> = Vec::new();
        for (index, ((address, worker), socket)) in self.sockets.iter().enumerate() {
            if index % FDS_MAX == 0 {
                frames.push(Default::default());
            }
            if let Some((frame, fds)) = frames.last_mut() {
                frame.sockets.push(named(*address, *worker));
                fds.push(socket.as_fd());
            }
        }
        match frames.last_mut() {
            Some((frame, _)) => frame.last = true,
            None => frames.push((Sockets { sockets: Vec::new(), last: true }, Vec::new())),
        }
        frames
    }
}

fn named(at: TransportAddress, worker: u32) -> Socket {
    let protocol = match at.protocol {
        Protocol::Tcp => TransportProtocol::Tcp,
        Protocol::Udp => TransportProtocol::Udp,
    };
    let TransportAddress { address, .. } = at;
    Socket { address: address.ip().to_string(), port: u32::from(address.port()), worker, protocol: protocol.into() }
}

fn address_of(named: &Socket) -> Result<TransportAddress, Error> {
    place(&named.address, named.port, named.protocol)
        .ok_or_else(|| Error::BadSockets(format!("{}:{} is no address", named.address, named.port)))
}

fn wanted_by(listener: &Listener) -> Option<TransportAddress> {
    place(&listener.address, listener.port, listener.protocol)
}

fn place(address: &str, port: u32, protocol: i32) -> Option<TransportAddress> {
    let address = SocketAddr::new(address.parse::<IpAddr>().ok()?, u16::try_from(port).ok()?);
    match TransportProtocol::try_from(protocol).ok()? {
        TransportProtocol::Tcp => Some(TransportAddress::tcp(address)),
        TransportProtocol::Udp => Some(TransportAddress::udp(address)),
    }
}

/// Identifies a socket: all its descriptors have the same inode.
fn inode(socket: &OwnedFd) -> io::Result<u64> {
    Ok(File::from(socket.try_clone()?).metadata()?.ino())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    fn listener() -> (TcpListener, TransportAddress) {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        (socket, TransportAddress::tcp(address))
    }

    fn give(held: &mut Held, socket: &TcpListener, named: Socket) -> Result<BTreeSet<TransportAddress>, Error> {
        held.take(&Sockets { sockets: vec![named], last: true }, vec![socket.try_clone().unwrap().into()])
    }

    fn service(at: TransportAddress) -> VirtualService {
        let Socket { address, port, protocol, .. } = named(at, 0);
        let listeners = vec![Listener { address, port, protocol, ..Listener::default() }];
        VirtualService { name: "shop".into(), listeners, ..Default::default() }
    }

    #[test]
    fn port_of_udp_is_another_than_that_of_tcp() {
        let (mut held, (tcp, at)) = (Held::new(1), listener());
        let udp = UdpSocket::bind(at.address).unwrap();
        let other = TransportAddress::udp(at.address);
        give(&mut held, &tcp, named(at, 0)).unwrap();
        assert_eq!(held.missing([service(other)].iter()).len(), 1);
        let both = Sockets { sockets: vec![named(other, 0)], last: true };
        held.take(&both, vec![udp.try_clone().unwrap().into()]).unwrap();
        assert_eq!(held.missing([service(at), service(other)].iter()), []);
        let wrong = held.take(&both, vec![tcp.into()]).unwrap_err().to_string();
        assert!(wrong.contains("/udp is bound to") && wrong.contains("/tcp"), "{wrong}");
        held.settle(&BTreeSet::from([other]), []);
        let names: Vec<_> = held.hand_back().into_iter().flat_map(|(frame, _)| frame.sockets).collect();
        assert_eq!(names, [named(other, 0)]);
    }

    #[test]
    fn same_socket_given_twice_changes_nothing() {
        let (mut held, (socket, address)) = (Held::new(2), listener());
        assert_eq!(give(&mut held, &socket, named(address, 0)).unwrap(), BTreeSet::from([address]));
        assert_eq!(give(&mut held, &socket, named(address, 0)).unwrap(), BTreeSet::new());
    }

    #[test]
    fn refuses_socket_bound_elsewhere_or_for_an_unknown_worker() {
        let (mut held, (socket, address), (_, other)) = (Held::new(2), listener(), listener());
        assert!(give(&mut held, &socket, named(other, 0)).unwrap_err().to_string().contains("is bound to"));
        assert!(give(&mut held, &socket, named(address, 2)).unwrap_err().to_string().contains("worker 2"));
        let unnamed = Sockets::default();
        assert!(held.take(&unnamed, vec![socket.into()]).unwrap_err().to_string().contains("0 named, 1"));
    }

    #[test]
    fn names_listener_without_a_socket_for_each_worker() {
        let (mut held, (socket, address)) = (Held::new(2), listener());
        give(&mut held, &socket, named(address, 1)).unwrap();
        let missing = held.missing([service(address)].iter());
        assert_eq!((missing.len(), &*missing[0].name, &*missing[0].field), (1, "shop", "services[0]"));
        assert!(missing[0].message.contains("1 of 2 workers"), "{}", missing[0].message);
        give(&mut held, &socket, named(address, 0)).unwrap();
        assert_eq!(held.missing([service(address)].iter()), []);
    }

    #[test]
    fn hands_back_in_frames_and_marks_the_last() {
        let lens = |held: &Held| -> Vec<_> {
            held.hand_back().iter().map(|(frame, fds)| (frame.sockets.len(), fds.len(), frame.last)).collect()
        };
        let (mut held, (socket, address)) = (Held::new(600), listener());
        assert_eq!(lens(&held), [(0, 0, true)]);
        for worker in 0..FDS_MAX as u32 + 3 {
            give(&mut held, &socket, named(address, worker)).unwrap();
        }
        assert_eq!(lens(&held), [(FDS_MAX, FDS_MAX, false), (3, 3, true)]);
    }

    #[test]
    fn settling_keeps_sockets_in_use_and_drops_unused_ones() {
        let (mut held, listeners) = (Held::new(1), [listener(), listener(), listener()]);
        let addresses = [0, 1, 2].map(|at| listeners[at].1);
        let held_at = |held: &Held| held.sockets.keys().map(|(address, _)| *address).collect::<BTreeSet<_>>();
        for (socket, address) in &listeners[..2] {
            give(&mut held, socket, named(*address, 0)).unwrap();
        }
        held.settle(&BTreeSet::from([addresses[0]]), []);
        assert_eq!(held_at(&held), BTreeSet::from([addresses[0]]), "no worker listens on the second");
        give(&mut held, &listeners[2].0, named(addresses[2], 0)).unwrap();
        held.settle(&BTreeSet::from([addresses[2]]), [addresses[0]]);
        assert_eq!(held_at(&held), BTreeSet::from([addresses[2]]), "the first was left");
    }
}
