//! The address of the client that a header field names, where proxies in front of Weir write it.

use std::net::{IpAddr, SocketAddr};

use weir_wire::head::Fields;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrueClient {
    /// Of a header field; its values are addresses with commas between.
    pub name: String,
    /// 0: the first address.
    pub index: usize,
    /// The last one is the first.
    pub from_right: bool,
}

impl TrueClient {
    /// `None`: the field is not there, is shorter, or has something else in the place of the address.
    pub fn of(&self, fields: &Fields<'_>) -> Option<IpAddr> {
        let named = fields.iter().filter(|field| field.name_text.eq_ignore_ascii_case(self.name.as_bytes()));
        // Several fields of one name are one list (RFC 9110 §5.3).
        let listed = named.flat_map(|field| field.value.split(|&byte| byte == b','));
        // Empty elements do not count (RFC 9110 §5.6.1.2).
        let mut listed = listed.map(<[u8]>::trim_ascii).filter(|element| !element.is_empty());
        let at = match self.from_right {
            true => listed.clone().count().checked_sub(self.index + 1)?,
            false => self.index,
        };
        address(listed.nth(at)?)
    }
}

/// An address, of which a port may be behind: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()))?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use weir_wire::{
        head::{FieldTable, Limits},
        http1::{self, Parsed},
    };

    use super::*;

    fn of(lines: &str, index: usize, from_right: bool) -> Option<String> {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
        let mut table = FieldTable::new();
        let Ok(Parsed::Whole(request)) = http1::request(text.as_bytes(), &Limits::new(4096, 4096, 64), &mut table)
        else {
            panic!("no request");
        };
        let client = TrueClient { name: "X-Forwarded-For".into(), index, from_right };
        Some(client.of(&request.head.fields)?.to_string())
    }

    #[test]
    fn address_is_the_one_at_its_place_from_the_left_or_from_the_right() {
        let lines = "x-forwarded-for: 192.0.2.1 ,2001:db8::1\r\nX-Other: 192.0.2.9\r\nX-FORWARDED-FOR: [::ffff:192.0.2.3]:80\r\n";
        let found = |from_right| (0..4).map(move |index| of(lines, index, from_right));
        let expected = ["192.0.2.1", "2001:db8::1", "192.0.2.3"].map(|address| Some(address.to_owned()));
        assert!(found(false).eq(expected.iter().cloned().chain([None])));
        assert!(found(true).eq(expected.iter().cloned().rev().chain([None])));
        let lines = "X-Forwarded-For:\r\nX-Forwarded-For: , 192.0.2.1,,\r\n";
        assert!([false, true].iter().all(|from_right| of(lines, 0, *from_right) == expected[0]));
    }

    #[test]
    fn what_is_no_address_names_nobody() {
        for value in
            ["", "unknown", "192.0.2.1 192.0.2.2", "192.0.2", "[192.0.2.1", "2001:db8::1]", "\u{fc}", "192.0.2.1:x"]
        {
            assert_eq!(of(&format!("X-Forwarded-For: {value}\r\n"), 0, false), None, "{value}");
        }
        assert_eq!(of("", 0, false), None);
        for (value, address) in
            [("192.0.2.1:80", "192.0.2.1"), ("[2001:db8::1]", "2001:db8::1"), (" 192.0.2.1\t", "192.0.2.1")]
        {
            assert_eq!(of(&format!("X-Forwarded-For: {value}\r\n"), 0, true).as_deref(), Some(address));
        }
    }
}
