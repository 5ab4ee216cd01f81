//! `avi.vs.rate_limit` and `avi.vs.ratelimit`: how often something may come that a script names.

use mlua::{Error, Lua, LuaString, Result, Value};
use weir_rate::{Beyond, Limit, Moment};
use weir_rules::{Excess, LocalResponse};

use super::{BEFORE_FAILURE, IN_REQUEST, Maker, Now, hashes::checked, text::read_number};
use crate::{acts::Ending, library::guarded};

/// How much one call may count: as much as a limiter lets pass in a period at most.
const COUNT_MAX: u32 = 1_000_000_000;
/// What scripts give and get, beside the names of actions.
pub(super) const NAMES: [&str; 7] = [
    "RL_CUSTOM_STRING",
    "RL_ACTION_NONE",
    "RL_ACTION_RESET_CONN",
    "RL_ACTION_CLOSE_CONN",
    "RL_ACTION_DROP_CONN",
    "RL_ACTION_LOCAL_RSP",
    "RL_ACTION_REDIRECT",
];

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    let named = guarded(maker.lua, "avi.vs.ratelimit", "does not exist")?;
    let named = Maker { table: named, path: "avi.vs.ratelimit", ..*maker };
    named.put("exceed", BEFORE_FAILURE, |_, now, (name, key, count): (LuaString, LuaString, Option<Value>)| {
        let limits = now.set().map_or(&[][..], |set| &set.limits);
        let found = limits.iter().find(|(other, _)| other.as_bytes() == &*name.as_bytes());
        let (_, limit) = found.ok_or_else(|| {
            let name = String::from_utf8_lossy(&name.as_bytes()).into_owned();
            Error::runtime(format!("the set of the script has no rate limiter {name:?} in rate_limiters"))
        })?;
        let count = count.filter(|count| !count.is_nil()).map_or(Some(1.0), |count| read_number(&count));
        match count {
            Some(count) if (0.0..=f64::from(COUNT_MAX)).contains(&count) => {
                // A part of one counts as one: 0 asks.
                Ok(beyond(now, limit, &key, count.ceil() as u32)?.is_some())
            }
            _ => Err(Error::runtime(format!("counts a number from 0 to {COUNT_MAX} at once"))),
        }
    })?;
    named.table.set_readonly(true);
    maker.table.raw_set("ratelimit", named.table)?;
    maker.put_last("rate_limit", IN_REQUEST, rate_limit)
}

/// Whether the request is beyond the limit of the profile, and what the profile does with it then. It does so, unless a
/// script wants to do something itself.
fn rate_limit(
    lua: &Lua,
    now: &mut Now,
    (kind, key, defers): (LuaString, LuaString, Option<Value>),
) -> Result<(bool, LuaString)> {
    if *kind.as_bytes() != *b"avi.RL_CUSTOM_STRING" {
        return Err(Error::runtime("takes avi.RL_CUSTOM_STRING"));
    }
    let served = now.served.clone();
    let limit = served.as_ref().and_then(|served| served.limit.as_ref());
    let (limit, excess) = limit.ok_or_else(|| {
        let field = "dos_rl_profile.rl_profile.custom_requests_rate_limit";
        Error::runtime(format!("the application profile has no {field}"))
    })?;
    let beyond = beyond(now, limit, &key, 1)?;
    let defers = defers.is_some_and(|defers| !matches!(defers, Value::Nil | Value::Boolean(false)));
    if let Some(beyond) = beyond.filter(|_| !defers) {
        now.acts.ending = match excess {
            Excess::Report => None,
            Excess::Close { reset } => Some(Ending::Close { reset: *reset }),
            Excess::Respond(response) => Some(answer(response)),
            Excess::Redirect(redirect) => Some(match redirect.location_from(now.seen.host_name(), &now.seen.target) {
                Some(location) => Ending::Redirect { status: redirect.status, location },
                None => Ending::Close { reset: false },
            }),
        };
        now.acts.beyond = now.acts.ending.as_ref().map(|_| beyond);
    }
    let action = match excess {
        Excess::Report => "avi.RL_ACTION_NONE",
        Excess::Close { reset: true } => "avi.RL_ACTION_RESET_CONN",
        Excess::Close { reset: false } => "avi.RL_ACTION_CLOSE_CONN",
        Excess::Respond(_) => "avi.RL_ACTION_LOCAL_RSP",
        Excess::Redirect(_) => "avi.RL_ACTION_REDIRECT",
    };
    Ok((beyond.is_some(), lua.create_string(action)?))
}

fn answer(LocalResponse { status, content_type, content }: &LocalResponse) -> Ending {
    let mut fields = Vec::new();
    if !content_type.is_empty() && !content.is_empty() {
        fields.push(("content-type".to_owned(), content_type.clone().into_bytes()));
    }
    Ending::Respond { status: *status, fields, content: content.clone() }
}

/// Counts so many events of a text. `Some`: not all of them, because the others are beyond the limit. None counts nothing, and
/// asks for one.
fn beyond(now: &Now, limit: &Limit, text: &LuaString, count: u32) -> Result<Option<Beyond>> {
    let Some(tally) = now.served.as_ref().and_then(|served| served.tally.as_ref()) else { return Ok(None) };
    let key = tally.key(limit).text(&checked(text)?.as_bytes());
    let at = match now.seen.is_asked_only || count == 0 {
        true => Moment::looking(now.seen.now_ns),
        false => Moment::counting(now.seen.now_ns),
    };
    Ok(tally.admit_many(limit, &key, count.max(1), at).err())
}
