//! `avi.http`: what the request is called, whose it is, and the token that says so.

use mlua::{Error, LuaString, Result};
use weir_rules::is_user;

use super::{Maker, OF_REQUESTS, text::name};

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("get_request_id", OF_REQUESTS, |_, now, ()| Ok(now.seen.names().tell_id().to_string()))?;
    maker.put("get_userid", OF_REQUESTS, |_, now, ()| {
        let user = now.seen.names().tell_user();
        Ok((!user.is_empty()).then_some(user))
    })?;
    maker.put("get_access_token", OF_REQUESTS, |lua, now, ()| {
        let token = now.seen.names().token();
        (!token.is_empty()).then(|| lua.create_string(&*token)).transpose()
    })?;
    maker.put("set_userid", OF_REQUESTS, |_, now, user: LuaString| {
        let user = name(&user)?;
        if !is_user(&user) {
            return Err(Error::runtime("takes a text of 255 bytes at most that can stand in a header field"));
        }
        now.seen.names().set_user(&user);
        Ok(())
    })
}
