//! The answer to a plain request where the profile wants TLS.

use weir_wire::http1::{Overflow, RequestHead};

use crate::{ClientFacts, HttpProfile};

/// A redirect to the same place over TLS: 301 for GET and HEAD, 308 for what must be repeated as it is.
pub struct Redirect<'b> {
    head: RequestHead<'b>,
}

impl HttpProfile {
    /// The local answer to `head` when the client should have come over TLS.
    pub fn redirect_to_https<'b>(&'b self, head: &RequestHead<'b>, client: &'b ClientFacts) -> Option<Redirect<'b>> {
        let _ = (head, client);
        todo!()
    }
}

impl Redirect<'_> {
    pub fn status(&self) -> u16 {
        todo!()
    }

    /// Writes the whole response, body and all; returns its length.
    pub fn write(&self, keep_alive: bool, out: &mut [u8]) -> Result<usize, Overflow> {
        let _ = (keep_alive, out, self.head.len);
        todo!()
    }

    /// Room that is enough for [`write`](Self::write).
    pub fn bytes_max(&self) -> usize {
        todo!()
    }
}
