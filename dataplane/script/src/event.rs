//! When scripts run.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A client has connected.
    Accepted,
    /// Its TLS begins. It has sent nothing, or nothing has been read.
    BeforeTls,
    /// Its ClientHello has come. The engine has not answered yet.
    ClientHello,
    /// The handshake is complete.
    Handshaken,
    /// The first bytes of a client have come whose bytes are not parsed. No server is chosen yet.
    FirstBytes,
    /// The first bytes of its server have come. The client has got none of them.
    FirstAnswer,
    /// The head of a request has come, and nobody has looked at a token yet.
    Authentication,
    /// The request may go on: its token is good, or it needs none.
    Authenticated,
    /// The head of a request has come, and goes to a server.
    Request,
    /// So much of the request's body has come as a script wants to see, or all of it. No server is chosen yet.
    RequestData,
    /// A server is chosen, and gets the request now.
    Balanced,
    /// The head of a server's response has come.
    Response,
    /// The same as [`RequestData`](Self::RequestData) for the body of a response. Nothing of the response has been sent.
    ResponseData,
    /// The engine is about to answer for a server that has failed, or for want of one.
    Failed,
    /// No server takes the request. [`Failed`](Self::Failed) comes next, unless a script answers.
    Unbalanced,
}

impl Event {
    pub const ALL: [Event; 15] = [
        Event::Accepted,
        Event::BeforeTls,
        Event::ClientHello,
        Event::Handshaken,
        Event::FirstBytes,
        Event::FirstAnswer,
        Event::Authentication,
        Event::Authenticated,
        Event::Request,
        Event::RequestData,
        Event::Balanced,
        Event::Response,
        Event::ResponseData,
        Event::Failed,
        Event::Unbalanced,
    ];

    /// As operators write it.
    pub fn name(self) -> &'static str {
        match self {
            Event::Accepted => "TCP_CLIENT_ACCEPT",
            Event::BeforeTls => "CLIENT_SSL_PRE_CONNECT",
            Event::ClientHello => "CLIENT_SSL_CLIENT_HELLO",
            Event::Handshaken => "SSL_HANDSHAKE_DONE",
            Event::FirstBytes => "L4_REQUEST",
            Event::FirstAnswer => "L4_RESPONSE",
            Event::Authentication => "HTTP_AUTH",
            Event::Authenticated => "HTTP_POST_AUTH",
            Event::Request => "HTTP_REQ",
            Event::RequestData => "HTTP_REQ_DATA",
            Event::Balanced => "HTTP_LB_DONE",
            Event::Response => "HTTP_RESP",
            Event::ResponseData => "HTTP_RESP_DATA",
            Event::Failed => "HTTP_RESP_FAILED",
            Event::Unbalanced => "HTTP_LB_FAILED",
        }
    }

    /// Whether it is about a connection, of which no request has come yet.
    pub fn is_of_connection(self) -> bool {
        use Event::*;
        matches!(self, Accepted | BeforeTls | ClientHello | Handshaken | FirstBytes | FirstAnswer)
    }

    /// Whether its scripts see bytes that are not parsed.
    pub fn is_of_bytes(self) -> bool {
        matches!(self, Event::FirstBytes | Event::FirstAnswer)
    }

    /// Whether its scripts run before it is known whether the request may go on, and what rules make of it.
    pub(crate) fn is_of_entry(self) -> bool {
        matches!(self, Event::Authentication | Event::Authenticated)
    }

    /// Whether its scripts see the response, and change that.
    pub(crate) fn is_of_response(self) -> bool {
        matches!(self, Event::Response | Event::ResponseData)
    }
}
