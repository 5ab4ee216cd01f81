//! `avi.stringgroup` and `avi.ipgroup`.

use std::net::IpAddr;

use mlua::{Error, Lua, LuaString, Result};
use weir_rules::Criterion;

use super::{BEFORE_FAILURE, Maker, Now};

type Answer = (Option<LuaString>, bool);

pub(super) fn fill_strings(maker: &Maker<'_>) -> Result<()> {
    maker.put("beginswith", BEFORE_FAILURE, |lua, now, args| find(lua, now, args, Criterion::BeginsWith, true))?;
    maker
        .put("beginswith_CASE", BEFORE_FAILURE, |lua, now, args| find(lua, now, args, Criterion::BeginsWith, false))?;
    maker.put("contains", BEFORE_FAILURE, |lua, now, args| find(lua, now, args, Criterion::Contains, true))?;
    maker.put("contains_CASE", BEFORE_FAILURE, |lua, now, args| find(lua, now, args, Criterion::Contains, false))?;
    maker.put("endswith", BEFORE_FAILURE, |lua, now, args| find(lua, now, args, Criterion::EndsWith, true))?;
    maker.put("endswith_CASE", BEFORE_FAILURE, |lua, now, args| find(lua, now, args, Criterion::EndsWith, false))?;
    maker.put("equals", BEFORE_FAILURE, |lua, now, args| find(lua, now, args, Criterion::Equals, true))?;
    maker.put("equals_CASE", BEFORE_FAILURE, |lua, now, args| find(lua, now, args, Criterion::Equals, false))
}

/// The value of the key that matches, if it has one, and whether one does.
fn find(
    lua: &Lua,
    now: &mut Now,
    (group, text): (LuaString, LuaString),
    criterion: Criterion,
    small: bool,
) -> Result<Answer> {
    let groups = now.set().map_or(&[][..], |set| &set.string_groups);
    let found = groups.iter().find(|other| other.name.as_bytes() == &*group.as_bytes());
    let group = found.ok_or_else(|| missing("string group", &group, "string_group_refs"))?;
    group.prepare(criterion, small).map_err(|error| Error::runtime(error.to_string()))?;
    let text = text.as_bytes();
    let key = match small {
        true => group.find(criterion, &text.to_ascii_lowercase(), true),
        false => group.find(criterion, &text, false),
    };
    let value = key.map(|key| group.value(key)).filter(|value| !value.is_empty());
    Ok((value.map(|value| lua.create_string(value)).transpose()?, key.is_some()))
}

pub(super) fn fill_addresses(maker: &Maker<'_>) -> Result<()> {
    maker.put("contains", BEFORE_FAILURE, |_, now, (group, address): (LuaString, LuaString)| {
        let groups = now.set().map_or(&[][..], |set| &set.address_groups);
        let found = groups.iter().find(|other| other.name.as_bytes() == &*group.as_bytes());
        let group = found.ok_or_else(|| missing("IP group", &group, "ipgroup_refs"))?;
        // Scripts give what clients send: a text that is no address is in no group.
        let address = str::from_utf8(&address.as_bytes()).ok().and_then(|text| text.parse::<IpAddr>().ok());
        Ok(address.is_some_and(|address| group.addresses.contains(address)))
    })
}

fn missing(kind: &str, name: &LuaString, field: &str) -> Error {
    let name = String::from_utf8_lossy(&name.as_bytes()).into_owned();
    Error::runtime(format!("the set of the script has no {kind} {name:?} in {field}"))
}
