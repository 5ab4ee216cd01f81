//! What an exchange remembers from one event to the next.

use mlua::{Error, IntoLua, Lua, Result, Value};

use super::{Now, text::number};
use crate::seen::Variable;

const VARIABLES_MAX: usize = 64;
const VARIABLE_BYTES_MAX: usize = 4 << 10;

pub(super) fn variable(lua: &Lua, now: &Now, key: &[u8]) -> Result<Value> {
    match now.seen.variables.iter().find(|variable| variable.0 == key) {
        None => Ok(Value::Nil),
        Some((_, Variable::Text(text))) => lua.create_string(text)?.into_lua(lua),
        Some((_, Variable::Number(number))) => Ok(Value::Number(*number)),
        Some((_, Variable::Flag(flag))) => Ok(Value::Boolean(*flag)),
    }
}

pub(super) fn set_variable(now: &mut Now, key: &[u8], value: &Value) -> Result<()> {
    if now.event.is_of_connection() {
        return Err(Error::runtime(format!("nothing is kept from one event to the next in {}", now.event.name())));
    }
    let value = match value {
        Value::Nil => None,
        Value::Boolean(flag) => Some(Variable::Flag(*flag)),
        Value::String(text) => Some(Variable::Text(text.as_bytes().to_vec())),
        other => match number(other) {
            Some(number) => Some(Variable::Number(number)),
            None => {
                let kind = other.type_name();
                return Err(Error::runtime(format!("keeps texts, numbers and truth values, not a {kind}")));
            }
        },
    };
    let all = &mut now.seen.variables;
    all.retain(|variable| variable.0 != key);
    let bytes_of = |key: &[u8], value: &Variable| {
        key.len() + if let Variable::Text(text) = value { text.len() } else { size_of::<f64>() }
    };
    if let Some(value) = value {
        let bytes: usize = all.iter().map(|(key, value)| bytes_of(key, value)).sum();
        if all.len() >= VARIABLES_MAX || bytes + bytes_of(key, &value) > VARIABLE_BYTES_MAX {
            let message =
                format!("an exchange keeps at most {VARIABLES_MAX} values of {VARIABLE_BYTES_MAX} bytes in all");
            return Err(Error::runtime(message));
        }
        all.push((key.to_vec(), value));
    }
    Ok(())
}
