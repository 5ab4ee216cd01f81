//! The names of a request, where its virtual service may want to know them.

use std::{rc::Rc, sync::Arc};

use weir_rules::{Names, RequestId};
use weir_script::Seen;
use weir_snapshot::{NamesWanted, VirtualService};
use weir_tls::ClientCertificate;

use crate::{io::Io, records::Draws};

#[derive(Clone, Default)]
pub(super) struct Named {
    /// What scripts make its id of. `None`: none of them asks for names.
    number: Option<u64>,
    /// `None`: at most a script wants to know them, and it has to ask.
    pub names: Option<Rc<Names>>,
}

impl Named {
    #[cold]
    pub fn of<I: Io>(io: &mut I, draws: &mut Draws, service: &VirtualService) -> Self {
        if service.names == NamesWanted::Nothing {
            return Self::default();
        }
        let number = draws.next(io);
        let is_wanted = service.names == NamesWanted::Names;
        let scripts_ask = service.scripts.as_ref().is_some_and(|scripts| scripts.ask_names);
        Self {
            number: scripts_ask.then_some(number),
            names: is_wanted.then(|| Rc::new(Names::of(RequestId::of(number)))),
        }
    }

    /// The client has shown a good certificate.
    pub fn keep_certificate(&self, certificate: &Arc<ClientCertificate>) {
        if let Some(names) = &self.names {
            names.set_certificate(certificate.clone());
        }
    }

    /// The request has a good token.
    pub fn keep_token(&self, token: &[u8]) {
        if let Some(names) = &self.names {
            names.set_token(token, weir_jwt::user);
        }
    }

    pub fn show(&self, seen: &mut Seen) {
        seen.number = self.number;
        if self.number.is_some() && seen.names.is_none() {
            seen.names.clone_from(&self.names);
        }
    }
}
