//! A client and a server with nothing between them but two byte vectors.

use weir_tls::{
    Certificate, ClientConfig, ClientSettings, Error, Group, PkiSettings, Progress, Provider, RECORD_OVERHEAD_MAX,
    ServerConfig, ServerName, TicketKey, TicketSettings, TlsSession, TlsSettings, Version,
};

pub const ECDSA: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
pub const RSA: &str = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
pub const TLS13: &str = "TLS_AES_128_GCM_SHA256";

pub const TLS12_SUITES: [&str; 6] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];
pub const TLS13_SUITES: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

macro_rules! der {
    ($name:literal) => {
        (
            include_bytes!(concat!("../../testdata/", $name, ".crt.der")).as_slice(),
            include_bytes!(concat!("../../testdata/", $name, ".key.der")).as_slice(),
        )
    };
}

pub const DEFAULT_EC: (&[u8], &[u8]) = der!("default-ec");
pub const DEFAULT_RSA: (&[u8], &[u8]) = der!("default-rsa");
pub const SHOP_EC: (&[u8], &[u8]) = der!("shop-ec");
pub const SHOP_RSA: (&[u8], &[u8]) = der!("shop-rsa");
pub const ISSUED: (&[u8], &[u8]) = der!("issued");
pub const AUTHORITY: &[u8] = der!("authority").0;
pub const WILD_P384: (&[u8], &[u8]) = der!("wild-p384");

pub fn certificate((chain, key): (&[u8], &[u8])) -> Certificate {
    Certificate::read(&[chain.to_vec()], key, &Provider::new()).unwrap()
}

pub fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// The settings of a PKI profile with these authorities.
pub fn pki(certificates: &[&[u8]]) -> PkiSettings {
    PkiSettings { certificates: certificates.iter().map(|der| der.to_vec()).collect(), ..PkiSettings::default() }
}

pub fn server_settings(cipher_suites: &[&str]) -> TlsSettings {
    TlsSettings {
        versions: vec![Version::Tls12, Version::Tls13],
        cipher_suites: owned(cipher_suites),
        groups: Vec::new(),
        prefer_client_order: false,
        session_resumption: false,
        tickets: None,
        protocols: Vec::new(),
        send_close_notify: true,
    }
}

/// Keys of these seeds, the first of which makes tickets.
pub fn tickets(seeds: &[u8]) -> TicketSettings {
    let keys = seeds.iter().map(|seed| TicketKey::read(&[*seed; TicketKey::BYTES]).unwrap()).collect();
    TicketSettings { keys, lifetime_s: 3600, until_unix_s: u64::MAX, keep_origin: false }
}

pub fn client_settings(cipher_suites: &[&str]) -> ClientSettings {
    ClientSettings {
        versions: vec![Version::Tls12, Version::Tls13],
        cipher_suites: owned(cipher_suites),
        groups: Group::ALL.to_vec(),
        session_resumption: false,
    }
}

/// With all suites and both default certificates.
pub fn any_server() -> ServerConfig {
    server(&server_settings(&[&TLS13_SUITES[..], &TLS12_SUITES].concat()), &[DEFAULT_EC, DEFAULT_RSA])
}

pub fn server(settings: &TlsSettings, certificates: &[(&[u8], &[u8])]) -> ServerConfig {
    let certificates: Vec<_> = certificates.iter().copied().map(certificate).collect();
    ServerConfig::build(settings, &certificates, None, &Provider::new()).unwrap().0
}

pub fn client(settings: &ClientSettings) -> ClientConfig {
    ClientConfig::unverified(settings, &Provider::new()).unwrap()
}

pub struct Side {
    pub session: TlsSession,
    pub to_peer: Vec<u8>,
    pub plaintext: Vec<u8>,
    pub progress: Progress,
}

impl Side {
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let plaintext = &mut self.plaintext;
        let mut input = bytes.to_vec();
        let progress =
            self.session.receive(&mut input, &mut |piece| plaintext.extend_from_slice(piece), &mut self.to_peer)?;
        self.progress.handshaken |= progress.handshaken;
        self.progress.closed |= progress.closed;
        Ok(())
    }

    pub fn send(&mut self, mut plaintext: &[u8]) {
        while !plaintext.is_empty() {
            let mut room = vec![0; 20_000 + RECORD_OVERHEAD_MAX];
            let sent = self.session.send(plaintext, &mut room).unwrap();
            assert!(sent.taken > 0);
            self.to_peer.extend_from_slice(&room[..sent.written]);
            plaintext = &plaintext[sent.taken..];
        }
    }

    pub fn close(&mut self) {
        self.session.close(&mut self.to_peer);
    }
}

pub struct Pair {
    pub client: Side,
    pub server: Side,
}

impl Pair {
    pub fn new(client: &ClientConfig, server: &ServerConfig, name: &str) -> Self {
        let side = |session, to_peer| Side { session, to_peer, plaintext: Vec::new(), progress: Progress::default() };
        let mut hello = Vec::new();
        let session = TlsSession::client(client, &ServerName::parse(name).unwrap(), &mut hello).unwrap();
        Self { client: side(session, hello), server: side(TlsSession::server(server).unwrap(), Vec::new()) }
    }

    /// Delivers everything, `step` bytes at a time, until both sides are silent.
    pub fn deliver(&mut self, step: usize) -> Result<(), Error> {
        while !self.client.to_peer.is_empty() || !self.server.to_peer.is_empty() {
            for bytes in std::mem::take(&mut self.client.to_peer).chunks(step) {
                self.server.receive(bytes)?;
            }
            for bytes in std::mem::take(&mut self.server.to_peer).chunks(step) {
                self.client.receive(bytes)?;
            }
        }
        Ok(())
    }

    pub fn handshaken(client: &ClientConfig, server: &ServerConfig, name: &str) -> Self {
        let mut pair = Self::new(client, server, name);
        pair.deliver(usize::MAX).unwrap();
        assert!(pair.client.progress.handshaken && pair.server.progress.handshaken);
        pair
    }
}
