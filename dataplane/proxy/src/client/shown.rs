//! What DataScripts see of a request and of its client.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use weir_rules::{Edits, HttpVersion};
use weir_script::{Seen, SeenTls};
use weir_snapshot::VirtualService;
use weir_tls::ClientCertificate;
use weir_wire::{head::RequestHead, x509::Says};

use crate::{
    client::{Client, named::Named},
    io::Time,
    scripting::follow_rules,
};

/// A request before its scripts run.
#[derive(Clone, Copy)]
pub(super) struct Shown<'b> {
    pub service: &'b VirtualService,
    pub client: &'b Client,
    /// Of who asks.
    pub address: IpAddr,
    pub head: &'b RequestHead<'b>,
    pub version: HttpVersion,
    /// What rules change of it.
    pub edits: Option<&'b Edits<'b>>,
    /// Of the client, if it is good.
    pub certificate: Option<&'b Arc<ClientCertificate>>,
    pub named: &'b Named,
}

impl Shown<'_> {
    /// Shows the request as it would go to its server.
    pub fn fill(&self, seen: &mut Seen, now: Time) {
        let client = self.client;
        seen.begin(&self.service.name, self.head, self.version);
        seen.now_ns = now.nanos;
        self.named.show(seen);
        seen.client = SocketAddr::new(self.address, client.peer.port());
        seen.listener = client.destination();
        let certificate = || self.certificate.map(|certificate| certificate.clone() as Arc<dyn Says>);
        seen.tls = client.connection.channel.handshaken().map(|agreed| SeenTls {
            version: agreed.version.name(),
            cipher: agreed.cipher_suite,
            server_name: client.connection.channel.asked_name().map(str::to_owned),
            certificate: certificate(),
            shows_certificate: client.connection.channel.client_certificate().is_some(),
        });
        if seen.tls.is_none() && client.facts.is_tls() {
            seen.tls = Some(SeenTls { certificate: certificate(), ..SeenTls::default() });
        }
        if let Some(edits) = self.edits {
            follow_rules(seen, edits);
        }
    }
}
