//! Which virtual service a request or a connection is for, where several share a listener.

use std::sync::Arc;

use weir_rules::{Asked, Conditions, Scratch};
use weir_snapshot::{HostName, Hosting, Role, Snapshot, VirtualService, Wanting};
use weir_telemetry::HandshakeFault;
use weir_wire::head::RequestHead;

use crate::{
    client::{
        Client, Stage, handshake,
        hello::{self, Hello},
        ruled,
    },
    connection::channel::Channel,
    core::Core,
    error::Error,
    io::Io,
};

/// How a client came: to which virtual service, and by which server name of TLS.
pub(crate) struct Came<'c> {
    pub service: &'c Arc<VirtualService>,
    pub is_tls: bool,
    pub named: Option<HostName<'c>>,
}

impl Came<'_> {
    /// Finds the child that a request is for. `hold`: whether it matches what a child wants. `has_sibling`: another connection would lead to where its host is served.
    #[cold]
    pub fn choose(
        &self,
        snapshot: &Snapshot,
        host: Option<HostName<'_>>,
        head: &RequestHead<'_>,
        hold: &mut dyn FnMut(&Conditions) -> bool,
        has_sibling: impl Fn() -> bool,
    ) -> Result<Option<Wanting>, Error> {
        match self.service.role {
            Role::Parent(Hosting::ByRequest) => {
                let Some(host) = host else { return Ok(None) };
                let found = snapshot.child_by_request(self.service, host, head.path, hold);
                found.map(|found| found.cloned()).map_err(|_| Error::Request(weir_wire::Error::Target))
            }
            Role::ByServerName { any_host: false } if host.is_none() || host != self.named => {
                Err(if has_sibling() { Error::Misdirected } else { Error::OtherHost })
            }
            // Its certificate may have made a client believe that it serves this host.
            Role::Parent(Hosting::ByServerName) if self.is_tls && has_sibling() => Err(Error::Misdirected),
            Role::Single | Role::Parent(_) | Role::ByServerName { .. } | Role::ByRequest => Ok(None),
        }
    }
}

impl Client {
    /// Finds the child that a request is for. `None`: it is for the client's own virtual service.
    #[cold]
    pub(super) fn choose(
        &self,
        snapshot: &Snapshot,
        head: &RequestHead<'_>,
        http2: bool,
        scratch: &mut Scratch,
    ) -> Result<Option<Wanting>, Error> {
        let host = head.host.and_then(HostName::of);
        let sibling = || self.sibling(snapshot, host.filter(|_| http2)?);
        let named = self.connection.channel.server_name();
        let came = Came { service: &self.service, is_tls: self.facts.is_tls(), named };
        let mut hold = |conditions: &Conditions| {
            let address = self.service.http().and_then(|http| http.client_named_in(&head.fields));
            let from = self.origin(None, address.unwrap_or(self.peer.ip()));
            conditions.hold(&Asked { head, version: ruled::version(head, http2), from }, scratch)
        };
        came.choose(snapshot, host, head, &mut hold, || sibling().is_some())
    }

    /// The child that serves another host of this client's listener. A client of HTTP/2 may use one connection for several
    /// hosts; the answer 421 has it open another one (RFC 9113 §9.1.2).
    fn sibling<'s>(&self, snapshot: &'s Snapshot, host: HostName<'_>) -> Option<&'s Arc<VirtualService>> {
        snapshot.child_by_name(&snapshot.listener(self.listener())?.service, host)
    }

    /// Serves one request by a child. The next one is given to a child anew.
    pub(super) fn serve_once(&mut self, child: Arc<VirtualService>, epoch: u32) {
        self.service = child;
        self.epoch = epoch.wrapping_sub(1);
    }
}

/// Why a virtual service without a pool cannot answer.
#[cold]
pub(crate) fn lacks_pool(service: &VirtualService) -> Error {
    match service.role {
        _ if service.group.is_some() => Error::NoServer,
        Role::Parent(_) => Error::UnknownHost,
        Role::Single | Role::ByServerName { .. } | Role::ByRequest => Error::NoPool,
    }
}

// By the ClientHello.
impl Client {
    /// Returns whether more of the ClientHello must come.
    pub fn hear<I: Io>(&mut self, io: &mut I) -> bool {
        let Self { stage: Stage::Hello(hello), connection, .. } = self else { return false };
        while let Some(piece) = connection.inbox.pop() {
            match hello.needs_more(piece, || io.buffer()) {
                Ok(true) => {}
                // Whoever gets what is no hello knows best what to answer.
                Ok(false) | Err(_) => return false,
            }
        }
        true
    }

    /// Goes on with the child that has the name of the ClientHello, or with the parent.
    pub fn choose_by_name<I: Io>(&mut self, io: &mut I, core: &mut Core) -> Result<(), Error> {
        let Stage::Hello(hello) = std::mem::replace(&mut self.stage, Stage::Handshake) else { return Ok(()) };
        if !self.look_up_service(core) {
            return Err(Error::ClientTls(HandshakeFault::Unserved));
        }
        let Hello { reader, mut held } = *hello;
        let name = hello::name_in(&reader);
        let child = name.and_then(|name| core.snapshot.child_by_name(&self.service, name)).cloned();
        self.service = child.unwrap_or_else(|| self.service.clone());
        while let Some(piece) = self.connection.inbox.pop() {
            held.push(piece);
        }
        if !self.facts.is_tls() {
            self.connection.inbox = held;
            self.stage = Stage::first(&self.service, io.now());
            return Ok(());
        }
        if self.service.scripts.is_some() {
            self.hear_with_scripts(io, core, name)?;
        }
        let listener = core.snapshot.listener(self.listener());
        let config = listener.and_then(|listener| listener.tls_of(&self.service, self.peer.ip()));
        let config = config.ok_or(Error::ClientTls(HandshakeFault::Unserved))?;
        self.connection.channel = Channel::accept_named(config, self.peer, name).map_err(handshake::failed)?;
        while let Some(piece) = held.pop() {
            if self.take(io, core, piece)? {
                self.connection.line.ended = true;
            }
        }
        Ok(())
    }

    /// The child that this client was given to, if its server name still leads there.
    pub(super) fn found_by_name<'c>(&self, core: &'c Core, parent: &VirtualService) -> Option<&'c Arc<VirtualService>> {
        let found = match self.connection.channel.server_name() {
            Some(name) => core.snapshot.child_by_name(parent, name),
            // Of a tunnel whose TLS goes through, the name is not kept.
            None => core.snapshot.child(parent, &self.service.uuid),
        };
        found.filter(|child| child.id == self.service.id)
    }
}
