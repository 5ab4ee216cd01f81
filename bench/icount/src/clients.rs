//! The clients' side of the counted connections: plain, or Weir's own TLS client. It runs outside of what is counted.

use std::cell::Cell;

use weir_tls::{Certificate, ClientConfig, ClientSettings, Group, Provider, ServerName, TlsSession, Version};

use crate::{Failure, http2::Http2, plan::Listener};

pub struct Client {
    tls: Option<TlsSession>,
    /// Instead of HTTP/1.
    http2: Option<Http2>,
    /// To be sent to the proxy.
    pub outbox: Vec<u8>,
    /// Of a response.
    received: Vec<u8>,
}

/// What clients are made of.
pub struct Clients {
    tls12: ClientConfig,
    tls13: ClientConfig,
    /// With a certificate of ECDSA, and of RSA.
    certified: ClientConfig,
    certified_rsa: ClientConfig,
    /// With the certificate of ECDSA and its authority behind it, which makes another chain. The proxy knows one chain of
    /// each certificate, so that two that take turns are new each time.
    with_root: ClientConfig,
    is_turn_of_root: Cell<bool>,
    server_name: ServerName,
}

impl Clients {
    pub fn new() -> Result<Self, Failure> {
        let provider = Provider::new();
        let config = |version| {
            let settings = ClientSettings {
                versions: vec![version],
                cipher_suites: Vec::new(),
                groups: vec![Group::P256],
                session_resumption: false,
            };
            ClientConfig::unverified(&settings, &provider)
        };
        let server_name = ServerName::parse("www.example.com")?;
        let tls13 = config(Version::Tls13)?;
        let certified = |chain: &[&[u8]], key| -> Result<_, Failure> {
            let chain: Vec<_> = chain.iter().map(|der| der.to_vec()).collect();
            Ok(tls13.clone().showing(&Certificate::read(&chain, key, &provider)?))
        };
        let own = include_bytes!("../../../dataplane/tls/testdata/clients/client.crt.der").as_slice();
        let key = include_bytes!("../../../dataplane/tls/testdata/clients/client.key.der");
        let root = include_bytes!("../../../dataplane/tls/testdata/clients/root.crt.der").as_slice();
        Ok(Self {
            tls12: config(Version::Tls12)?,
            certified: certified(&[own], key)?,
            with_root: certified(&[own, root], key)?,
            is_turn_of_root: Cell::new(false),
            certified_rsa: certified(
                &[include_bytes!("../../../dataplane/tls/testdata/clients/client-rsa.crt.der")],
                include_bytes!("../../../dataplane/tls/testdata/clients/client-rsa.key.der"),
            )?,
            tls13,
            server_name,
        })
    }

    /// A client of `listener`; what it says first is in its outbox.
    pub fn connect(&self, listener: Listener) -> Result<Client, Failure> {
        let plain = |http2| Client { tls: None, http2, outbox: Vec::new(), received: Vec::new() };
        let config = match listener {
            Listener::Http2 => return Ok(plain(Some(Http2::new()))),
            Listener::Tls12 | Listener::Tls12Both => &self.tls12,
            Listener::Tls13 => &self.tls13,
            Listener::Tls13Mutual => &self.certified,
            Listener::Tls13MutualNew => match self.is_turn_of_root.replace(!self.is_turn_of_root.get()) {
                true => &self.with_root,
                false => &self.certified,
            },
            Listener::Tls13MutualRsa => &self.certified_rsa,
            _ => return Ok(plain(None)),
        };
        let mut outbox = Vec::new();
        let session = TlsSession::client(config, &self.server_name, &mut outbox)?;
        Ok(Client { tls: Some(session), http2: None, outbox, received: Vec::new() })
    }
}

impl Client {
    pub fn is_ready(&self) -> bool {
        self.tls.as_ref().is_none_or(|session| session.handshaken().is_some())
    }

    /// Puts a request into the outbox.
    pub fn ask(&mut self, request: &[u8]) -> Result<(), Failure> {
        if let Some(http2) = &mut self.http2 {
            return http2.ask(&mut self.outbox);
        }
        let Some(session) = &mut self.tls else {
            self.outbox.extend_from_slice(request);
            return Ok(());
        };
        let start = self.outbox.len();
        self.outbox.resize(start + request.len() + weir_tls::RECORD_OVERHEAD_MAX + 1, 0);
        let sent = session.send(request, &mut self.outbox[start..])?;
        self.outbox.truncate(start + sent.written);
        if sent.taken == request.len() { Ok(()) } else { Err("a request does not fit a record".into()) }
    }

    pub fn hear(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if let Some(http2) = &mut self.http2 {
            return http2.hear(bytes, &mut self.outbox);
        }
        match &mut self.tls {
            None => self.received.extend_from_slice(bytes),
            Some(session) => {
                let received = &mut self.received;
                session.receive(
                    &mut bytes.to_vec(),
                    &mut |plain| received.extend_from_slice(plain),
                    &mut self.outbox,
                )?;
            }
        }
        Ok(())
    }

    /// The length of the body that came with a 200; forgets it.
    pub fn take_response(&mut self) -> Option<usize> {
        if let Some(http2) = &mut self.http2 {
            return http2.take_response();
        }
        let response = std::mem::take(&mut self.received);
        let head_bytes = response.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
        response.starts_with(b"HTTP/1.1 200 ").then_some(response.len() - head_bytes)
    }
}
