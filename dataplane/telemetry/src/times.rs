//! How long requests took.

use crate::histogram::{Histogram, ticks};

/// How long the parts of an exchange took, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spans {
    /// From the request's head until all of the request was handed to a connection to its server.
    pub wait: u64,
    /// Of the time from then until the response's head, the round trip to the server.
    pub server_rtt: u64,
    /// The rest of that time, which the server needed.
    pub app_response: u64,
    /// From then until the end of the response was handed to the client's connection.
    pub transfer: u64,
}

/// The times of a service. To the tick, `wait`, `response` and `transfer` make up the total, and `server_rtt` and
/// `app_response` the response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Times {
    pub total: Histogram,
    pub wait: Histogram,
    pub response: Histogram,
    pub server_rtt: Histogram,
    pub app_response: Histogram,
    pub transfer: Histogram,
}

impl Times {
    pub fn count(&mut self, spans: Spans) {
        let Spans { wait, server_rtt, app_response, transfer } = spans;
        let [wait, server_rtt, app_response, transfer] = [wait, server_rtt, app_response, transfer].map(ticks);
        let response = server_rtt + app_response;
        self.total.count(wait + response + transfer);
        self.wait.count(wait);
        self.response.count(response);
        self.server_rtt.count(server_rtt);
        self.app_response.count(app_response);
        self.transfer.count(transfer);
    }

    pub fn copy(&mut self, other: &Self) {
        self.total.copy(&other.total);
        self.wait.copy(&other.wait);
        self.response.copy(&other.response);
        self.server_rtt.copy(&other.server_rtt);
        self.app_response.copy(&other.app_response);
        self.transfer.copy(&other.transfer);
    }

    pub fn add(&mut self, other: &Self) {
        self.total.add(&other.total);
        self.wait.add(&other.wait);
        self.response.add(&other.response);
        self.server_rtt.add(&other.server_rtt);
        self.app_response.add(&other.app_response);
        self.transfer.add(&other.transfer);
    }
}
