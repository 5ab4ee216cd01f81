//! A limit of how often requests may come, and of which ones it is the limit.

use weir_rate::{Beyond, Key, Limit, Moment, Tally};

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
    /// Only requests that fail are counted. Beyond the rate, all of the key are.
    pub of_failures: bool,
}

/// A request as a limit counts it.
#[derive(Clone)]
pub struct Counted {
    limit: Limit,
    /// `None`: all requests together have the limit.
    key: Option<Key>,
}

impl Counted {
    /// Counts it, or refuses it.
    pub(crate) fn count(&self, tally: &Tally, at: Moment) -> Result<(), Beyond> {
        match &self.key {
            Some(key) => tally.admit(&self.limit, key, at),
            None => tally.admit_any(&self.limit, at),
        }
    }
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Counted").field(&self.limit).finish()
    }
}

impl RequestLimit {
    pub(crate) fn note_needs(&self, needs: &mut Needs) {
        needs.path.decoded |= self.by_path;
    }

    /// A request comes. If it counts only when it fails, it is added to `failing`.
    pub(crate) fn admit(
        &self,
        tally: &Tally,
        view: &View<'_>,
        at: Moment,
        failing: &mut Vec<Counted>,
    ) -> Result<(), Beyond> {
        if self.of_failures {
            let Some(watched) = self.keyed(tally, view) else { return Ok(()) };
            watched.count(tally, at.only_looking())?;
            failing.push(watched);
            return Ok(());
        }
        match self.keyed(tally, view) {
            Some(counted) => counted.count(tally, at),
            None => Ok(()),
        }
    }

    /// `None`: the limit is not for this request.
    #[inline]
    fn keyed(&self, tally: &Tally, view: &View<'_>) -> Option<Counted> {
        let Self { limit, by_client, by_path, by_field, by_cookie, of_failures: _ } = self;
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
