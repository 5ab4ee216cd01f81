//! The rules that wait for the response to a request.

use std::{rc::Rc, sync::Arc};

use weir_rules::{Due, Names, Origin, TlsFacts};
use weir_tls::ClientCertificate;
use weir_wire::x509::Says;

/// What the rules of responses need when the response comes.
pub(crate) struct Awaited {
    pub due: Vec<Due>,
    /// `None`: no rule wants to know them.
    pub names: Option<Rc<Names>>,
    origin: Origin<'static>,
    server_name: Option<String>,
    certificate: Option<Arc<ClientCertificate>>,
}

impl Awaited {
    /// `certificate`: of the client, if it is good.
    pub fn of(
        (due, names): (Vec<Due>, Option<Rc<Names>>),
        origin: Origin<'_>,
        certificate: Option<Arc<ClientCertificate>>,
    ) -> Self {
        let server_name = origin.tls.and_then(|tls| tls.server_name).map(str::to_owned);
        let tls = origin.tls.map(|tls| TlsFacts { version: tls.version, cipher: tls.cipher, ..TlsFacts::default() });
        let Origin { client, source, listener, .. } = origin;
        Self { due, names, origin: Origin { client, source, listener, tls }, server_name, certificate }
    }

    pub fn origin(&self) -> Origin<'_> {
        let certificate = self.certificate.as_deref().map(|certificate| certificate as &dyn Says);
        let server_name = self.server_name.as_deref();
        let tls = self.origin.tls.map(|tls| TlsFacts { server_name, certificate, ..tls });
        Origin { tls, ..self.origin }
    }
}
