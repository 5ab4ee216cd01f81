//! When scripts run.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
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
    pub const ALL: [Event; 9] = [
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

    /// Whether its scripts run before it is known whether the request may go on, and what rules make of it.
    pub(crate) fn is_of_entry(self) -> bool {
        matches!(self, Event::Authentication | Event::Authenticated)
    }

    /// Whether its scripts see the response, and change that.
    pub(crate) fn is_of_response(self) -> bool {
        matches!(self, Event::Response | Event::ResponseData)
    }
}
