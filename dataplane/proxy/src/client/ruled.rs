//! Rules of HTTP policies: what they see of a client and its request, and what a request becomes by them.

use weir_rules::{Asked, Due, HttpVersion, Judged, LocalResponse, Origin, Scratch, TlsFacts, Verdict};
use weir_snapshot::VirtualService;
use weir_wire::head::{HeadSink, Method, RequestHead, Version};

use crate::{
    call,
    client::{
        Client,
        intake::{Answer, Next, Received},
    },
    error::Error,
    head::{self, Target},
    io::Io,
    page,
};

/// More than the head of a response needs besides what a rule says.
const HEAD_BYTES_MAX: usize = 512;

impl Client {
    pub fn origin(&self) -> Origin<'_> {
        let tls = self.connection.channel.handshaken().map(|agreed| TlsFacts {
            version: agreed.version.name(),
            cipher: agreed.cipher_suite,
            server_name: self.connection.channel.asked_name(),
        });
        let tls = tls.or_else(|| self.facts.is_tls().then_some(TlsFacts::default()));
        Origin { client: self.peer.ip(), source: self.sender().ip(), listener: self.destination(), tls }
    }
}

/// Tries the rules of the virtual service. `None`: it has none.
#[inline]
pub(super) fn judge<'s>(
    service: &'s VirtualService,
    head: &RequestHead<'_>,
    is_stream: bool,
    client: &Client,
    scratch: &mut Scratch,
) -> Option<Judged<'s>> {
    let policies = service.policies.as_ref()?;
    let version = match (is_stream, head.version) {
        (true, _) => HttpVersion::Http2,
        (false, Version::Http10) => HttpVersion::Http10,
        (false, Version::Http11) => HttpVersion::Http11,
    };
    Some(policies.rules.judge(&Asked { head, version, from: client.origin() }, scratch))
}

/// What the rules of responses need when the response comes.
pub(crate) struct Awaited {
    pub due: Vec<Due>,
    origin: Origin<'static>,
    server_name: Option<String>,
}

impl Awaited {
    pub fn of(due: Vec<Due>, client: &Client) -> Self {
        let origin = client.origin();
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

impl Received<'_> {
    /// What the client gets where a rule ends the request; `None`: it goes on.
    pub(super) fn ended<I: Io>(&self, io: &mut I, client: &Client, judged: &Judged<'_>, date: &[u8]) -> Option<Next> {
        let answer = match &judged.verdict {
            Verdict::Pass => return None,
            Verdict::Close { reset } => return Some(Next::refused(Error::Denied { reset: *reset }, self.head)),
            Verdict::Respond(response) => self.local(io, client, response, date),
            Verdict::Redirect { status, location } => {
                let size = (*status, location.len() + HEAD_BYTES_MAX);
                return Some(self.answer(io, client, size, date, |out| {
                    out.status(*status, page::reason(*status));
                    out.field(b"Location", [location.as_slice()]);
                    out.number(b"Content-Length", 0);
                    out.line(date);
                    self.service.http().iter().for_each(|http| out.line(http.security_lines(&client.facts)));
                }));
            }
        };
        Some(answer.map_or_else(|error| Next::refused(error, self.head), |answer| Next::Local(Box::new(answer))))
    }

    fn local<I: Io>(
        &self,
        io: &mut I,
        client: &Client,
        response: &LocalResponse,
        date: &[u8],
    ) -> Result<Answer, Error> {
        let LocalResponse { status, content_type, content } = response;
        let Some(http) = self.service.http() else { return Err(Error::Defect) };
        if let Target::Call = self.to_client {
            let code = call::code(*status);
            let head = call::answer(io, code, &format!("HTTP status {status}"), http, &client.facts, date)?;
            let grpc_status = Some(code);
            return Ok(Answer { status: call::STATUS, head, content: None, grpc_status, keep_alive: self.stays });
        }
        let head_only = self.head.method == Method::Head || *status == 204 || *status == 304;
        let is_apart = matches!(self.to_client, Target::Block);
        let inline_bytes = if head_only || is_apart { 0 } else { content.len() };
        let bytes_max = HEAD_BYTES_MAX + content_type.len() + inline_bytes;
        let mut head = head::write_own(io, bytes_max, self.to_client, |out| {
            out.status(*status, page::reason(*status));
            if !content_type.is_empty() && !content.is_empty() {
                out.field(b"Content-Type", [content_type.as_bytes()]);
            }
            if *status != 204 {
                out.number(b"Content-Length", content.len() as u64);
            }
            out.line(date);
            out.line(http.security_lines(&client.facts));
        })?;
        let apart = (is_apart && !head_only && !content.is_empty()).then(|| {
            let mut apart = io.buffer_for(content.len());
            apart.append(content);
            apart
        });
        if inline_bytes > 0 {
            head.append(content);
        }
        Ok(Answer { status: *status, head, content: apart, grpc_status: None, keep_alive: self.stays })
    }
}
