//! What a script may see of an exchange: copies, so that no script holds on to the bytes of a connection. A worker uses the
//! room again and again.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
    sync::Arc,
};

use weir_rules::{EditKind, HttpVersion, Names, RequestId};
use weir_wire::{
    head::{RequestHead, ResponseHead, without_port},
    x509::Says,
};

use crate::{acts::HeadEdit, head::Head};

#[derive(Debug)]
pub struct Seen {
    /// When the event runs, by a clock that all workers of the engine share.
    pub now_ns: u64,
    /// No request has come: somebody asks what would become of it. So scripts keep nothing, and count nothing.
    pub is_asked_only: bool,
    /// The bytes of the connection are not parsed, so it goes to one pool.
    pub is_tunnel: bool,
    /// No more bytes come of which `body` is the beginning, or scripts see no more of them.
    pub is_whole: bool,
    /// What the id of the request is made of. `None`: no script has a function in it that asks for names.
    pub number: Option<u64>,
    /// What the request is called, and whose it is. `None`: no rule and no script wants to know it so far.
    pub names: Option<Rc<Names>>,
    /// The name of the virtual service.
    pub service: String,
    /// Who asks, as far as that is trusted.
    pub client: SocketAddr,
    pub listener: SocketAddr,
    /// `None`: the connection is not encrypted.
    pub tls: Option<SeenTls>,
    pub version: HttpVersion,
    pub method: Vec<u8>,
    /// Path and query, as the server gets them.
    pub target: Vec<u8>,
    /// With its port, if it has one. Empty: there is none.
    pub host: Vec<u8>,
    pub request: Head,
    pub status: u16,
    pub response: Head,
    /// What has come of the body of the request or of the response, or of bytes that are not parsed, in the events that are
    /// about it.
    pub body: Vec<u8>,
    /// That gets the request, or has answered. `None`: a stored response does.
    pub server: Option<SocketAddr>,
    /// The name of its pool.
    pub pool: String,
    /// The cause of a failure.
    pub cause: &'static str,
    /// What scripts keep from one event of the exchange to the next.
    pub(crate) variables: Vec<(Vec<u8>, Variable)>,
    /// The head of the request and its host, before anything has changed them for one server.
    plain: Option<(Head, Vec<u8>)>,
}

#[derive(Debug, Default)]
pub struct SeenTls {
    pub version: &'static str,
    pub cipher: &'static str,
    pub server_name: Option<String>,
    /// Of the client, if it has shown a good one.
    pub certificate: Option<Arc<dyn Says>>,
    /// The client has shown a certificate, good or not.
    pub shows_certificate: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Variable {
    Text(Vec<u8>),
    Number(f64),
    Flag(bool),
}

const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl Default for Seen {
    fn default() -> Self {
        Self {
            now_ns: 0,
            is_asked_only: false,
            is_tunnel: false,
            is_whole: false,
            number: None,
            names: None,
            service: String::new(),
            client: NOWHERE,
            listener: NOWHERE,
            tls: None,
            version: HttpVersion::Http11,
            method: Vec::new(),
            target: Vec::new(),
            host: Vec::new(),
            request: Head::default(),
            status: 0,
            response: Head::default(),
            body: Vec::new(),
            server: None,
            pool: String::new(),
            cause: "",
            variables: Vec::new(),
            plain: None,
        }
    }
}

impl Seen {
    /// Begins with a connection.
    pub fn begin_connection(&mut self, service: &str, is_tunnel: bool) {
        self.service.clear();
        self.service.push_str(service);
        (self.is_tunnel, self.is_whole, self.is_asked_only) = (is_tunnel, false, false);
        (self.tls, self.body, self.cause) = (None, Vec::new(), "");
        self.sends_to(None, "");
    }

    /// Begins a new exchange, or shows it anew: what scripts keep stays.
    pub fn begin(&mut self, service: &str, head: &RequestHead<'_>, version: HttpVersion) {
        put(&mut self.method, head.method_text);
        put(&mut self.target, head.path);
        put(&mut self.host, head.host.unwrap_or_default());
        self.service.clear();
        self.service.push_str(service);
        self.request.copy(&head.fields);
        self.response.clear();
        self.version = version;
        self.tls = None;
        self.status = 0;
        self.is_asked_only = false;
        self.body = Vec::new();
        self.sends_to(None, "");
        self.plain = None;
        self.cause = "";
    }

    /// Nothing of an exchange is there any more that may be long, or that the next one must not find.
    pub(crate) fn end(&mut self) {
        self.body = Vec::new();
        self.names = None;
        self.variables.clear();
    }

    /// `None`: no script was expected to ask for them.
    pub(crate) fn names(&mut self) -> Option<&Names> {
        if let (None, Some(number)) = (&self.names, self.number) {
            self.names = Some(Rc::new(Names::of(RequestId::of(number))));
        }
        self.names.as_deref()
    }

    pub fn respond(&mut self, head: &ResponseHead<'_>) {
        self.status = head.status;
        self.response.copy(&head.fields);
    }

    /// The server that gets the request, or answers, and the name of its pool.
    pub fn sends_to(&mut self, server: Option<SocketAddr>, pool: &str) {
        self.server = server;
        self.pool.clear();
        self.pool.push_str(pool);
    }

    /// Begins to show how the request goes to a server. What scripts have changed for another one before, which did not take
    /// it, is gone. `host`: what the server has instead of the request's.
    pub fn begin_balanced(&mut self, host: Option<&[u8]>) {
        match &self.plain {
            Some(plain) => (self.request, self.host) = plain.clone(),
            None => self.plain = Some((self.request.clone(), self.host.clone())),
        }
        if let Some(host) = host {
            self.set_host(host);
        }
    }

    pub(crate) fn set_host(&mut self, host: &[u8]) {
        let edit = HeadEdit { kind: EditKind::Replace, name: "Host".into(), cookie: false, value: Some(host.to_vec()) };
        self.request.apply(&edit, true);
        put(&mut self.host, host);
    }

    /// The values of a field of the request, as scripts have changed it.
    pub fn values<'s>(&'s self, name: &'s [u8]) -> impl Iterator<Item = &'s [u8]> {
        self.request.iter().filter(move |field| field.0.eq_ignore_ascii_case(name)).map(|field| field.1)
    }

    /// Without the query.
    pub(crate) fn path(&self) -> &[u8] {
        let end = memchr::memchr(b'?', &self.target).unwrap_or(self.target.len());
        &self.target[..end]
    }

    /// `None`: there is no `?`.
    pub(crate) fn query(&self) -> Option<&[u8]> {
        memchr::memchr(b'?', &self.target).map(|at| &self.target[at + 1..])
    }

    /// The host without its port.
    pub(crate) fn host_name(&self) -> &[u8] {
        without_port(&self.host)
    }
}

fn put(room: &mut Vec<u8>, text: &[u8]) {
    room.clear();
    room.extend_from_slice(text);
}
