//! Functions of Avi that engines do not serve. Each raises an error with its name.

use mlua::Result;

use super::Maker;
use crate::library::{guarded, unserved};

const NAMES: [(&str, &str); 10] = [
    ("avi.vs", "set_session_id host"),
    ("avi.http", "disable saml_session_cookie"),
    ("avi.pool", ""),
    ("avi.poolgroup", ""),
    ("avi.stringgroup", ""),
    ("avi.ipgroup", ""),
    (
        "avi.ssl",
        "set_ssl_profile set_ssl_certificate set_pki_profile renegotiate \
         client_cert_verify_mode client_cert_verify_error_string clear_client_cert_verify_error log_client_cert_verify_error",
    ),
    ("avi.utils", "get_geo_from_ip get_ip_reputation"),
    ("avi.crypto", ""),
    ("avi.l4", "pause resume send"),
];

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    let names = NAMES.iter().filter(|(path, _)| *path == maker.path).flat_map(|(_, names)| names.split_whitespace());
    for name in names {
        maker.table.raw_set(name, unserved(maker.lua, format!("{}.{name}", maker.path))?)?;
    }
    if maker.path == "avi.vs" {
        let table = guarded(maker.lua, "avi.vs.analytics", "is not served")?;
        table.set_readonly(true);
        maker.table.raw_set("analytics", table)?;
    }
    Ok(())
}
