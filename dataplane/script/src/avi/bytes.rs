//! `avi.l4`: the first bytes of a client whose bytes are not parsed, and of its server; and the module that finds the
//! server name of TLS in them.

use std::ops::Range;

use mlua::{Error, Function, Lua, LuaString, Result, Table};
use weir_wire::tls::ClientHelloReader;

use super::{Maker, Now, WITH_BYTES, text::string};
use crate::{event::Event, library::guarded};

/// The most bytes of a client, or of its server, that a script may wait for, and that it sees.
pub const FIRST_BYTES_MAX: usize = 65_000;
/// The module is there by this name.
const TLS: &str = "Default-TLS";
/// Of a record of TLS (RFC 8446 §5.1): its type, its version, its length.
const RECORD_HEADER: usize = 5;
/// Of the content of a record that is not encrypted.
const RECORD_BYTES_MAX: usize = 1 << 14;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put_last("collect", WITH_BYTES, |_, now, bytes: f64| collect(now, bytes))?;
    maker.put("read", WITH_BYTES, |lua, now, (bytes, offset, side): (Option<f64>, Option<f64>, Side)| {
        let range = range(now, (bytes, offset, side))?;
        string(lua, now.seen.body.get(range).unwrap_or_default())
    })?;
    maker.put("discard", WITH_BYTES, |_, now, (bytes, offset, side): (Option<f64>, Option<f64>, Side)| {
        let range = range(now, (bytes, offset, side))?;
        if !range.is_empty() {
            now.seen.body.drain(range);
            now.acts.bytes_changed = true;
        }
        Ok(())
    })?;
    maker.put("modify", WITH_BYTES, modify)?;
    maker.put_last("ds_done", WITH_BYTES, |_, now, ()| {
        now.acts.done = true;
        Ok(())
    })
}

type Side = Option<LuaString>;

/// The bytes that a script means: so many from an offset on; 0, or nothing said: all that are there.
fn range(now: &Now, (bytes, offset, side): (Option<f64>, Option<f64>, Side)) -> Result<Range<usize>> {
    check_side(now, side)?;
    let from = place(offset.unwrap_or(0.0))?;
    let there = now.seen.body.len().saturating_sub(from);
    let bytes = match place(bytes.unwrap_or(0.0))? {
        0 => there,
        bytes => bytes,
    };
    match bytes > there {
        true => Err(Error::runtime(format!("only {there} bytes are there: wait for them with avi.l4.collect"))),
        false if there == 0 => Ok(0..0),
        false => Ok(from..from + bytes),
    }
}

/// Scripts see what one end has sent.
fn check_side(now: &Now, side: Side) -> Result<()> {
    let (seen, unseen) = match now.event {
        Event::FirstAnswer => ("server", "the server has sent; what the client has sent is gone"),
        _ => ("client", "the client has sent; no server has sent anything yet"),
    };
    match side.is_some_and(|side| *side.as_bytes() != *seen.as_bytes()) {
        true => Err(Error::runtime(format!("is about what {unseen}"))),
        false => Ok(()),
    }
}

/// Writes bytes, as hexadecimal digits, over those that stand from an offset on.
fn modify(_: &Lua, now: &mut Now, (digits, offset, side): (LuaString, Option<f64>, Side)) -> Result<()> {
    check_side(now, side)?;
    let from = place(offset.unwrap_or(0.0))?;
    let there = now.seen.body.len();
    if from > there {
        return Err(Error::runtime(format!("only {there} bytes are there: wait for them with avi.l4.collect")));
    }
    let bytes = of_hex(&digits.as_bytes())
        .ok_or_else(|| Error::runtime("takes bytes as hexadecimal digits: give string.tohex(text)"))?;
    let end = from + bytes.len();
    if end > FIRST_BYTES_MAX {
        return Err(Error::runtime(format!("makes more than {FIRST_BYTES_MAX} bytes")));
    }
    now.seen.body.splice(from..end.min(there), bytes);
    now.acts.bytes_changed = true;
    Ok(())
}

fn of_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: u8| (digit as char).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some((value(*high)? << 4 | value(*low)?) as u8);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

/// How many bytes are there, if there are as many as wanted, or no more come. Else the event ends, and begins anew when
/// they are there.
fn collect(now: &mut Now, bytes: f64) -> Result<usize> {
    let wanted = place(bytes)?;
    let there = now.seen.body.len();
    if there < wanted && !now.seen.is_whole {
        now.acts.awaits = wanted;
        now.acts.done = true;
    }
    Ok(there)
}

fn place(number: f64) -> Result<usize> {
    match (0.0..=FIRST_BYTES_MAX as f64).contains(&number) {
        true => Ok(number as usize),
        false => Err(Error::runtime(format!("takes a number of bytes from 0 to {FIRST_BYTES_MAX}"))),
    }
}

/// `require`, which knows one module.
pub(super) fn require(lua: &Lua) -> Result<Function> {
    let module = tls(lua)?;
    lua.create_function(move |_, name: LuaString| match &*name.as_bytes() == TLS.as_bytes() {
        true => Ok(module.clone()),
        false => {
            let name = String::from_utf8_lossy(&name.as_bytes()).into_owned();
            Err(Error::runtime(format!("there is no module {name:?}: engines have {TLS:?}")))
        }
    })
}

/// Finds out about the TLS of a client from its first bytes.
fn tls(lua: &Lua) -> Result<Table> {
    let module = guarded(lua, TLS, "does not exist")?;
    module.raw_set(
        "get_req_buffer_size",
        lua.create_function(|_, bytes: LuaString| Ok(record_bytes(&bytes.as_bytes())))?,
    )?;
    module.raw_set("sanity_check", lua.create_function(|_, bytes: LuaString| Ok(begins_hello(&bytes.as_bytes())))?)?;
    // The bytes themselves: `get_sni` reads them.
    module.raw_set("parse_record", lua.create_function(|_, bytes: LuaString| Ok(bytes))?)?;
    let name = lua.create_function(|lua, bytes: LuaString| {
        let mut reader = ClientHelloReader::default();
        let whole = reader.take(&bytes.as_bytes()).is_ok_and(|whole| whole);
        let hello = whole.then(|| reader.client_hello().ok()).flatten();
        hello.and_then(|hello| hello.server_name()).map(|name| lua.create_string(name)).transpose()
    })?;
    module.raw_set("get_sni", name)?;
    module.set_readonly(true);
    Ok(module)
}

/// How many bytes the record needs that these begin.
fn record_bytes(bytes: &[u8]) -> usize {
    match bytes {
        [_, _, _, high, low, ..] => RECORD_HEADER + usize::from(u16::from_be_bytes([*high, *low])),
        _ => RECORD_HEADER,
    }
}

/// Whether a record begins with a ClientHello, and is no longer than one may be (RFC 8446 §5.1). Scripts wait for all of it.
fn begins_hello(bytes: &[u8]) -> bool {
    let is_hello = matches!(bytes, [HANDSHAKE, 3, _, _, _, CLIENT_HELLO, ..]);
    is_hello && record_bytes(bytes) <= RECORD_HEADER + RECORD_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_that_is_longer_than_one_may_be_begins_no_hello() {
        for (length, wanted) in
            [([0x00, 0x20], true), ([0x40, 0x00], true), ([0x40, 0x01], false), ([0xff, 0xff], false)]
        {
            let bytes = [HANDSHAKE, 3, 1, length[0], length[1], CLIENT_HELLO, 0, 0, 0];
            assert_eq!(begins_hello(&bytes), wanted, "{length:?}");
        }
        for other in
            [&[HANDSHAKE, 3, 1, 0, 32][..], &[HANDSHAKE, 2, 1, 0, 32, CLIENT_HELLO], &[23, 3, 1, 0, 32, 1], &[]]
        {
            assert!(!begins_hello(other), "{other:?}");
        }
    }
}
