//! When an exchange came how far.

use weir_telemetry::Spans;

use crate::io::Time;

#[derive(Clone, Copy)]
pub(crate) struct Stamps {
    /// Its head had arrived.
    begun: Time,
    sending: Sending,
    /// The head of its response had arrived.
    answered: Time,
}

/// How much of it was handed to a connection to a server. The server may have answered before it has all.
#[derive(Clone, Copy)]
enum Sending {
    /// Not all, and the server does not wait for the rest: it has none of it, or takes no more for now.
    Unsent,
    /// The server has all that has come, and waits for the rest.
    Starves,
    /// All of it, at that time.
    Whole(Time),
    /// All of it in one piece, so that no server could answer a part of it.
    AtOnce(Time),
}

impl Stamps {
    pub fn begun(now: Time) -> Self {
        Self { begun: now, sending: Sending::Unsent, answered: now }
    }

    fn sent(&self) -> Option<Time> {
        match self.sending {
            Sending::Whole(sent) | Sending::AtOnce(sent) => Some(sent),
            Sending::Unsent | Sending::Starves => None,
        }
    }

    /// A server gets the whole request in one piece.
    #[inline]
    pub fn sent_at_once(&mut self, now: Time) {
        self.sending = Sending::AtOnce(now);
    }

    /// A server gets the rest of the request.
    #[inline]
    pub fn sent_whole(&mut self, now: Time) {
        self.sending = Sending::Whole(now);
    }

    /// A server has all of it that has come.
    #[inline]
    pub fn starve(&mut self) {
        self.sending = Sending::Starves;
    }

    /// A server takes no more of it for now, or it goes to a server once more.
    pub fn begin_again(&mut self) {
        self.sending = Sending::Unsent;
    }

    /// Whether its server waits for the rest of it.
    pub fn starves(&self) -> bool {
        matches!(self.sending, Sending::Starves)
    }

    /// Returns what the round trip to the server has taken at most, in nanoseconds, as far as the response shows that.
    #[inline]
    pub fn answered(&mut self, now: Time) -> u64 {
        self.answered = now;
        match self.sending {
            Sending::AtOnce(sent) => nanos(sent, now),
            _ => u64::MAX,
        }
    }

    /// The nanoseconds since a server had the request; since it came, if a server answers before it has all of it.
    pub fn waited(&self, now: Time) -> u64 {
        nanos(self.sent().unwrap_or(self.begun), now)
    }

    /// The exchange ends now, and its response has not begun.
    pub fn cut(&self, now: Time, rtt_nanos: u64) -> Spans {
        Self { answered: now, ..*self }.spans(now, rtt_nanos)
    }

    /// The exchange is over. `rtt_nanos` is the round trip to its server.
    #[inline]
    pub fn spans(&self, now: Time, rtt_nanos: u64) -> Spans {
        let sent = self.sent().map_or(self.answered, |sent| sent.min(self.answered));
        let response = nanos(sent, self.answered);
        let server_rtt = response.min(rtt_nanos);
        Spans {
            wait: nanos(self.begun, sent),
            server_rtt,
            app_response: response - server_rtt,
            transfer: nanos(self.answered, now),
        }
    }
}

#[inline]
fn nanos(from: Time, to: Time) -> u64 {
    to.nanos.saturating_sub(from.nanos)
}
