//! Redirects of servers that believe the client came without TLS.
