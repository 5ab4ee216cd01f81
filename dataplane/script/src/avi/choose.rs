//! `avi.pool` and `avi.poolgroup`: where a request goes, and what the servers there do.

use std::net::SocketAddr;

use mlua::{Error, LuaString, Result, Value};

use super::{
    BEFORE_FAILURE, Maker, Now, WITH_POOLS, WITH_SERVER,
    hashes::checked,
    text::{name, written},
};
use crate::{acts::Chosen, servers::Census};

pub(super) fn fill_pool(maker: &Maker<'_>) -> Result<()> {
    maker.put("select", WITH_POOLS, |_, now, args: (LuaString, Option<LuaString>, Option<Value>)| {
        check_place(now)?;
        let (wanted, server, port) = args;
        let pool = place_of_pool(now, &wanted)?;
        let server = server.map(|server| server_name(&server, port)).transpose()?;
        now.acts.chosen = Some(Chosen::Pool { set: now.set_at, pool, server });
        Ok(())
    })?;
    maker.put("chash", WITH_POOLS, |_, now, text: LuaString| {
        check_place(now)?;
        now.acts.hashed = Some(checked(&text)?.as_bytes().to_vec());
        Ok(())
    })?;
    maker.put("get_servers", BEFORE_FAILURE, |_, now, wanted: LuaString| {
        let pool = place_of_pool(now, &wanted)?;
        let census = now.servers.as_ref().map_or(Census::default(), |servers| servers.census(now.set_at, pool));
        Ok((census.up, census.all))
    })?;
    maker.put(
        "get_server_status",
        BEFORE_FAILURE,
        |_, now, (wanted, server, port): (LuaString, LuaString, Value)| {
            let (pool, server) = (place_of_pool(now, &wanted)?, server_name(&server, Some(port))?);
            Ok(u8::from(now.servers.as_ref().is_some_and(|servers| servers.is_up(now.set_at, pool, &server))))
        },
    )?;
    for name in ["server_ip", "get_server_ip"] {
        maker.put(name, WITH_SERVER, |_, now, ()| Ok(now.seen.server.map(|server| ip(&server))))?;
    }
    maker.put("name", WITH_SERVER, |_, now, ()| Ok((!now.seen.pool.is_empty()).then(|| now.seen.pool.clone())))?;
    maker.put("get_server_info", WITH_SERVER, |_, now, ()| {
        Ok((now.seen.server.map(|server| ip(&server)), now.seen.server.map(|server| server.port())))
    })
}

/// Each request of a connection may go to another pool.
pub(super) fn check_place(now: &Now) -> Result<()> {
    if now.event.is_of_connection() && !now.seen.is_tunnel {
        let name = now.event.name();
        return Err(Error::runtime(format!(
            "requests of the connection are still to come in {name}: choose in HTTP_REQ"
        )));
    }
    Ok(())
}

fn ip(server: &SocketAddr) -> String {
    server.ip().to_canonical().to_string()
}

/// A server as [`Chosen`] names it.
fn server_name(server: &LuaString, port: Option<Value>) -> Result<String> {
    let server = name(server)?;
    let Some(port) = port.filter(|port| !port.is_nil()) else { return Ok(server) };
    let port = String::from_utf8_lossy(&written(&port)?).into_owned();
    let is_v6 = server.contains(':') && !server.starts_with('[');
    Ok(if is_v6 { format!("[{server}]:{port}") } else { format!("{server}:{port}") })
}

pub(super) fn place_of_pool(now: &Now, wanted: &LuaString) -> Result<usize> {
    place(now, wanted, |set| &set.pools, "pool_refs", "pool")
}

pub(super) fn fill_group(maker: &Maker<'_>) -> Result<()> {
    maker.put("select", WITH_POOLS, |_, now, (wanted, label): (LuaString, Option<Value>)| {
        check_place(now)?;
        let group = place(now, &wanted, |set| &set.pool_groups, "pool_group_refs", "pool group")?;
        let label = label.filter(|label| !label.is_nil()).map(|label| written(&label)).transpose()?;
        let labeled = label.map(|label| place_of_label(now, group, &label)).transpose()?;
        now.acts.chosen = Some(Chosen::Group { set: now.set_at, group, labeled });
        Ok(())
    })
}

/// The pools with the longest label with which a text begins. Those without a label are the last.
fn place_of_label(now: &Now, group: usize, text: &[u8]) -> Result<usize> {
    let labels = now.set().and_then(|set| set.labels.get(group)).into_iter().flatten();
    let fitting = labels.filter(|label| text.starts_with(label.text.as_bytes()));
    let longest = fitting.max_by_key(|label| label.text.len());
    longest.map(|label| label.at).ok_or_else(|| {
        Error::runtime("the group has no labels: give it implicit_priority_labels, and its members a priority_label")
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
    let names = now.set().map(names);
    let found = names.and_then(|names| names.iter().position(|name| name.as_bytes() == &*wanted));
    found.ok_or_else(|| {
        let wanted = String::from_utf8_lossy(&wanted);
        Error::runtime(format!("the set of the script has no {kind} {wanted:?} in {field}"))
    })
}
