//! A limit of how often requests may come, and of which ones it is the limit.

use weir_rate::{Limit, Tally};

use crate::{
    asked::{Needs, View},
    cookies,
    counted::{Coming, Counted, Refusal},
    pending::Pending,
    strangers::Strangers,
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
    /// Only requests that fail are counted. Beyond the rate, all of the key are.
    pub of_failures: bool,
    /// Only requests of strangers have the rate.
    pub strangers: Option<Box<Strangers>>,
}

impl RequestLimit {
    pub(crate) fn note_needs(&self, needs: &mut Needs) {
        needs.path.decoded |= self.by_path || self.strangers.as_ref().is_some_and(|strangers| strangers.by_path);
    }

    /// All that is counted for it.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        std::iter::once(self.limit).chain(self.strangers.iter().flat_map(|strangers| strangers.limits()))
    }

    /// A request comes. If it counts only when it fails, it is added to `pending`.
    pub(crate) fn admit(&self, coming: &Coming<'_>, pending: &mut Pending) -> Result<(), Refusal> {
        let Coming { tally, view, at, .. } = *coming;
        if let Some(strangers) = &self.strangers {
            let limited = |rate: &Limit| match self.keyed_as(rate, tally, view) {
                Some(counted) => counted.count(tally, at),
                None => Ok(()),
            };
            return strangers.admit(&self.limit, limited, coming, pending);
        }
        let Some(counted) = self.keyed_as(&self.limit, tally, view) else { return Ok(()) };
        if self.of_failures {
            counted.count(tally, at.only_looking())?;
            pending.count_if_failing(counted);
            return Ok(());
        }
        Ok(counted.count(tally, at)?)
    }

    /// The request as a rate of the limit counts it. `None`: the limit is not for this request.
    #[inline]
    fn keyed_as(&self, limit: &Limit, tally: &Tally, view: &View<'_>) -> Option<Counted> {
        let Self { by_client, by_path, by_field, by_cookie, .. } = self;
        if !by_client && !by_path && by_field.is_none() && by_cookie.is_none() {
            return Some(Counted { limit: *limit, key: None });
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
            key = key.text(fields.find(name.as_bytes())?);
        }
        if let Some(name) = by_cookie {
            key = key.text(cookies::values(fields, name.as_bytes()).next()?);
        }
        Some(Counted { limit: *limit, key: Some(key) })
    }
}
