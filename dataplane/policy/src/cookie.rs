//! Attributes of Set-Cookie.
