//! `avi.vs.table_…`: what scripts keep from one request to the next.

use mlua::{Error, IntoLuaMulti, LuaString, MultiValue, Result, Value};

use super::{
    BEFORE_FAILURE, Maker, Now, WITH_POOLS,
    choose::{check_place, place_of_pool},
    text::{number, read_number, written},
};
use crate::{
    acts::Chosen,
    persist::{Persist, SERVER_BYTES_MAX},
    store::{ENTRY_BYTES_MAX, Key, Store},
};

/// How long a value is kept, in seconds, if a script does not say so; and at most.
const LIFE_S: u32 = 300;
const LIFE_S_MAX: f64 = 2_592_000.0;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("table_insert", BEFORE_FAILURE, |_, now, args: MultiValue| {
        let args: Vec<Value> = args.into_iter().collect();
        // Of three, a number at the end is a time.
        let (table, key, value, life) = match &args[..] {
            [key, value] => (None, key, value, None),
            [key, value, life] if number(life).is_some() || life.is_nil() => (None, key, value, Some(life)),
            [table, key, value] => (Some(table), key, value, None),
            [table, key, value, life] => (Some(table), key, value, Some(life)),
            _ => return Err(Error::runtime("takes a key and a value, a table before, and seconds behind")),
        };
        let (value, life_s) = (written(value)?, seconds(life, LIFE_S)?);
        if life_s == 0 {
            return Err(Error::runtime("a value is kept for at least one second"));
        }
        let Some(key) = key_of(table, key, value.len())? else { return Ok(false) };
        Ok(now.seen.is_asked_only || store(now)?.insert(&key, &value, life_s, now.seen.now_ns))
    })?;
    maker.put("persist", WITH_POOLS, |_, now, (key, life, pool): (Value, Option<Value>, Option<LuaString>)| {
        check_place(now)?;
        if let Some(pool) = pool {
            let pool = place_of_pool(now, &pool)?;
            now.acts.chosen = Some(Chosen::Pool { set: now.set_at, pool, server: None });
        }
        let life_s = seconds(life.as_ref(), LIFE_S)?;
        if life_s == 0 {
            return Err(Error::runtime("a server is kept for at least one second"));
        }
        if let Some(key) = key_of(None, &key, SERVER_BYTES_MAX)? {
            now.acts.persist = Some(Persist::of(key, life_s, store(now)?, now.seen.now_ns));
        }
        Ok(())
    })?;
    maker.put("table_lookup", BEFORE_FAILURE, |lua, now, args: MultiValue| {
        let (key, extends_s) = key_and_time(args)?;
        let extends_s = if now.seen.is_asked_only { 0 } else { extends_s };
        let store = store(now)?;
        match key.and_then(|key| store.look_up(&key, extends_s, now.seen.now_ns)) {
            None => Value::Nil.into_lua_multi(lua),
            Some(found) => (lua.create_string(found.value)?, found.left_s as f64).into_lua_multi(lua),
        }
    })?;
    maker.put("table_refresh", BEFORE_FAILURE, |_, now, args: MultiValue| {
        let (key, extends_s) = key_and_time(args)?;
        let extends_s = if now.seen.is_asked_only { 0 } else { extends_s };
        let store = store(now)?;
        Ok(key.is_some_and(|key| store.refresh(&key, extends_s, now.seen.now_ns)))
    })?;
    maker.put("table_remove", BEFORE_FAILURE, |_, now, (first, second): (Value, Option<Value>)| {
        let key = match second.filter(|second| !second.is_nil()) {
            None => key_of(None, &first, 0)?,
            Some(key) => key_of(Some(&first), &key, 0)?,
        };
        let store = store(now)?;
        if let Some(key) = key.filter(|_| !now.seen.is_asked_only) {
            store.remove(&key);
        }
        Ok(())
    })
}

fn store(now: &Now) -> Result<&Store> {
    now.served.as_ref().map(|served| &*served.store).ok_or_else(|| Error::runtime("there are no tables"))
}

/// A key, a table before it, and for how many seconds more its value is kept.
fn key_and_time(args: MultiValue) -> Result<(Option<Key>, u32)> {
    let args: Vec<Value> = args.into_iter().collect();
    let (table, key, time) = match &args[..] {
        [key] => (None, key, None),
        [key, time] if number(time).is_some() || time.is_nil() => (None, key, Some(time)),
        [table, key] => (Some(table), key, None),
        [table, key, time] => (Some(table), key, Some(time)),
        _ => return Err(Error::runtime("takes a key, a table before it, and seconds behind")),
    };
    Ok((key_of(table, key, 0)?, seconds(time, LIFE_S)?))
}

/// `None`: it is too long to be there. Keys are mostly what clients send, so that is no error of the script.
fn key_of(table: Option<&Value>, key: &Value, value_bytes: usize) -> Result<Option<Key>> {
    let (table, key) = (table.map(written).transpose()?, written(key)?);
    let bytes = table.as_ref().map_or(0, Vec::len) + key.len() + value_bytes;
    Ok((bytes <= ENTRY_BYTES_MAX).then(|| Key::of(table.as_deref(), &key)))
}

fn seconds(given: Option<&Value>, otherwise: u32) -> Result<u32> {
    let Some(given) = given.filter(|given| !given.is_nil()) else { return Ok(otherwise) };
    match read_number(given) {
        Some(seconds) if (0.0..=LIFE_S_MAX).contains(&seconds) => Ok(seconds as u32),
        _ => Err(Error::runtime(format!("takes seconds from 0 to {LIFE_S_MAX}"))),
    }
}
