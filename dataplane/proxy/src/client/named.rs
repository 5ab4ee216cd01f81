//! The names of a request, where its virtual service may want to know them.

use std::{rc::Rc, sync::Arc};

use weir_rules::{Names, RequestId};
use weir_script::Seen;
use weir_snapshot::VirtualService;
use weir_tls::ClientCertificate;

use crate::{io::Io, records::Draws};

#[derive(Clone, Default)]
pub(super) struct Named {
    /// What scripts make its id of.
    number: u64,
    /// `None`: at most a script wants to know them, and it has to ask.
    pub names: Option<Rc<Names>>,
}

impl Named {
    #[cold]
    pub fn of<I: Io>(io: &mut I, draws: &mut Draws, service: &VirtualService) -> Self {
        let policies = service.policies.as_deref();
        let has_scripts = service.scripts.is_some();
        let is_wanted = policies.is_some_and(|policies| {
            let knows_users = policies.tokens.is_some() || policies.identity.is_some();
            policies.rules.wanted_names().is_some() || has_scripts && knows_users
        });
        if !is_wanted && !has_scripts {
            return Self::default();
        }
        let number = draws.next(io);
        Self { number, names: is_wanted.then(|| Rc::new(Names::of(RequestId::of(number)))) }
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
        if seen.names.is_none() {
            seen.names.clone_from(&self.names);
        }
    }
}
