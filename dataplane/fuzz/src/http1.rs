//! What must hold for any bytes given to the HTTP/1 parsers. The fuzz targets feed it with what libFuzzer finds, the
//! tests of `wire` with generated messages and the corpus.

use weir_wire::http1::{
    Body, Error, FieldTable, Fields, Framing, HeadWriter, Limits, Method, Parsed, RequestHead, ResponseHead, Version,
    request, response,
};

pub const LIMITS: Limits = Limits { head_bytes: 2048, field_bytes: 512, fields: 16 };

/// A head by value, to be compared with another reading of it.
#[derive(PartialEq, Debug, Clone)]
struct Reading {
    start: Vec<u8>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    body: Framing,
    keep_alive: bool,
    names_hop_fields: bool,
    host: Option<Vec<u8>>,
}

type Outcome = Result<Option<(Reading, usize)>, Error>;

/// Returns whether `input` begins with a whole request head.
pub fn check_request(input: &[u8]) -> bool {
    check_head(input, |input| {
        outcome(request(input, &LIMITS, &mut FieldTable::new()), |head| (of_request(head), head.len))
    })
}

/// Returns whether `input` begins with a whole response head.
pub fn check_response(input: &[u8]) -> bool {
    [Method::Get, Method::Head].map(|method| check_response_to(method, input)).contains(&true)
}

fn check_response_to(method: Method, input: &[u8]) -> bool {
    check_head(input, |input| {
        outcome(response(input, method, &LIMITS, &mut FieldTable::new()), |head| (of_response(head), head.len))
    })
}

/// Prefixes of a head are heads that have not ended yet, and what was read of it reads the same when it is written again.
fn check_head(input: &[u8], read: impl Fn(&[u8]) -> Outcome) -> bool {
    let whole = read(input);
    check_prefixes(input, &whole, &read);
    if let Ok(Some((reading, _))) = &whole {
        let again = read(&rewritten(reading));
        assert_eq!(again.map(|head| head.map(|(reading, _)| reading)), Ok(Some(reading.clone())));
    }
    matches!(whole, Ok(Some(_)))
}

/// Returns whether `input` begins with a whole chunked body.
pub fn check_chunked(input: &[u8]) -> bool {
    let whole = dechunked(input, usize::MAX);
    for piece_bytes in [1, 2, 3, 7] {
        assert_eq!(dechunked(input, piece_bytes), whole, "in pieces of {piece_bytes}");
    }
    let Ok((content, _, done)) = whole else { return false };
    if done {
        let framed = [format!("{:x}\r\n", content.len()).as_bytes(), &content, b"\r\n0\r\n\r\n"].concat();
        let framed = if content.is_empty() { b"0\r\n\r\n".to_vec() } else { framed };
        assert_eq!(dechunked(&framed, usize::MAX), Ok((content, framed.len(), true)));
    }
    done
}

/// A head is refused for what stands up to the byte that is wrong, waits while nothing is, and ignores what follows it.
fn check_prefixes(input: &[u8], whole: &Outcome, read: impl Fn(&[u8]) -> Outcome) {
    let head_bytes = match whole {
        Ok(Some((_, head_bytes))) => *head_bytes,
        _ => input.len(),
    };
    assert!(head_bytes <= LIMITS.head_bytes || !matches!(whole, Ok(Some(_))));
    assert_eq!(&read(&input[..head_bytes]), whole);
    for prefix in (0..head_bytes).step_by(1 + head_bytes / 64) {
        match read(&input[..prefix]) {
            Ok(None) => {}
            early => assert_eq!(&early, whole, "after {prefix} bytes"),
        }
    }
}

/// Bytes of the trailer section that `input` begins with, if it is whole; what is written of it is what came.
fn trailers(body: &mut Body, input: &[u8]) -> Result<usize, Error> {
    let Parsed::Whole(trailers) = body.trailers(input)? else { return Ok(0) };
    let mut section = vec![0; trailers.bytes()];
    assert_eq!(trailers.write(|_| true, &mut section), Ok(section.len()));
    assert_eq!(section, input[..section.len()]);
    Ok(section.len())
}

/// Content, bytes taken, and whether the body ended, from reading in pieces of one length.
fn dechunked(input: &[u8], piece_bytes: usize) -> Result<(Vec<u8>, usize, bool), Error> {
    let (mut body, mut content, mut taken) = (Body::new(Framing::Chunked), Vec::new(), 0);
    let mut come = 0;
    for piece in input.chunks(piece_bytes.min(input.len().max(1))) {
        come += piece.len();
        if body.is_at_trailers() {
            taken += trailers(&mut body, &input[taken..come])?;
            continue;
        }
        let before = content.len();
        let read = body.read_payload(piece, |range| content.extend_from_slice(&piece[range]))?;
        assert_eq!(content.len() - before, read.payload);
        assert_eq!(read.done, body.is_done());
        taken += read.taken;
        if body.is_at_trailers() {
            taken += trailers(&mut body, &input[taken..come])?;
        } else if !read.done {
            assert_eq!(read.taken, piece.len());
        }
        if body.is_done() {
            break;
        }
    }
    assert!(body.is_done() || body.is_at_trailers() || taken == input.len());
    Ok((content, taken, body.is_done()))
}

fn outcome<H>(parsed: Result<Parsed<H>, Error>, reading: impl Fn(&H) -> (Reading, usize)) -> Outcome {
    parsed.map(|parsed| match parsed {
        Parsed::Partial => None,
        Parsed::Whole(head) => Some(reading(&head)),
    })
}

fn of_request(head: &RequestHead<'_>) -> Reading {
    Reading {
        start: [head.method_text, b" ", head.target, b" ", version(head.version)].concat(),
        fields: owned(&head.fields),
        body: head.body,
        keep_alive: head.keep_alive,
        names_hop_fields: head.names_hop_fields,
        host: head.host.map(<[u8]>::to_vec),
    }
}

fn of_response(head: &ResponseHead<'_>) -> Reading {
    Reading {
        start: [version(head.version), b" ", head.status.to_string().as_bytes(), b" ", head.reason].concat(),
        fields: owned(&head.fields),
        body: head.body,
        keep_alive: head.keep_alive,
        names_hop_fields: head.names_hop_fields,
        host: None,
    }
}

fn owned(fields: &Fields<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    fields.iter().map(|field| (field.name_text.to_vec(), field.value.to_vec())).collect()
}

fn version(version: Version) -> &'static [u8] {
    match version {
        Version::Http10 => b"HTTP/1.0",
        Version::Http11 => b"HTTP/1.1",
    }
}

fn rewritten(reading: &Reading) -> Vec<u8> {
    let mut room = [0; 2 * LIMITS.head_bytes];
    let mut out = HeadWriter::new(&mut room);
    out.text(&reading.start).text(b"\r\n");
    for (name, value) in &reading.fields {
        out.field(name, value);
    }
    let written = out.end().expect("a head that was accepted fits twice its limit");
    room[..written].to_vec()
}
