//! A server that speaks TLS, around one that does not know of it.

use weir_tls::{ServerConfig, TlsSession};

use crate::{
    channel::seal,
    network::Wake,
    peer::{Deed, Desk, Ledger, Peer},
};

pub struct Sealed {
    inner: Box<dyn Peer>,
    name: String,
    session: TlsSession,
    /// The engine has said close_notify, which was the end for `inner`.
    ended: bool,
    /// Nothing goes wrong in this run: the handshake is completed.
    calm: bool,
}

impl Sealed {
    pub fn new(inner: Box<dyn Peer>, name: String, config: &ServerConfig, calm: bool) -> Result<Self, weir_tls::Error> {
        Ok(Self { inner, name, session: TlsSession::server(config)?, ended: false, calm })
    }

    fn hear(&mut self, mut bytes: Vec<u8>, desk: &mut Desk<'_>) {
        let (mut plain, mut reply) = (Vec::new(), Vec::new());
        let heard = self.session.receive(&mut bytes, &mut |piece| plain.extend_from_slice(piece), &mut reply);
        if !reply.is_empty() {
            desk.send(reply);
        }
        match heard {
            Ok(progress) => {
                if progress.handshaken {
                    self.pass_on(Wake::Connected, desk);
                }
                if !plain.is_empty() {
                    self.pass_on(Wake::Bytes(plain), desk);
                }
                if progress.closed {
                    self.end(desk);
                }
            }
            Err(error) => {
                if self.calm {
                    desk.ledger.violation(&self.name, format_args!("TLS fails: {error}"));
                }
                desk.deeds.push(Deed::Close);
            }
        }
    }

    fn end(&mut self, desk: &mut Desk<'_>) {
        if !std::mem::replace(&mut self.ended, true) {
            self.pass_on(Wake::Fin, desk);
        }
    }

    /// Lets the one inside act, and seals what it does.
    fn pass_on(&mut self, wake: Wake, desk: &mut Desk<'_>) {
        let before = std::mem::take(&mut desk.deeds);
        self.inner.wake(wake, desk);
        let deeds = std::mem::replace(&mut desk.deeds, before);
        for deed in deeds {
            match deed {
                Deed::Send(bytes) => desk.send(seal(&mut self.session, &bytes)),
                Deed::Finish | Deed::Close => {
                    let mut goodbye = Vec::new();
                    self.session.close(&mut goodbye);
                    desk.send(goodbye);
                    desk.deeds.push(deed);
                }
                Deed::Reset | Deed::WakeAfter(_) => desk.deeds.push(deed),
            }
        }
    }
}

impl Peer for Sealed {
    fn wake(&mut self, wake: Wake, desk: &mut Desk<'_>) {
        match wake {
            // The one inside is connected when the handshake is done.
            Wake::Connected => {}
            Wake::Bytes(bytes) => self.hear(bytes, desk),
            Wake::Fin => self.end(desk),
            Wake::Reset | Wake::Timer => self.pass_on(wake, desk),
        }
    }

    fn conclude(&mut self, ledger: &mut Ledger) {
        self.inner.conclude(ledger);
    }
}
