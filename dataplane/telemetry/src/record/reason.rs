//! Why a request or a connection is significant.

use zerocopy::{Immutable, IntoBytes};

use crate::{Cause, Spans, record::Flags};

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "as the constants are called")]
        enum Bit { $($name,)* }

        impl Reasons {
            $($(#[$doc])* pub const $name: Self = Self(1 << Bit::$name as u64);)*
        }
    };
}

/// In the order of `api/record`, which has their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct Reasons(u64);

reasons! {
    STATUS_4XX,
    STATUS_5XX,
    CLIENT_ABORTED,
    /// Its head or body took too long, or it took no response.
    CLIENT_TIMED_OUT,
    CLIENT_TLS,
    SERVER_REFUSED,
    SERVER_CONNECT_TIMEOUT,
    /// The server reset its connection, or ended it too early.
    SERVER_RESET,
    SERVER_TLS,
    NO_SERVER,
    NO_POOL,
    SLOW_TOTAL,
    SLOW_APP,
    SLOW_CLIENT_RTT,
    SLOW_SERVER_RTT,
    CLIENT_BAD_REQUEST,
    CLIENT_REFUSED,
    SERVER_BAD_RESPONSE,
    SERVER_RESPONSE_TIMEOUT,
    /// More than one server was tried.
    RETRIED,
    ENGINE_RESOURCES,
    ENGINE_INTERNAL,
    /// It was beyond a limit of a rate: refused, or let pass by a limit that only reports.
    RATE_LIMITED,
    CERTIFICATE_MISSING,
    CERTIFICATE_EXPIRED,
    CERTIFICATE_UNTRUSTED,
    CERTIFICATE_REVOKED,
    CERTIFICATE_NO_CRL,
    TOKEN_MISSING,
    TOKEN_INVALID,
    TOKEN_EXPIRED,
    SCRIPT_FAILED,
    PERSISTENCE_EXPIRED,
    PERSISTENCE_CHANGED,
    PERSISTENCE_DOWN,
    PERSISTENCE_DISABLED,
    /// A script says so.
    SCRIPTED,
}

impl Reasons {
    pub const NONE: Self = Self(0);

    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn of(cause: Cause) -> Self {
        use Cause::*;
        match cause {
            ClientTls => Self::CLIENT_TLS,
            ClientCertificateMissing => Self::CERTIFICATE_MISSING,
            ClientCertificateExpired => Self::CERTIFICATE_EXPIRED,
            ClientCertificateUntrusted => Self::CERTIFICATE_UNTRUSTED,
            ClientCertificateRevoked => Self::CERTIFICATE_REVOKED,
            ClientCertificateNoCrl => Self::CERTIFICATE_NO_CRL,
            ClientTokenMissing => Self::TOKEN_MISSING,
            ClientTokenExpired => Self::TOKEN_EXPIRED,
            ClientTokenMalformed | ClientTokenUntrusted | ClientTokenForOthers => Self::TOKEN_INVALID,
            ClientAcceptTimeout | ClientHeadTimeout | ClientBodyTimeout | ClientStalled => Self::CLIENT_TIMED_OUT,
            ClientAborted | DeadlineExceeded => Self::CLIENT_ABORTED,
            ClientSourceUntrusted
            | ClientProxyHeader
            | ClientOtherHost
            | ClientUnknownHost
            | ClientSessions
            | ClientDenied
            | ClientTokenInsufficient
            | ClientNetworkDenied
            | ClientForgedField
            | ClientAddress => Self::CLIENT_REFUSED,
            ClientBadRequest | ClientUriTooLong | ClientHeadTooLarge | ClientBodyTooLarge | ClientUnsupported
            | ClientFlood => Self::CLIENT_BAD_REQUEST,
            ServerRefused | ServerUnreachable => Self::SERVER_REFUSED,
            ServerConnectTimeout => Self::SERVER_CONNECT_TIMEOUT,
            ServerTls | ServerUntrusted => Self::SERVER_TLS,
            ServerReset | ServerClosed => Self::SERVER_RESET,
            ServerResponseTimeout => Self::SERVER_RESPONSE_TIMEOUT,
            ServerBadResponse | ServerHeadTooLarge | NoHttp2 => Self::SERVER_BAD_RESPONSE,
            NoPool => Self::NO_POOL,
            NoServer | ServerWithdrawn | ServerQueueTimeout => Self::NO_SERVER,
            LocalResources | EngineEvicted | EngineRefused | EngineSessions | EngineMemory => Self::ENGINE_RESOURCES,
            Internal => Self::ENGINE_INTERNAL,
            ScriptFailed => Self::SCRIPT_FAILED,
            ClientRequestRate | ClientConnectionRate | ClientConnections | ClientNetworkRate | ServerConnectionRate => {
                Self::RATE_LIMITED
            }
        }
    }
}

impl Reasons {
    #[cold]
    fn of_persistence(flags: Flags) -> Self {
        let reasons = [
            (Flags::PERSISTENCE_EXPIRED, Self::PERSISTENCE_EXPIRED),
            (Flags::PERSISTENCE_CHANGED, Self::PERSISTENCE_CHANGED),
            (Flags::PERSISTENCE_DOWN, Self::PERSISTENCE_DOWN),
            (Flags::PERSISTENCE_DISABLED, Self::PERSISTENCE_DISABLED),
        ];
        let set = reasons.into_iter().filter(|(flag, _)| flags.has(*flag));
        set.fold(Self::NONE, |all, (_, reason)| all | reason)
    }
}

impl std::ops::BitOrAssign for Reasons {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl std::ops::BitOr for Reasons {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is significant in a virtual service. Times are in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Nothing is significant.
    pub off: bool,
    pub slow_total: u64,
    pub slow_app: u64,
    pub slow_client_rtt: u64,
    pub slow_server_rtt: u64,
    /// Statuses that are no errors.
    pub not_errors: Statuses,
    /// By the numbers of causes.
    pub causes_not_errors: u64,
}

/// Some statuses from 400 to 599.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statuses([u64; 4]);

impl Statuses {
    pub fn add(&mut self, status: u16) {
        if let Some(at) = place(status) {
            self.0[at / 64] |= 1 << (at % 64);
        }
    }

    pub fn has(&self, status: u16) -> bool {
        place(status).is_some_and(|at| self.0[at / 64] & (1 << (at % 64)) != 0)
    }
}

fn place(status: u16) -> Option<usize> {
    (400..600).contains(&status).then(|| usize::from(status) - 400)
}

/// What became of a request or a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// 0: none.
    pub status: u16,
    pub cause: Option<Cause>,
    pub servers_tried: usize,
    pub spans: Spans,
    /// 0: not known.
    pub client_rtt: u64,
    /// The flags that persistence has set.
    pub bond: Flags,
    /// A script says that it is significant.
    pub by_script: bool,
    /// It lasts as long as both sides like, so that a long one is not slow.
    pub is_long: bool,
}

impl Rules {
    /// Whether one without a failure took as long as most: then it is not significant.
    #[inline(always)]
    pub fn is_usual(&self, spans: &Spans, client_rtt: u64) -> bool {
        let Spans { wait, server_rtt, app_response, transfer } = *spans;
        wait + server_rtt + app_response + transfer <= self.slow_total
            && app_response <= self.slow_app
            && server_rtt <= self.slow_server_rtt
            && client_rtt <= self.slow_client_rtt
    }

    /// Why it is significant.
    pub fn reasons(&self, outcome: &Outcome) -> Reasons {
        let mut reasons = Reasons::NONE;
        if self.off {
            return reasons;
        }
        if outcome.status >= 400 {
            reasons |= self.of_status(outcome.status);
        }
        if let Some(cause) = outcome.cause {
            reasons |= self.of_cause(cause);
        }
        if outcome.servers_tried > 1 {
            reasons |= Reasons::RETRIED;
        }
        if outcome.bond.has_some(Flags::PERSISTENCE) {
            reasons |= Reasons::of_persistence(outcome.bond);
        }
        if outcome.by_script {
            reasons |= Reasons::SCRIPTED;
        }
        let Spans { wait, server_rtt, app_response, transfer } = outcome.spans;
        let (slow_total, slow_app) =
            if outcome.is_long { (u64::MAX, u64::MAX) } else { (self.slow_total, self.slow_app) };
        for (time, most, reason) in [
            (wait + server_rtt + app_response + transfer, slow_total, Reasons::SLOW_TOTAL),
            (app_response, slow_app, Reasons::SLOW_APP),
            (outcome.client_rtt, self.slow_client_rtt, Reasons::SLOW_CLIENT_RTT),
            (server_rtt, self.slow_server_rtt, Reasons::SLOW_SERVER_RTT),
        ] {
            if time > most {
                reasons |= reason;
            }
        }
        reasons
    }

    fn of_status(&self, status: u16) -> Reasons {
        match status {
            _ if self.not_errors.has(status) => Reasons::default(),
            400..500 => Reasons::STATUS_4XX,
            500..600 => Reasons::STATUS_5XX,
            _ => Reasons::default(),
        }
    }

    fn of_cause(&self, cause: Cause) -> Reasons {
        if self.excludes(cause) { Reasons::default() } else { Reasons::of(cause) }
    }

    /// Whether this is no error.
    pub fn excludes(&self, cause: Cause) -> bool {
        self.causes_not_errors & (1 << cause as u64) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules {
            off: false,
            slow_total: 400,
            slow_app: 200,
            slow_client_rtt: 100,
            slow_server_rtt: 50,
            not_errors: Statuses::default(),
            causes_not_errors: 0,
        }
    }

    fn reasons(rules: &Rules, outcome: Outcome) -> Reasons {
        rules.reasons(&outcome)
    }

    #[test]
    fn names_stand_in_the_order_of_the_contract() {
        let contract = include_str!("../../../../api/record/reason.go");
        let list = contract.split_once("reasonNames = [...]string{").unwrap().1.split_once("\n}").unwrap().0;
        let names: Vec<_> = list.lines().filter_map(|line| line.trim().strip_prefix('"')?.split('"').next()).collect();
        let at = |reason: Reasons| names[reason.bits().trailing_zeros() as usize];
        assert_eq!(names.len(), Reasons::SCRIPTED.bits().trailing_zeros() as usize + 1);
        for (reason, name) in [
            (Reasons::STATUS_4XX, "ADF_RESPONSE_CODE_4XX"),
            (Reasons::STATUS_5XX, "ADF_RESPONSE_CODE_5XX"),
            (Reasons::CLIENT_ABORTED, "ADF_CLIENT_CONN_ABORTED"),
            (Reasons::CLIENT_TIMED_OUT, "ADF_CLIENT_CONN_TIMEDOUT"),
            (Reasons::CLIENT_TLS, "ADF_CLIENT_SSL_HANDSHAKE_FAILURE"),
            (Reasons::SERVER_REFUSED, "ADF_SERVER_CONN_SETUP_REFUSED"),
            (Reasons::SERVER_CONNECT_TIMEOUT, "ADF_SERVER_CONN_SETUP_TIMEDOUT"),
            (Reasons::SERVER_RESET, "ADF_SERVER_SENT_RESET"),
            (Reasons::SERVER_TLS, "ADF_SERVER_SIDE_SSL_HANDSHAKE_FAILED"),
            (Reasons::NO_SERVER, "ADF_LOAD_BALANCING_FAILED"),
            (Reasons::NO_POOL, "ADF_REQUEST_NO_POOL"),
            (Reasons::SLOW_TOTAL, "ADF_CLIENT_HIGH_RESPONSE_TIME"),
            (Reasons::SLOW_APP, "ADF_SERVER_HIGH_RESPONSE_TIME"),
            (Reasons::SLOW_CLIENT_RTT, "ADF_CLIENT_RTT_ABOVE_SEC"),
            (Reasons::SLOW_SERVER_RTT, "ADF_SERVER_RTT_ABOVE_500MS"),
            (Reasons::CLIENT_BAD_REQUEST, "CLIENT_BAD_REQUEST"),
            (Reasons::CLIENT_REFUSED, "CLIENT_REFUSED"),
            (Reasons::SERVER_BAD_RESPONSE, "SERVER_BAD_RESPONSE"),
            (Reasons::SERVER_RESPONSE_TIMEOUT, "SERVER_RESPONSE_TIMEOUT"),
            (Reasons::RETRIED, "REQUEST_RETRIED"),
            (Reasons::ENGINE_RESOURCES, "ENGINE_RESOURCES"),
            (Reasons::ENGINE_INTERNAL, "ENGINE_INTERNAL"),
            (Reasons::RATE_LIMITED, "RATE_LIMITED"),
            (Reasons::TOKEN_MISSING, "ADF_JWT_TOKEN_MISSING"),
            (Reasons::TOKEN_INVALID, "ADF_JWT_TOKEN_INVALID"),
            (Reasons::TOKEN_EXPIRED, "ADF_JWT_TOKEN_EXPIRED"),
            (Reasons::PERSISTENCE_EXPIRED, "ADF_PERSISTENCE_COOKIE_EXPIRED"),
            (Reasons::PERSISTENCE_CHANGED, "ADF_PERSISTENT_SERVER_CHANGE"),
            (Reasons::PERSISTENCE_DOWN, "ADF_PERSISTENCE_FAILURE_SERVER_DOWN"),
            (Reasons::PERSISTENCE_DISABLED, "ADF_PERSISTENCE_FAILURE_SERVER_DISABLED"),
            (Reasons::SCRIPTED, "ADF_DATASCRIPT_SIGNIFICANCE"),
        ] {
            assert_eq!(at(reason), name);
        }
    }

    #[test]
    fn usual_request_is_not_significant() {
        let spans = Spans { wait: 100, server_rtt: 50, app_response: 200, transfer: 50 };
        assert!(rules().is_usual(&spans, 100));
        let usual =
            Outcome { status: 200, cause: None, servers_tried: 1, spans, client_rtt: 100, ..Outcome::default() };
        assert!(reasons(&rules(), usual).is_empty());
        let slower = Spans { wait: 101, server_rtt: 51, app_response: 201, transfer: 50 };
        assert!(!rules().is_usual(&slower, 0) && !rules().is_usual(&spans, 101));
        let slow = Reasons::SLOW_TOTAL | Reasons::SLOW_APP | Reasons::SLOW_CLIENT_RTT | Reasons::SLOW_SERVER_RTT;
        assert_eq!(reasons(&rules(), Outcome { spans: slower, client_rtt: 101, ..usual }), slow);
        let long = Outcome { spans: slower, client_rtt: 101, is_long: true, ..usual };
        assert_eq!(reasons(&rules(), long), Reasons::SLOW_CLIENT_RTT | Reasons::SLOW_SERVER_RTT);
        assert_eq!(reasons(&rules(), Outcome { servers_tried: 2, ..usual }), Reasons::RETRIED);
        assert!(reasons(&Rules { off: true, ..rules() }, Outcome { status: 500, ..usual }).is_empty());
    }

    #[test]
    fn statuses_and_causes_can_be_excepted() {
        let mut rules = rules();
        (404..=410).chain([599]).for_each(|status| rules.not_errors.add(status));
        let of = |status| reasons(&rules, Outcome { status, ..Outcome::default() });
        assert_eq!([404, 410, 599, 399, 302].map(of), [Reasons::default(); 5]);
        assert_eq!([400, 403, 411, 499].map(of), [Reasons::STATUS_4XX; 4]);
        assert_eq!([500, 598].map(of), [Reasons::STATUS_5XX; 2]);
        rules.causes_not_errors = 1 << Cause::ClientAborted as u64;
        let of = |cause| reasons(&rules, Outcome { cause: Some(cause), ..Outcome::default() });
        assert_eq!([Cause::ClientAborted, Cause::ServerReset].map(of), [Reasons::default(), Reasons::SERVER_RESET]);
    }

    #[test]
    fn each_cause_has_a_reason_and_a_bit() {
        assert!(Cause::ALL.into_iter().all(|cause| !Reasons::of(cause).is_empty()));
        assert!(Cause::ALL.len() <= 64);
    }
}
