//! X-Forwarded-For and X-Forwarded-Proto.
