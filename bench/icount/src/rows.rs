//! What is counted, row by row. A round is the same work for each of the stage's clients.

use std::time::{Duration, Instant};

use weir_api::dataplane::v1::Plan;

use crate::{
    Failure,
    http2::STREAMS,
    plan::{self, Listener},
    stage::{CLIENTS, Stage, counting_begins},
};

pub struct Row {
    pub name: &'static str,
    pub what: &'static str,
    listener: Listener,
    work: Work,
    rounds: u32,
}

enum Work {
    /// On connections that stand.
    Request { body_bytes: usize },
    /// A connection, one request, and its end.
    Connection { body_bytes: usize },
    /// A connection that is reset after its handshake.
    Handshake,
    /// One virtual service among many gets another name.
    PlanChange,
}

/// In the order of their names, as in the file of counts.
pub static ROWS: [Row; 20] = [
    Row {
        name: "body_64k",
        what: "keep-alive request, a response of 64 KiB",
        listener: Listener::Plain,
        work: Work::Request { body_bytes: 64 * 1024 },
        rounds: 16,
    },
    Row {
        name: "body_64k_tls12",
        what: "the same over TLS 1.2",
        listener: Listener::Tls12,
        work: Work::Request { body_bytes: 64 * 1024 },
        rounds: 16,
    },
    Row {
        name: "body_64k_tls12_both",
        what: "the same over TLS 1.2 on both sides",
        listener: Listener::Tls12Both,
        work: Work::Request { body_bytes: 64 * 1024 },
        rounds: 16,
    },
    Row {
        name: "cache_hit",
        what: "keep-alive request that a stored response of 1 KiB answers",
        listener: Listener::Cached,
        work: Work::Request { body_bytes: 1024 },
        rounds: 16,
    },
    Row {
        name: "connection",
        what: "accept, request, response of 1 KiB, close",
        listener: Listener::Plain,
        work: Work::Connection { body_bytes: 1024 },
        rounds: 16,
    },
    Row {
        name: "handshake_tls12",
        what: "accept, full TLS 1.2 handshake (ECDSA, P-256), reset",
        listener: Listener::Tls12,
        work: Work::Handshake,
        rounds: 2,
    },
    Row {
        name: "handshake_tls13",
        what: "accept, full TLS 1.3 handshake (ECDSA, P-256), reset",
        listener: Listener::Tls13,
        work: Work::Handshake,
        rounds: 2,
    },
    Row {
        name: "handshake_tls13_mutual",
        what: "the same with a client that shows a certificate, as it has before",
        listener: Listener::Tls13Mutual,
        work: Work::Handshake,
        rounds: 2,
    },
    Row {
        name: "handshake_tls13_mutual_new",
        what: "the same with a client whose chain the proxy does not know, and verifies",
        listener: Listener::Tls13MutualNew,
        work: Work::Handshake,
        rounds: 2,
    },
    Row {
        name: "handshake_tls13_mutual_rsa",
        what: "a client that has come before, with a certificate of RSA, 2048 bits",
        listener: Listener::Tls13MutualRsa,
        work: Work::Handshake,
        rounds: 2,
    },
    Row {
        name: "plan_change",
        what: "one of 5,000 virtual services is changed: validated, built, swapped",
        listener: Listener::Plain,
        work: Work::PlanChange,
        rounds: 16,
    },
    Row {
        name: "request",
        what: "keep-alive request, a response of 128 bytes",
        listener: Listener::Plain,
        work: Work::Request { body_bytes: 128 },
        rounds: 16,
    },
    Row {
        name: "request_edited",
        what: "keep-alive request that a rule gives a field and another path",
        listener: Listener::Edited,
        work: Work::Request { body_bytes: 128 },
        rounds: 16,
    },
    Row {
        name: "request_http2",
        what: "a stream of HTTP/2, eight at once on a connection that stands, a response of 128 bytes",
        listener: Listener::Http2,
        work: Work::Request { body_bytes: 128 },
        rounds: 16,
    },
    Row {
        name: "request_recorded",
        what: "keep-alive request, a response of 128 bytes, and a record of it",
        listener: Listener::Recorded,
        work: Work::Request { body_bytes: 128 },
        rounds: 16,
    },
    Row {
        name: "request_rules",
        what: "keep-alive request that 1,000 rules by host and path try, the last matches",
        listener: Listener::RulesByPath,
        work: Work::Request { body_bytes: 128 },
        rounds: 16,
    },
    Row {
        name: "request_rules_parts",
        what: "the same by parts of paths and regular expressions",
        listener: Listener::RulesByPart,
        work: Work::Request { body_bytes: 128 },
        rounds: 16,
    },
    Row {
        name: "request_tls12",
        what: "keep-alive request over TLS 1.2, a response of 128 bytes",
        listener: Listener::Tls12,
        work: Work::Request { body_bytes: 128 },
        rounds: 16,
    },
    Row {
        name: "request_tls13",
        what: "the same over TLS 1.3",
        listener: Listener::Tls13,
        work: Work::Request { body_bytes: 128 },
        rounds: 16,
    },
    Row {
        name: "transaction_tls12",
        what: "accept, full TLS 1.2 handshake, request, response of 128 bytes, close",
        listener: Listener::Tls12,
        work: Work::Connection { body_bytes: 128 },
        rounds: 2,
    },
];

/// Until every table, pool and buffer has its size.
const WARM_UP_ROUNDS: u32 = 2;

const KEEP_ALIVE: &[u8] =
    b"GET /index.html HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux)\r\n\
    Accept: text/html,application/xhtml+xml\r\nAccept-Encoding: gzip, br\r\nCookie: session=0123456789\r\n\r\n";
const CLOSE: &[u8] = b"GET /index.html HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux)\r\n\
    Accept: text/html,application/xhtml+xml\r\nAccept-Encoding: gzip, br\r\nCookie: session=0123456789\r\n\
    Connection: close\r\n\r\n";

impl Row {
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let names = || ROWS.each_ref().map(|row| row.name).join(", ");
        ROWS.iter().find(|row| row.name == name).ok_or_else(|| format!("no such row; there are {}", names()))
    }

    /// The row by whose pace the time of own code is reckoned where it has cryptography in between: it has none.
    pub fn of_pace() -> Result<&'static Self, String> {
        Self::named("request")
    }

    /// How often a run does what is counted.
    pub fn repeats(&self) -> u64 {
        u64::from(self.rounds * self.repeats_in_a_round())
    }

    fn repeats_in_a_round(&self) -> u32 {
        let at_once = if self.listener == Listener::Http2 { STREAMS } else { 1 };
        (CLIENTS * at_once) as u32
    }

    /// What runs under callgrind.
    pub fn run(&self) -> Result<(), Failure> {
        let mut stage = self.warm_stage()?;
        counting_begins();
        for _ in 0..self.rounds {
            self.round(&mut stage)?;
        }
        Ok(())
    }

    /// The time of one, cryptography included: the fastest round of a while, so that what else the machine does falls out.
    pub fn fastest(&self) -> Result<Duration, Failure> {
        const WHILE: Duration = Duration::from_millis(300);
        let mut stage = self.warm_stage()?;
        let (begin, mut fastest) = (Instant::now(), Duration::MAX);
        while begin.elapsed() < WHILE {
            stage.spent = Duration::ZERO;
            self.round(&mut stage)?;
            fastest = fastest.min(stage.spent);
        }
        Ok(fastest / self.repeats_in_a_round())
    }

    fn warm_stage(&self) -> Result<Stage, Failure> {
        let mut stage = Stage::new(&self.plan(), self.response())?;
        if let Work::Request { .. } = self.work {
            stage.connect(self.listener)?;
        }
        for _ in 0..WARM_UP_ROUNDS {
            self.round(&mut stage)?;
        }
        Ok(stage)
    }

    fn round(&self, stage: &mut Stage) -> Result<(), Failure> {
        match self.work {
            Work::Request { body_bytes } => stage.exchange(KEEP_ALIVE, body_bytes),
            Work::Connection { body_bytes } => {
                stage.connect(self.listener)?;
                stage.exchange(CLOSE, body_bytes)?;
                stage.part()
            }
            Work::Handshake => {
                stage.connect(self.listener)?;
                stage.reset()
            }
            Work::PlanChange => stage.change(),
        }
    }

    fn plan(&self) -> Plan {
        match self.work {
            Work::PlanChange => plan::with_others(),
            Work::Request { .. } | Work::Connection { .. } | Work::Handshake => plan::plan(self.listener),
        }
    }

    fn response(&self) -> Vec<u8> {
        let (Work::Request { body_bytes } | Work::Connection { body_bytes }) = self.work else { return Vec::new() };
        let stored = if self.listener == Listener::Cached { "Cache-Control: max-age=86400\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 20 Nov 2026 23:00:00 GMT\r\n{stored}\
             Content-Type: text/html\r\nContent-Length: {body_bytes}\r\nLast-Modified: Fri, 20 Nov 2026 22:00:00 GMT\r\n\
             ETag: \"5f-80\"\r\nAccept-Ranges: bytes\r\n\r\n"
        );
        [head.into_bytes(), vec![b'x'; body_bytes]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_file_and_each_runs() {
        assert!(ROWS.is_sorted_by_key(|row| row.name));
        for row in &ROWS {
            row.run().unwrap_or_else(|why| panic!("{}: {why}", row.name));
        }
    }
}
