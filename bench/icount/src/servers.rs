//! The servers' side of the counted connections: plain, or Weir's own TLS server. Each answers every request with the
//! same response. It runs outside of what is counted.

use weir_tls::{Certificate, Provider, RECORD_OVERHEAD_MAX, ServerConfig, TlsSession, TlsSettings, Version};

use crate::{Failure, plan};

const RECORD_BYTES: usize = 16 * 1024;

pub struct Server {
    tls: Option<TlsSession>,
    /// To be sent to the proxy.
    pub outbox: Vec<u8>,
}

/// What servers are made of.
pub struct Servers {
    tls: ServerConfig,
}

impl Servers {
    pub fn new() -> Result<Self, Failure> {
        let (provider, source) = (Provider::new(), plan::certificate());
        let settings = TlsSettings {
            versions: vec![Version::Tls12],
            cipher_suites: vec![plan::TLS12_SUITE.to_owned()],
            groups: Vec::new(),
            prefer_client_order: false,
            session_resumption: false,
            tickets: None,
            protocols: Vec::new(),
            send_close_notify: true,
        };
        let certificate = Certificate::read(&source.chain_der, &source.key_pkcs8_der, &provider)?;
        Ok(Self { tls: ServerConfig::build(&settings, &[certificate], None, &provider)?.0 })
    }

    pub fn accept(&self, tls: bool) -> Result<Server, Failure> {
        let tls = if tls { Some(TlsSession::server(&self.tls)?) } else { None };
        Ok(Server { tls, outbox: Vec::new() })
    }
}

impl Server {
    /// Puts what is to be said to these bytes into the outbox: the response, to a whole request.
    pub fn hear(&mut self, bytes: &[u8], response: &[u8]) -> Result<(), Failure> {
        let Some(session) = &mut self.tls else {
            self.outbox.extend_from_slice(response);
            return check(bytes);
        };
        let mut request = Vec::new();
        session.receive(&mut bytes.to_vec(), &mut |plain| request.extend_from_slice(plain), &mut self.outbox)?;
        if request.is_empty() {
            return Ok(());
        }
        for piece in response.chunks(RECORD_BYTES) {
            let start = self.outbox.len();
            self.outbox.resize(start + piece.len() + RECORD_OVERHEAD_MAX, 0);
            let sent = session.send(piece, &mut self.outbox[start..])?;
            self.outbox.truncate(start + sent.written);
        }
        check(&request)
    }
}

fn check(request: &[u8]) -> Result<(), Failure> {
    if request.ends_with(b"\r\n\r\n") { Ok(()) } else { Err("a server got no whole request".into()) }
}
