//! The PROXY header of a client's connection: reads it, and says whom others see in its light.

use std::net::SocketAddr;

use weir_policy::{ClientFacts, ProxyProtocol};
use weir_snapshot::{Application, VirtualService};
use weir_tls::Version;
use weir_wire::proxy_protocol::{Additions, Header, Malformed, passed_on, read};

use crate::{
    client::Client,
    entrance::{Entrance, Introduction},
    error::Error,
};

impl Client {
    /// Reads the header at the start of what has come. False: more must come.
    pub fn read_introduction(&mut self) -> Result<bool, Error> {
        let input = self.connection.inbox.joined();
        let Header { ends, tlvs, len } = match read(input) {
            Ok(Some(header)) => header,
            Ok(None) => return Ok(false),
            Err(Malformed) => return Err(Error::ProxyHeader),
        };
        let tlvs = if passes_tlvs_on(&self.service) { tlvs.into() } else { Box::default() };
        if let Some(ends) = ends {
            let introduction = Introduction { sender: self.peer, listener: ends.listener, tlvs };
            self.entrance =
                Some(Box::new(Entrance { introduction: Some(Box::new(introduction)), ..Entrance::default() }));
            self.peer = ends.client;
            self.facts = ClientFacts::new(ends.client, *self.facts.listener(), self.facts.is_tls());
        }
        self.connection.inbox.head_read(len);
        Ok(true)
    }

    /// The other end of the client's connection: the client, or who sent a PROXY header for it.
    pub fn sender(&self) -> &SocketAddr {
        self.introduction().map_or(&self.peer, |introduction| &introduction.sender)
    }

    fn introduction(&self) -> Option<&Introduction> {
        self.entrance.as_ref()?.introduction.as_deref()
    }

    /// Where the client connected to, as far as is known.
    pub fn destination(&self) -> SocketAddr {
        self.introduction().map_or(*self.facts.listener(), |introduction| introduction.listener)
    }

    /// The vectors of a PROXY header for the server: those that came, and what is known of TLS that ends here.
    pub fn tlvs_for_server(&self) -> Vec<u8> {
        let came = self.introduction().map_or(&[][..], |introduction| &introduction.tlvs);
        let Some(handshaken) = self.connection.channel.handshaken() else { return passed_on(came, None) };
        let added = Additions {
            alpn: self.connection.channel.protocol(),
            version: version(handshaken.version),
            cipher: handshaken.cipher_suite,
        };
        passed_on(came, Some(&added))
    }
}

/// As senders of PROXY headers name it.
fn version(version: Version) -> &'static str {
    match version {
        Version::Tls10 => "TLSv1",
        Version::Tls11 => "TLSv1.1",
        Version::Tls12 => "TLSv1.2",
        Version::Tls13 => "TLSv1.3",
    }
}

fn passes_tlvs_on(service: &VirtualService) -> bool {
    matches!(&service.application, Application::L4(profile) if profile.proxy_protocol == Some(ProxyProtocol::V2))
}
