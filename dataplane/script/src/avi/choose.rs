//! `avi.pool` and `avi.poolgroup`: where a request goes.

use mlua::{Error, LuaString, Result, Value};

use super::{
    IN_REQUEST, Maker, Now,
    text::{name, written},
};
use crate::acts::Chosen;

pub(super) fn fill_pool(maker: &Maker<'_>) -> Result<()> {
    maker.put("select", IN_REQUEST, |_, now, args: (LuaString, Option<LuaString>, Option<Value>)| {
        let (wanted, server, port) = args;
        let pool = place(now, &wanted, |set| &set.pools, "pool_refs", "pool")?;
        let server = match (server, port) {
            (None, _) => None,
            (Some(server), None | Some(Value::Nil)) => Some(name(&server)?),
            (Some(server), Some(port)) => {
                let (server, port) = (name(&server)?, String::from_utf8_lossy(&written(&port)?).into_owned());
                let is_v6 = server.contains(':') && !server.starts_with('[');
                Some(if is_v6 { format!("[{server}]:{port}") } else { format!("{server}:{port}") })
            }
        };
        now.acts.chosen = Some(Chosen::Pool { set: now.set_at, pool, server });
        Ok(())
    })
}

pub(super) fn fill_group(maker: &Maker<'_>) -> Result<()> {
    maker.put("select", IN_REQUEST, |_, now, (wanted, label): (LuaString, Option<Value>)| {
        if label.is_some_and(|label| !label.is_nil()) {
            return Err(Error::runtime("a label is not served"));
        }
        let group = place(now, &wanted, |set| &set.pool_groups, "pool_group_refs", "pool group")?;
        now.acts.chosen = Some(Chosen::Group { set: now.set_at, group });
        Ok(())
    })
}

/// Where a name stands among those of the script's set.
fn place(
    now: &Now,
    wanted: &LuaString,
    names: fn(&crate::ScriptSet) -> &Vec<String>,
    field: &str,
    kind: &str,
) -> Result<usize> {
    let wanted = wanted.as_bytes();
    let names = now.set.as_deref().map(names);
    let found = names.and_then(|names| names.iter().position(|name| name.as_bytes() == &*wanted));
    found.ok_or_else(|| {
        let wanted = String::from_utf8_lossy(&wanted);
        Error::runtime(format!("the set of the script has no {kind} {wanted:?} in {field}"))
    })
}
