//! A server that speaks HTTP/1: the next response head out of its inbox.

use weir_wire::http1::{self, FieldTable, Method, Parsed, ResponseHead};

use super::Server;

impl Server {
    /// The next response head, if all of it has come, handed to `take`.
    pub fn response_head<T>(
        &mut self,
        method: Method,
        limits: &http1::Limits,
        fields: &mut FieldTable,
        take: impl FnOnce(&ResponseHead<'_>) -> T,
    ) -> Result<Option<T>, http1::Error> {
        let inbox = &mut self.connection.inbox;
        while let Some(bytes) = inbox.head(limits.head_bytes) {
            match http1::response(bytes, method, limits, fields)? {
                Parsed::Partial => {
                    if !inbox.keep_for_more() {
                        break;
                    }
                }
                Parsed::Whole(head) => {
                    let (taken, len) = (take(&head), head.len);
                    inbox.head_read(len);
                    return Ok(Some(taken));
                }
            }
        }
        Ok(None)
    }
}
