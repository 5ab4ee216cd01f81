//! The head a server gets for the head a client sent.

use weir_wire::http1::{Overflow, RequestHead};

use crate::{ClientFacts, HttpProfile};

impl HttpProfile {
    /// Whether the proxy answers `Expect: 100-continue` itself; the field is then not passed on.
    pub fn answers_continue(&self, head: &RequestHead<'_>) -> bool {
        let _ = head;
        todo!()
    }

    /// Writes the request for the server, as HTTP/1.1, its body framed as it came. Without `keep_alive` the server is
    /// told to close. Returns the bytes written.
    pub fn write_request(
        &self,
        head: &RequestHead<'_>,
        client: &ClientFacts,
        keep_alive: bool,
        out: &mut [u8],
    ) -> Result<usize, Overflow> {
        let _ = (head, client, keep_alive, out);
        todo!()
    }

    /// Room that is enough for [`write_request`](Self::write_request).
    pub fn request_bytes_max(&self, head: &RequestHead<'_>) -> usize {
        let _ = head;
        todo!()
    }
}
