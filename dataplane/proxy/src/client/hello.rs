//! The ClientHello of a connection whose virtual service is chosen by server name. What comes is held until the hello is
//! whole; then it goes to TLS, or to a server as it came.

use std::sync::Arc;

use weir_snapshot::{HostName, Hosting, Listener, VirtualService};
use weir_wire::tls::{ClientHelloReader, NoClientHello};

use crate::{
    buf::Buf,
    client::{Client, Stage},
    connection::{channel::Channel, inbox::Inbox},
    core::Core,
    error::Error,
    io::Io,
};

#[derive(Default)]
pub(crate) struct Hello {
    reader: ClientHelloReader,
    /// All that has come.
    held: Inbox,
}

/// Whether a listener's clients are told apart by their ClientHello: those of TLS, and at layer 4 all of them.
pub(crate) fn chooses(listener: &Listener) -> bool {
    let service = &listener.service;
    service.hosting() == Some(Hosting::ByServerName) && (listener.tls || service.http().is_none())
}

impl Hello {
    /// Takes a piece of input. Returns whether more must come.
    fn needs_more(&mut self, piece: Buf, block: impl FnMut() -> Buf) -> Result<bool, NoClientHello> {
        let whole = self.reader.take(&piece);
        match self.held.is_empty() {
            true => self.held.push(piece),
            // A hello that drips in holds few blocks.
            false => self.held.append(&piece, block),
        }
        whole.map(|whole| !whole)
    }

    /// How many pieces it holds. Each may hold a block.
    pub fn pieces(&self) -> usize {
        self.held.pieces()
    }

    /// `None`: it names no host, or is none.
    fn name(&self) -> Option<HostName> {
        HostName::of(self.reader.client_hello().ok()?.server_name()?.as_bytes())
    }
}

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
        let name = hello.name();
        let child = name.and_then(|name| core.snapshot.child_by_name(&self.service, &name)).cloned();
        self.service = child.unwrap_or_else(|| self.service.clone());
        let mut held = hello.held;
        while let Some(piece) = self.connection.inbox.pop() {
            held.push(piece);
        }
        if !self.facts.is_tls() {
            self.connection.inbox = held;
            self.stage = Stage::first(&self.service, self.peer, io.now());
            return Ok(());
        }
        let listener = core.snapshot.listener(self.listener());
        let config = listener.and_then(|listener| listener.tls_of(&self.service)).ok_or(Error::ClientTls)?;
        self.connection.channel = Channel::accept_named(config, name).map_err(|_| Error::ClientTls)?;
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
            Some(name) => core.snapshot.child_by_name(parent, &name),
            // Of a tunnel whose TLS goes through, the name is not kept.
            None => core.snapshot.service(&self.service.uuid),
        };
        found.filter(|child| child.id == self.service.id)
    }
}
