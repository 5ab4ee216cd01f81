//! Responses that the cache stores, and those that say that a stored one still holds.

use std::rc::Rc;

use weir_cache::{Asked, Terms, Times, Validators};
use weir_snapshot::Cached;
use weir_wire::{
    head::{BodyLength, Method, ResponseHead},
    http1::{Framing, Response},
};

use crate::{
    cache::{
        object::{Filling, Object, Since},
        role::{Of, Said, Stage, What, moment},
        stored::Cache,
    },
    exchange::Exchange,
    io::Io,
};

pub(super) fn cached_of(exchange: &Exchange) -> Option<&Cached> {
    exchange.service.content.as_deref()?.cached.as_ref()
}

/// What the cache makes of the head of a response.
pub(super) enum Stored {
    /// Nothing.
    No,
    /// It is stored, once all of it has come.
    Fills(Box<Filling>),
    /// It says something of a stored response.
    Said,
}

/// Judges a response.
#[cold]
pub(super) fn store<I: Io>(
    io: &I,
    exchange: &Exchange,
    (cache, date): (&Cache, &[u8]),
    received: &Response<'_>,
) -> Stored {
    let head: &ResponseHead<'_> = &received.head;
    let (Some(caching), Some(cached)) = (exchange.caching(), cached_of(exchange)) else { return Stored::No };
    if caching.stage != Stage::Passes || head.status < 200 {
        return Stored::No;
    }
    let asked = match &caching.what {
        What::Asks(asked) => asked,
        What::Changes(key) => {
            if head.status < 400 {
                cached.invalidations.count(key);
                cache.remove(key);
            }
            return Stored::No;
        }
    };
    let times = Times { asked: caching.asked_at, came: moment(io) };
    let date = if cached.profile.settings.date_field { date } else { b"" };
    if let Some(stale) = caching.stale.as_ref().filter(|_| head.status == 304) {
        let stale = &stale.object;
        let of = match Validators::of(&head.fields).speak_of(&stale.validators) {
            true if !exchange.is_at_backup() => freshened(stale, (head, date), (cached, asked), times, caching.since),
            _ => None,
        };
        let of = of.map_or(Of::Another, |(object, is_kept)| Of::Stored { object: Rc::new(object), is_kept });
        caching.said.set(Some(Said { of, server_goes_on: received.keep_alive }));
        return Stored::Said;
    }
    let terms = Terms::of(&cached.profile, asked, head, times);
    // Only a length or chunks show that all has come. What a backup pool answers is not what the resource is.
    let is_certain = received.framing != Framing::UntilClose && exchange.method == Method::Get;
    let Some(terms) = terms.filter(|_| is_certain && !exchange.is_at_backup()) else {
        caching.give_up();
        return Stored::No;
    };
    let (least, most) = (cached.profile.settings.min_bytes, cache.most_bytes(cached, asked));
    if let BodyLength::Bytes(length) = received.framing.length()
        && !(least..=most).contains(&length)
    {
        caching.give_up();
        return Stored::No;
    }
    Stored::Fills(Box::new(Filling::new(
        head,
        (terms, caching.since),
        asked,
        (least, most),
        (date, caching.lead.take(), cache.room(), cached.share),
    )))
}

/// A stored response on the terms of a 304, and whether it may stay stored. If not, it answers once more.
fn freshened(
    stale: &Object,
    (head, date): (&ResponseHead<'_>, &[u8]),
    (cached, asked): (&Cached, &Asked),
    times: Times,
    since: Since,
) -> Option<(Object, bool)> {
    let mut updated = stale.freshened(head, date, since, cached.share)?;
    let terms = Terms::of(&cached.profile, asked, &updated.whole(Method::Get).0, times);
    let once =
        Terms { fresh_s: 0, age_s: 0, came_s: times.came.steady_s, always_validates: true, must_revalidate: true };
    updated.terms = terms.unwrap_or(once);
    Some((updated, terms.is_some()))
}
