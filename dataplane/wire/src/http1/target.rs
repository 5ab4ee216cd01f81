//! The forms of a request target (RFC 9112 §3.2).
