//! What a simulated client speaks through: plain bytes, or Weir's own TLS client session.

use weir_tls::{ClientConfig, ServerName, TlsSession};

pub enum Channel {
    Plain,
    Tls {
        session: Box<TlsSession>,
        /// Plaintext that waits for the handshake.
        waiting: Vec<u8>,
        ready: bool,
    },
}

/// What a piece of the peer's bytes comes to.
#[derive(Default)]
pub struct Heard {
    pub plain: Vec<u8>,
    pub reply: Vec<u8>,
    /// close_notify.
    pub closed: bool,
    pub failed: Option<String>,
}

impl Channel {
    /// A channel, and what it says first.
    pub fn tls(config: &ClientConfig) -> Result<(Self, Vec<u8>), weir_tls::Error> {
        let mut hello = Vec::new();
        let session = Box::new(TlsSession::client(config, &ServerName::parse("sim.test")?, &mut hello)?);
        Ok((Channel::Tls { session, waiting: Vec::new(), ready: false }, hello))
    }

    /// The bytes that say `plain`; none while the handshake is under way.
    pub fn say(&mut self, plain: &[u8]) -> Vec<u8> {
        match self {
            Channel::Plain => plain.to_vec(),
            Channel::Tls { session, ready: true, .. } => seal(session, plain),
            Channel::Tls { waiting, .. } => {
                waiting.extend_from_slice(plain);
                Vec::new()
            }
        }
    }

    pub fn hear(&mut self, mut bytes: Vec<u8>) -> Heard {
        let mut heard = Heard::default();
        match self {
            Channel::Plain => heard.plain = bytes,
            Channel::Tls { session, waiting, ready } => {
                let plain = &mut heard.plain;
                match session.receive(&mut bytes, &mut |piece| plain.extend_from_slice(piece), &mut heard.reply) {
                    Ok(progress) => {
                        heard.closed = progress.closed;
                        if progress.handshaken {
                            *ready = true;
                            heard.reply.extend(seal(session, &std::mem::take(waiting)));
                        }
                    }
                    Err(error) => heard.failed = Some(error.to_string()),
                }
            }
        }
        heard
    }

    pub fn say_goodbye(&mut self) -> Vec<u8> {
        let mut goodbye = Vec::new();
        if let Channel::Tls { session, ready: true, .. } = self {
            session.close(&mut goodbye);
        }
        goodbye
    }
}

pub fn seal(session: &mut TlsSession, mut plain: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    while !plain.is_empty() {
        let mut room = vec![0; 17 * 1024];
        let Ok(sent) = session.send(plain, &mut room) else { break };
        sealed.extend_from_slice(&room[..sent.written]);
        plain = &plain[sent.taken..];
    }
    sealed
}
