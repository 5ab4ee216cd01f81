//! HTTP/1 of servers: reads the next response head from the inbox.

use weir_wire::{
    head::{FieldTable, Limits, Method},
    http1::{self, Parsed, Response},
};

use crate::server::Server;

impl Server {
    /// Passes the next response head to `take` once it is complete. `may_switch`: the status may be 101.
    pub fn response_head<T>(
        &mut self,
        method: Method,
        may_switch: bool,
        limits: &Limits,
        fields: &mut FieldTable,
        take: impl FnOnce(&Response<'_>) -> T,
    ) -> Result<Option<T>, weir_wire::Error> {
        let inbox = &mut self.connection.inbox;
        while let Some(bytes) = inbox.head(limits.head_bytes) {
            match http1::response_or_switch(bytes, method, may_switch, limits, fields)? {
                Parsed::Partial => {
                    if !inbox.keep_for_more() {
                        break;
                    }
                }
                Parsed::Whole(response) => {
                    let (taken, len) = (take(&response), response.len);
                    inbox.head_read(len);
                    return Ok(Some(taken));
                }
            }
        }
        Ok(None)
    }
}
