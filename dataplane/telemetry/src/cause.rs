//! Why an exchange or a connection failed. Each cause has one name, which a Sample and the API use.

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The name begins with the side at fault: the client, the server, or this machine.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Cause {
            $($(#[$doc])* $variant,)*
        }

        impl Cause {
            pub const ALL: [Cause; [$($name),*].len()] = [$(Cause::$variant),*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Cause::$variant => $name,)*
                }
            }
        }
    };
}

causes! {
    /// The TLS handshake failed or broke off.
    ClientTls = "client_tls",
    /// Nothing, or no whole TLS handshake, came in time after the accept.
    ClientAcceptTimeout = "client_accept_timeout",
    /// It does not come from where the PROXY protocol is accepted from.
    ClientSourceUntrusted = "client_source_untrusted",
    /// Its connection does not begin with a PROXY header.
    ClientProxyHeader = "client_proxy_header",
    ClientHeadTimeout = "client_head_timeout",
    ClientBodyTimeout = "client_body_timeout",
    /// The client takes no more of its response.
    ClientStalled = "client_stalled",
    /// The client went away before its response was complete.
    ClientAborted = "client_aborted",
    ClientBadRequest = "client_bad_request",
    ClientUriTooLong = "client_uri_too_long",
    ClientHeadTooLarge = "client_head_too_large",
    ClientBodyTooLarge = "client_body_too_large",
    /// The host of a request is not the server name that its connection was opened for.
    ClientOtherHost = "client_other_host",
    /// No child virtual service wants what the client asks for, and its parent has no pool.
    ClientUnknownHost = "client_unknown_host",
    /// A method, version or transfer coding that is not implemented.
    ClientUnsupported = "client_unsupported",
    /// A client address has too many sessions of datagrams.
    ClientSessions = "client_sessions",
    /// The client's address and port cannot be kept towards the server: another session or program has them, or nobody
    /// can (port 0, a link-local address).
    ClientAddress = "client_address",
    /// A client of HTTP/2 did too much that is of no use: resets, malformed requests, control frames, empty frames.
    ClientFlood = "client_flood",
    ServerRefused = "server_refused",
    ServerUnreachable = "server_unreachable",
    ServerConnectTimeout = "server_connect_timeout",
    /// The TLS handshake failed or broke off.
    ServerTls = "server_tls",
    /// Its certificate is not trusted, or not for the name that it should be.
    ServerUntrusted = "server_untrusted",
    ServerReset = "server_reset",
    /// The server closed before its response was complete.
    ServerClosed = "server_closed",
    ServerResponseTimeout = "server_response_timeout",
    ServerBadResponse = "server_bad_response",
    ServerHeadTooLarge = "server_head_too_large",
    NoPool = "no_pool",
    /// The servers of a gRPC call do not speak HTTP/2, or a server does not take a request by HTTP/2 that cannot be sent again.
    NoHttp2 = "no_http2",
    /// Every server is down, disabled, full or already tried.
    NoServer = "no_server",
    /// This machine's doing: no descriptor, no port, no memory, a limit of the engine.
    LocalResources = "local_resources",
    /// Its place was needed for others.
    EngineEvicted = "engine_evicted",
    /// There was no place for the connection.
    EngineRefused = "engine_refused",
    /// A session of datagrams ended, because others needed its socket or port.
    EngineSessions = "engine_sessions",
    /// It took too little of what waited for it while memory was short.
    EngineMemory = "engine_memory",
    /// The client of a gRPC call waits no more.
    DeadlineExceeded = "deadline_exceeded",
    /// A rule of an HTTP policy ends the client's connection.
    ClientDenied = "client_denied",
    /// A request is beyond a limit of how often they may come.
    ClientRequestRate = "client_request_rate",
    /// The client showed no certificate, and needs one.
    ClientCertificateMissing = "client_certificate_missing",
    /// Its certificate, or one of the issuers, is not valid now.
    ClientCertificateExpired = "client_certificate_expired",
    /// No authority that is trusted has signed it for clients.
    ClientCertificateUntrusted = "client_certificate_untrusted",
    ClientCertificateRevoked = "client_certificate_revoked",
    /// No list says whether it is revoked, or only one that is out of date.
    ClientCertificateNoCrl = "client_certificate_no_crl",
    /// A request has a field that only the engine may write.
    ClientForgedField = "client_forged_field",
    /// A request has no token, and needs one.
    ClientTokenMissing = "client_token_missing",
    /// It has several, or one that cannot be read.
    ClientTokenMalformed = "client_token_malformed",
    /// Its token was not signed with a key of the issuer.
    ClientTokenUntrusted = "client_token_untrusted",
    /// It is not valid now.
    ClientTokenExpired = "client_token_expired",
    /// It is of another issuer, or for another audience.
    ClientTokenForOthers = "client_token_for_others",
    /// A connection is beyond a limit of how often they may come.
    ClientConnectionRate = "client_connection_rate",
    /// There are as many connections as the virtual service may have.
    ClientConnections = "client_connections",
    /// A rule of a network security policy bars a connection, or a session of datagrams.
    ClientNetworkDenied = "client_network_denied",
    /// It is beyond the rate of such a rule.
    ClientNetworkRate = "client_network_rate",
    /// A DataScript failed or took too long.
    ScriptFailed = "script_failed",
    /// A server was disabled or removed, or went down, and the time that its pool gives for what it has is over.
    ServerWithdrawn = "server_withdrawn",
    /// All servers of the pool had their maximum of connections for too long.
    ServerQueueTimeout = "server_queue_timeout",
    /// A new connection to each server of the pool would have been beyond a limit of how often they may come.
    ServerConnectionRate = "server_connection_rate",
    /// The token of a request is good, and not for what the request asks for.
    ClientTokenInsufficient = "client_token_insufficient",
    /// A defect of ours; the connection ended, the process went on.
    Internal = "internal",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_cause_has_a_name_of_its_own() {
        let names: HashSet<_> = Cause::ALL.iter().map(|cause| cause.name()).collect();
        assert_eq!(names.len(), Cause::ALL.len());
    }

    #[test]
    fn causes_are_listed_in_the_order_of_their_numbers() {
        for (number, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, number);
        }
    }
}
