//! When scripts run.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The head of a request has come, and goes to a server.
    Request,
    /// The head of a server's response has come.
    Response,
    /// The engine is about to answer for a server that has failed, or for want of one.
    Failed,
    /// No server takes the request. [`Failed`](Self::Failed) comes next, unless a script answers.
    Unbalanced,
}

impl Event {
    pub const ALL: [Event; 4] = [Event::Request, Event::Response, Event::Failed, Event::Unbalanced];

    /// As operators write it.
    pub fn name(self) -> &'static str {
        match self {
            Event::Request => "HTTP_REQ",
            Event::Response => "HTTP_RESP",
            Event::Failed => "HTTP_RESP_FAILED",
            Event::Unbalanced => "HTTP_LB_FAILED",
        }
    }
}
