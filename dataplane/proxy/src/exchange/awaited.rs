//! The rules that wait for the response to a request.

use weir_rules::{Due, Origin, TlsFacts};

/// What the rules of responses need when the response comes.
pub(crate) struct Awaited {
    pub due: Vec<Due>,
    origin: Origin<'static>,
    server_name: Option<String>,
}

impl Awaited {
    pub fn of(due: Vec<Due>, origin: Origin<'_>) -> Self {
        let server_name = origin.tls.and_then(|tls| tls.server_name).map(str::to_owned);
        let tls = origin.tls.map(|tls| TlsFacts { server_name: None, ..tls });
        let Origin { client, source, listener, .. } = origin;
        Self { due, origin: Origin { client, source, listener, tls }, server_name }
    }

    pub fn origin(&self) -> Origin<'_> {
        let tls = self.origin.tls.map(|tls| TlsFacts { server_name: self.server_name.as_deref(), ..tls });
        Origin { tls, ..self.origin }
    }
}
