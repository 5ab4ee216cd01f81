//! `avi.http`: what the request is called, whose it is, and the token that says so.

use mlua::{Error, LuaString, Result};
use weir_rules::{Names, is_user};

use super::{Maker, Now, OF_REQUESTS, text::name};
use crate::script::NAMES;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    let [id, user, set_user, token] = NAMES;
    maker.put(id, OF_REQUESTS, |_, now, ()| Ok(names(now)?.tell_id().to_string()))?;
    maker.put(user, OF_REQUESTS, |_, now, ()| {
        let user = names(now)?.tell_user();
        Ok((!user.is_empty()).then_some(user))
    })?;
    maker.put(token, OF_REQUESTS, |lua, now, ()| {
        let token = names(now)?.token();
        (!token.is_empty()).then(|| lua.create_string(&*token)).transpose()
    })?;
    maker.put(set_user, OF_REQUESTS, |_, now, user: LuaString| {
        let user = name(&user)?;
        if !is_user(&user) {
            return Err(Error::runtime("takes a text of 255 bytes at most that can stand in a header field"));
        }
        names(now)?.set_user(&user);
        Ok(())
    })
}

fn names(now: &mut Now) -> Result<&Names> {
    now.seen.names().ok_or_else(|| Error::runtime("requests have names where a script has this function's name in it"))
}
