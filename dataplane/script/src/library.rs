//! The library of Lua, as far as scripts have it: nothing that reaches outside, and nothing that takes much longer than its
//! arguments are without being asked whether it may go on.

use memchr::memmem;
use mlua::{Error, Function, Lua, LuaString, MultiValue, Result, StdLib, Table, Value};

pub(crate) fn libraries() -> StdLib {
    StdLib::STRING | StdLib::TABLE | StdLib::MATH | StdLib::BIT
}

/// Functions that reach outside, or into other scripts.
const UNSERVED: [&str; 11] = [
    "collectgarbage",
    "dofile",
    "gcinfo",
    "getfenv",
    "load",
    "loadfile",
    "loadstring",
    "module",
    "newproxy",
    "print",
    "setfenv",
];
const UNSERVED_TABLES: [&str; 8] = ["buffer", "coroutine", "debug", "io", "os", "package", "utf8", "vector"];
/// They call a function of Lua's own for each element, without a step.
const SLOW: [(&str, &str); 5] =
    [("table", "foreach"), ("table", "foreachi"), ("string", "pack"), ("string", "packsize"), ("string", "unpack")];

/// What one call may split a text into, and how many elements one call may move.
const PIECES_MAX: usize = 1 << 12;
const MOVES_MAX: i64 = 1 << 14;
/// Beyond, Lua's own numbers for places wrap around.
const PLACE_MAX: f64 = (1 << 30) as f64;

/// The most that one step of a pattern with a set may compare: text times pattern.
const COMPARISONS_MAX: usize = 1 << 20;

/// Characters that mean something in a pattern.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// Fits the library before the state is sandboxed.
pub(crate) fn fit(lua: &Lua) -> Result<()> {
    let globals = lua.globals();
    for name in UNSERVED {
        globals.raw_set(name, unserved(lua, name.to_owned())?)?;
    }
    for name in UNSERVED_TABLES {
        globals.raw_set(name, guarded(lua, name, "is not served")?)?;
    }
    let (string, table): (Table, Table) = (globals.raw_get("string")?, globals.raw_get("table")?);
    for (library, name) in SLOW {
        let into = if library == "string" { &string } else { &table };
        into.raw_set(name, unserved(lua, format!("{library}.{name}"))?)?;
    }
    let pattern_find: Function = string.raw_get("find")?;
    string.raw_set("find", lua.create_function(move |_, args: Find| find(&pattern_find, args))?)?;
    for name in ["match", "gmatch", "gsub"] {
        let plain: Function = string.raw_get(name)?;
        let guarded = move |_: &Lua, (text, pattern, rest): (LuaString, LuaString, MultiValue)| {
            check_pattern(&text, &pattern)?;
            let args = [Value::String(text), Value::String(pattern)].into_iter().chain(rest);
            plain.call::<MultiValue>(MultiValue::from_iter(args))
        };
        string.raw_set(name, lua.create_function(guarded)?)?;
    }
    string.raw_set("split", lua.create_function(split)?)?;
    string.raw_set("beginswith", lua.create_function(begins_with)?)?;
    string.raw_set("contains", lua.create_function(contains)?)?;
    string.raw_set("endswith", lua.create_function(ends_with)?)?;
    string.raw_set("tohex", lua.create_function(to_hex)?)?;
    let sort: Function = lua.load(include_str!("sort.luau")).set_name("=table.sort").eval()?;
    table.raw_set("sort", sort)?;
    let plain_move: Function = table.raw_get("move")?;
    table.raw_set("move", lua.create_function(move |lua, args: MultiValue| move_elements(lua, &plain_move, args))?)
}

/// A table that raises an error when something is asked of it that it has not.
pub(crate) fn guarded(lua: &Lua, path: &str, why: &'static str) -> Result<Table> {
    let (table, meta) = (lua.create_table()?, lua.create_table()?);
    let path = path.to_owned();
    let raise = lua.create_function(move |_, (_, key): (Value, Value)| -> Result<Value> {
        let key = key.to_string().unwrap_or_default();
        Err(Error::runtime(format!("{path}.{key} {why}")))
    })?;
    meta.raw_set("__index", raise)?;
    meta.raw_set("__metatable", false)?;
    meta.set_readonly(true);
    table.set_metatable(Some(meta))?;
    Ok(table)
}

/// A function that only says that it is not served.
pub(crate) fn unserved(lua: &Lua, path: String) -> Result<Function> {
    lua.create_function(move |_, _: MultiValue| -> Result<()> { Err(Error::runtime(format!("{path} is not served"))) })
}

fn to_hex(lua: &Lua, text: LuaString) -> Result<LuaString> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    lua.create_string(text.as_bytes().iter().flat_map(digits).collect::<Vec<u8>>())
}

type Find = (LuaString, LuaString, Option<i64>, Option<Value>);

/// One step of a pattern can compare each character of the text with each one of a set.
fn check_pattern(text: &LuaString, pattern: &LuaString) -> Result<()> {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    if pattern.contains(&b'[') && text.len().saturating_mul(pattern.len()) > COMPARISONS_MAX {
        return Err(Error::runtime("a pattern with a set is too long for a text of this length"));
    }
    Ok(())
}

/// The function of Lua's library looks for plain text in a way that can take the product of both lengths.
fn find(by_pattern: &Function, (text, wanted, init, plain): Find) -> Result<MultiValue> {
    let is_plain = plain.is_some_and(|plain| !matches!(plain, Value::Nil | Value::Boolean(false)));
    if !is_plain && wanted.as_bytes().iter().any(|byte| SPECIAL.contains(byte)) {
        check_pattern(&text, &wanted)?;
        return by_pattern.call((text, wanted, init));
    }
    let (bytes, wanted) = (text.as_bytes(), wanted.as_bytes());
    let len = bytes.len() as i64;
    let start = match init.unwrap_or(1) {
        init if init < 0 => (len + init).max(0),
        init => (init - 1).max(0),
    };
    let found = bytes.get(start as usize..).and_then(|rest| memmem::find(rest, &wanted));
    Ok(match found {
        None => MultiValue::from_iter([Value::Nil]),
        Some(at) => {
            let first = start + at as i64 + 1;
            MultiValue::from_iter([first, first + wanted.len() as i64 - 1].map(|at| Value::Number(at as f64)))
        }
    })
}

fn split(lua: &Lua, (text, separator): (LuaString, Option<LuaString>)) -> Result<Table> {
    let bytes = text.as_bytes();
    let pieces = lua.create_table()?;
    let put = |piece: &[u8]| {
        if pieces.raw_len() >= PIECES_MAX {
            return Err(Error::runtime(format!("string.split makes at most {PIECES_MAX} pieces")));
        }
        pieces.raw_push(lua.create_string(piece)?)
    };
    let separator = separator.as_ref().map(LuaString::as_bytes);
    let separator = separator.as_deref().unwrap_or(b",");
    if separator.is_empty() {
        bytes.iter().try_for_each(|byte| put(&[*byte]))?;
        return Ok(pieces);
    }
    let mut start = 0;
    for at in memmem::find_iter(&bytes, separator) {
        put(&bytes[start..at])?;
        start = at + separator.len();
    }
    put(&bytes[start..])?;
    Ok(pieces)
}

fn begins_with(_: &Lua, (text, wanted): (LuaString, LuaString)) -> Result<bool> {
    Ok(text.as_bytes().starts_with(&wanted.as_bytes()))
}

fn contains(_: &Lua, (text, wanted): (LuaString, LuaString)) -> Result<bool> {
    Ok(memmem::find(&text.as_bytes(), &wanted.as_bytes()).is_some())
}

fn ends_with(_: &Lua, (text, wanted): (LuaString, LuaString)) -> Result<bool> {
    Ok(text.as_bytes().ends_with(&wanted.as_bytes()))
}

/// The function of Lua's library goes through as many places as it is told, whether or not something is there.
fn move_elements(lua: &Lua, plain_move: &Function, args: MultiValue) -> Result<MultiValue> {
    let mut args: Vec<Value> = args.into_iter().collect();
    for place in args.iter_mut().skip(1).take(3) {
        // Lua takes texts for numbers, too. What is counted here is what the function gets.
        let number =
            lua.coerce_number(place.clone())?.filter(|number| number.fract() == 0.0 && number.abs() < PLACE_MAX);
        let number = number.ok_or_else(|| Error::runtime("table.move takes whole numbers as places"))?;
        *place = Value::Integer(number as i64);
    }
    if let [_, Value::Integer(first), Value::Integer(last), ..] = args[..]
        && last - first >= MOVES_MAX
    {
        return Err(Error::runtime(format!("table.move moves at most {MOVES_MAX} elements")));
    }
    plain_move.call(MultiValue::from_iter(args))
}
