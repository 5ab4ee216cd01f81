//! `avi.utils`: addresses and networks, as texts. What clients send may be no address, and has no network then. A mask that
//! is none is an error of the script.

use std::net::{IpAddr, Ipv6Addr};

use mlua::{Error, LuaString, Result, Value};

use super::{BEFORE_FAILURE, Maker, text::written};
use crate::library::guarded;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("ip_in_subnet", BEFORE_FAILURE, |_, _, args: (LuaString, LuaString, Option<Value>)| {
        let (address, subnet, mask) = args;
        let subnet = subnet.as_bytes();
        let (network, mask) = match (memchr::memchr(b'/', &subnet), mask) {
            (None, Some(mask)) => (&subnet[..], written(&mask)?),
            (Some(at), None) => (&subnet[..at], subnet[at + 1..].to_vec()),
            _ => return Err(Error::runtime("takes an address, and a network with its mask: 10.0.0.0/8")),
        };
        let shown = String::from_utf8_lossy(&subnet);
        let network = address_of(network).ok_or_else(|| Error::runtime(format!("{shown:?} is no network")))?;
        let Some(address) = address_of(&address.as_bytes()) else { return Ok(false) };
        let bits = prefix(&mask, network)?;
        Ok(address.is_ipv4() == network.is_ipv4() && masked(address, bits) == masked(network, bits))
    })?;
    let ip = Maker { table: guarded(maker.lua, "avi.utils.ip", "does not exist")?, path: "avi.utils.ip", ..*maker };
    ip.put("netaddr", BEFORE_FAILURE, |_, _, (address, mask): (LuaString, Value)| {
        let Some(address) = address_of(&address.as_bytes()) else { return Ok(None) };
        Ok(Some(masked(address, prefix(&written(&mask)?, address)?).to_string()))
    })?;
    ip.table.set_readonly(true);
    maker.table.raw_set("ip", ip.table)
}

/// One of IPv4 that is written as one of IPv6 is the one of IPv4.
fn address_of(text: &[u8]) -> Option<IpAddr> {
    str::from_utf8(text).ok()?.parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// How many bits of addresses like this one a mask has: `24`, or `255.255.255.0`.
fn prefix(mask: &[u8], like: IpAddr) -> Result<u32> {
    let text = String::from_utf8_lossy(mask);
    let width = width(like);
    let bits = match text.parse::<IpAddr>() {
        Ok(mask) if mask.is_ipv4() == like.is_ipv4() => {
            let written = bits_of(mask);
            let bits = (written << (128 - width)).leading_ones();
            // Ones behind a zero are no mask.
            (bits + written.trailing_zeros().min(width) == width).then_some(bits)
        }
        Ok(_) => None,
        Err(_) => text.parse().ok().filter(|bits| *bits <= width),
    };
    bits.ok_or_else(|| Error::runtime(format!("{text:?} is no mask for {like}")))
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The first address of its network.
fn masked(address: IpAddr, bits: u32) -> IpAddr {
    let kept = bits_of(address) & u128::MAX.checked_shl(width(address) - bits).unwrap_or(0);
    match address {
        IpAddr::V4(_) => IpAddr::V4((kept as u32).into()),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(kept)),
    }
}
