//! The head of a request as HPACK (RFC 7541), made once for all requests. As clients do, a connection stores the fields
//! with its first request, and names them by their index from then on.

/// The size of the server's table until its SETTINGS say otherwise; the fields have to fit in.
pub const TABLE_BYTES: u32 = 4096;
/// Sets the table to that size. The connection has made it empty just before.
const FULL_TABLE: [u8; 3] = [0x3f, 0xe1, 0x1f];
/// What an entry counts beside its name and value (§4.1).
const ENTRY_OVERHEAD: usize = 32;
/// The entries of the static table (appendix A); those of the other table follow.
const STATIC: usize = 61;

const INDEXED: u8 = 0x80;
const STORED: u8 = 0x40;
const NOT_STORED: u8 = 0x00;

/// One head in the forms that it takes on a connection.
pub struct Blocks {
    /// Depends on no table and changes none.
    pub plain: Vec<u8>,
    /// Stores the fields, and names them from then on; `None`: they do not fit.
    pub stored: Option<Stored>,
}

pub struct Stored {
    pub first: Vec<u8>,
    pub again: Vec<u8>,
}

impl Blocks {
    /// Names are in small letters, pseudo-fields first.
    pub fn new(fields: &[(String, String)]) -> Self {
        let mut plain = Vec::new();
        fields.iter().for_each(|field| literal(&mut plain, field, 4, NOT_STORED));
        Self { plain, stored: Stored::new(fields) }
    }
}

impl Stored {
    fn new(fields: &[(String, String)]) -> Option<Self> {
        let entries: Vec<_> = fields.iter().filter(|field| static_entry(field).is_none()).collect();
        let bytes: usize = entries.iter().map(|(name, value)| name.len() + value.len() + ENTRY_OVERHEAD).sum();
        if bytes > TABLE_BYTES as usize {
            return None;
        }
        let (mut first, mut again) = (FULL_TABLE.to_vec(), Vec::new());
        // The entry that was stored last has the lowest index.
        let mut index = STATIC + entries.len();
        for field in fields {
            match static_entry(field) {
                Some(entry) => [&mut first, &mut again].into_iter().for_each(|out| integer(out, entry, 7, INDEXED)),
                None => {
                    literal(&mut first, field, 6, STORED);
                    integer(&mut again, index, 7, INDEXED);
                    index -= 1;
                }
            }
        }
        Some(Self { first, again })
    }
}

/// The entry of the static table that is this field.
fn static_entry((name, value): &(String, String)) -> Option<usize> {
    match (name.as_str(), value.as_str()) {
        (":method", "GET") => Some(2),
        (":method", "POST") => Some(3),
        (":path", "/") => Some(4),
        (":scheme", "http") => Some(6),
        (":scheme", "https") => Some(7),
        _ => None,
    }
}

/// The first entry of the static table with this name; 0: there is none.
fn static_name(name: &str) -> usize {
    match name {
        ":authority" => 1,
        ":method" => 2,
        ":path" => 4,
        ":scheme" => 6,
        "content-length" => 28,
        "content-type" => 31,
        "user-agent" => 58,
        _ => 0,
    }
}

fn literal(out: &mut Vec<u8>, (name, value): &(String, String), bits: u32, pattern: u8) {
    let index = static_name(name);
    integer(out, index, bits, pattern);
    if index == 0 {
        string(out, name);
    }
    string(out, value);
}

fn string(out: &mut Vec<u8>, text: &str) {
    integer(out, text.len(), 7, 0);
    out.extend_from_slice(text.as_bytes());
}

/// RFC 7541 §5.1.
fn integer(out: &mut Vec<u8>, number: usize, bits: u32, pattern: u8) {
    let most = (1 << bits) - 1;
    if number < most {
        return out.push(pattern | number as u8);
    }
    out.push(pattern | most as u8);
    let mut rest = number - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use weir_wire::http2::hpack::Decoder;

    use super::*;

    fn fields(path: &str) -> Vec<(String, String)> {
        let fields = [
            (":method", "GET"),
            (":scheme", "http"),
            (":authority", "a:80"),
            (":path", path),
            ("x-a", "b"),
            ("te", "c"),
        ];
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    fn text(fields: &[(String, String)]) -> String {
        fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
    }

    fn decoded(decoder: &mut Decoder, block: &[u8]) -> String {
        let (mut text, mut block) = (Vec::new(), decoder.block(block));
        while block.next(&mut text).unwrap().is_some() {}
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn every_form_says_the_same() {
        for path in ["/", "/object", &format!("/{}", "x".repeat(1000))] {
            let fields = fields(path);
            let blocks = Blocks::new(&fields);
            let stored = blocks.stored.unwrap();
            let mut decoder = Decoder::new(TABLE_BYTES as usize);
            for block in [&blocks.plain, &stored.first, &stored.again, &blocks.plain, &stored.again] {
                assert_eq!(decoded(&mut decoder, block), text(&fields));
            }
        }
    }

    #[test]
    fn fields_that_do_not_fit_are_not_stored() {
        assert!(Blocks::new(&fields(&"x".repeat(4096))).stored.is_none());
    }
}
