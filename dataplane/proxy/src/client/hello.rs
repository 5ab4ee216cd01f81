//! The ClientHello of a connection whose virtual service is chosen by server name. What comes is held until the hello is
//! whole; then it goes to TLS, or to a server as it came.

use weir_snapshot::{HostName, Hosting, Listener};
use weir_wire::tls::{ClientHelloReader, NoClientHello};

use crate::{buf::Buf, connection::inbox::Inbox};

#[derive(Default)]
pub(crate) struct Hello {
    pub reader: ClientHelloReader,
    /// All that has come.
    pub held: Inbox,
}

/// Whether the ClientHello of a listener's clients is read before TLS begins: scripts see it, or clients are told apart by it,
/// those of TLS, and at layer 4 all of them.
pub(crate) fn chooses(listener: &Listener) -> bool {
    let service = &listener.service;
    let is_for_scripts = listener.tls && service.scripts.as_ref().is_some_and(|scripts| scripts.on_client_hello);
    is_for_scripts || service.hosting() == Some(Hosting::ByServerName) && (listener.tls || service.http().is_none())
}

impl Hello {
    /// Takes a piece of input. Returns whether more must come.
    pub fn needs_more(&mut self, piece: Buf, block: impl FnMut() -> Buf) -> Result<bool, NoClientHello> {
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
}

/// `None`: it names no host, or is none.
pub(super) fn name_in(reader: &ClientHelloReader) -> Option<HostName<'_>> {
    HostName::of(reader.client_hello().ok()?.server_name()?.as_bytes())
}
