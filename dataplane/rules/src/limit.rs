//! A limit of how often requests may come, and of which ones it is the limit.

use weir_rate::{Beyond, Limit, Moment, Tally};

use crate::{
    asked::{Needs, View},
    cookies,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestLimit {
    pub limit: Limit,
    /// Each client has its own.
    pub by_client: bool,
    /// Each path has, without the query, decoded once.
    pub by_path: bool,
    /// Each value of this header field has. Requests without it are not limited.
    pub by_field: Option<String>,
    /// The same of a cookie.
    pub by_cookie: Option<String>,
}

impl RequestLimit {
    pub(crate) fn note_needs(&self, needs: &mut Needs) {
        needs.path.decoded |= self.by_path;
    }

    /// A request comes.
    pub(crate) fn admit(&self, tally: &Tally, view: &View<'_>, at: Moment) -> Result<(), Beyond> {
        let Self { limit, by_client, by_path, by_field, by_cookie } = self;
        if !by_client && !by_path && by_field.is_none() && by_cookie.is_none() {
            return tally.admit_any(limit, at);
        }
        let fields = &view.asked.head.fields;
        let mut key = tally.key(limit);
        if *by_client {
            key = key.client(view.asked.from.client);
        }
        if *by_path {
            key = key.text(view.path(true, false));
        }
        if let Some(name) = by_field {
            let Some(value) = fields.find(name.as_bytes()) else { return Ok(()) };
            key = key.text(value);
        }
        if let Some(name) = by_cookie {
            let Some(value) = cookies::values(fields, name.as_bytes()).next() else { return Ok(()) };
            key = key.text(value);
        }
        tally.admit(limit, &key, at)
    }
}
